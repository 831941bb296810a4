//! Jobs on workers that crash, are late and ask twice, over a model of registers: no output twice, none missing, nothing said
//! to be verified that is not. Each planted mistake is found.

mod check;
mod plan;
mod world;

use plan::Plan;
use slotcast_job::{Mistake, Status};
use world::World;

/// What is wrong in the run of this seed.
fn run(seed: u64, mistake: Option<Mistake>) -> (Status, Vec<String>) {
    let mut world = World::new(seed, Plan::new(seed), mistake);
    if !world.run() {
        let text = format!("it is not over after an hour: {:?}", check::totals(&world));
        return (world.state.1.status, vec![text]);
    }
    if world.problems.is_empty() {
        world.run_on();
    }
    (world.state.1.status, check::at_the_end(&world))
}

fn seeds() -> u64 {
    option_env!("SLOTCAST_JOB_SEEDS").and_then(|text| text.parse().ok()).unwrap_or(600)
}

#[test]
fn every_job_ends_as_it_must() {
    let mut ends = [0; 3];
    for seed in 0..seeds() {
        let (status, problems) = run(seed, None);
        assert!(problems.is_empty(), "seed {seed}, {:?}: {problems:#?}", Plan::new(seed));
        match status {
            Status::Verified => ends[0] += 1,
            Status::Failed => ends[1] += 1,
            Status::Aborted => ends[2] += 1,
            other => panic!("seed {seed} ends as {other}"),
        }
    }
    assert!(ends.iter().all(|count| *count > 20), "each end is reached: {ends:?}");
}

#[test]
fn a_run_follows_from_its_seed() {
    let told = |seed| {
        let mut world = World::new(seed, Plan::new(seed), None);
        world.run();
        (world.now, world.effects.clone(), check::totals(&world))
    };
    (0..20).for_each(|seed| assert_eq!(told(seed), told(seed)));
}

/// The first seed that finds a mistake.
fn finds(mistake: Mistake) {
    let found = (0..400).find(|seed| !run(*seed, Some(mistake)).1.is_empty());
    assert!(found.is_some(), "{mistake:?} is not found");
}

macro_rules! planted {
    ($($test:ident $mistake:ident)*) => {
        $(#[test]
        fn $test() {
            finds(Mistake::$mistake);
        })*
    };
}

planted! {
    leases_that_are_ignored_are_found IgnoresLeases
    holders_that_never_beat_are_found NeverBeats
    tokens_that_are_ignored_are_found IgnoresTokens
    cursors_that_advance_early_are_found AdvancesEarly
    counts_that_count_twice_are_found CountsTwice
    outputs_that_are_not_conditional_are_found PutsAlways
    keys_that_are_new_each_time_are_found KeysAreNew
    outputs_that_are_never_looked_at_are_found NeverLooks
    jobs_that_are_verified_unseen_are_found VerifiesUnseen
    comparing_without_looking_is_found ChecksNothing
    failures_that_are_swallowed_are_found SwallowsFailures
    failures_that_are_never_tried_again_are_found NeverRetries
    failures_that_end_their_unit_are_found FailureEndsUnit
    units_that_are_forgotten_are_found ForgetsUnits
    orders_that_are_ignored_are_found IgnoresOrders
    plans_that_pass_over_names_are_found PlansOver
}
