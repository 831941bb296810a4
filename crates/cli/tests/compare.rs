//! `slotcast compare`: what differs, by how much, and no more than the runs show.

mod support;

use serde_json::Value;
use support::{Finished, SMALL, file, scratch, slotcast};

/// The path of a result of the experiment `text`.
fn result(name: &str, text: &str, arguments: &[&str]) -> String {
    let experiment = file(&format!("{name}.toml"), text);
    let json = scratch(&format!("{name}.json"));
    let (experiment, json) = (experiment.to_str().expect("plain"), json.to_str().expect("plain"));
    let mut all = vec!["sim", experiment, "--json", json];
    all.extend(arguments);
    let run = slotcast(&all);
    assert_eq!(run.status, 0, "{}", run.stderr);
    json.to_string()
}

fn compare(a: &str, b: &str) -> (Value, String) {
    let json = slotcast(&["compare", a, b, "--json", "-"]);
    assert_eq!(json.status, 0, "{}", json.stderr);
    let told = slotcast(&["compare", a, b]);
    assert_eq!(told.status, 0, "{}", told.stderr);
    (serde_json::from_str(&json.stdout).expect("stdout holds JSON and nothing else"), told.stdout)
}

fn metrics(comparison: &Value) -> Vec<&Value> {
    let points = comparison["points"].as_array().expect("a list");
    points.iter().flat_map(|point| point["metrics"].as_array().expect("a list")).collect()
}

fn metric<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    let all = metrics(comparison);
    all.into_iter().find(|metric| metric["name"] == name).expect("it is compared")
}

/// A verdict is only there where the interval leaves out zero, and only then something is better.
fn verdicts_are_shown(comparison: &Value) {
    for metric in metrics(comparison) {
        let difference = metric["difference"]["value"].as_f64().expect("a number");
        let shown = metric["difference"]["ci95"].as_f64().is_some_and(|h| difference.abs() > h);
        let expected = match metric["verdict"].as_str().expect("a text") {
            "no difference shown" => {
                assert!(metric["judgement"].is_null(), "{metric}");
                continue;
            }
            "lower" => difference < 0.0,
            "higher" => difference > 0.0,
            other => panic!("{other}"),
        };
        assert!(shown && expected, "{metric}");
        let better = match metric["better"].as_str().expect("a text") {
            "lower" => Value::from(if difference < 0.0 { "better" } else { "worse" }),
            "higher" => Value::from(if difference > 0.0 { "better" } else { "worse" }),
            _ => Value::Null,
        };
        assert_eq!(metric["judgement"], better, "{metric}");
    }
}

#[test]
fn two_protocols_are_compared_seed_by_seed() {
    let a = result("a", SMALL, &["--seeds", "8"]);
    let b = result("b", SMALL, &["--seeds", "8", "--set", "protocol.kind=uch-ccp"]);
    let (json, told) = compare(&a, &b);
    verdicts_are_shown(&json);
    assert_eq!(json["points"][0]["paired"], true);
    let throughput = metric(&json, "chunks_per_s");
    assert_eq!(
        (&throughput["verdict"], &throughput["judgement"]),
        (&"lower".into(), &"worse".into())
    );
    let of = |side: &str| throughput[side]["value"].as_f64().expect("a number");
    assert!((of("b") - of("a") - of("difference")).abs() < 1e-6);
    assert!((of("b") / of("a") - 1.0 - of("relative")).abs() < 1e-9);
    let expected = serde_json::json!([
        {"key": "protocol.kind", "a": "replicast-m", "b": "uch-ccp"}
    ]);
    assert_eq!(json["settings"], expected);
    for part in ["paired over 8 seeds", "protocol.kind", "uch-ccp", "lower: worse", "(Holm)"] {
        assert!(told.contains(part), "`{part}` is not in:\n{told}");
    }
}

#[test]
fn a_result_does_not_differ_from_itself() {
    let a = result("same", SMALL, &[]);
    let (json, told) = compare(&a, &a);
    assert!(metrics(&json).iter().all(|metric| metric["verdict"] == "no difference shown"));
    assert!(told.contains("The settings are the same on both sides."), "{told}");
}

#[test]
fn other_seeds_alone_make_no_difference_and_are_not_paired() {
    let a = result("seeds-1", SMALL, &["--seeds", "6"]);
    let b = result("seeds-100", SMALL, &["--seeds", "9", "--seed", "100"]);
    let (json, told) = compare(&a, &b);
    verdicts_are_shown(&json);
    assert_eq!(json["points"][0]["paired"], false);
    assert!(metrics(&json).iter().all(|metric| metric["judgement"].is_null()), "{told}");
    assert!(told.contains("not paired: 6 runs in A and 9 runs in B"), "{told}");
    assert!(told.contains("`--seed`"), "{told}");
}

#[test]
fn one_seed_shows_nothing() {
    let a = result("one-a", SMALL, &["--seeds", "1"]);
    let b = result("one-b", SMALL, &["--seeds", "1", "--set", "protocol.kind=uch-ccp"]);
    let (json, told) = compare(&a, &b);
    assert!(metrics(&json).iter().all(|metric| metric["verdict"] == "no difference shown"));
    assert!(metric(&json, "chunks_per_s")["difference"]["ci95"].is_null());
    assert!(told.contains("with a single run there is no interval"), "{told}");
}

