//! Replicast-M: the earliest window in which enough targets are free at once.

use slotcast_units::{Span, Time};

use super::{Candidate, LinkSchedule, Ties, by_backlog, domain_is_free};
use crate::window::Window;

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub struct CommonWindow<'a> {
    /// How many members are needed.
    pub need: usize,
    /// The initiator cannot send before this time.
    pub earliest: Time,
    /// How wide the window must be.
    pub width: Span,
    /// When the initiator's link is taken by other transfers, and how much of the window this one
    /// needs of it, from its beginning.
    pub link: &'a LinkSchedule,
    /// Time of the transfer on the link.
    pub transfer: Span,
    /// Failure domains that hold or will hold a replica already.
    pub taken: &'a [u32],
    /// Who is taken if more members than needed have the window.
    pub ties: Ties,
    /// Try only bids that follow each other in time, and the last such set never. The original
    /// does so; it misses common windows that exist, and has no more members in a set than are needed.
    pub consecutive_only: bool,
}

/// Finds the earliest window of the wanted width that `need` of the `candidates` share while the
/// initiator's link is free, and fills `chosen` with members that share it: the first in order, or with
/// [`Ties::ByBacklog`] those of the least busy disks, failure domain by failure domain. `candidates` must
/// be in order ([`super::sort_candidates`]).
///
/// Exact unless `consecutive_only`: if such a window exists, the earliest one is found, for a window
/// that cannot begin earlier begins at the start of a candidate or where the link becomes free. Who is
/// taken has no say in which window it is. O(n · (n + m)) for n candidates and m transfers on the link.
pub fn earliest_common_window(
    candidates: &[Candidate],
    look_for: &CommonWindow<'_>,
    chosen: &mut super::Chosen,
) -> Option<Window> {
    debug_assert!(candidates.windows(2).all(|p| p[0].window.start <= p[1].window.start));
    chosen.clear();
    if look_for.need == 0 || candidates.len() < look_for.need {
        return None;
    }
    if look_for.consecutive_only {
        return earliest_of_consecutive(candidates, look_for, chosen);
    }
    let CommonWindow { need, earliest, width, link, transfer, .. } = *look_for;
    let mut best: Option<Window> = None;
    for candidate in &candidates[need - 1..] {
        let start = link.free_from(candidate.window.start.max(earliest), transfer);
        let window = Window::new(start, width);
        let earlier = best.is_none_or(|best| window.start < best.start);
        if earlier && members_of(candidates, look_for, window, chosen) {
            best = Some(window);
        }
    }
    // A window may also have to wait for the link although its members are free before.
    let first = candidates[need - 1].window.start.max(earliest);
    let last = candidates.iter().map(|c| c.window.end).max().unwrap_or(first);
    for start in link.holes(first, transfer) {
        let window = Window::new(start, width);
        if window.end > last || best.is_some_and(|best| window.start >= best.start) {
            break;
        }
        if members_of(candidates, look_for, window, chosen) {
            best = Some(window);
            break;
        }
    }
    match (best, look_for.ties) {
        (Some(window), Ties::ByName) => {
            members_of(candidates, look_for, window, chosen);
        }
        (Some(window), Ties::ByBacklog) => least_busy(candidates, look_for, window, chosen),
        (None, _) => chosen.clear(),
    }
    best
}

/// Fills `chosen` with members whose bids hold `window`; says whether there are enough.
fn members_of(
    candidates: &[Candidate],
    look_for: &CommonWindow<'_>,
    window: Window,
    chosen: &mut super::Chosen,
) -> bool {
    chosen.clear();
    let reach = candidates.partition_point(|c| c.window.start <= window.start);
    for candidate in &candidates[..reach] {
        if candidate.window.contains(&window)
            && domain_is_free(candidate.domain, chosen, look_for.taken)
        {
            chosen.push(*candidate);
            if chosen.len() == look_for.need {
                return true;
            }
        }
    }
    false
}

/// Fills `chosen` with the least busy members whose bids hold `window`, of which there are enough. To take the
/// least busy one of the domains that are left, time after time, ends with the least sum as well.
fn least_busy(
    candidates: &[Candidate],
    look_for: &CommonWindow<'_>,
    window: Window,
    chosen: &mut super::Chosen,
) {
    chosen.clear();
    while chosen.len() < look_for.need {
        let able = candidates.iter().filter(|c| {
            c.window.contains(&window) && domain_is_free(c.domain, chosen, look_for.taken)
        });
        match able.min_by_key(|c| by_backlog(c)) {
            Some(least) => chosen.push(*least),
            None => return,
        }
    }
}

