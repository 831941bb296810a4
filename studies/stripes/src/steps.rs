use slotcast_units::{Span, Time};

/// What the time of a write is spent with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Waiting for the writes of other clients: for the lock, or for the unit.
    Others,
    /// Messages to and from the lock server, and its work.
    Lock,
    /// Reading an old content that is not in memory.
    Read,
    /// Contents on the network.
    Transfer,
    /// Computing.
    Parity,
    /// Writing to a disk, and waiting for it.
    Disk,
    /// Small messages.
    Message,
}

impl Step {
    /// All steps, in the order in which [`Steps`] has them.
    pub const ALL: [Step; 7] = [
        Step::Others,
        Step::Lock,
        Step::Read,
        Step::Transfer,
        Step::Parity,
        Step::Disk,
        Step::Message,
    ];

    /// What to call it.
    pub const fn name(self) -> &'static str {
        match self {
            Step::Others => "waiting for others",
            Step::Lock => "lock",
            Step::Read => "read of old content",
            Step::Transfer => "transfer",
            Step::Parity => "parity calculation",
            Step::Disk => "disk write",
            Step::Message => "small messages",
        }
    }
}

/// Time by step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Steps([Span; Step::ALL.len()]);

impl Steps {
    /// The time of one step.
    pub fn of(&self, step: Step) -> Span {
        self.0[step as usize]
    }

    /// The time of all steps.
    pub fn total(&self) -> Span {
        self.0.iter().copied().sum()
    }

    pub(super) fn add(&mut self, step: Step, span: Span) {
        self.0[step as usize] += span;
    }

    pub(super) fn add_all(&mut self, other: &Steps) {
        for (sum, span) in self.0.iter_mut().zip(other.0) {
            *sum += span;
        }
    }
}

/// How something came to happen at a time: the chain of what had to be waited for, from the start of a
/// client's write on. What a machine does follows from its last input, so the chain that ends in the
/// acknowledgement is the critical path, and its steps add up to the latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trail {
    /// Whose write.
    pub(super) client: u32,
    /// Until when the steps account for the time.
    pub(super) until: Time,
    pub(super) steps: Steps,
}

impl Trail {
    pub(super) fn start(client: u32, now: Time) -> Trail {
        Trail { client, until: now, steps: Steps::default() }
    }

    /// The chain goes on with `step` until `until`.
    #[must_use]
    pub(super) fn then(mut self, step: Step, until: Time) -> Trail {
        self.steps.add(step, until - self.until);
        self.until = until;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trail_accounts_for_all_of_its_time() {
        let at = Time::from_ns;
        let trail = Trail::start(3, at(10)).then(Step::Message, at(15)).then(Step::Disk, at(40));
        let trail = trail.then(Step::Message, at(42));
        assert_eq!(trail.steps.total(), Span::from_ns(32));
        assert_eq!(trail.steps.of(Step::Message), Span::from_ns(7));
        assert_eq!(trail.steps.of(Step::Lock), Span::ZERO);
    }
}
