mod lost;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

const RULES: RepairRules = RepairRules {
    at_once: 3,
    heal_share: Share::from_percent(40),
    scrub_share: Share::from_percent(10),
    least_pause: Span::from_us(10),
    survey_pause: Span::from_us(10),
    most_pause: Span::from_ms(100),
    period: Span::from_secs(1),
    belief: Span::from_secs(1),
    scrub_period: Span::from_secs(1),
    first_scrub: Span::from_ms(200),
    retry: Span::from_ms(1),
    surplus_after: Span::from_ms(10),
};

/// Chunks of a thousand bytes on a disk that reads one in 2 us: nothing has to wait for it.
struct Held(BTreeSet<ChunkId>);

const SIZE: Size = Size::from_bytes(1_000);
const RATE: Rate = Rate::from_bytes_per_s(500_000_000);

impl Inventory for Held {
    fn chunk_from(&self, from: Bound<ChunkId>) -> Option<ChunkId> {
        self.0.range((from, Bound::Unbounded)).next().copied()
    }

    fn wanted(&self, chunk: &ChunkId) -> Option<Wanted> {
        self.0.contains(chunk).then_some(Wanted::bare(3))
    }

    fn size(&self, chunk: &ChunkId) -> Option<Size> {
        self.0.contains(chunk).then_some(SIZE)
    }

    fn range_sum(&self, bits: u8, range: u32) -> RangeSum {
        let of_range = |sum: RangeSum, chunk: &ChunkId| RangeSum {
            sum: sum.sum.wrapping_add(ranges::chunk_sum(chunk, Wanted::bare(3))),
            chunks: sum.chunks + 1,
        };
        let chunks = self.0.iter().filter(|chunk| ranges::range_of(chunk, bits) == range);
        chunks.fold(RangeSum::default(), of_range)
    }

    fn read_rate(&self) -> Rate {
        RATE
    }
}

fn chunk(n: u8) -> ChunkId {
    let mut name = [0; 32];
    name[0] = n;
    ChunkId(name)
}

fn chunk_of(effect: &RepairEffect) -> ChunkId {
    match *effect {
        RepairEffect::Check(of)
        | RepairEffect::PutAgain(of)
        | RepairEffect::Read(of)
        | RepairEffect::Recover(of, _) => of,
        RepairEffect::WakeAt(_)
        | RepairEffect::Compare { .. }
        | RepairEffect::Survey(..)
        | RepairEffect::Release(_) => {
            unreachable!("they are kept apart")
        }
    }
}

fn check(n: u8) -> RepairEffect {
    RepairEffect::Check(chunk(n))
}

/// A host that answers everything, oldest first, and keeps the clock. No member answers to surveys, so that each chunk
/// is asked about. There are enough replicas but of chunks
/// with another outcome, which is that of putting them again.
struct Rig {
    repair: Repair,
    held: Held,
    now: Time,
    wake: Option<Time>,
    open: Vec<RepairEffect>,
    surveys: Vec<RepairInput>,
    done: Vec<RepairEffect>,
    outcomes: BTreeMap<ChunkId, RepairOutcome>,
}

impl Rig {
    fn new(position: u8, held: impl IntoIterator<Item = u8>) -> Rig {
        Rig {
            repair: Repair::new(RULES, position, 4),
            held: Held(held.into_iter().map(chunk).collect()),
            now: Time::ZERO,
            wake: None,
            open: Vec::new(),
            surveys: Vec::new(),
            done: Vec::new(),
            outcomes: BTreeMap::new(),
        }
    }

    fn tell(&mut self, input: RepairInput) {
        let mut effects = Vec::new();
        self.repair.handle(self.now, input, &self.held, &mut effects);
        for effect in effects {
            match effect {
                RepairEffect::WakeAt(time) => self.wake = Some(time),
                RepairEffect::Compare { .. } => self.surveys.push(RepairInput::Compared(None)),
                RepairEffect::Survey(number, _) => {
                    let (enough, answers) = (0, Answers::All);
                    self.surveys.push(RepairInput::Surveyed {
                        number,
                        enough,
                        surplus: 0,
                        answers,
                    });
                }
                other => self.open.push(other),
            }
        }
        assert!(self.open.len() <= RULES.at_once, "{:?}", self.open);
    }

