//! The start of a run: set by hand and checked, found by pilot runs, or published.

mod support;

use support::{file, sim, slotcast};

/// 90 initiators that ask for four chunks each at once: the first puts take longer than the later ones.
const START: &str = r#"
[workload]
window = 4
[run]
length = "20ms"
warmup = "0"
[seeds]
count = 10
"#;

#[test]
fn one_that_is_too_short_is_said_with_what_it_does() {
    let (json, told) = sim("short.toml", START, &[]);
    let warmup = &json["warmup"];
    assert_eq!((&warmup["rule"], &warmup["used_us"]), (&"as-set".into(), &0.0.into()));
    assert_eq!((&warmup["enough"], &warmup["warning"]), (&false.into(), &true.into()));
    let found = warmup["mser5_us"].as_f64().expect("a time");
    assert!(found > 0.0 && found < 20_000.0, "{found}");
    let change = warmup["mean_changes_by"].as_f64().expect("a number");
    let mean = &json["metrics"]["latency_us"]["mean"];
    let interval = mean["ci95"].as_f64().expect("a number") / mean["value"].as_f64().expect("one");
    assert!(change.abs() > interval, "{change} {interval}");
    for part in ["warning: warm-up: 0us, as set; MSER-5 finds", "mean latency would be", "found"] {
        assert!(told.contains(part), "`{part}` is not in:\n{told}");
    }

    // What it says is what happens: with as much left out, the mean changes by so much.
    let long_enough = format!("run.warmup={found}us");
    let (json, told) = sim("short.toml", START, &["--set", &long_enough]);
    assert_eq!(
        (&json["warmup"]["enough"], &json["warmup"]["warning"]),
        (&true.into(), &false.into())
    );
    let changed = json["metrics"]["latency_us"]["mean"]["value"].as_f64().expect("a number")
        / mean["value"].as_f64().expect("a number");
    assert!((changed - 1.0 - change).abs() < 0.01, "{changed} {change}");
    assert!(!told.contains("warning: warm-up"), "{told}");
}

#[test]
fn one_that_is_found_leaves_as_much_to_measure_as_was_asked_for() {
    let (json, told) = sim("found.toml", START, &["--set", "statistics.warmup=found"]);
    let warmup = &json["warmup"];
    assert_eq!((&warmup["rule"], &warmup["runs"]), (&"found".into(), &5.into()));
    assert_eq!(warmup["used_us"], warmup["mser5_us"]);
    let used = warmup["used_us"].as_f64().expect("a time");
    assert!(used > 0.0);
    assert_eq!(json["configuration"]["run.warmup"], span(used));
    assert_eq!(json["configuration"]["run.length"], span(used + 20_000.0));
    assert!(told.contains("; MSER-5 finds") && told.contains("in 5 pilot runs of 20ms"), "{told}");

    let again = sim("found.toml", START, &["--set", "statistics.warmup=found", "--threads", "1"]).0;
    assert_eq!(again["trace_hash"], json["trace_hash"]);
}

/// As an experiment file says it.
fn span(us: f64) -> String {
    let text = format!("{:.3}", us / 1000.0);
    format!("{}ms", text.trim_end_matches('0').trim_end_matches('.'))
}

#[test]
fn one_that_was_published_is_not_complained_about() {
    let (json, told) = sim("published.toml", START, &["--set", "statistics.warmup=as-published"]);
    assert_eq!(json["warmup"]["warning"], false);
    assert_eq!(json["warmup"]["enough"], false, "and yet it is said");
    assert!(told.contains("warm-up: 0us, as published; MSER-5 finds"), "{told}");
    assert!(!told.contains("warning: warm-up"), "{told}");
}

#[test]
fn a_cluster_that_never_settles_is_told_so() {
    let arguments = [
        "--set",
        "workload.load=open",
        "--set",
        "workload.arrivals_per_s=40000",
        "--set",
        "cluster.initiators=18",
        "--set",
        "cluster.targets=18",
        "--set",
        "statistics.warmup=found",
        "--set",
        "run.length=5ms",
    ];
    let (json, told) = sim("overload.toml", START, &arguments);
    assert!(json["warmup"]["mser5_us"].is_null() && json["warmup"]["enough"].is_null());
    assert_eq!(json["configuration"]["run.length"], "5ms");
    for part in
        ["no end of the start in 5 pilot runs of 40ms", "overloaded", "warning: Little's law"]
    {
        assert!(told.contains(part), "`{part}` is not in:\n{told}");
    }
}

#[test]
fn the_points_of_a_sweep_are_summed_up() {
    let text = format!("{START}\n[[sweep]]\ndisk.rate = [\"400MiB/s\", \"1000MiB/s\"]\n");
    let (json, told) = sim("sweep.toml", &text, &[]);
    let points = json["points"].as_array().expect("a list");
    let warned = points.iter().filter(|point| point["warmup"]["warning"] == true).count();
    assert!(warned > 0);
    let expected = format!("warning: at {warned} of 2 points, such as disk.rate=");
    assert!(told.contains(&expected), "`{expected}` is not in:\n{told}");
    assert!(told.contains("warm-up: 0us, as set; all that MSER-5 finds at"), "{told}");
}

#[test]
fn a_warm_up_cannot_be_both_found_and_swept() {
    let text = "[statistics]\nwarmup = \"found\"\n[[sweep]]\nrun.warmup = [\"1ms\", \"2ms\"]\n";
    let path = file("both.toml", text);
    let run = slotcast(&["sim", path.to_str().expect("plain")]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("both.toml:4:") && run.stderr.contains("as-set"), "{}", run.stderr);
    let text = "[[sweep]]\nstatistics.precision = [\"1%\", \"2%\"]\n";
    let path = file("swept.toml", text);
    let run = slotcast(&["sim", path.to_str().expect("plain")]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("statistics cannot be swept"), "{}", run.stderr);
}
