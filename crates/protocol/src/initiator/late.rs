//! When something is late: how long acknowledgements and chunks usually take, and when it is asked what became of one.
//!
//! A datagram may be lost, and nobody knows. To wait for an acknowledgement until it cannot come any more takes
//! seconds; on most networks, and with most disks, it is there within milliseconds. So what is usual is measured, as TCP
//! measures its round trips (RFC 6298, section 2): a mean, and how far from it what is measured is on average. What takes
//! longer than the mean and four times that, or a quarter of the mean, is asked about. To ask costs two messages and decides nothing: who has the
//! chunk says so, who is writing it says that, and who has lost its appointment bids again.

use slotcast_units::Span;

/// When an initiator asks what became of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateRules {
    /// How long is waited while nothing has been measured.
    pub first: Span,
    /// How long is waited at least: threads of a busy machine are late by as much.
    pub least: Span,
}

impl LateRules {
    /// After so many questions, each of which is waited for twice as long as the one before, the time stays.
    const MAX_DOUBLINGS: u32 = 6;

    /// How long is waited, after `asked` questions.
    pub(super) fn patience(&self, usual: &Usual, asked: u8) -> Span {
        let patience = usual.bound().map_or(self.first, |bound| bound.max(self.least));
        patience * (1_u64 << u32::from(asked).min(LateRules::MAX_DOUBLINGS))
    }
}

/// How long something usually takes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usual {
    /// None before anything was measured.
    mean: Option<Span>,
    deviation: Span,
}

impl Usual {
    /// It took so long. What was late counts, too: or what has become slow for good would be asked about for ever.
    pub(super) fn took(&mut self, sample: Span) {
        let Some(mean) = self.mean else {
            (self.mean, self.deviation) = (Some(sample), sample / 2);
            return;
        };
        let error = sample.max(mean).saturating_sub(sample.min(mean));
        self.deviation = (self.deviation * 3 + error) / 4;
        self.mean = Some((mean * 7 + sample) / 8);
    }

    /// Longer than that it seldom takes. Where all that was measured is alike, a little more is nothing special.
    fn bound(&self) -> Option<Span> {
        self.mean.map(|mean| mean + (self.deviation * 4).max(mean / 4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: LateRules = LateRules { first: Span::from_ms(250), least: Span::from_ms(20) };

    #[test]
    fn what_was_never_measured_is_waited_for_as_the_rules_say() {
        let usual = Usual::default();
        assert_eq!(RULES.patience(&usual, 0), Span::from_ms(250));
        assert_eq!(RULES.patience(&usual, 2), Span::from_secs(1));
        assert_eq!(RULES.patience(&usual, 200), RULES.patience(&usual, 6), "not for ever longer");
    }

    #[test]
    fn what_is_always_alike_is_waited_for_hardly_longer() {
        let mut usual = Usual::default();
        (0..100).for_each(|_| usual.took(Span::from_ms(50)));
        let patience = RULES.patience(&usual, 0);
        assert!(patience > Span::from_ms(60) && patience < Span::from_ms(65), "{patience}");
        let mut usual = Usual::default();
        (0..100).for_each(|_| usual.took(Span::from_us(80)));
        assert_eq!(RULES.patience(&usual, 0), RULES.least);
    }

    #[test]
    fn what_varies_is_waited_for_longer_and_what_became_slow_is_learned() {
        let mut usual = Usual::default();
        (0..100).for_each(|n| usual.took(Span::from_ms(20 + n % 2 * 60)));
        let patience = RULES.patience(&usual, 0);
        assert!(patience > Span::from_ms(120) && patience < Span::from_ms(250), "{patience}");
        (0..30).for_each(|_| usual.took(Span::from_secs(1)));
        assert!(RULES.patience(&usual, 0) >= Span::from_secs(1));
    }
}