    /// Answers one, or lets time pass; false if neither is possible before `end`.
    fn step(&mut self, end: Time) -> bool {
        if !self.surveys.is_empty() {
            let reply = self.surveys.remove(0);
            self.tell(reply);
            return true;
        }
        if !self.open.is_empty() {
            let effect = self.open.remove(0);
            self.done.push(effect.clone());
            let of = chunk_of(&effect);
            let outcome = match (effect, self.outcomes.get(&of).copied()) {
                (RepairEffect::Check(_), Some(RepairOutcome::Healed | RepairOutcome::Failed)) => {
                    RepairOutcome::Lacking
                }
                (RepairEffect::Read(_), _) | (_, None) => RepairOutcome::Complete,
                (_, Some(outcome)) => outcome,
            };
            self.tell(RepairInput::Ended(of, outcome));
            return true;
        }
        let Some(wake) = self.wake.take_if(|wake| *wake <= end) else { return false };
        self.now = self.now.max(wake);
        self.tell(RepairInput::Wake);
        true
    }

    fn run_for(&mut self, span: Span) {
        let end = self.now + span;
        while self.step(end) {}
        self.now = end;
    }
}

#[test]
fn a_scan_begins_at_the_place_of_the_position_and_reads_nothing() {
    let mut rig = Rig::new(2, [10, 100, 130, 200]);
    rig.tell(RepairInput::Changed);
    rig.run_for(Span::from_ms(1));
    assert_eq!(rig.done, [130, 200, 10, 100].map(check));
    assert_eq!(rig.repair.statistics().scans, 1);
    assert_eq!(rig.repair.progress(rig.now), None);
}

#[test]
fn what_lacks_replicas_is_put_again_and_nothing_else() {
    let mut rig = Rig::new(0, [1, 2, 3]);
    rig.outcomes.insert(chunk(2), RepairOutcome::Healed);
    rig.tell(RepairInput::Changed);
    rig.run_for(Span::from_ms(1));
    let put = RepairEffect::PutAgain(chunk(2));
    assert_eq!(rig.done.iter().filter(|done| **done == put).count(), 1, "{:?}", rig.done);
    assert_eq!(rig.done.len(), 4, "{:?}", rig.done);
    assert_eq!(rig.repair.statistics().healed, 1);
}

/// It is not known before a scan has ended, nor from a change until one that began after it has.
#[test]
fn how_many_are_short_is_known_when_no_scan_is_owed() {
    let mut rig = Rig::new(0, [1, 2, 3]);
    rig.run_for(Span::from_ms(1));
    assert_eq!(rig.repair.short(), None, "it has never looked");
    rig.tell(RepairInput::Changed);
    assert_eq!(rig.repair.short(), None);
    // Something changes amid the scan, which may have missed it.
    rig.step(Time::NEVER);
    rig.tell(RepairInput::Changed);
    while rig.repair.statistics().scans == 0 {
        assert!(rig.step(Time::NEVER));
    }
    assert_eq!(rig.repair.short(), None);
    rig.run_for(Span::from_ms(1));
    assert_eq!((rig.repair.statistics().scans, rig.repair.short()), (2, Some(0)));
    // The period is over, and nothing has changed.
    rig.now = Time::ZERO + Span::from_ms(1_005);
    rig.tell(RepairInput::Wake);
    assert!(rig.repair.is_scanning());
    assert_eq!(rig.repair.short(), Some(0));
    rig.run_for(Span::from_ms(1));
    // One cannot be put again.
    rig.outcomes.insert(chunk(2), RepairOutcome::Failed);
    rig.tell(RepairInput::Changed);
    rig.run_for(Span::from_us(500));
    assert!(!rig.repair.is_scanning());
    assert_eq!(rig.repair.short(), Some(1));
    rig.tell(RepairInput::Lost(chunk(9), Wanted::bare(3)));
    assert_eq!(rig.repair.short(), Some(2));
}