fn swept(rates: &str) -> String {
    format!("{SMALL}\n[[sweep]]\ndisk.rate = {rates}\n")
}

#[test]
fn points_of_sweeps_are_matched_by_their_values() {
    let a = result("sweep-a", &swept(r#"["400MiB/s", "800MiB/s", "1000MiB/s"]"#), &[]);
    let b = result(
        "sweep-b",
        &swept(r#"["1000MiB/s", "400MiB/s", "200MiB/s"]"#),
        &["--set", "cluster.replicas=2"],
    );
    let (json, told) = compare(&a, &b);
    verdicts_are_shown(&json);
    let points = json["points"].as_array().expect("a list");
    let rates: Vec<_> = points.iter().map(|point| &point["sweep"]["disk.rate"]).collect();
    assert_eq!(rates, ["400MiB/s", "1000MiB/s"]);
    assert_eq!(json["only_in_a"], serde_json::json!(["disk.rate=800MiB/s"]));
    assert_eq!(json["only_in_b"], serde_json::json!(["disk.rate=200MiB/s"]));
    assert_eq!(json["settings"][0]["key"], "cluster.replicas");
    assert_eq!(json["settings"].as_array().expect("a list").len(), 1, "the swept key is matched");
    assert!(told.contains("only in B: 1 point: disk.rate=200MiB/s"), "{told}");
}

/// What is compared is what the file says there is, whatever the model.
#[test]
fn the_metrics_of_another_model_are_compared_too() {
    let result = |name: &str, rates: [f64; 3]| {
        let mean = rates.iter().sum::<f64>() / 3.0;
        let run = |(seed, rate): (u64, &f64)| serde_json::json!({"seed": seed, "metrics": {"rpc.per_s": rate}});
        let json = serde_json::json!({
            "schema": 2, "version": "9", "name": "ost",
            "metric_definitions": [{"name": "rpc.per_s", "unit": "1/s", "better": "higher"}],
            "configuration": {"nrs.policy": name},
            "metrics": {"rpc": {"per_s": {"value": mean, "ci95": 1.0}}},
            "runs": (1..).zip(&rates).map(run).collect::<Vec<_>>(),
        });
        let path = file(&format!("model-{name}.json"), &json.to_string());
        path.to_str().expect("plain").to_string()
    };
    let (a, b) = (result("fcfs", [10.0, 20.0, 30.0]), result("frr", [20.1, 30.0, 39.9]));
    let (json, _) = compare(&a, &b);
    assert_eq!(metric(&json, "rpc.per_s")["judgement"], "better");
}

#[track_caller]
fn rejected(a: &str, b: &str, parts: &[&str]) {
    let Finished { status, stdout, stderr } = slotcast(&["compare", a, b]);
    assert_eq!((status, stdout.as_str()), (2, ""), "{stderr}");
    for part in parts {
        assert!(stderr.contains(part), "`{part}` is not in:\n{stderr}");
    }
}

#[test]
fn what_is_no_result_is_refused_with_the_reason() {
    let good = result("good", SMALL, &["--seeds", "2"]);
    let path = |name: &str, text: &str| {
        let path = file(name, text);
        path.to_str().expect("plain").to_string()
    };
    rejected("no-such.json", &good, &["cannot read `no-such.json`", "slotcast sim FILE --json"]);
    let broken = path("broken.json", "{\n  \"schema\": 2,\n  \"name\": oops\n}\n");
    rejected(&good, &broken, &["not valid JSON", "broken.json:3:", "line 3"]);
    let toml = path("experiment.json", SMALL);
    rejected(&toml, &good, &["not valid JSON"]);
    rejected(&path("list.json", "[1, 2]"), &good, &["no result of `slotcast sim`"]);
    let old = path("old.json", r#"{"schema": 1, "name": "x", "version": "0.0.1"}"#);
    rejected(&good, &old, &["old.json", "schema 1", "older", "run the experiment again"]);
    let new = path("new.json", r#"{"schema": 99, "name": "x", "version": "9"}"#);
    rejected(&good, &new, &["schema 99", "newer"]);
    let other = path("other.json", r#"{"schema": 2, "rows": [], "claims": []}"#);
    rejected(&good, &other, &["slotcast reproduce"]);
    let half = path("half.json", r#"{"schema": 2, "name": "x", "version": "9"}"#);
    rejected(&half, &good, &["half.json", "missing field"]);
}

#[test]
fn sweeps_without_a_common_point_are_refused() {
    let a = result("apart-a", &swept(r#"["400MiB/s", "800MiB/s"]"#), &["--seeds", "1"]);
    let text = format!("{SMALL}\n[[sweep]]\ncluster.replicas = [2, 3]\n");
    let b = result("apart-b", &text, &["--seeds", "1"]);
    rejected(&a, &b, &["do not match", "disk.rate=400MiB/s", "cluster.replicas=2", "--set"]);
    let one = result("apart-one", SMALL, &["--seeds", "1"]);
    rejected(&one, &a, &["one point without a sweep", "2 points"]);
}
