//! What was acknowledged survives any crash, and nothing that was removed comes back.

mod rig;

use proptest::prelude::*;
use slotcast_faults::{DiskFaults, Hang, OpFaults, Transient};
use slotcast_protocol::Claim;
use slotcast_random::{Stream, Streams};
use slotcast_store::{Config, DiskError, Store, StoreStatus};

use rig::{CHUNKS, Rig, config, content};

/// What its user does, apart from what its disk does.
fn turns(seed: u64) -> Stream {
    Streams::new(seed).stream("turns", 0)
}

fn one_in(chance: &mut Stream, n: u64) -> bool {
    chance.below(n) == 0
}

fn turn(rig: &mut Rig, chance: &mut Stream) {
    let n = u8::try_from(chance.below(u64::from(CHUNKS))).unwrap();
    match chance.below(100) {
        0..30 => {
            let replicas = u8::try_from(chance.below(6)).unwrap();
            let claim = if one_in(chance, 2) { Claim::Names } else { Claim::Bare };
            rig.put_claimed(n, (replicas > 0).then_some(replicas), claim);
        }
        30..50 => rig.remove(n),
        50..60 => rig.get(n),
        _ => {
            rig.step();
        }
    }
}

/// A disk with faults of some kinds of operations.
fn drawn_faults(chance: &mut Stream) -> DiskFaults {
    let errors = [DiskError::Full, DiskError::ReadOnly, DiskError::Gone, DiskError::Failed];
    let mut faults = || {
        let error = errors[usize::try_from(chance.below(4)).unwrap()];
        let none = OpFaults::default();
        match chance.below(14) {
            0 | 1 => {
                let transient = Some(Transient { one_in: 1 + chance.below(20), error });
                OpFaults { transient, ..none }
            }
            2 => OpFaults { lasting: Some(error), ..none },
            3 => OpFaults { hang: Some(Hang::UntilReleased), ..none },
            4 => OpFaults { hang: Some(Hang::UntilCrash), ..none },
            _ => none,
        }
    };
    DiskFaults {
        list: faults(),
        create: faults(),
        write: faults(),
        cut: faults(),
        read: faults(),
        read_content: faults(),
        delete: faults(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_acknowledged_survives_any_crash(seed in any::<u64>(), length in 10u32..600) {
        let (mut rig, mut chance) = (Rig::new(seed), turns(seed));
        for _ in 0..length {
            turn(&mut rig, &mut chance);
            if one_in(&mut chance, 60) {
                rig.crash();
            }
        }
        rig.audit();
        rig.crash();
        rig.audit();
    }

    #[test]
    fn a_disk_that_fails_stops_the_writing_and_loses_nothing(seed in any::<u64>()) {
        let (mut rig, mut chance) = (Rig::new(seed), turns(seed));
        rig.disk.faults.write.transient =
            Some(Transient { one_in: 40, error: DiskError::Failed });
        for _ in 0..400 {
            turn(&mut rig, &mut chance);
            if one_in(&mut chance, 60) || matches!(rig.store.status(), StoreStatus::ReadOnly(_)) {
                rig.crash();
            }
        }
        rig.disk.faults = DiskFaults::default();
        rig.audit();
        rig.crash();
        rig.audit();
    }

    #[test]
    fn operations_that_fail_and_hang_lose_nothing(seed in any::<u64>()) {
        let (mut rig, mut chance) = (Rig::new(seed), turns(seed));
        for _ in 0..600 {
            turn(&mut rig, &mut chance);
            if one_in(&mut chance, 30) {
                rig.disk.faults = drawn_faults(&mut chance);
            }
            if one_in(&mut chance, 30) {
                rig.disk.release();
            }
            let is_read_only = matches!(rig.store.status(), StoreStatus::ReadOnly(_));
            if one_in(&mut chance, 100) || is_read_only && one_in(&mut chance, 10) {
                rig.crash();
            }
        }
        // A disk that can be opened without faults is as good as new.
        rig.disk.faults = DiskFaults::default();
        rig.crash();
        rig.audit();
        rig.crash();
        rig.audit();
    }

    #[test]
    fn a_full_disk_refuses_puts_and_comes_back(seed in any::<u64>()) {
        let (mut rig, mut chance) = (Rig::new(seed), turns(seed));
        rig.disk.room = 3;
        for _ in 0..600 {
            turn(&mut rig, &mut chance);
            if one_in(&mut chance, 100) {
                rig.crash();
            }
        }
        rig.audit();
        // Room enough: whatever was in the way, it takes puts again.
        rig.disk.room = 20;
        rig.look_for_room();
        rig.settle();
        rig.put(CHUNKS - 1);
        rig.settle();
        prop_assert!(rig.store.holds(&content(CHUNKS - 1).chunk()));
        rig.audit();
    }

    #[test]
    fn rotten_bits_are_found(seed in any::<u64>()) {
        let (mut rig, mut chance) = (Rig::new(seed), turns(seed));
        rig.rots = true;
        for _ in 0..400 {
            turn(&mut rig, &mut chance);
            if one_in(&mut chance, 20) {
                rig.disk.rot();
            }
            if one_in(&mut chance, 100) {
                rig.crash();
            }
        }
        rig.audit();
        rig.crash();
        rig.audit();
    }
}

#[test]
fn room_of_removed_chunks_is_given_back() {
    let mut rig = Rig::new(1);
    for round in 0..200u8 {
        rig.put(round % CHUNKS);
        rig.settle();
        rig.remove(round % CHUNKS);
        rig.settle();
    }
    assert!(rig.store.statistics().compacted > 10, "{:?}", rig.store.statistics());
    assert!(rig.disk.files() <= 4, "{} files", rig.disk.files());
    rig.audit();
}

#[test]
fn a_store_whose_chunks_all_live_is_full_and_serves() {
    let mut rig = Rig::new(2);
    rig.disk.room = 3;
    for n in 0..CHUNKS {
        rig.put(n);
        rig.settle();
    }
    assert_eq!(rig.store.status(), StoreStatus::Full);
    rig.audit();
    // What is removed makes room: compaction finds it.
    for n in 3..CHUNKS - 1 {
        rig.remove(n);
        rig.settle();
    }
    rig.put(3);
    rig.settle();
    rig.put(3);
    rig.settle();
    assert_eq!(rig.store.status(), StoreStatus::Open);
    rig.audit();
}

#[test]
fn equal_chunks_are_stored_once() {
    let mut rig = Rig::new(3);
    rig.put(5);
    rig.put(5);
    rig.settle();
    rig.put(5);
    rig.settle();
    let statistics = rig.store.statistics();
    assert_eq!((statistics.chunks, statistics.void_bytes, statistics.batches), (1, 0, 1));
}

#[test]
fn a_put_for_more_replicas_writes_a_chunk_anew() {
    let mut rig = Rig::new(4);
    let chunk = content(5).chunk();
    for (asked, found, batches) in
        [(Some(2), 2, 1), (Some(1), 2, 0), (None, 3, 1), (Some(5), 5, 1), (Some(3), 5, 0)]
    {
        // Batches are counted anew after each crash.
        rig.put_for(5, asked);
        rig.settle();
        let statistics = rig.store.statistics();
        assert_eq!((rig.stored_for(&chunk), statistics.batches), (found, batches), "{asked:?}");
        assert_eq!(statistics.chunks, 1);
        rig.crash();
        assert_eq!(rig.stored_for(&chunk), found);
    }
    // Those that are on their way count, too.
    rig.put_for(6, Some(1));
    rig.put_for(6, Some(4));
    rig.put_for(6, Some(3));
    rig.settle();
    assert_eq!(rig.stored_for(&content(6).chunk()), 4);
}

#[test]
fn a_put_with_a_higher_claim_writes_a_chunk_anew() {
    let mut rig = Rig::new(4);
    let chunk = content(5).chunk();
    let (names, bare) = (Claim::Names, Claim::Bare);
    for (asked, claim, found, batches) in [
        (3, names, (3, names), 1),
        (3, names, (3, names), 0),
        (2, bare, (3, bare), 1),
        (3, names, (3, bare), 0),
        (5, names, (5, bare), 1),
    ] {
        // Batches are counted anew after each crash.
        rig.put_claimed(5, Some(asked), claim);
        rig.settle();
        let stored = (rig.stored_for(&chunk), rig.store.claim(&chunk).expect("stored"));
        let statistics = rig.store.statistics();
        assert_eq!((stored, statistics.batches), (found, batches), "{asked} {claim:?}");
        rig.crash();
        let stored = (rig.stored_for(&chunk), rig.store.claim(&chunk).expect("stored"));
        assert_eq!(stored, found);
    }
    // Those that are on their way count, too, and a removal ends all claims.
    rig.put_claimed(6, Some(4), names);
    rig.put_claimed(6, Some(2), bare);
    rig.put_claimed(6, Some(3), names);
    rig.settle();
    let chunk = content(6).chunk();
    assert_eq!((rig.stored_for(&chunk), rig.store.claim(&chunk)), (4, Some(bare)));
    rig.remove(6);
    rig.put_claimed(6, None, names);
    rig.settle();
    assert_eq!((rig.stored_for(&chunk), rig.store.claim(&chunk)), (3, Some(names)));
}

/// The sums of ranges tell claims apart, as they do numbers.
#[test]
fn another_claim_is_another_sum() {
    let sums = [Claim::Names, Claim::Bare].map(|claim| {
        let mut rig = Rig::new(4);
        rig.put_claimed(5, None, claim);
        rig.settle();
        rig.store.range_sum(0, 0)
    });
    assert!(sums[0].sum != sums[1].sum && sums[0].chunks == sums[1].chunks);
}

/// What is put again because it could not be read is stored for no less than before.
#[test]
fn what_cannot_be_read_keeps_its_claim() {
    let mut rig = Rig::new(7);
    let chunk = content(5).chunk();
    rig.put_claimed(5, Some(2), Claim::Bare);
    rig.settle();
    let lasting = Some(DiskError::Failed);
    rig.disk.faults.read_content = OpFaults { lasting, ..OpFaults::default() };
    rig.get(5);
    rig.settle();
    assert_eq!(rig.store.claim(&chunk), None);
    rig.disk.faults.read_content = OpFaults::default();
    rig.put_claimed(5, None, Claim::Names);
    rig.settle();
    let stored = (rig.stored_for(&chunk), rig.store.claim(&chunk));
    assert_eq!(stored, (3, Some(Claim::Bare)));
}

/// The number and the claim are in the list at the end of a full segment, and in what compaction copies.
#[test]
fn full_segments_and_copies_keep_the_number() {
    let mut rig = Rig::new(5);
    rig.put_claimed(1, Some(7), Claim::Names);
    rig.put_for(2, Some(1));
    for round in 0..60 {
        rig.put(3 + round % (CHUNKS - 3));
        rig.settle();
        rig.remove(3 + round % (CHUNKS - 3));
        rig.settle();
    }
    assert!(rig.store.statistics().compacted > 3, "{:?}", rig.store.statistics());
    for _ in 0..2 {
        let stored = [1, 2].map(|n| rig.stored_for(&content(n).chunk()));
        assert_eq!(stored, [7, 1]);
        let claims = [1, 2].map(|n| rig.store.claim(&content(n).chunk()));
        assert_eq!(claims, [Some(Claim::Names), Some(Claim::Bare)]);
        rig.crash();
    }
}

/// As it is after a start with another number.
#[test]
fn a_chunk_without_a_number_of_its_own_follows_the_clusters() {
    let mut rig = Rig::new(6);
    rig.put(1);
    rig.put_for(2, Some(4));
    rig.settle();
    let mut effects = Vec::new();
    rig.store = Store::open(Config { replicas: 5, ..config() }, &mut effects);
    rig.take(effects);
    rig.settle();
    let stored = [1, 2].map(|n| rig.stored_for(&content(n).chunk()));
    assert_eq!(stored, [5, 4]);
}

#[test]
fn a_chunk_that_is_read_after_all_counts_again() {
    let mut rig = Rig::new(7);
    let chunk = content(5).chunk();
    rig.put(5);
    rig.settle();
    let lasting = Some(DiskError::Failed);
    rig.disk.faults.read_content = OpFaults { lasting, ..OpFaults::default() };
    for (faults, is_held) in [(rig.disk.faults, false), (DiskFaults::default(), true)] {
        rig.disk.faults = faults;
        rig.get(5);
        rig.settle();
        let unreadable = rig.store.statistics().unreadable_chunks;
        assert_eq!((rig.store.holds(&chunk), unreadable), (is_held, u64::from(!is_held)));
    }
}

/// What had been taken before the disk was found full does not fill the last segment to the brim: removals need
/// room there, and so does what compaction copies.
#[test]
fn puts_leave_room_for_removals_however_many_come_at_once() {
    for first in 0..CHUNKS {
        let mut rig = Rig::new(8);
        rig.disk.room = 3;
        for replicas in [1, 2, 4] {
            (0..CHUNKS).for_each(|n| rig.put_for((first + n) % CHUNKS, Some(replicas)));
        }
        rig.settle();
        assert_eq!(rig.store.status(), StoreStatus::Full);
        assert!(rig.store.statistics().chunks > 0);
        rig.audit();
        (0..CHUNKS).for_each(|n| rig.remove(n));
        rig.settle();
        assert_eq!(rig.store.statistics().chunks, 0, "from {first} on");
        for _ in 0..2 {
            rig.put(3);
            rig.settle();
        }
        assert_eq!(rig.store.status(), StoreStatus::Open, "from {first} on");
        rig.audit();
    }
}

#[test]
fn what_was_given_up_is_not_found_at_the_next_start() {
    let mut given_up = 0;
    for seed in 0..40 {
        let mut rig = Rig::new(seed);
        rig.rots = true;
        (0..CHUNKS).for_each(|n| rig.put(n));
        rig.settle();
        (0..3).for_each(|_| rig.disk.rot());
        (0..CHUNKS).for_each(|n| rig.get(n));
        rig.settle();
        let is_held = |rig: &Rig, n: u8| rig.store.holds(&content(n).chunk());
        let lost: Vec<u8> = (0..CHUNKS).filter(|n| !is_held(&rig, *n)).collect();
        given_up += lost.len();
        rig.crash();
        for n in &lost {
            assert!(!is_held(&rig, *n), "seed {seed}: chunk {n} would count as a replica again");
        }
        // A put writes it anew.
        lost.iter().for_each(|n| rig.put(*n));
        rig.settle();
        rig.crash();
        assert!(lost.iter().all(|n| is_held(&rig, *n)), "seed {seed}: {lost:?}");
    }
    assert!(given_up > 20, "{given_up}");
}