#[test]
fn what_others_put_is_passed_over() {
    let mut rig = Rig::new(0, [1, 2, 3, 4, 5, 6]);
    rig.tell(RepairInput::Heard(chunk(1), Wanted::bare(3)));
    rig.tell(RepairInput::Changed);
    rig.tell(RepairInput::Heard(chunk(5), Wanted::bare(3)));
    rig.run_for(Span::from_ms(1));
    assert_eq!(rig.done, [1, 2, 3, 4, 6].map(check), "1 was heard before the scan");
    assert_eq!(rig.repair.statistics().visited, 6);
    // A member is gone: what was heard before means nothing.
    rig.done.clear();
    rig.tell(RepairInput::Changed);
    rig.run_for(Span::from_ms(1));
    assert!(rig.done.contains(&check(5)));
}

/// Somebody else was told of fewer replicas: what it puts does not make up for those wanted here.
#[test]
fn what_others_put_on_fewer_targets_is_asked_about() {
    let mut rig = Rig::new(0, [0, 1, 2]);
    rig.tell(RepairInput::Changed);
    rig.tell(RepairInput::Heard(chunk(1), Wanted::bare(4)));
    rig.tell(RepairInput::Heard(chunk(2), Wanted::bare(2)));
    rig.run_for(Span::from_ms(1));
    assert_eq!(rig.done, [0, 2].map(check));
}

/// What is put for names alone does not make up for what is wanted without a name.
#[test]
fn what_others_put_with_a_lower_claim_is_asked_about() {
    let mut rig = Rig::new(0, [0, 1, 2]);
    rig.tell(RepairInput::Changed);
    rig.tell(RepairInput::Heard(chunk(1), Wanted::bare(4)));
    rig.tell(RepairInput::Heard(chunk(2), Wanted::named(4)));
    rig.run_for(Span::from_ms(1));
    assert_eq!(rig.done, [0, 2].map(check));
}

#[test]
fn a_scrub_reads_everything_at_its_times() {
    let mut rig = Rig::new(0, [1, 2, 3]);
    rig.tell(RepairInput::Changed);
    rig.run_for(Span::from_ms(199));
    assert_eq!(rig.repair.statistics().scrubs, 0);
    rig.done.clear();
    rig.tell(RepairInput::Heard(chunk(2), Wanted::bare(3)));
    rig.run_for(Span::from_ms(2));
    assert_eq!(rig.done, [1, 2, 3].map(|n| RepairEffect::Read(chunk(n))));
    let statistics = rig.repair.statistics();
    assert_eq!((statistics.scrubs, statistics.scrubbed), (1, 3));
    rig.run_for(Span::from_ms(1_500));
    let statistics = rig.repair.statistics();
    assert_eq!((statistics.scrubs, statistics.scans), (2, 2), "after the period, each for itself");
}

/// The store says that a chunk is lost before it answers the read that found out.
#[test]
fn what_a_scrub_finds_rotten_is_recovered() {
    let mut rig = Rig::new(0, [1]);
    rig.outcomes.insert(chunk(1), RepairOutcome::Healed);
    rig.tell(RepairInput::Changed);
    rig.run_for(Span::from_ms(199));
    let healed = rig.repair.statistics().healed;
    while rig.open.is_empty() {
        assert!(rig.step(Time::NEVER), "a scrub begins");
    }
    assert_eq!(rig.open, [RepairEffect::Read(chunk(1))]);
    rig.held.0.clear();
    rig.tell(RepairInput::Lost(chunk(1), Wanted::bare(3)));
    assert_eq!(rig.open.len(), 1, "one thing at a time");
    rig.open.clear();
    rig.tell(RepairInput::Ended(chunk(1), RepairOutcome::NotFound));
    rig.run_for(Span::from_ms(5));
    assert_eq!(rig.done.last(), Some(&RepairEffect::Recover(chunk(1), Wanted::bare(3))));
    let statistics = rig.repair.statistics();
    assert_eq!((statistics.recovered, statistics.healed), (1, healed + 1));
}

/// Nobody can look up any more how many targets were to hold what is lost.
#[test]
fn what_is_lost_is_recovered_for_as_many_targets_however_often_that_fails() {
    let mut rig = Rig::new(0, []);
    rig.outcomes.insert(chunk(9), RepairOutcome::Failed);
    rig.tell(RepairInput::Lost(chunk(9), Wanted::bare(5)));
    rig.run_for(Span::from_ms(5));
    assert!(rig.done.len() > 2, "{:?}", rig.done);
    assert!(rig.done.iter().all(|done| *done == RepairEffect::Recover(chunk(9), Wanted::bare(5))));
}