/// The original's search: sets of bids that follow each other in time, the last set left out.
fn earliest_of_consecutive(
    candidates: &[Candidate],
    look_for: &CommonWindow<'_>,
    chosen: &mut super::Chosen,
) -> Option<Window> {
    let CommonWindow { need, earliest, width, taken, link, transfer, .. } = *look_for;
    let sets = candidates.windows(need);
    let tried = if candidates.len() > need { sets.len() - 1 } else { sets.len() };
    for set in sets.take(tried) {
        let start = link.free_from(set[need - 1].window.start.max(earliest), transfer);
        let window = Window::new(start, width);
        let fits = set.iter().all(|c| c.window.contains(&window));
        let apart = (0..need).all(|i| domain_is_free(set[i].domain, &set[..i], taken));
        if fits && apart {
            chosen.extend_from_slice(set);
            return Some(window);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::{candidate, sort_candidates};
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const IDLE: &LinkSchedule = &LinkSchedule::IDLE;

    fn wanted(need: usize, width: u64) -> CommonWindow<'static> {
        CommonWindow {
            link: IDLE,
            transfer: Span::from_ns(width),
            need,
            earliest: Time::ZERO,
            width: Span::from_ns(width),
            taken: &[],
            ties: Ties::ByName,
            consecutive_only: false,
        }
    }

    #[test]
    fn the_earliest_overlap_of_three_wins() {
        let bids =
            [candidate(0, 0, 50), candidate(1, 10, 60), candidate(2, 20, 90), candidate(3, 30, 90)];
        let mut chosen = Vec::new();
        let window = earliest_common_window(&bids, &wanted(3, 30), &mut chosen).unwrap();
        assert_eq!(window, Window::new(Time::from_ns(20), Span::from_ns(30)));
        assert_eq!(chosen.iter().map(|c| c.position).collect::<Vec<_>>(), [0, 1, 2]);
    }

    /// Bids 0, 2 and 3 share a window, but 1 lies between them.
    #[test]
    fn a_bid_between_does_not_hide_a_common_window() {
        let bids = [
            candidate(0, 0, 100),
            candidate(1, 10, 15),
            candidate(2, 20, 100),
            candidate(3, 30, 100),
        ];
        let mut chosen = Vec::new();
        assert!(earliest_common_window(&bids, &wanted(3, 50), &mut chosen).is_some());
        let original = CommonWindow { consecutive_only: true, ..wanted(3, 50) };
        assert!(earliest_common_window(&bids, &original, &mut chosen).is_none());
    }

    /// The original never tries the last three bids.
    #[test]
    fn the_original_skips_the_last_triple() {
        let bids = [
            candidate(0, 0, 5),
            candidate(1, 20, 100),
            candidate(2, 20, 100),
            candidate(3, 30, 100),
        ];
        let mut chosen = Vec::new();
        let original = CommonWindow { consecutive_only: true, ..wanted(3, 50) };
        assert!(earliest_common_window(&bids, &original, &mut chosen).is_none());
        assert!(earliest_common_window(&bids, &wanted(3, 50), &mut chosen).is_some());
    }

    #[test]
    fn replicas_go_to_different_failure_domains() {
        let mut bids = [candidate(0, 0, 100), candidate(1, 0, 100), candidate(2, 40, 100)];
        bids[1].domain = 0;
        let mut chosen = Vec::new();
        let window = earliest_common_window(&bids, &wanted(2, 50), &mut chosen).unwrap();
        assert_eq!(window.start, Time::from_ns(40));
        assert_eq!(chosen.iter().map(|c| c.position).collect::<Vec<_>>(), [0, 2]);
        let taken = CommonWindow { taken: &[2], ..wanted(2, 50) };
        assert!(earliest_common_window(&bids, &taken, &mut chosen).is_none());
    }

    #[test]
    fn the_least_busy_of_those_that_have_the_window_are_taken() {
        let mut bids = [
            candidate(0, 0, 100),
            candidate(1, 0, 100),
            candidate(2, 0, 20),
            candidate(3, 10, 100),
            candidate(4, 10, 100),
        ];
        for (bid, backlog) in bids.iter_mut().zip([9, 8, 0, 7, 7]) {
            bid.backlog = Span::from_ns(backlog);
        }
        bids[4].domain = 3;
        sort_candidates(&mut bids);
        let look_for = |need| CommonWindow {
            earliest: Time::from_ns(15),
            ties: Ties::ByBacklog,
            ..wanted(need, 30)
        };
        let positions = |need| {
            let mut chosen = Vec::new();
            let window = earliest_common_window(&bids, &look_for(need), &mut chosen).unwrap();
            assert_eq!(window.start, Time::from_ns(15));
            chosen.iter().map(|c| c.position).collect::<Vec<_>>()
        };
        let of_one_domain = if bids[3].lot < bids[4].lot { bids[3] } else { bids[4] };
        assert_eq!(positions(1), [of_one_domain.position], "equals by lot");
        assert_eq!(positions(3), [of_one_domain.position, 1, 0], "and one of a domain");
    }

    /// Every set of `need` candidates of different domains that hold `window`, by its sum of backlogs.
    fn least_sum(bids: &[Candidate], need: usize, window: Window) -> Option<u64> {
        let able: Vec<_> = bids.iter().filter(|b| b.window.contains(&window)).collect();
        let sets = (0u32..1 << able.len()).filter(|set| set.count_ones() as usize == need);
        let sum = |set: u32| {
            let members: Vec<_> = (0..able.len()).filter(|i| set >> i & 1 == 1).collect();
            let domains: BTreeSet<u32> = members.iter().map(|&i| able[i].domain).collect();
            let sum = members.iter().map(|&i| able[i].backlog.as_ns()).sum();
            (domains.len() == need).then_some(sum)
        };
        sets.filter_map(sum).min()
    }

    proptest! {
        /// Backlogs decide who is taken, never when; and nobody less busy is left out.
        #[test]
        fn backlogs_choose_members_and_not_the_window(
            bids in prop::collection::vec((0u64..60, 1u64..60, 0u64..5, 0u32..5), 1..9),
            need in 1usize..4,
            width in 1u64..40,
            earliest in 0u64..40,
        ) {
            let mut bids: Vec<Candidate> = bids
                .iter()
                .enumerate()
                .map(|(i, &(start, width, backlog, domain))| Candidate {
                    domain,
                    backlog: Span::from_ns(backlog),
                    ..candidate(i as u8, start, start + width)
                })
                .collect();
            sort_candidates(&mut bids);
            let by_name = CommonWindow { earliest: Time::from_ns(earliest), ..wanted(need, width) };
            let by_backlog = CommonWindow { ties: Ties::ByBacklog, ..by_name };
            let (mut named, mut least) = (Vec::new(), Vec::new());
            let found = earliest_common_window(&bids, &by_backlog, &mut least);
            prop_assert_eq!(found, earliest_common_window(&bids, &by_name, &mut named));
            prop_assert_eq!(least.len(), named.len());
            if let Some(window) = found {
                prop_assert!(least.iter().all(|c| c.window.contains(&window)));
                let domains: BTreeSet<u32> = least.iter().map(|c| c.domain).collect();
                prop_assert_eq!(domains.len(), need);
                let sum = least.iter().map(|c| c.backlog.as_ns()).sum::<u64>();
                prop_assert_eq!(Some(sum), least_sum(&bids, need, window));
            }
        }

        /// Against trying every start and every set.
        #[test]
        fn no_earlier_window_exists(
            bids in prop::collection::vec((0u64..60, 1u64..60), 1..9),
            need in 1usize..4,
            width in 1u64..40,
            earliest in 0u64..40,
            taken in prop::collection::vec((0u64..30, 1u64..30), 0..3),
        ) {
            let mut bids: Vec<Candidate> = bids
                .iter()
                .enumerate()
                .map(|(i, &(start, width))| candidate(i as u8, start, start + width))
                .collect();
            sort_candidates(&mut bids);
            let mut link = LinkSchedule::default();
            let mut busy = Vec::new();
            let mut at = 0;
            for (gap, length) in taken {
                let window = Window::new(Time::from_ns(at + gap), Span::from_ns(length));
                at = window.end.as_ns();
                link.take(window);
                busy.push(window);
            }
            let look_for = CommonWindow {
                earliest: Time::from_ns(earliest),
                link: &link,
                ..wanted(need, width)
            };
            let mut chosen = Vec::new();
            let found = earliest_common_window(&bids, &look_for, &mut chosen);
            let fits = |start: u64| {
                let window = Window::new(Time::from_ns(start), Span::from_ns(width));
                busy.iter().all(|b| !b.overlaps(&window))
                    && bids.iter().filter(|b| b.window.contains(&window)).count() >= need
            };
            let best = (earliest..200).find(|&start| fits(start));
            prop_assert_eq!(found.map(|w| w.start.as_ns()), best);
            if let Some(window) = found {
                prop_assert_eq!(chosen.len(), need);
                prop_assert!(chosen.iter().all(|c| c.window.contains(&window)));
            }
        }
    }
}
