//! How long clients wait, and what servers tell them about it.

use slotcast_engine::TimerId;
use slotcast_schedulers::RequestId;
use slotcast_schedulers::timeout::{ClientTimeout, EarlyReplies, Estimator, Extension, Finished};
use slotcast_units::{Span, Time};

use super::report::TimeoutReport;
use super::scenario::{TimeoutRule, TimeoutSettings};

/// One server's knowledge of its own speed, and its early replies.
#[derive(Debug)]
pub(crate) struct ServerClock {
    estimator: Option<Estimator>,
    pub(crate) early: Option<EarlyReplies>,
    /// When early replies are looked at next.
    pub(crate) wake: Option<TimerId>,
    /// Requests that have come and are not answered.
    present: u64,
    /// When the last request was finished, or the first one came after none were present.
    busy_since: Time,
    /// It measures and estimates in whole seconds, rounded down.
    whole_seconds: bool,
}

impl ServerClock {
    pub(crate) fn new(settings: &TimeoutSettings) -> ServerClock {
        let part = settings.history / u64::from(settings.parts.max(1));
        let estimator = match settings.rule {
            TimeoutRule::Adaptive(kind) => Some(Estimator::new(kind, part, settings.parts)),
            TimeoutRule::Off | TimeoutRule::Fixed(_) => None,
        };
        let (margin, extra) = (settings.early_margin, settings.early_extra);
        let early = settings.early.map(|rule| EarlyReplies::new(rule, margin, extra));
        ServerClock {
            estimator,
            early,
            wake: None,
            present: 0,
            busy_since: Time::ZERO,
            whole_seconds: settings.whole_seconds,
        }
    }

    /// A request came whose client waits until `deadline`; the early reply that is to be sent at once.
    pub(crate) fn arrived(
        &mut self,
        now: Time,
        id: RequestId,
        deadline: Time,
        queued: u64,
    ) -> Option<Extension> {
        if self.present == 0 {
            self.busy_since = now;
        }
        self.present += 1;
        let estimate = self.estimate(now, queued);
        self.early.as_mut()?.arrived(now, id, deadline, estimate)
    }

    /// A request that came at `arrived` was executed, and is answered now.
    pub(crate) fn finished(&mut self, now: Time, id: RequestId, arrived: Time) {
        self.present -= 1;
        let took = self.rounded(now - arrived);
        // What takes no whole second is no record.
        if !self.whole_seconds || took > Span::ZERO {
            let busy = now - self.busy_since;
            self.busy_since = now;
            if let Some(estimator) = &mut self.estimator {
                estimator.finished(now, Finished { arrived: now.saturating_sub(took), busy });
            }
        }
        if let Some(early) = &mut self.early {
            early.finished(id);
        }
    }

    /// What a request must expect that finds `queued` others.
    pub(crate) fn estimate(&self, now: Time, queued: u64) -> Option<Span> {
        self.estimator.as_ref()?.estimate(now, queued).map(|span| self.rounded(span))
    }

    /// `span` as the server knows it.
    fn rounded(&self, span: Span) -> Span {
        const SECOND: u64 = 1_000_000_000;
        match self.whole_seconds {
            true => Span::from_ns(span.as_ns() / SECOND * SECOND),
            false => span,
        }
    }
}

/// How long the clients of a scenario wait.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    ForEver,
    Fixed(Span),
    /// The rule, and what it is applied to before a server is known.
    Adaptive(ClientTimeout, Option<Span>),
}

impl Patience {
    pub(crate) fn new(settings: &TimeoutSettings) -> Patience {
        match settings.rule {
            TimeoutRule::Off => Patience::ForEver,
            TimeoutRule::Fixed(span) => Patience::Fixed(span),
            TimeoutRule::Adaptive(_) => {
                let rule = ClientTimeout {
                    stretch: settings.stretch,
                    margin: settings.margin,
                    at_least: settings.at_least,
                    at_most: settings.at_most,
                    unknown: settings.first,
                };
                let initial = (settings.first == Span::ZERO).then_some(settings.initial);
                Patience::Adaptive(rule, initial)
            }
        }
    }

