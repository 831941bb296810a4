//! Fault simulations of many seeds.

use std::println;

use super::coordinated::Coordinated;
use super::faults::{Simulated, simulate, simulate_all};
use super::locked::Locked;
use super::std;
use crate::mistake::Mistake;

/// Seeds that once found something wrong with the coordinated mode.
///
/// * 681: a parity server that was built anew included an update that another parity server did not have
///   yet. A client that rebuilt the unit saw it, and later the version before it.
/// * 1363: a parity server that was being built anew had told a new data server so. When it was built it
///   did not answer that data server any more.
/// * 7557: an old data server's word that an update is void came after the new one had been told of the
///   update, and had made it the content.
const COORDINATED: [u64; 3] = [681, 1363, 7557];

/// Seeds that once found something wrong with the stripe-lock mode.
///
/// * 526: a server lost its disk a second time while its unit was being rebuilt, and was not sealed again.
/// * 2180: a recovery believed what a server had said before it lost its disk.
/// * 10627: a server lost its disk between two answers to one seal, and only the second one said so.
const LOCKED: [u64; 3] = [526, 2180, 10627];

#[test]
fn seeds_that_once_failed() {
    simulate_all::<Coordinated>(COORDINATED).unwrap_or_else(|problem| panic!("{problem}"));
    simulate_all::<Locked>(LOCKED).unwrap_or_else(|problem| panic!("{problem}"));
}

/// Runs a few hundred fault simulations. For more there is a command:
/// `cargo run --release -p slotcast-stripe --example faults -- --seeds 10000`.
fn survives<M: Simulated>() {
    const SEEDS: u64 = 1000;
    let all = simulate_all::<M>(0..SEEDS).unwrap_or_else(|problem| panic!("{problem}"));
    assert!(all.acknowledged as u64 > SEEDS, "the faults let too little through: {all:?}");
    println!("{} {SEEDS} simulations: {all:?}", M::NAME);
}

#[test]
fn coordinated_stripes_survive_faults() {
    survives::<Coordinated>();
}

#[test]
fn locked_stripes_survive_faults() {
    survives::<Locked>();
}

#[test]
fn a_run_is_the_same_each_time() {
    let once = |seed| simulate::<Coordinated>(seed, false, |_| {}).map(|outcome| outcome.events);
    assert_eq!(once(7), once(7));
    assert_ne!(once(7), once(8));
}

/// Demands that some fault simulation finds a planted mistake.
fn finds<M: Simulated>(mistake: Mistake, plant: fn(&mut M, Mistake)) {
    let found =
        (0..3000).find(|seed| simulate::<M>(*seed, false, |mode| plant(mode, mistake)).is_err());
    assert!(found.is_some(), "{mistake:?} went unnoticed");
    println!("{mistake:?}: found with seed {found:?}");
}

#[test]
fn simulations_find_mistakes_of_the_coordinated_mode() {
    for mistake in [
        Mistake::ParityBeforeData,
        Mistake::CommitBeforeDurable,
        Mistake::CommitBeforePrepared,
        Mistake::ForgetRequests,
        Mistake::HearTheDead,
    ] {
        finds::<Coordinated>(mistake, |mode, mistake| mode.mistake = mistake);
    }
}

#[test]
fn simulations_find_mistakes_of_the_stripe_lock_mode() {
    for mistake in [Mistake::ReleaseEarly, Mistake::NoFence, Mistake::SkipRecovery] {
        finds::<Locked>(mistake, |mode, mistake| mode.mistake = mistake);
    }
}
