//! What `slotcast reproduce` says: one screen, and with `--verbose` every figure and claim.

mod support;

use support::slotcast;

const QUICK: [&str; 8] =
    ["reproduce", "stripes", "--seeds", "1", "--set", "run.length=3s", "--set", "run.warmup=1s"];

#[track_caller]
fn is_narrow(text: &str) {
    for line in text.lines() {
        assert!(line.trim_end().chars().count() <= 80, "{line}");
    }
}

#[test]
fn one_screen_says_what_was_repeated_how_near_and_what_failed() {
    let run = slotcast(&QUICK);
    let said = &run.stdout;
    is_narrow(said);
    assert!(said.lines().count() <= 24, "{said}");
    let line = said.lines().find(|line| line.trim().starts_with("stripes ")).expect("its line");
    let cells: Vec<_> = line.split_whitespace().collect();
    // Two measured latencies; the two theoretical ones are sums of what the scenario says. Seven statements are judged.
    assert_eq!((cells[1], cells[6]), ("2", "7"), "{line}");
    assert!(!said.contains("stripes/suno/"), "the long tables are for --verbose: {said}");
}

#[test]
fn verbose_prints_every_figure_and_marks_what_is_derived() {
    let run = slotcast(&[&QUICK[..], &["--verbose"]].concat());
    is_narrow(&run.stdout);
    let unbroken: String = run.stdout.split_whitespace().collect();
    assert!(unbroken.contains("theoretical_latency*"), "{}", run.stdout);
    assert!(run.stdout.contains("* derived from the scenario"), "{}", run.stdout);
    assert!(run.stdout.contains("as published") && run.stdout.contains("in steady state"));
    assert!(run.stdout.contains("verdict"), "{}", run.stdout);
}
