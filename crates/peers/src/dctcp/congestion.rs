//! The congestion window of one sender: DCTCP (RFC 8257, 3.3) on the rules of RFC 5681.
//!
//! Whole numbers throughout, so that a run is the same on every machine.

/// An alpha of one: every byte of a window was marked.
pub(super) const ONE: u64 = 1 << 30;

/// A window is never cut below so many frames, as in Linux; after a timeout it is one.
const MIN_FRAMES: u64 = 2;

/// What is the same for all senders.
#[derive(Debug, Clone, Copy)]
pub(super) struct CongestionRules {
    /// Payload of a full frame, in bytes.
    pub(super) frame: u64,
    /// The first window, and the largest after a long silence, in bytes.
    pub(super) initial_window: u64,
    /// g, in parts per million.
    pub(super) gain_ppm: u64,
    /// In units of [`ONE`].
    pub(super) initial_alpha: u64,
}

/// What an acknowledgement says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acknowledged {
    /// Where the acknowledged frame ends in the stream.
    pub(super) end: u64,
    /// Its size in bytes.
    pub(super) bytes: u64,
    /// Whether the switch had marked it.
    pub(super) marked: bool,
    /// Where the next new frame will start.
    pub(super) next: u64,
    /// Whether the window is what holds the sender back, and no loss is being repaired.
    pub(super) may_grow: bool,
}

/// The window of one sender, and what it knows of the marks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Congestion {
    /// Bytes that may be in flight.
    window: u64,
    /// Below it the window grows by what is acknowledged, above by a frame per window.
    threshold: u64,
    /// Acknowledged since the window last grew by a frame.
    towards_growth: u64,
    /// Estimated part of the bytes that are marked, in units of [`ONE`].
    alpha: u64,
    /// The window of data over which marks are being counted ends here.
    observed_until: u64,
    observed: u64,
    observed_marked: u64,
    /// Frames that end at or before this were sent before the last cut.
    cut_until: u64,
}

impl Congestion {
    pub(super) fn new(rules: &CongestionRules) -> Congestion {
        Congestion {
            window: rules.initial_window,
            threshold: u64::MAX,
            towards_growth: 0,
            alpha: rules.initial_alpha,
            observed_until: 0,
            observed: 0,
            observed_marked: 0,
            cut_until: 0,
        }
    }

    pub(super) fn window(&self) -> u64 {
        self.window
    }

    #[cfg(test)]
    pub(super) fn alpha(&self) -> f64 {
        self.alpha as f64 / ONE as f64
    }

    /// A frame was acknowledged.
    pub(super) fn acknowledged(&mut self, ack: Acknowledged, rules: &CongestionRules) {
        self.observed += ack.bytes;
        self.observed_marked += if ack.marked { ack.bytes } else { 0 };
        if ack.end > self.observed_until {
            self.observe(ack.next, rules);
        }
        if ack.marked {
            if ack.end > self.cut_until {
                self.cut(ack.next, rules);
            }
        } else if ack.may_grow {
            self.grow(ack.bytes, rules);
        }
    }

    /// A window of data is complete: alpha moves towards the part of it that was marked.
    fn observe(&mut self, next: u64, rules: &CongestionRules) {
        let part = self.observed_marked * ONE / self.observed.max(1);
        let kept = self.alpha * (1_000_000 - rules.gain_ppm);
        self.alpha = (kept + part * rules.gain_ppm) / 1_000_000;
        self.observed_until = next;
        self.observed = 0;
        self.observed_marked = 0;
    }

    /// The first mark of a window of data cuts it by half of alpha.
    fn cut(&mut self, next: u64, rules: &CongestionRules) {
        let by = u128::from(self.window) * u128::from(self.alpha) / u128::from(2 * ONE);
        let by = u64::try_from(by).expect("at most half a window");
        self.window = (self.window - by).max(MIN_FRAMES * rules.frame);
        self.threshold = self.window;
        self.towards_growth = 0;
        self.cut_until = next;
    }

    fn grow(&mut self, bytes: u64, rules: &CongestionRules) {
        if self.window < self.threshold {
            self.window += bytes;
            return;
        }
        self.towards_growth += bytes;
        if self.towards_growth >= self.window {
            self.towards_growth -= self.window;
            self.window += rules.frame;
        }
    }

    /// Frames were lost: as without DCTCP, the window is halved (RFC 8257, 3.5).
    pub(super) fn lost(&mut self, rules: &CongestionRules) {
        self.threshold = (self.window / 2).max(MIN_FRAMES * rules.frame);
        self.window = self.threshold;
        self.towards_growth = 0;
    }

