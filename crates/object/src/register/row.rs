//! What one voter keeps of one register.

use crate::register::ballot::Ballot;
use crate::register::fence::{Fence, Fenced, Stamp};
use crate::register::mistake::Mistake;
use crate::register::voters::Voter;
use minicbor::{Decode, Encode};

/// Tells the answers to one attempt of a machine from those to its others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
pub struct Tag(#[n(0)] pub u32);

/// A question to a voter. Whoever hands the answer to the machine that asked hands it the tag, too.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Question<V> {
    /// To whom.
    pub to: Voter,
    /// Of which attempt.
    pub tag: Tag,
    /// What the asker knows of the cluster map.
    pub stamp: Stamp,
    /// What is asked.
    pub ask: Ask<V>,
}

/// What a voter is asked about a register.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Ask<V> {
    /// What it holds.
    #[n(0)]
    Read,
    /// To accept nothing below this ballot any more, and to say what it holds.
    #[n(1)]
    Prepare(#[n(0)] Ballot),
    /// To hold this from now on.
    #[n(2)]
    Accept(#[n(0)] Ballot, #[n(1)] V),
    /// To hold what others have accepted in this ballot, unless it has promised a later one; and to believe nothing that
    /// began before the epoch, which is the floor of others.
    #[n(3)]
    Bring(#[n(0)] u64, #[n(1)] Option<(Ballot, V)>),
    /// To forget the register, if it holds what was accepted in this ballot and has promised nothing later.
    #[n(4)]
    Forget(#[n(0)] Ballot),
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Reply<V> {
    /// To [`Ask::Read`] and [`Ask::Prepare`].
    #[n(0)]
    Holds(#[n(0)] Held<V>),
    /// It holds what it was asked to hold.
    #[n(1)]
    Accepted,
    /// It has forgotten the register.
    #[n(2)]
    Forgotten,
    /// It has promised a later ballot, this one.
    #[n(3)]
    Refused(#[n(0)] Ballot),
    /// It does not believe whoever asks: see [`Fence::admit`].
    #[n(4)]
    Fenced(#[n(0)] Fenced),
}

/// What a voter holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Held<V> {
    /// The ballot in which it has accepted that; [`Ballot::ZERO`] if it has accepted nothing, ever or since it has
    /// forgotten.
    #[n(0)]
    pub ballot: Ballot,
    /// What it has accepted last.
    #[n(1)]
    pub value: Option<V>,
    /// Its [`Fence::floor`]: what began before may have been forgotten.
    #[n(2)]
    pub floor: u64,
    /// Its [`Fence::epoch`].
    #[n(3)]
    pub epoch: u64,
}

/// What one voter keeps of one register: the state of an acceptor of CASPaxos (D. Rystsov, "CASPaxos:
/// Replicated State Machines without logs", arXiv 1802.07000). Nothing in it ever expires.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Row<V> {
    #[n(0)]
    promised: Ballot,
    #[n(1)]
    accepted: Ballot,
    #[n(2)]
    value: Option<V>,
}

impl<V> Default for Row<V> {
    fn default() -> Row<V> {
        Row { promised: Ballot::ZERO, accepted: Ballot::ZERO, value: None }
    }
}

impl<V: Clone + PartialEq> Row<V> {
    /// Answers `ask`. What changed of the fence must be on stable storage before what changed of the row, or together with
    /// it; and both before the answer is sent.
    pub fn answer(&mut self, fence: &mut Fence, stamp: Stamp, ask: &Ask<V>) -> Reply<V> {
        self.answer_with(fence, stamp, ask, None)
    }

    /// The same with a planted mistake.
    pub(crate) fn answer_with(
        &mut self,
        fence: &mut Fence,
        stamp: Stamp,
        ask: &Ask<V>,
        mistake: Option<Mistake>,
    ) -> Reply<V> {
        let is_believed = match (mistake, fence.admit(stamp)) {
            (Some(Mistake::SyncsWithoutFence), Err(_)) => *ask == Ask::Read,
            (Some(Mistake::BelievesLaterEpochs), Err(Fenced::Behind)) => {
                stamp.voters == fence.voters
            }
            (_, admitted) => admitted.is_ok(),
        };
        if let (false, Err(why)) = (is_believed, fence.admit(stamp)) {
            return Reply::Fenced(why);
        }
        let raised = match ask {
            Ask::Forget(_) if mistake != Some(Mistake::ForgetsTombstones) => stamp.began,
            Ask::Bring(floor, _) => *floor,
            _ => 0,
        };
        fence.floor = fence.floor.max(raised);
        if mistake == Some(Mistake::ForgetsOldPromises) && self.promised > self.accepted {
            self.promised = self.accepted;
        }
        self.handle(fence, ask, mistake)
    }

    fn handle(&mut self, fence: &Fence, ask: &Ask<V>, mistake: Option<Mistake>) -> Reply<V> {
        let may_accept = |ballot: &Ballot| {
            *ballot >= self.promised || mistake == Some(Mistake::AcceptsBelowItsPromise)
        };
        match ask {
            Ask::Read => self.holds(fence),
            Ask::Prepare(ballot) if *ballot >= self.promised => {
                if mistake != Some(Mistake::PromisesNothing) {
                    self.promised = *ballot;
                }
                self.holds(fence)
            }
            Ask::Bring(_, None) => Reply::Accepted,
            Ask::Accept(ballot, value) | Ask::Bring(_, Some((ballot, value)))
                if may_accept(ballot) =>
            {
                (self.promised, self.accepted) = (*ballot, *ballot);
                self.value = Some(value.clone());
                Reply::Accepted
            }
            Ask::Forget(ballot) if (*ballot, *ballot) == (self.promised, self.accepted) => {
                *self = Row::default();
                Reply::Forgotten
            }
            // Somebody else was faster.
            Ask::Forget(_) if self.is_blank() => Reply::Forgotten,
            _ => Reply::Refused(self.promised),
        }
    }

    fn holds(&self, fence: &Fence) -> Reply<V> {
        let (ballot, value) = (self.accepted, self.value.clone());
        Reply::Holds(Held { ballot, value, floor: fence.floor, epoch: fence.epoch })
    }

    /// Gives up a promise that keeps nothing away any more: nothing was accepted, and what is below it began before the
    /// floor, and is not believed in any case. Returns whether there was one.
    pub fn tidy(&mut self, fence: &Fence) -> bool {
        self.tidy_with(fence, None)
    }

    /// The same with a planted mistake.
    pub(crate) fn tidy_with(&mut self, fence: &Fence, mistake: Option<Mistake>) -> bool {
        let floor = fence.floor + u64::from(mistake == Some(Mistake::TidiesAtTheFloor));
        let is_void =
            self.accepted == Ballot::ZERO && !self.is_blank() && self.promised.epoch < floor;
        if is_void {
            *self = Row::default();
        }
        is_void
    }

    /// The last ballot that it has promised.
    pub fn promised(&self) -> Ballot {
        self.promised
    }

    /// Whether nothing was ever promised or accepted: such a row need not be kept.
    pub fn is_blank(&self) -> bool {
        self.promised == Ballot::ZERO
    }

    /// What it holds, and since which ballot.
    pub fn accepted(&self) -> (Ballot, Option<&V>) {
        (self.accepted, self.value.as_ref())
    }
}
