//! Surveys: what is asked again, and what is not.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::ranges::{RangeSum, chunk_sum, combined, range_of};
use super::*;

pub(super) const RULES: RepairRules = RepairRules {
    at_once: 4,
    heal_share: Share::from_percent(25),
    scrub_share: Share::from_percent(10),
    least_pause: Span::from_us(50),
    survey_pause: Span::from_us(20),
    most_pause: Span::from_ms(1),
    period: Span::from_secs(100),
    belief: Span::from_secs(100),
    scrub_period: Span::from_secs(1000),
    first_scrub: Span::from_secs(1000),
    retry: Span::from_ms(10),
    surplus_after: Span::from_ms(10),
};

/// What a member holds.
#[derive(Clone, Default)]
pub(super) struct Shelf(pub(super) BTreeSet<ChunkId>);

impl Inventory for Shelf {
    fn chunk_from(&self, from: Bound<ChunkId>) -> Option<ChunkId> {
        self.0.range((from, Bound::Unbounded)).next().copied()
    }

    fn wanted(&self, chunk: &ChunkId) -> Option<Wanted> {
        self.0.contains(chunk).then_some(Wanted::bare(3))
    }

    fn size(&self, chunk: &ChunkId) -> Option<Size> {
        self.0.contains(chunk).then_some(Size::from_bytes(100))
    }

    fn range_sum(&self, bits: u8, range: u32) -> RangeSum {
        let chunks = self.0.iter().filter(|chunk| range_of(chunk, bits) == range);
        chunks.fold(RangeSum::default(), |sum, chunk| RangeSum {
            sum: sum.sum.wrapping_add(chunk_sum(chunk, Wanted::bare(3))),
            chunks: sum.chunks + 1,
        })
    }

    fn read_rate(&self) -> Rate {
        Rate::from_bytes_per_s(1 << 30)
    }
}

pub(super) fn chunk(n: u32) -> ChunkId {
    let mut name = ChunkId([0; 32]);
    name.0[..8].copy_from_slice(&u64::from(n).to_le_bytes());
    let mixed = name.mix(1).to_be_bytes();
    name.0[..8].copy_from_slice(&mixed);
    name
}

/// A group of five members, of which the first one repairs; every chunk is wanted on three.
struct Group {
    members: Vec<Shelf>,
    repair: Repair,
    now: Time,
    wake: Time,
    todo: Vec<RepairEffect>,
    /// A member does not answer.
    silent: Option<usize>,
    asked: BTreeMap<&'static str, usize>,
}

impl Group {
    fn new(chunks: u32) -> Group {
        let mut members = alloc::vec![Shelf::default(); 5];
        for n in 0..chunks {
            for member in [n, n + 1, n + 3] {
                members[(member % 5) as usize].0.insert(chunk(n));
            }
        }
        Group {
            members,
            repair: Repair::new(RULES, 0, 5),
            now: Time::ZERO,
            wake: Time::NEVER,
            todo: Vec::new(),
            silent: None,
            asked: BTreeMap::new(),
        }
    }

    fn tell(&mut self, input: RepairInput) {
        let mut effects = Vec::new();
        self.repair.handle(self.now, input, &self.members[0], &mut effects);
        for effect in effects {
            match effect {
                RepairEffect::WakeAt(time) => self.wake = time,
                effect => self.todo.push(effect),
            }
        }
    }

    fn holders(&self, chunk: &ChunkId) -> usize {
        self.members.iter().filter(|member| member.0.contains(chunk)).count()
    }

    fn answer(&mut self, effect: RepairEffect) -> RepairInput {
        let kind = match &effect {
            RepairEffect::Compare { .. } => "compare",
            RepairEffect::Survey(..) => "survey",
            RepairEffect::Check(_) => "check",
            _ => "other",
        };
        *self.asked.entry(kind).or_default() += 1;
        match effect {
            RepairEffect::Compare { bits, first, count } => {
                let sums = |shelf: &Shelf| -> Vec<u64> {
                    let ranges = first..first + u32::from(count);
                    ranges.map(|range| shelf.range_sum(bits, range).sum).collect()
                };
                let sums: Vec<_> = self.members[1..].iter().map(sums).collect();
                let said: Vec<_> = (1..).zip(&sums).map(|(n, sums)| (n, Some(&sums[..]))).collect();
                let others = combined(1, &said, usize::from(count));
                RepairInput::Compared(self.silent.is_none().then(|| others.into()))
            }
            RepairEffect::Survey(number, chunks) => {
                let answers = |chunk: &ChunkId| {
                    let answering = (0..5).filter(|n| Some(*n) != self.silent);
                    answering.filter(|n| self.members[*n].0.contains(chunk)).count() >= 3
                };
                let enough = chunks.iter().enumerate().filter(|(_, (chunk, _))| answers(chunk));
                let enough = enough.fold(0, |all, (bit, _)| all | 1 << bit);
                let answers = match self.silent {
                    None => Answers::All,
                    Some(_) => Answers::Some,
                };
                RepairInput::Surveyed { number, enough, surplus: 0, answers }
            }
            RepairEffect::Check(chunk) => {
                let outcome = match (self.members[0].0.contains(&chunk), self.holders(&chunk)) {
                    (false, _) => RepairOutcome::NotFound,
                    (true, 3..) => RepairOutcome::Complete,
                    (true, _) => RepairOutcome::Lacking,
                };
                RepairInput::Ended(chunk, outcome)
            }
            RepairEffect::PutAgain(chunk) => {
                let missing = self.members.iter_mut().filter(|member| !member.0.contains(&chunk));
                missing.take(1).for_each(|member| assert!(member.0.insert(chunk)));
                let outcome = match self.holders(&chunk) {
                    3.. => RepairOutcome::Healed,
                    _ => RepairOutcome::Failed,
                };
                RepairInput::Ended(chunk, outcome)
            }
            RepairEffect::Read(chunk) | RepairEffect::Recover(chunk, _) => {
                RepairInput::Ended(chunk, RepairOutcome::Complete)
            }
            RepairEffect::Release(_) => unreachable!("nothing is surplus"),
            RepairEffect::WakeAt(_) => unreachable!("they are kept apart"),
        }
    }

