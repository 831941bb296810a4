use super::*;

fn clean(seed: u64) -> StormReport {
    let report = run_storm(seed);
    assert!(report.violations.is_empty(), "seed {seed}: {:#?}", report.violations);
    report
}

#[test]
fn no_storm_loses_what_was_acknowledged() {
    let mut all = StormReport::default();
    for seed in 0..60 {
        let report = clean(seed);
        all.acknowledged += report.acknowledged;
        all.healed += report.healed;
        all.compacted += report.compacted;
        all.injected.crashes += report.injected.crashes;
        all.injected.gone += report.injected.gone;
        all.handed_over += report.handed_over;
        all.taken_away += report.taken_away;
    }
    assert!(all.acknowledged > 2_000 && all.healed > 200, "{all:?}");
    assert!(all.injected.crashes > 50 && all.injected.gone > 20, "{all:?}");
    assert!(all.compacted > 0, "{all:?}");
    assert!(all.handed_over > 5 && all.taken_away > 5, "{all:?}");
}

#[test]
fn equal_seeds_are_equal_storms() {
    assert_eq!(run_storm(7), run_storm(7));
    assert_ne!(run_storm(7).trace_hash, run_storm(8).trace_hash);
}

/// Whether a storm finds the mistake.
fn finds(seed: u64, mistake: Mistake) -> bool {
    !run_storm_with(seed, Some(mistake)).violations.is_empty()
}

/// How many of some storms find the mistake.
fn found(mistake: Mistake) -> usize {
    (0..40).filter(|&seed| finds(seed, mistake)).count()
}

#[test]
fn an_acknowledgement_before_the_flush_is_found() {
    assert!(found(Mistake::AcknowledgeBeforeFlush) > 10);
}

#[test]
fn a_window_promised_twice_is_found() {
    // A target must forget between two acceptances, and few windows are then wanted by two.
    assert!((0..400).any(|seed| finds(seed, Mistake::ForgetPromises)));
}

#[test]
fn a_repair_that_forgets_is_found() {
    assert!(found(Mistake::RepairForgets) > 6);
}

#[test]
fn a_repair_that_knows_one_number_is_found() {
    assert!(found(Mistake::RepairKnowsOneNumber) > 3);
}

#[test]
fn a_target_that_leaves_too_early_is_found() {
    assert!(found(Mistake::HandsOverEarly) > 2);
}

#[test]
fn a_target_that_counts_what_is_over_is_found() {
    let late = |seed| {
        let report = run_storm_with(seed, Some(Mistake::CountsWhatIsOver));
        report.violations.iter().any(|violation| violation.contains("is idle at"))
    };
    assert!((0..100).any(late));
}

/// On disks that were harmed elsewhere, too: what is lost is looked at chunk by chunk.
#[test]
fn a_chunk_that_is_lost_where_nothing_was_harmed_is_found() {
    let (mut read, mut opened) = (0, 0);
    for seed in 0..100 {
        let report = run_storm_with(seed, Some(Mistake::UntoldHarm));
        let says = |text: &str| report.violations.iter().any(|violation| violation.contains(text));
        read += usize::from(says("without a reason"));
        opened += usize::from(says("has not found it at its start"));
    }
    assert!(read > 5 && opened > 2, "{read} when they were read, {opened} at a start");
}
