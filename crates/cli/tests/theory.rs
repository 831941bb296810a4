//! Every run says what theory says beside it, and what a request sees that needs several answers.

mod support;

use serde_json::Value;
use support::sim;

/// A small cluster with Poisson arrivals that it can keep up with.
const OPEN: &str = r#"
[cluster]
initiators = 18
targets = 18
[workload]
load = "open"
arrivals_per_s = 10_000
window = 4
[run]
length = "200ms"
warmup = "10ms"
[seeds]
count = 3
"#;

fn value(estimate: &Value) -> f64 {
    assert!(estimate["ci95"].is_f64(), "{estimate}");
    estimate["value"].as_f64().expect("a number")
}

#[test]
fn littles_law_holds_in_a_steady_run_and_nothing_is_said() {
    let (json, told) = sim("steady.toml", OPEN, &[]);
    let metrics = &json["metrics"];
    let in_flight = value(&metrics["chunks_per_s"]) * value(&metrics["latency_us"]["mean"]) / 1e6;
    let requests = &json["theory"]["little"]["requests"];
    assert!((value(&requests["rate_times_time"]) / in_flight - 1.0).abs() < 0.01, "{requests}");
    for kind in ["requests", "disks"] {
        let little = &json["theory"]["little"][kind];
        assert_eq!((&little["holds"], &little["unaccounted_us"]), (&true.into(), &0.0.into()));
        assert!((value(&little["ratio"]) - 1.0).abs() < 0.05, "{little}");
    }
    // 18 targets hold what the disks' queues say.
    let queue = value(&metrics["disk_queue_length"]) * 18.0;
    let disks = value(&json["theory"]["little"]["disks"]["number"]);
    assert!((disks / queue - 1.0).abs() < 1e-9, "{disks} {queue}");
    assert!(!told.contains("Little"), "{told}");
}

#[test]
fn a_run_that_is_too_short_breaks_the_law_but_loses_nothing() {
    let text = "run.length = \"3ms\"\nrun.warmup = \"0\"\nseeds.count = 3\n";
    let (json, told) = sim("short.toml", text, &[]);
    let requests = &json["theory"]["little"]["requests"];
    assert_eq!((&requests["holds"], &requests["unaccounted_us"]), (&false.into(), &0.0.into()));
    assert!((value(&requests["number"]) - 90.0).abs() < 1e-9, "a closed loop of 90");
    assert!(value(&requests["ratio"]) < 0.95);
    assert!(told.contains("warning: Little's law: rate times time is 0."), "{told}");
    assert!(told.contains("too short, or overloaded?"), "{told}");
}

#[test]
fn reservations_wait_less_for_disks_than_random_arrivals() {
    let (json, told) = sim("wait.toml", OPEN, &[]);
    let wait = &json["theory"]["disk_wait_us"];
    assert_eq!(wait["measured"], json["metrics"]["disk_wait_us"]);
    let (measured, at_random) = (value(&wait["measured"]), value(&wait["pollaczek_khinchine"]));
    assert!(measured < 0.5 * at_random, "{wait}");
    // M/D/1 by hand: all writes take as long, 128 KiB at 400 MiB/s.
    let load = value(&json["metrics"]["disk_utilization"]);
    let by_hand = load * 312.5 / (2.0 * (1.0 - load));
    assert!((at_random / by_hand - 1.0).abs() < 0.05, "{at_random} {by_hand}");
    assert!(told.contains("(Pollaczek-Khinchine): chunks come more evenly"), "{told}");
}

#[test]
fn a_disk_without_a_moment_of_rest_has_no_wait_in_theory() {
    let (json, told) =
        sim("full.toml", OPEN, &["--set", "workload.arrivals_per_s=100000", "--seeds", "2"]);
    assert!(json["theory"]["disk_wait_us"]["pollaczek_khinchine"].is_null());
    assert!(told.contains("random arrivals would wait without end"), "{told}");
}

#[test]
fn many_answers_are_as_slow_as_the_slowest() {
    let (json, told) = sim("tail.toml", OPEN, &["--seeds", "6"]);
    let tails = json["tail_at_scale"].as_array().expect("a list");
    let answers: Vec<_> = tails.iter().map(|tail| tail["answers"].as_u64().expect("one")).collect();
    assert_eq!(answers, [10, 100, 1000]);
    let latency = &json["metrics"]["latency_us"];
    // The median of the slowest of ten is the quantile 0.5^(1/10) = 0.933 of one.
    let ten = value(&tails[0]["p50"]);
    assert!(ten >= value(&latency["p90"]) && ten <= value(&latency["p99"]), "{ten}");
    let beyond = tails[1]["beyond_p99"].as_f64().expect("a number");
    assert_eq!(format!("{:.1}", beyond * 100.0), "63.4");
    let line = "a request that needs 100 answers: p50 ";
    assert!(told.contains(line) && told.contains("beyond p99 of one: 63.4 %"), "{told}");
    // Some 11 400 requests say nothing of one in a hundred thousand.
    assert!(tails[2]["p99"]["value"].is_null(), "{}", tails[2]);
}