#[test]
fn a_change_during_a_scan_brings_another_one() {
    let mut rig = Rig::new(0, [1, 2, 3]);
    rig.tell(RepairInput::Changed);
    rig.tell(RepairInput::Changed);
    rig.run_for(Span::from_ms(500));
    assert_eq!(rig.repair.statistics().scans, 2);
    rig.run_for(Span::from_secs(1));
    assert_eq!(rig.repair.statistics().scans, 3, "the period");
}

#[test]
fn what_fails_is_tried_again_soon() {
    let mut rig = Rig::new(0, [1, 2, 3]);
    rig.outcomes.insert(chunk(2), RepairOutcome::Failed);
    rig.tell(RepairInput::Changed);
    rig.run_for(Span::from_us(200));
    let statistics = rig.repair.statistics();
    assert_eq!((statistics.under_replicated, statistics.failed), (1, 1));
    rig.outcomes.insert(chunk(2), RepairOutcome::Healed);
    rig.run_for(Span::from_ms(2));
    let statistics = rig.repair.statistics();
    assert_eq!((statistics.under_replicated, statistics.healed, statistics.scans), (0, 1, 1));
}

#[test]
fn what_is_lost_is_recovered_before_anything_else() {
    let mut rig = Rig::new(0, [1, 2, 3]);
    rig.outcomes.insert(chunk(9), RepairOutcome::Failed);
    rig.tell(RepairInput::Lost(chunk(9), Wanted::bare(3)));
    rig.tell(RepairInput::Lost(chunk(9), Wanted::bare(3)));
    rig.run_for(Span::from_us(200));
    assert_eq!(rig.done, vec![RepairEffect::Recover(chunk(9), Wanted::bare(3))]);
    assert_eq!(rig.repair.statistics().under_replicated, 1);
    rig.outcomes.insert(chunk(9), RepairOutcome::Healed);
    rig.run_for(Span::from_ms(2));
    assert_eq!(rig.done[1], RepairEffect::Recover(chunk(9), Wanted::bare(3)));
    let statistics = rig.repair.statistics();
    assert_eq!((statistics.under_replicated, statistics.recovered), (0, 1));
}

#[test]
fn who_leaves_asks_about_everything_itself() {
    let mut rig = Rig::new(0, [1, 2, 3]);
    rig.tell(RepairInput::Changed);
    rig.run_for(Span::from_ms(1));
    assert!(!rig.repair.has_handed_over(), "it stays");
    rig.done.clear();
    rig.tell(RepairInput::Draining(true));
    (1..4).for_each(|n| rig.tell(RepairInput::Heard(chunk(n), Wanted::bare(3))));
    assert!(!rig.repair.has_handed_over());
    rig.run_for(Span::from_ms(1));
    assert_eq!(rig.done, [1, 2, 3].map(check));
    assert!(rig.repair.has_handed_over());
    // It is told again, and nothing begins anew; it stays after all, and leaves once more.
    rig.tell(RepairInput::Draining(true));
    assert!(rig.repair.has_handed_over());
    rig.tell(RepairInput::Draining(false));
    assert!(!rig.repair.has_handed_over());
    rig.run_for(Span::from_ms(1));
    rig.tell(RepairInput::Draining(true));
    assert!(!rig.repair.has_handed_over());
}

#[test]
fn who_leaves_has_not_handed_over_what_failed_is_lost_or_came_later() {
    let mut rig = Rig::new(0, [1, 2, 3]);
    rig.outcomes.insert(chunk(2), RepairOutcome::Failed);
    rig.tell(RepairInput::Draining(true));
    rig.run_for(Span::from_us(200));
    assert!(!rig.repair.has_handed_over(), "one failed");
    rig.outcomes.clear();
    rig.run_for(Span::from_ms(2));
    assert!(rig.repair.has_handed_over());
    rig.outcomes.insert(chunk(9), RepairOutcome::Failed);
    rig.tell(RepairInput::Lost(chunk(9), Wanted::bare(3)));
    rig.run_for(Span::from_us(200));
    assert!(!rig.repair.has_handed_over(), "one is lost and not recovered");
    rig.outcomes.clear();
    rig.run_for(Span::from_ms(2));
    assert!(rig.repair.has_handed_over());
    // Granted before it left, and stored only now: behind the scan, or after it.
    rig.held.0.insert(chunk(4));
    rig.tell(RepairInput::Stored);
    assert!(!rig.repair.has_handed_over());
    rig.held.0.insert(chunk(0));
    rig.tell(RepairInput::Stored);
    rig.done.clear();
    rig.run_for(Span::from_ms(2));
    assert!(rig.repair.has_handed_over());
    assert!(rig.done.contains(&check(0)), "{:?}", rig.done);
}