    /// Until when a client waits that sends now and was told `estimate` last; never for no end.
    pub(crate) fn deadline(&self, now: Time, estimate: Option<Span>) -> Time {
        match self {
            Patience::ForEver => Time::NEVER,
            Patience::Fixed(span) => now.saturating_add(*span),
            // The network's part is less than a millisecond, within the rule's margin.
            Patience::Adaptive(rule, initial) => {
                now.saturating_add(rule.after(estimate.or(*initial), Span::ZERO))
            }
        }
    }
}

/// Counts answers that came in time and too late.
#[derive(Debug, Default)]
pub(crate) struct Punctuality {
    report: TimeoutReport,
    used: f64,
}

impl Punctuality {
    /// An RPC was answered; `is_first` of its client, after `early` early replies.
    pub(crate) fn answered(
        &mut self,
        now: Time,
        sent: Time,
        deadline: Time,
        is_first: bool,
        early: u32,
    ) {
        let is_late = now > deadline;
        self.report.rpcs += 1;
        self.report.late += u64::from(is_late);
        if !is_first {
            self.report.later_rpcs += 1;
            self.report.late_later += u64::from(is_late);
        }
        if !is_late && !is_first {
            self.used += (now - sent).as_secs_f64() / (deadline - sent).as_secs_f64();
        }
        let replies = early as usize;
        if self.report.by_early_replies.len() <= replies {
            self.report.by_early_replies.resize(replies + 1, 0);
        }
        self.report.by_early_replies[replies] += 1;
    }

    pub(crate) fn report(self) -> TimeoutReport {
        let in_time = self.report.later_rpcs - self.report.late_later;
        let mean_used = if in_time > 0 { self.used / in_time as f64 } else { 0.0 };
        TimeoutReport { mean_used, ..self.report }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_schedulers::timeout::EstimatorKind;

    fn at(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    #[test]
    fn the_first_timeout_stretches_the_initial_estimate() {
        let rule = TimeoutRule::Adaptive(EstimatorKind::Max);
        let patience = Patience::new(&TimeoutSettings { rule, ..TimeoutSettings::default() });
        assert_eq!(patience.deadline(at(1), None), at(1) + Span::from_ms(67_500));
        assert_eq!(patience.deadline(at(1), Some(Span::from_secs(20))), at(31));
        let first = Span::from_secs(50);
        let patience =
            Patience::new(&TimeoutSettings { rule, first, ..TimeoutSettings::default() });
        assert_eq!(patience.deadline(at(1), None), at(51));
        let fixed = TimeoutRule::Fixed(Span::from_secs(50));
        let patience =
            Patience::new(&TimeoutSettings { rule: fixed, ..TimeoutSettings::default() });
        assert_eq!(patience.deadline(at(1), Some(Span::from_secs(20))), at(51));
    }

    #[test]
    fn a_server_counts_only_the_time_at_work() {
        let rule = TimeoutRule::Adaptive(EstimatorKind::Aet);
        let mut clock = ServerClock::new(&TimeoutSettings { rule, ..TimeoutSettings::default() });
        clock.arrived(at(0), RequestId(1), at(50), 0);
        clock.finished(at(2), RequestId(1), at(0));
        clock.arrived(at(7), RequestId(2), at(50), 0);
        clock.arrived(at(7), RequestId(3), at(50), 1);
        clock.finished(at(8), RequestId(2), at(7));
        clock.finished(at(9), RequestId(3), at(7));
        // 2 + 1 + 1 seconds for three requests; six queued, and the one that asks.
        let mean = Span::from_ns(4_000_000_000 / 3);
        assert_eq!(clock.estimate(at(9), 6), Some(mean * 7));
        clock.whole_seconds = true;
        assert_eq!(clock.estimate(at(9), 6), Some(Span::from_secs(9)), "9.3 in whole seconds");
    }
}
