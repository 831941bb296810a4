//! Replicast-H: windows that follow each other closely, for one unicast transfer after another.

use slotcast_units::{Span, Time};

use super::{Candidate, Chosen, LinkSchedule, Ties, by_backlog, domain_is_free};
use crate::timing::Timing;
use crate::window::Window;

/// When an initiator that has fewer windows than replicas asks for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AskNext {
    /// In idle time of its link, or near the end of its last window.
    #[default]
    AtEnd,
    /// When its last window starts, while payload is on its way.
    AtStart,
}

/// What tells the window of an idle target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// It is wider than the earliest bid by more than this.
    WiderThanFirst(Span),
    /// It is wider than needed by more than this.
    WiderThanNeeded(Span),
}

/// How a sequence is put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceRule {
    /// Longest idle time between two windows of a sequence.
    pub longest_gap: Span,
    /// With no second window in reach, a target is preferred that bids a wider window (it is idle)
    /// and starts less than this after the earliest.
    pub idle_within: Span,
    /// How much wider its window must be.
    pub idle: Idle,
    /// How many bids after the earliest are looked at for that.
    pub idle_candidates: usize,
    /// The paper's rule: an idle target is preferred also for the last replica, which has no second window.
    /// Of several the latest is taken that starts within `idle_within` of the one preferred before it.
    pub idle_for_last: bool,
    /// When the next replicas are asked for.
    pub ask_next: AskNext,
    /// Leave the preferred idle target's window as wide as it was bid. The original does so; it
    /// blocks the target, and the initiator's next request, for about three transfers.
    pub keep_idle_window: bool,
}

impl SequenceRule {
    /// The rule of the paper's runs, with its flaw if `keep_idle_window`.
    pub fn published(timing: &Timing, keep_idle_window: bool) -> SequenceRule {
        SequenceRule {
            longest_gap: (timing.control * 3).max(timing.frame_time()),
            idle_within: timing.frame_time(),
            idle: Idle::WiderThanNeeded(timing.frame_time()),
            idle_candidates: 2,
            idle_for_last: true,
            ask_next: AskNext::AtEnd,
            keep_idle_window,
        }
    }

    /// The rule of the original after the paper (SURGE 7c08ff4, March 2016), which the "Choosy
    /// Initiator" text builds on: shorter gaps, every idle target in reach is preferred, and the
    /// next replicas are asked for one window ahead.
    pub fn revised(timing: &Timing) -> SequenceRule {
        let longest_gap = timing.one_way();
        SequenceRule {
            longest_gap,
            idle_within: longest_gap * 2,
            idle: Idle::WiderThanFirst(Span::ZERO),
            idle_candidates: usize::MAX,
            idle_for_last: false,
            ask_next: AskNext::AtStart,
            keep_idle_window: false,
        }
    }
}

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub struct Sequence<'a> {
    /// Most members to choose.
    pub need: usize,
    /// The initiator cannot send before this time.
    pub earliest: Time,
    /// How wide each window must be.
    pub width: Span,
    /// When the initiator's link is taken by other transfers.
    pub link: &'a LinkSchedule,
    /// Time of one transfer on the link.
    pub transfer: Span,
    /// Failure domains that hold or will hold a replica already.
    pub taken: &'a [u32],
    /// Which of several transfers that would begin together is taken.
    pub ties: Ties,
    /// How the sequence is put together.
    pub rule: SequenceRule,
}

/// Fills `chosen` with one to `need` members whose windows, trimmed to the wanted width, follow each
/// other with short gaps; none if no candidate has a window that is wide enough. `candidates` must
/// be in order ([`super::sort_candidates`]). O(n · need).
pub fn earliest_sequence(candidates: &[Candidate], look_for: &Sequence<'_>, chosen: &mut Chosen) {
    debug_assert!(candidates.windows(2).all(|p| p[0].window.start <= p[1].window.start));
    chosen.clear();
    let Sequence { need, earliest, width, taken, link, transfer, ties, rule } = *look_for;
    if need == 0 {
        return;
    }
    // What is left of a bid if nothing is sent before `time`, nor while the link is taken.
    let usable = |c: &Candidate, time: Time| {
        let start = link.free_from(c.window.start.max(time), transfer);
        let rest = Window { start, end: c.window.end };
        (rest.width() >= width).then_some(rest)
    };
    let pick = |c: &Candidate, window: Window| Candidate { window, ..*c };
    let trim = |window: Window| Window::new(window.start, width);

    let eligible = || {
        let apart = candidates.iter().filter(|c| !taken.contains(&c.domain));
        apart.filter_map(|c| usable(c, earliest).map(|window| (c, window)))
    };
    let Some((first, bid_of_first)) = first_of(eligible(), ties) else { return };
    chosen.push(pick(first, trim(bid_of_first)));

    while chosen.len() < need {
        let end = chosen[chosen.len() - 1].window.end;
        let near = candidates.iter().filter_map(|c| {
            let window = usable(c, end)?;
            let near = window.start.saturating_since(end) <= rule.longest_gap;
            (near && domain_is_free(c.domain, chosen, taken)).then_some((c, window))
        });
        match first_of(near, ties) {
            Some((next, window)) => chosen.push(pick(next, trim(window))),
            None => break,
        }
    }

    if chosen.len() == 1 && (need > 1 || rule.idle_for_last) {
        let others = eligible().filter(|(other, _)| other.position != first.position);
        let others = others.take(rule.idle_candidates);
        let idle = match rule.idle_for_last {
            true => latest_idle(others, bid_of_first.start, look_for),
            false => {
                let near = |bid: Window| is_idle(bid, bid_of_first, bid_of_first.start, look_for);
                first_of(others.filter(|(_, bid)| near(*bid)), ties)
            }
        };
        if let Some((idle, bid)) = idle {
            chosen[0] = pick(idle, if rule.keep_idle_window { bid } else { trim(bid) });
        }
    }
}

