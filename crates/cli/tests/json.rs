//! The JSON of `sim` and `reproduce` has the documented form.

mod support;

use serde_json::Value;
use support::{SMALL, file, scratch, slotcast};

fn sim(name: &str, text: &str, arguments: &[&str]) -> Value {
    let path = file(name, text);
    let mut all = vec!["sim", path.to_str().expect("a plain path"), "--json", "-"];
    all.extend(arguments);
    let run = slotcast(&all);
    assert_eq!(run.status, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).expect("stdout holds JSON and nothing else")
}

fn is_estimate(value: &Value, with_interval: bool) {
    assert!(value["value"].is_f64(), "{value}");
    assert_eq!(value["ci95"].is_f64(), with_interval, "{value}");
}

#[test]
fn an_experiment_is_one_object_with_named_metrics() {
    let json = sim("plain.toml", SMALL, &[]);
    assert_eq!(json["schema"], 2);
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["name"], "small");
    assert_eq!(json["seed"], 1);
    assert_eq!(json["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(json["configuration"]["cluster.targets"], "18");
    assert_eq!(json["configuration"]["disk.rate"], "400MiB/s");
    assert!(json["events"].as_u64().expect("a count") > 0);
    assert!(json["wall_time_s"].is_f64() && json["events_per_s"].is_f64());
    assert_eq!(json["trace_hash"].as_str().expect("a text").len(), 16);

    let metrics = &json["metrics"];
    for name in ["chunks_per_s", "disk_utilization", "disk_queue_length", "link_utilization"] {
        is_estimate(&metrics[name], true);
    }
    for name in ["mean", "p50", "p90", "p99", "p999"] {
        // Some 160 requests are too few for the interval of any quantile.
        is_estimate(&metrics["latency_us"][name], name == "mean");
        is_estimate(&metrics["put_latency_us"][name], name == "mean");
    }
    let more = sim("plain.toml", SMALL, &["--seeds", "20"]);
    is_estimate(&more["metrics"]["latency_us"]["p90"], true);
    is_estimate(&more["metrics"]["latency_us"]["p99"], false);
    is_estimate(&metrics["latency_us"]["max"], false);
    assert!(metrics.get("get_latency_us").is_none(), "there were no gets");
    assert!(json["counts"]["puts"].as_u64().expect("a count") > 0);
    let runs = json["runs"].as_array().expect("a list");
    assert_eq!(runs.len(), 3);
    assert_eq!(runs[2]["seed"], 3);
    for definition in json["metric_definitions"].as_array().expect("a list") {
        let name = definition["name"].as_str().expect("a text");
        assert!(definition["unit"].is_string());
        assert!(["lower", "higher", "neither"].contains(&definition["better"].as_str().unwrap()));
        if name.starts_with("put_latency") || name.starts_with("get_latency") {
            assert!(runs[0]["metrics"].get(name).is_none(), "there were only puts");
            continue;
        }
        assert!(runs.iter().all(|run| run["metrics"][name].is_f64()), "{name}");
        let path = name.replace('.', "/");
        let is_quantile = name.starts_with("latency_us.p");
        is_estimate(metrics.pointer(&format!("/{path}")).expect("its place"), !is_quantile);
    }
    assert!(json.get("points").is_none() && json.get("sweep").is_none());
}

#[test]
fn one_seed_has_no_interval() {
    let json = sim("one.toml", SMALL, &["--seeds", "1", "--seed", "7"]);
    assert_eq!((&json["seed"], &json["seeds"]), (&7.into(), &serde_json::json!([7])));
    is_estimate(&json["metrics"]["latency_us"]["mean"], false);
    assert_eq!(json["trace_hash"], json["runs"][0]["trace_hash"]);
}

#[test]
fn a_sweep_is_a_list_of_points() {
    let text = format!("{SMALL}\n[[sweep]]\nprotocol.kind = [\"replicast-m\", \"uch-ccp\"]\n");
    let json = sim("sweep.toml", &text, &["--seeds", "2"]);
    let points = json["points"].as_array().expect("a list");
    assert_eq!(points.len(), 2);
    assert_eq!(points[1]["sweep"]["protocol.kind"], "uch-ccp");
    assert_eq!(points[1]["configuration"]["protocol.kind"], "uch-ccp");
    is_estimate(&points[1]["metrics"]["chunks_per_s"], true);
    assert!(json.get("metrics").is_none());
}

#[test]
fn a_file_gets_the_json_and_people_get_the_table() {
    let path = file("both.toml", SMALL);
    let json = scratch("both.json");
    let (path, json) = (path.to_str().expect("plain"), json.to_str().expect("plain"));
    let run = slotcast(&["sim", path, "--seeds", "1", "--json", json]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.contains("chunks_per_s") && run.stdout.contains("trace hash"));
    #[allow(clippy::disallowed_methods, reason = "a test reads what was written")]
    let text = std::fs::read_to_string(json).expect("the file is there");
    assert!(serde_json::from_str::<Value>(&text).expect("JSON").is_object());
}

#[test]
fn reproduce_gives_rows_claims_and_figures() {
    let run = slotcast(&["reproduce", "replicast", "--seeds", "1", "--json", "-"]);
    // With one seed an order may fail by chance; the form does not depend on it.
    assert!(run.status == 0 || run.status == 1, "{}", run.stderr);
    let json: Value =
        serde_json::from_str(&run.stdout).expect("stdout holds JSON and nothing else");
    assert_eq!(json["schema"], 2);
    let rows = json["rows"].as_array().expect("a list");
    let row = |id: &str, mode: &str| {
        let found = rows.iter().find(|row| row["id"] == id && row["mode"] == mode);
        found.unwrap_or_else(|| panic!("no row {id} in mode {mode}"))
    };
    let cell = row("table2/128KiB/replicast-m/mean_latency", "as-published");
    assert_eq!(cell["published"], 1039.8);
    assert_eq!(cell["unit"], "us");
    assert!(cell["measured"].is_f64() && cell["deviation_pct"].is_f64());
    for table in ["table2", "table3"] {
        for chunk in ["16KiB", "128KiB", "1MiB"] {
            for protocol in ["uch-ccp", "replicast-m", "replicast-h"] {
                for metric in ["mean_latency", "chunks_per_s", "disk_utilization"] {
                    row(&format!("{table}/{chunk}/{protocol}/{metric}"), "as-published");
                }
                for metric in ["mean_latency", "steady_chunks_per_s", "disk_utilization"] {
                    row(&format!("{table}/{chunk}/{protocol}/{metric}"), "steady-state");
                }
            }
        }
    }
    assert!(
        row("figure12/400MBps/replicast-m/chunks_per_s", "as-published")["published"].is_null()
    );
    for figure in ["figure8", "figure9", "figure10", "figure11", "figure12", "figure13"] {
        let series = json["figures"][figure]["series"].as_array().expect("a list");
        assert!(series.iter().all(|line| !line["y"].as_array().expect("a list").is_empty()));
    }
    for claim in json["claims"].as_array().expect("a list") {
        assert!(claim["id"].is_string() && claim["text"].is_string());
        assert!(claim["holds"].is_boolean() && claim["certain"].is_boolean());
    }
}
