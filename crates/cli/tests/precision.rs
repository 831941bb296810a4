//! `--precision` runs seeds until the figures are narrow, and its result is that of so many seeds.

mod support;

use serde_json::Value;
use support::{SMALL, file, sim, slotcast};

/// Half the width of the interval over the figure.
fn relative(figure: &Value) -> f64 {
    figure["ci95"].as_f64().expect("an interval") / figure["value"].as_f64().expect("a figure")
}

fn headline(point: &Value) -> [&Value; 3] {
    let metrics = &point["metrics"];
    [&metrics["chunks_per_s"], &metrics["latency_us"]["mean"], &metrics["latency_us"]["p99"]]
}

#[test]
fn every_headline_figure_is_as_precise_as_asked_for() {
    let (json, told) = sim("asked.toml", SMALL, &["--precision", "5%"]);
    let seeds = json["seeds"].as_array().expect("a list").len();
    assert!((10..1000).contains(&seeds), "{seeds}");
    assert_eq!(json["runs"].as_array().expect("a list").len(), seeds);
    for figure in headline(&json) {
        assert!(relative(figure) <= 0.05, "{figure}");
    }
    let precision = &json["precision"];
    assert_eq!(precision["stopped"], "precise");
    assert_eq!((&precision["wanted"], &precision["seeds"]), (&0.05.into(), &seeds.into()));
    for (reached, figure) in
        precision["figures"].as_array().expect("a list").iter().zip(headline(&json))
    {
        assert!((reached["relative"].as_f64().expect("a number") - relative(figure)).abs() < 1e-12);
    }
    assert!(told.contains(&format!("precision: 5 % reached with {seeds} seeds")), "{told}");
}

#[test]
fn the_result_is_that_of_as_many_seeds_on_any_number_of_threads() {
    let (one, _) = sim("threads.toml", SMALL, &["--precision", "5%", "--threads", "1"]);
    let (four, _) = sim("threads.toml", SMALL, &["--precision", "5%", "--threads", "4"]);
    let seeds = one["seeds"].as_array().expect("a list").len().to_string();
    let (plain, _) = sim("threads.toml", SMALL, &["--seeds", &seeds]);
    for key in ["trace_hash", "metrics", "counts", "seeds", "events", "tail_at_scale", "theory"] {
        assert_eq!(one[key], four[key], "{key}");
        assert_eq!(one[key], plain[key], "{key}");
    }
    assert_eq!(one["precision"], four["precision"]);
    assert!(plain.get("precision").is_none());
}

#[test]
fn a_loose_precision_still_takes_ten_runs() {
    let loose = ["--precision", "50%", "--seeds", "2"];
    let long = [&loose[..], &["--set", "run.length=60ms"]].concat();
    let (json, _) = sim("loose.toml", SMALL, &long);
    assert_eq!(json["seeds"].as_array().expect("a list").len(), 10);
    // Runs that are too short for the interval of a p99 need more.
    let (json, _) = sim("loose.toml", SMALL, &loose);
    assert_eq!(json["precision"]["stopped"], "precise");
    assert!(json["seeds"].as_array().expect("a list").len() > 40, "{}", json["seeds"]);
}

#[test]
fn the_bound_on_seeds_is_said_with_what_was_reached() {
    let arguments = ["--precision", "0.01%", "--max-seeds", "12"];
    let (json, told) = sim("seeds.toml", SMALL, &arguments);
    assert_eq!(json["precision"]["stopped"], "max_seeds");
    assert_eq!(json["precision"]["seeds"], 12);
    assert!(headline(&json).into_iter().any(|figure| relative(figure) > 0.0001));
    for part in
        ["warning: precision: 0.01 % not reached with 12 seeds", "max_seeds", "latency_us.p99"]
    {
        assert!(told.contains(part), "`{part}` is not in:\n{told}");
    }
}

#[test]
fn the_bound_on_time_leaves_the_first_seeds() {
    let (json, told) = sim("time.toml", SMALL, &["--precision", "0.01%", "--max-time", "1ms"]);
    assert_eq!(json["precision"]["stopped"], "max_time");
    let seeds = json["seeds"].as_array().expect("a list");
    // The first stage runs in any case; what comes after it depends on the machine.
    assert!(seeds.len() >= 10);
    assert!(seeds.iter().zip(1u64..).all(|(seed, expected)| *seed == expected), "no gaps");
    assert!(told.contains("not reached in time"), "{told}");
}

#[test]
fn points_of_a_sweep_take_what_each_needs() {
    let text = "cluster.initiators = 18\ncluster.targets = 18\nrun.warmup = \"1ms\"\n\
                [[sweep]]\nrun.length = [\"4ms\", \"40ms\"]\n\
                [statistics]\nprecision = \"5%\"\n";
    let (json, told) = sim("points.toml", text, &[]);
    let points = json["points"].as_array().expect("a list");
    let runs = |point: &Value| point["runs"].as_array().expect("a list").len();
    for point in points {
        assert_eq!(point["precision"]["stopped"], "precise");
        assert_eq!(point["precision"]["seeds"], runs(point));
        for figure in headline(point) {
            assert!(relative(figure) <= 0.05, "{figure}");
        }
    }
    assert!(runs(&points[0]) > runs(&points[1]), "short runs say less");
    assert_eq!(json["seeds"].as_array().expect("a list").len(), runs(&points[0]));
    assert!(told.contains("precision: 5 % wanted"), "{told}");
}

#[test]
fn a_run_that_completes_nothing_ends() {
    let text = "run.length = \"30us\"\nrun.warmup = \"0\"\n";
    let (json, _) = sim("nothing.toml", text, &["--precision", "1%"]);
    assert_eq!(json["seeds"].as_array().expect("a list").len(), 10);
}

#[test]
fn wrong_precisions_are_refused_with_what_would_be_right() {
    let path = file("wrong.toml", SMALL);
    let refused = |arguments: &[&str], parts: &[&str]| {
        let mut all = vec!["sim", path.to_str().expect("a plain path")];
        all.extend(arguments);
        let run = slotcast(&all);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{}", run.stderr);
        for part in parts {
            assert!(run.stderr.contains(part), "`{part}` is not in:\n{}", run.stderr);
        }
    };
    refused(&["--precision", "1"], &["statistics.precision", "a share such as"]);
    refused(&["--precision", "80%"], &["statistics.precision", "out of range", "50%"]);
    refused(&["--precision", "1%", "--max-time", "5"], &["statistics.max_time", "a duration"]);
    let more = ["--precision", "1%", "--seeds", "50", "--max-seeds", "20"];
    refused(&more, &["50 seeds are more than the bound of 20", "statistics.max_seeds"]);
}

#[test]
fn more_seeds_are_checked_for_determinism_too() {
    let (_, told) = sim("twice.toml", SMALL, &["--seeds", "4"]);
    assert!(!told.contains("deterministic"));
    let path = file("twice.toml", SMALL);
    let run = slotcast(&[
        "sim",
        path.to_str().expect("plain"),
        "--precision",
        "10%",
        "--check-determinism",
    ]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.contains("each done twice, same trace hashes"), "{}", run.stdout);
}