/// Whether `bid` is that of an idle target and begins soon enough after `start`.
fn is_idle(bid: Window, first: Window, start: Time, look_for: &Sequence<'_>) -> bool {
    let rule = &look_for.rule;
    let wide = match rule.idle {
        Idle::WiderThanFirst(by) => first.width() + by,
        Idle::WiderThanNeeded(by) => look_for.width + by,
    };
    bid.start.saturating_since(start) < rule.idle_within && bid.width() > wide
}

/// The idle target that the paper's rule ends with, if `first` is the start of the earliest bid.
fn latest_idle<'a>(
    others: impl Iterator<Item = (&'a Candidate, Window)>,
    first: Time,
    look_for: &Sequence<'_>,
) -> Option<(&'a Candidate, Window)> {
    let mut preferred: Option<(&Candidate, Window)> = None;
    for (candidate, bid) in others {
        let start = preferred.map_or(first, |(_, window)| window.start);
        if is_idle(bid, bid, start, look_for) {
            preferred = Some((candidate, bid));
        }
    }
    preferred
}

/// The first of what is usable, which comes in order of time; of what begins together, as `ties` says.
fn first_of<'a>(
    mut usable: impl Iterator<Item = (&'a Candidate, Window)>,
    ties: Ties,
) -> Option<(&'a Candidate, Window)> {
    let first = usable.next()?;
    match ties {
        Ties::ByName => Some(first),
        Ties::ByBacklog => usable
            .take_while(|(_, window)| window.start == first.1.start)
            .chain([first])
            .min_by_key(|(candidate, _)| by_backlog(candidate)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{candidate, sort_candidates};
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const IDLE: &LinkSchedule = &LinkSchedule::IDLE;

    fn wanted(need: usize, width: u64) -> Sequence<'static> {
        Sequence {
            need,
            earliest: Time::ZERO,
            width: Span::from_ns(width),
            link: IDLE,
            transfer: Span::from_ns(width),
            taken: &[],
            ties: Ties::ByName,
            rule: SequenceRule {
                longest_gap: Span::from_ns(5),
                idle_within: Span::from_ns(5),
                idle: Idle::WiderThanFirst(Span::from_ns(5)),
                idle_candidates: 2,
                idle_for_last: false,
                ask_next: AskNext::AtEnd,
                keep_idle_window: false,
            },
        }
    }

    fn run(bids: &[Candidate], look_for: &Sequence<'_>) -> Vec<(u8, u64, u64)> {
        let mut chosen = Vec::new();
        earliest_sequence(bids, look_for, &mut chosen);
        chosen.iter().map(|c| (c.position, c.window.start.as_ns(), c.window.end.as_ns())).collect()
    }

    #[test]
    fn windows_follow_each_other() {
        let bids = [candidate(0, 0, 12), candidate(1, 2, 40), candidate(2, 22, 60)];
        assert_eq!(run(&bids, &wanted(3, 10)), [(0, 0, 10), (1, 10, 20), (2, 22, 32)]);
    }

    #[test]
    fn other_transfers_on_the_link_are_avoided() {
        let bids = [candidate(0, 0, 40), candidate(1, 2, 60)];
        let mut link = LinkSchedule::default();
        link.take(Window { start: Time::from_ns(5), end: Time::from_ns(12) });
        let look_for = Sequence { link: &link, ..wanted(2, 10) };
        assert_eq!(run(&bids, &look_for), [(0, 12, 22), (1, 22, 32)]);
    }

    #[test]
    fn a_long_gap_ends_the_sequence() {
        let bids = [candidate(0, 0, 10), candidate(1, 16, 40)];
        assert_eq!(run(&bids, &wanted(3, 10)), [(0, 0, 10)]);
    }

    #[test]
    fn an_idle_target_is_preferred_when_it_stands_alone() {
        let bids = [candidate(0, 0, 10), candidate(1, 4, 18), candidate(2, 4, 13)];
        assert_eq!(run(&bids, &wanted(3, 10)), [(0, 0, 10)], "14 is not wider by more than 5");
        let bids = [candidate(0, 0, 10), candidate(1, 4, 20), candidate(2, 40, 50)];
        assert_eq!(run(&bids, &wanted(2, 11)), [(1, 4, 15)], "the first is too narrow");
        let bids = [candidate(0, 0, 14), candidate(1, 4, 24)];
        assert_eq!(run(&bids, &wanted(2, 13)), [(1, 4, 17)]);
        let flawed = Sequence {
            rule: SequenceRule { keep_idle_window: true, ..wanted(2, 13).rule },
            ..wanted(2, 13)
        };
        assert_eq!(run(&bids, &flawed), [(1, 4, 24)], "the original keeps the whole window");
    }

    #[test]
    fn the_papers_rule_prefers_idle_targets_also_for_the_last_replica() {
        let paper = |need| {
            let mut look_for = wanted(need, 10);
            look_for.rule.idle = Idle::WiderThanNeeded(Span::from_ns(5));
            look_for.rule.idle_for_last = true;
            look_for
        };
        // The first is as wide as the others, but only what is needed of it counts.
        let bids = [candidate(0, 0, 30), candidate(1, 3, 33), candidate(2, 6, 36)];
        assert_eq!(run(&bids, &wanted(1, 10)), [(0, 0, 10)]);
        assert_eq!(run(&bids, &paper(1)), [(2, 6, 16)], "each within 5 of the one before");
        let bids = [candidate(0, 0, 30), candidate(1, 3, 18), candidate(2, 6, 36)];
        assert_eq!(run(&bids, &paper(1)), [(0, 0, 10)], "one too narrow, one too late");
        assert_eq!(run(&bids, &paper(2))[0], (0, 0, 10), "a second window is in reach");
    }

    #[test]
    fn of_transfers_that_would_begin_together_the_least_busy_disk_is_taken() {
        let mut bids = [
            candidate(0, 0, 50),
            candidate(1, 2, 50),
            candidate(2, 4, 50),
            candidate(3, 6, 50),
            candidate(4, 19, 60),
        ];
        for (bid, backlog) in bids.iter_mut().zip([3, 2, 1, 0, 0]) {
            bid.backlog = Span::from_ns(backlog);
        }
        let by_backlog =
            Sequence { earliest: Time::from_ns(5), ties: Ties::ByBacklog, ..wanted(3, 10) };
        // The last one is as idle, but starts later than the link is free.
        assert_eq!(run(&bids, &by_backlog), [(2, 5, 15), (3, 15, 25), (4, 25, 35)]);
        let mut link = LinkSchedule::default();
        link.take(Window { start: Time::from_ns(5), end: Time::from_ns(19) });
        let held_up = Sequence { link: &link, need: 1, ..by_backlog };
        let idle = if bids[3].lot < bids[4].lot { 3 } else { 4 };
        assert_eq!(run(&bids, &held_up), [(idle, 19, 29)], "the link holds all of them up");
    }

    /// Alone, with idle members in reach.
    #[test]
    fn of_idle_targets_the_least_busy_disk_is_preferred() {
        let mut bids = [candidate(0, 0, 11), candidate(1, 4, 21), candidate(2, 4, 21)];
        for (bid, backlog) in bids.iter_mut().zip([0, 7, 6]) {
            bid.backlog = Span::from_ns(backlog);
        }
        let ties = |ties| Sequence { ties, ..wanted(2, 11) };
        assert_eq!(run(&bids, &ties(Ties::ByName)), [(1, 4, 15)]);
        assert_eq!(run(&bids, &ties(Ties::ByBacklog)), [(2, 4, 15)]);
    }

    proptest! {
        #[test]
        fn chosen_windows_fit_their_bids_and_do_not_overlap(
            bids in prop::collection::vec((0u64..60, 1u64..60, 0u64..5), 0..9),
            need in 0usize..4,
            width in 1u64..40,
            earliest in 0u64..40,
            keep: bool,
            by_backlog: bool,
        ) {
            let mut bids: Vec<Candidate> = bids
                .iter()
                .enumerate()
                .map(|(i, &(start, width, backlog))| Candidate {
                    backlog: Span::from_ns(backlog),
                    ..candidate(i as u8, start, start + width)
                })
                .collect();
            sort_candidates(&mut bids);
            let mut look_for = Sequence { earliest: Time::from_ns(earliest), ..wanted(need, width) };
            look_for.ties = if by_backlog { Ties::ByBacklog } else { Ties::ByName };
            look_for.rule.keep_idle_window = keep;
            let mut chosen = Vec::new();
            earliest_sequence(&bids, &look_for, &mut chosen);
            prop_assert!(chosen.len() <= need);
            for c in &chosen {
                let bid = bids.iter().find(|b| b.position == c.position).unwrap();
                prop_assert!(bid.window.contains(&c.window));
                prop_assert!(c.window.start.as_ns() >= earliest);
                prop_assert!(c.window.width().as_ns() >= width);
            }
            for pair in chosen.windows(2) {
                prop_assert!(pair[0].window.end <= pair[1].window.start);
                prop_assert!(pair[0].position != pair[1].position);
            }
            let usable = bids.iter().any(|b| {
                b.window.end.as_ns() >= b.window.start.as_ns().max(earliest) + width
            });
            prop_assert_eq!(!chosen.is_empty(), usable && need > 0);
        }
    }
}