    /// Nothing was acknowledged for a retransmission timeout, with `in_flight` bytes on their way
    /// (RFC 5681, 3.1).
    pub(super) fn timed_out(&mut self, in_flight: u64, rules: &CongestionRules) {
        self.threshold = (in_flight / 2).max(MIN_FRAMES * rules.frame);
        self.window = rules.frame;
        self.towards_growth = 0;
    }

    /// The sender was silent for longer than a retransmission timeout (RFC 5681, 4.1).
    pub(super) fn restart(&mut self, rules: &CongestionRules) {
        self.window = self.window.min(rules.initial_window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: u64 = 1000;

    fn rules() -> CongestionRules {
        CongestionRules {
            frame: FRAME,
            initial_window: 10 * FRAME,
            gain_ppm: 62_500,
            initial_alpha: ONE,
        }
    }

    /// Acknowledges one window of data frame by frame, of which the first `marked` were marked.
    fn round(congestion: &mut Congestion, sent: &mut u64, marked: u64) {
        let frames = congestion.window() / FRAME;
        let next = *sent + frames * FRAME;
        for i in 0..frames {
            let ack = Acknowledged {
                end: *sent + (i + 1) * FRAME,
                bytes: FRAME,
                marked: i < marked,
                next,
                may_grow: true,
            };
            congestion.acknowledged(ack, &rules());
        }
        *sent = next;
    }

    #[test]
    fn without_marks_the_window_doubles_and_alpha_fades() {
        let (mut congestion, mut sent) = (Congestion::new(&rules()), 0);
        round(&mut congestion, &mut sent, 0);
        assert_eq!(congestion.window(), 20 * FRAME);
        for _ in 0..7 {
            round(&mut congestion, &mut sent, 0);
        }
        // A window of observation ends with the first acknowledgement of the next.
        assert!((congestion.alpha() - (15.0f64 / 16.0).powi(8)).abs() < 1e-6);
    }

    #[test]
    fn the_first_mark_of_a_window_cuts_and_the_rest_of_it_does_not() {
        let (mut congestion, mut sent) = (Congestion::new(&rules()), 0);
        round(&mut congestion, &mut sent, 10);
        assert_eq!(congestion.window(), 5 * FRAME, "alpha is one");
        for _ in 0..40 {
            round(&mut congestion, &mut sent, 0);
        }
        let before = congestion.window();
        let alpha = congestion.alpha();
        round(&mut congestion, &mut sent, 3);
        let after_cut = before as f64 * (1.0 - alpha / 2.0);
        assert!((congestion.window() as f64 - after_cut).abs() <= FRAME as f64, "and grows again");
        assert!(congestion.window() < before);
    }

    #[test]
    fn above_the_threshold_a_window_of_data_adds_a_frame() {
        let (mut congestion, mut sent) = (Congestion::new(&rules()), 0);
        congestion.lost(&rules());
        assert_eq!(congestion.window(), 5 * FRAME);
        for frames in 6..20 {
            round(&mut congestion, &mut sent, 0);
            assert_eq!(congestion.window(), frames * FRAME);
        }
    }

    #[test]
    fn a_timeout_starts_again_with_one_frame_and_silence_with_the_first_window() {
        let (mut congestion, mut sent) = (Congestion::new(&rules()), 0);
        round(&mut congestion, &mut sent, 0);
        congestion.restart(&rules());
        assert_eq!(congestion.window(), 10 * FRAME);
        congestion.timed_out(8 * FRAME, &rules());
        assert_eq!(congestion.window(), FRAME);
        congestion.restart(&rules());
        assert_eq!(congestion.window(), FRAME, "silence never enlarges a window");
        round(&mut congestion, &mut sent, 0);
        round(&mut congestion, &mut sent, 0);
        assert_eq!(congestion.window(), 4 * FRAME);
        round(&mut congestion, &mut sent, 0);
        assert_eq!(congestion.window(), 5 * FRAME, "half of what was in flight is the threshold");
    }

    #[test]
    fn a_window_is_not_cut_below_two_frames() {
        let (mut congestion, mut sent) = (Congestion::new(&rules()), 0);
        for _ in 0..10 {
            round(&mut congestion, &mut sent, 100);
        }
        assert_eq!(congestion.window(), 2 * FRAME);
        assert!(congestion.alpha() > 0.99);
    }
}