    /// Scans for a reason, to the end.
    fn scan(&mut self) {
        self.asked.clear();
        let scans = self.repair.statistics().scans;
        self.tell(RepairInput::Changed);
        self.run_until(scans + 1);
    }

    fn run_until(&mut self, scans: u64) {
        self.run_while(|group| group.repair.statistics().scans < scans);
    }

    fn run_while(&mut self, goes_on: impl Fn(&Group) -> bool) {
        for _ in 0..200_000 {
            if !goes_on(self) {
                return;
            }
            if self.todo.is_empty() {
                assert_ne!(self.wake, Time::NEVER, "it hangs");
                self.now = self.now.max(self.wake);
                self.wake = Time::NEVER;
                self.tell(RepairInput::Wake);
            } else {
                let effect = self.todo.remove(0);
                let answer = self.answer(effect);
                self.now += Span::from_us(10);
                self.tell(answer);
            }
        }
        panic!("it does not end");
    }

    fn asked(&self, kind: &str) -> usize {
        self.asked.get(kind).copied().unwrap_or(0)
    }

    fn all_on_enough(&self) -> bool {
        self.members[0].0.iter().all(|chunk| self.holders(chunk) >= 3)
    }
}

#[test]
fn what_has_not_changed_is_asked_about_by_its_sum_alone() {
    let mut group = Group::new(20_000);
    group.scan();
    let held = group.members[0].0.len();
    assert!(group.asked("survey") < held / 16 && group.asked("check") == 0, "{:?}", group.asked);
    group.scan();
    assert_eq!((group.asked("survey"), group.asked("check")), (0, 0));
    assert!((1..=2).contains(&group.asked("compare")), "{:?}", group.asked);
    assert_eq!(group.repair.statistics().visited, 2 * held as u64);
    // One chunk more somewhere, and only its range is looked at.
    group.members[3].0.insert(chunk(1_000_000));
    group.scan();
    assert!((1..=8).contains(&group.asked("survey")), "{:?}", group.asked);
    group.scan();
    assert_eq!(group.asked("survey"), 0);
}

/// A scan that has no reason believes nothing that was known.
#[test]
fn a_scan_because_it_is_time_looks_at_everything() {
    let mut group = Group::new(3000);
    group.scan();
    group.scan();
    assert_eq!(group.asked("survey"), 0);
    group.asked.clear();
    group.run_until(3);
    assert!(group.asked("survey") > 10, "{:?}", group.asked);
}

#[test]
fn a_member_that_does_not_answer_is_no_reason_to_believe_anything() {
    let mut group = Group::new(300);
    group.silent = Some(4);
    group.scan();
    // What is on it, too, is asked about one by one: those are asked again.
    assert!(group.asked("check") > 50, "{:?}", group.asked);
    group.scan();
    assert!(group.asked("survey") > 1 && group.asked("check") > 50, "{:?}", group.asked);
    group.silent = None;
    group.scan();
    assert!(group.asked("survey") > 1 && group.asked("check") == 0, "{:?}", group.asked);
    group.scan();
    assert_eq!(group.asked("survey"), 0);
}

/// A scan begins in the middle of a range, and comes to its other part at its end: what is lost meanwhile of the part
/// that was passed is no part of what is known then.
#[test]
fn what_is_lost_of_a_range_that_is_half_passed_is_found() {
    let mut group = Group::new(30_000);
    group.repair = Repair::new(RULES, 2, 9);
    group.scan();
    let start = chunk_at(2, 9);
    let passed = *group.members[0].0.range(start..).next().expect("a chunk after the start");
    assert!(group.members[0].0.len() > 64 * 128 * 2, "more ranges than are compared at once");
    group.asked.clear();
    group.tell(RepairInput::Changed);
    group.run_while(|group| group.asked("compare") < 2);
    let holder = (1..5).find(|n| group.members[*n].0.contains(&passed)).expect("others hold it");
    group.members[holder].0.remove(&passed);
    let scans = group.repair.statistics().scans;
    group.run_until(scans + 1);
    group.scan();
    assert!(group.all_on_enough(), "{passed}");
}

/// Where the scans of a member begin.
fn chunk_at(position: u64, members: u64) -> ChunkId {
    let mut start = ChunkId([0; 32]);
    start.0[..8].copy_from_slice(&(u64::MAX / members * position).to_be_bytes());
    start
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is lost between two scans, the second one brings it back.
    #[test]
    fn no_loss_is_overlooked(
        chunks in 1u32..4000,
        position in 0u8..5,
        losses in proptest::collection::vec((0usize..5, 0u32..4000), 0..8),
        gains in proptest::collection::vec((0usize..5, 0u32..4000), 0..4),
    ) {
        let mut group = Group::new(chunks);
        group.repair = Repair::new(RULES, position, 5);
        group.scan();
        prop_assert!(group.all_on_enough());
        for (member, n) in losses {
            group.members[member].0.remove(&chunk(n % chunks));
        }
        for (member, n) in gains {
            group.members[member].0.insert(chunk(n));
        }
        group.scan();
        group.tell(RepairInput::Wake);
        group.scan();
        prop_assert!(group.all_on_enough());
        group.scan();
        prop_assert_eq!(group.asked("check"), 0);
    }
}
