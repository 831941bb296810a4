//! Who keeps a chunk, and what becomes of those that do not.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::surplus::keepers;
use super::survey_tests::{RULES, Shelf, chunk};
use super::*;
use crate::group::{GroupMap, Members};
use crate::ids::GroupId;

const GROUP: GroupId = GroupId(0);

/// One group of 8 targets, so many to a failure domain.
fn groups(each: u32) -> GroupMap {
    GroupMap::new(8, 8, each).expect("one group")
}

proptest! {
    /// Whoever holds it: the keepers are holders in as many domains as wanted, no two in one, or there are none.
    #[test]
    fn keepers_are_as_many_domains_as_wanted(
        n in 0u32..,
        bits in 0u64..256,
        wanted in 1u8..5,
        each in 1u32..3,
    ) {
        let (map, holders) = (groups(each), Members::from_bits(bits));
        let domains = map.domains_of(GROUP, holders);
        let found = keepers(&map, GROUP, (&chunk(n), wanted), holders);
        prop_assert_eq!(found.is_some(), domains >= usize::from(wanted));
        if let Some(kept) = found {
            prop_assert!(kept.without(holders).is_empty());
            prop_assert_eq!(map.domains_of(GROUP, kept), usize::from(wanted));
            prop_assert_eq!(kept.len(), usize::from(wanted));
            // They stay the keepers when the others are gone.
            prop_assert_eq!(keepers(&map, GROUP, (&chunk(n), wanted), kept), Some(kept));
        }
    }

    /// Targets of one number that know of different holders, and each remove what they are no keeper of, in any order
    /// and each by what holds when it does so: enough stay.
    #[test]
    fn enough_stay(
        n in 0u32..,
        bits in 0u64..256,
        wanted in 1u8..5,
        order in Just((0u8..8).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let map = groups(1);
        let mut holders = Members::from_bits(bits);
        let before = holders.len();
        for position in order {
            let kept = keepers(&map, GROUP, (&chunk(n), wanted), holders);
            if holders.contains(position) && kept.is_some_and(|kept| !kept.contains(position)) {
                holders.remove(position);
            }
        }
        prop_assert_eq!(holders.len(), before.min(usize::from(wanted)));
    }
}

#[test]
fn every_member_keeps_its_part() {
    let map = groups(1);
    let mut kept = BTreeMap::<u8, u32>::new();
    for n in 0..800 {
        let keepers = keepers(&map, GROUP, (&chunk(n), 3), Members::first(8)).expect("enough");
        keepers.iter().for_each(|position| *kept.entry(position).or_default() += 1);
    }
    assert!(kept.values().all(|count| (230..370).contains(count)), "{kept:?}");
}

/// A repair of which every survey finds that all is on enough, and some surplus.
struct Rig {
    shelf: Shelf,
    repair: Repair,
    now: Time,
    wake: Time,
    released: Vec<Vec<ChunkId>>,
    surplus: BTreeSet<ChunkId>,
    settles: bool,
    /// Somebody does not answer, so that nobody knows what is surplus.
    is_silent: bool,
}

impl Rig {
    /// Who holds these, of which some are surplus. Nobody settles that, and all answer.
    fn new(held: BTreeSet<ChunkId>, surplus: BTreeSet<ChunkId>) -> Rig {
        Rig {
            shelf: Shelf(held),
            repair: Repair::new(RULES, 0, 5),
            now: Time::ZERO,
            wake: Time::NEVER,
            released: Vec::new(),
            surplus,
            settles: false,
            is_silent: false,
        }
    }

    fn tell(&mut self, input: RepairInput) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let mut effects = Vec::new();
            self.repair.handle(self.now, input, &self.shelf, &mut effects);
            for effect in effects {
                match effect {
                    RepairEffect::WakeAt(time) => self.wake = time,
                    RepairEffect::Compare { .. } => inputs.push(RepairInput::Compared(None)),
                    RepairEffect::Survey(number, chunks) => {
                        let bit = |(bit, (chunk, _)): (usize, &(ChunkId, Wanted))| {
                            u32::from(self.surplus.contains(chunk)) << bit
                        };
                        let found = chunks.iter().enumerate().map(bit).sum();
                        let (surplus, answers) = match self.is_silent {
                            true => (0, Answers::Some),
                            false => (found, Answers::All),
                        };
                        let enough = u32::MAX;
                        inputs.push(RepairInput::Surveyed { number, enough, surplus, answers });
                    }
                    RepairEffect::Release(chunks) => {
                        self.released.push(chunks.iter().map(|(chunk, _)| *chunk).collect());
                        if self.settles {
                            self.shelf
                                .0
                                .retain(|held| chunks.iter().all(|(chunk, _)| chunk != held));
                        }
                        let settled = if self.settles { u32::MAX } else { 0 };
                        inputs.push(RepairInput::Released { settled });
                    }
                    // It takes for ever: nobody has it who answers.
                    RepairEffect::Recover(..) => {}
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    fn run(&mut self, end: Time) {
        while self.wake <= end {
            self.now = self.now.max(self.wake);
            self.wake = Time::NEVER;
            self.tell(RepairInput::Wake);
        }
        self.now = end;
    }
}

#[test]
fn what_is_surplus_is_released_and_tried_again_until_that_is_settled() {
    let held: BTreeSet<ChunkId> = (0..100).map(chunk).collect();
    let surplus: BTreeSet<ChunkId> = (0..50).map(chunk).collect();
    let mut rig = Rig::new(held, surplus.clone());
    rig.tell(RepairInput::Changed);
    rig.run(Time::ZERO + Span::from_ms(50));
    let asked: BTreeSet<ChunkId> = rig.released.iter().flatten().copied().collect();
    assert_eq!(asked, surplus, "all of them, and nothing else");
    assert!(rig.released.iter().all(|chunks| chunks.len() <= 32));
    assert!(rig.released.iter().flatten().count() >= 2 * 50, "again and again");
    assert_eq!(rig.repair.statistics().surplus, 50);
    rig.settles = true;
    rig.run(Time::ZERO + Span::from_ms(80));
    assert_eq!(rig.repair.statistics().surplus, 0);
    let settled = rig.released.len();
    rig.run(Time::ZERO + Span::from_ms(120));
    assert_eq!(rig.released.len(), settled, "what is settled is not asked about again");
}

#[test]
fn who_leaves_removes_nothing() {
    let held: BTreeSet<ChunkId> = (0..20).map(chunk).collect();
    let mut rig = Rig::new(held.clone(), held);
    rig.tell(RepairInput::Draining(true));
    rig.run(Time::ZERO + Span::from_ms(80));
    assert_eq!(rig.released.len(), 0);
}

#[test]
fn what_nobody_could_tell_is_asked_again_before_long() {
    let held: BTreeSet<ChunkId> = (0..20).map(chunk).collect();
    let mut rig = Rig::new(held.clone(), held);
    rig.settles = true;
    rig.is_silent = true;
    rig.tell(RepairInput::Changed);
    while rig.repair.statistics().scans == 0 {
        rig.run(rig.now + Span::from_us(100));
    }
    assert!(rig.repair.scans_again(), "somebody has not answered");
    assert_eq!(rig.released.len(), 0);
    rig.is_silent = false;
    rig.run(rig.now + RULES.retry + Span::from_ms(20));
    assert_eq!(rig.released.iter().flatten().count(), 20, "all of them");
    let scans = rig.repair.statistics().scans;
    assert!(!rig.repair.scans_again());
    rig.run(rig.now + RULES.retry * 10);
    assert_eq!(rig.repair.statistics().scans, scans, "and then it rests");
}

#[test]
fn a_scan_ends_while_what_was_lost_is_still_asked_for() {
    let mut rig = Rig::new((0..20).map(chunk).collect(), BTreeSet::new());
    rig.tell(RepairInput::Lost(chunk(100), Wanted::bare(3)));
    rig.tell(RepairInput::Changed);
    rig.run(Time::ZERO + Span::from_ms(50));
    assert_eq!((rig.repair.statistics().scans, rig.repair.is_scanning()), (1, false));
    assert_eq!(rig.repair.short(), Some(1), "and the loss is counted");
    rig.tell(RepairInput::Draining(true));
    rig.run(Time::ZERO + Span::from_ms(80));
    assert!(!rig.repair.has_handed_over(), "it may be the last replica");
}

/// What was written for it is read back, and may be lost before it is told that all is well.
#[test]
fn what_is_lost_again_while_it_is_recovered_is_recovered_again() {
    let (nine, wanted) = (chunk(9), Wanted::bare(3));
    let mut repair = Repair::new(RULES, 0, 5);
    let mut tell = |input| {
        let mut effects = Vec::new();
        repair.handle(Time::ZERO, input, &Shelf::default(), &mut effects);
        let recovers = |effect: &RepairEffect| *effect == RepairEffect::Recover(nine, wanted);
        (effects.iter().filter(|effect| recovers(effect)).count(), repair.statistics())
    };
    assert_eq!(tell(RepairInput::Lost(nine, wanted)).0, 1);
    let (asked, statistics) = tell(RepairInput::Lost(nine, wanted));
    assert_eq!((asked, statistics.under_replicated), (0, 1), "one attempt, and one chunk");
    let (_, statistics) = tell(RepairInput::Ended(nine, RepairOutcome::Healed));
    assert_eq!((statistics.recovered, statistics.under_replicated), (1, 1), "it is lost again");
    let mut effects = Vec::new();
    repair.handle(Time::ZERO + RULES.retry, RepairInput::Wake, &Shelf::default(), &mut effects);
    assert!(effects.contains(&RepairEffect::Recover(nine, wanted)), "{effects:?}");
}