#[test]
fn what_is_under_way_when_a_target_is_told_to_leave_does_not_count() {
    let mut rig = Rig::new(0, [1, 2, 3]);
    rig.tell(RepairInput::Changed);
    rig.tell(RepairInput::Heard(chunk(3), Wanted::bare(3)));
    rig.step(Time::NEVER);
    rig.tell(RepairInput::Draining(true));
    let before = rig.done.len();
    rig.run_for(Span::from_ms(1));
    assert!(rig.repair.has_handed_over());
    let again = &rig.done[before..];
    for n in 1..4 {
        assert!(again.contains(&check(n)), "{n} of {again:?}");
    }
}

proptest! {
    /// Whatever fails, comes and is lost while a target leaves: once it says that it has handed over, of
    /// every chunk that it holds the others had enough, or it was put again without it, after it had come.
    #[test]
    fn what_has_been_handed_over_was_put_again(
        held in prop::collection::btree_set(any::<u8>(), 0..40),
        events in prop::collection::vec((any::<u8>(), 0u8..6), 0..80),
    ) {
        let mut rig = Rig::new(1, held.iter().copied());
        rig.tell(RepairInput::Changed);
        for _ in 0..7 {
            rig.step(Time::NEVER);
        }
        // What was in hand when it was told was not put without it.
        let mut uncounted: BTreeSet<ChunkId> = rig.open.iter().map(chunk_of).collect();
        rig.tell(RepairInput::Draining(true));
        let mut handed_over: BTreeSet<ChunkId> = BTreeSet::new();
        let mut events = events.into_iter();
        let end = rig.now + Span::from_ms(900);
        while !rig.repair.has_handed_over() {
            let before = rig.done.len();
            prop_assert!(rig.step(end), "it ends");
            for done in &rig.done[before..] {
                let of = chunk_of(done);
                let outcome = match done {
                    RepairEffect::Check(_) => rig.outcomes.get(&of).copied(),
                    _ => rig.outcomes.remove(&of),
                };
                if !uncounted.remove(&of) && outcome.is_none() {
                    handed_over.insert(of);
                }
            }
            match events.next() {
                Some((n, 0 | 1)) => drop(rig.outcomes.insert(chunk(n), RepairOutcome::Failed)),
                Some((n, 2)) => {
                    if rig.held.0.insert(chunk(n)) {
                        handed_over.remove(&chunk(n));
                    }
                    rig.tell(RepairInput::Stored);
                }
                Some((n, 3)) => rig.tell(RepairInput::Heard(chunk(n), Wanted::bare(3))),
                Some((_, 4)) => rig.tell(RepairInput::Changed),
                _ => {}
            }
        }
        for held in &rig.held.0 {
            prop_assert!(handed_over.contains(held), "{:?}", held);
        }
    }

    /// Whatever comes and goes meanwhile, what is held all the time is visited in every scan.
    #[test]
    fn every_scan_visits_all(
        position in 0u8..4,
        stays in prop::collection::btree_set(any::<u8>(), 1..60),
        changes in prop::collection::vec((any::<u8>(), any::<bool>()), 0..60),
    ) {
        let mut rig = Rig::new(position, stays.iter().copied());
        rig.tell(RepairInput::Changed);
        let mut changes = changes.into_iter();
        let end = Time::ZERO + Span::from_ms(900);
        while rig.step(end) {
            match changes.next() {
                Some((n, true)) => {
                    rig.held.0.insert(chunk(n));
                }
                Some((n, false)) if !stays.contains(&n) => {
                    rig.held.0.remove(&chunk(n));
                }
                _ => {}
            }
        }
        prop_assert_eq!(rig.repair.statistics().scans, 1);
        for n in stays {
            prop_assert!(rig.done.contains(&check(n)), "{}", n);
        }
    }
}
