//! `slotcast plan`: answers, clusters that come with it, and wrong files.
#![allow(clippy::disallowed_methods, reason = "tests read and write files")]

mod support;

use serde_json::Value;
use slotcast_plan::{READY, SETTINGS};
use support::{Finished, file, root, scratch, slotcast};

/// Small enough for a test, and everything is asked of it.
const TINY: &str = r#"
title = "a tiny one"
[nodes]
count = 9
disks = 2
link = "10Gbps"
[disks]
kind = "ssd"
[data]
reads = "50%"
chunk = "256KiB"
sizes = [
    { size = "64KiB", share = "50%" },
    { size = "512KiB", share = "50%" },
]
[target]
objects_per_s = 3000
p99 = "8ms"
"#;

fn plan(name: &str, text: &str, arguments: &[&str]) -> Finished {
    let path = file(name, text);
    let mut all = vec!["plan", path.to_str().expect("a plain path")];
    all.extend(arguments);
    slotcast(&all)
}

fn json(name: &str, text: &str) -> Value {
    let run = plan(name, text, &["--quick", "--json", "-"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    serde_json::from_str(&run.stdout).expect("stdout holds JSON and nothing else")
}

#[test]
fn the_answer_is_told_in_sentences_then_figures_then_what_to_do_next() {
    let run = plan("tiny.toml", TINY, &["--quick"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let order = [
        "tiny: a tiny one",
        "Yes, it holds. Asked for: 442.4 MB/s written and 442.4 MB/s read (3000 objects/s).",
        "99 of 100 writes are done within ",
        "ms; 8 ms is asked for.",
        "99 of 100 reads are done within ",
        "Headroom: it holds up to",
        "The limit: ",
        "With a node down ",
        "With two nodes down ",
        "With a node rebuilt ",
        "Rebuilding a node: ",
        "Room: ",
        "Price (some of it guessed): ",
        "GB/s and ms",
        "largest",
        "What this leaves out:",
        "A rebuild begins then.",
        "Rough guesses, where the file does not state them: what a disk holds, prices,",
        "Next:",
        "slotcast sweep tiny-load.toml --axis workload.arrivals_per_s=",
    ];
    // Wherever lines end.
    let told = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rest = told.as_str();
    for part in order {
        let at = rest.find(part).unwrap_or_else(|| panic!("`{part}` is not in:\n{rest}"));
        rest = &rest[at..];
    }
    let lines = run.stdout.lines().filter(|line| !line.starts_with("  slotcast "));
    let wide: Vec<_> = lines.filter(|line| line.chars().count() > 80).collect();
    assert_eq!(wide, Vec::<&str>::new(), "all but commands to type fits 80 columns");
}

#[test]
fn the_answer_as_json_has_everything() {
    let found = json("json.toml", TINY);
    assert_eq!(found["schema"], 3);
    assert_eq!(found["name"], "json");
    assert_eq!(found["holds"], "yes");
    assert_eq!(found["cluster"]["nodes.disks"], "2");
    assert_eq!(found["cluster"]["data.sizes"], "64KiB:50% 512KiB:50%");
    assert_eq!(found["at_target"]["objects_per_s"], 3000);
    for check in ["at_target", "idle", "node_down", "two_nodes_down", "rebuilding"] {
        let check = &found[check];
        assert!(check["latency_us"]["p99"]["ci95"].is_f64(), "{check}");
        assert!(check["used"]["disks"].is_f64() && check["used"]["control"].is_f64());
        assert!(check["read_p99_us"]["value"].is_f64() && check["write_p99_us"]["value"].is_f64());
    }
    assert_eq!(found["node_down"]["node_down"], true);
    assert_eq!(found["rebuilding"]["condition"], "rebuilding");
    assert!(found["rack_down"].is_null(), "racks are no failure domains");
    assert!(found["rebuild"]["seconds"].as_f64().expect("a time") > 0.0);
    assert!(found["room"]["usable"].as_f64().expect("bytes") > 1e12);
    assert!(found["room"]["full_in_months"].is_null(), "nothing was said of what is stored");
    for of in ["cost", "cost_per_tb", "cost_per_gb_per_s", "watts_idle", "watts_at_target"] {
        assert!(found["budget"][of].as_f64().expect(of) > 0.0, "{of}");
    }
    assert_eq!(found["cluster"]["target.get_p99"], "8ms");
    let (holds_at, fails_at) = (&found["limit"]["holds_at"], &found["limit"]["fails_at"]);
    assert!(holds_at.as_u64().expect("a load") < fails_at.as_u64().expect("a load"));
    assert!(found["limit"]["by"]["kind"].is_string());
    assert!(found["change"].is_null(), "it holds as it is");
    assert!(found["left_out"].as_array().expect("a list").len() >= 3);
}

#[test]
fn a_cluster_that_does_not_hold_is_told_what_would() {
    let text = TINY.replace("objects_per_s = 3000", "objects_per_s = 30000");
    let found = json("small.toml", &text);
    assert_eq!(found["holds"], "no");
    assert!(found["limit"]["headroom"].as_f64().expect("a part") < 0.0);
    let change = &found["change"];
    assert!(!change["change"].as_array().expect("a list").is_empty(), "{change}");
    assert_eq!(change["at_target"]["holds"], "yes");
    let told = plan("small.toml", &text, &["--quick"]).stdout;
    assert!(told.contains("No, it does not hold."), "{told}");
    assert!(told.contains("The smallest change that makes it hold: "), "{told}");
    assert!(told.contains("less than the target"), "{told}");
}

#[test]
fn a_cluster_without_room_is_told_so() {
    let text =
        TINY.replace("[target]", "stored = \"10TB\"\ngrowth = \"1TB\"\n[target]\nmonths = 24");
    let text = text.replace("[data]", "[change]\nallow = [\"disks\"]\n[data]");
    let found = json("room.toml", &text);
    // 18 disks of 3.84 TB, filled to 90 %, three copies, a ninth kept free: 18.43 TB.
    let room = &found["room"];
    assert!((room["usable"].as_f64().expect("bytes") / 18.432e12 - 1.0).abs() < 1e-9, "{room}");
    assert!((room["full_in_months"].as_f64().expect("months") - 8.432).abs() < 1e-3, "{room}");
    assert_eq!((&found["at_target"]["holds"], &found["holds"]), (&"yes".into(), &"no".into()));
    // 34 TB need 3.3 times... four disks in each node hold 36.86.
    assert_eq!(found["change"]["hardware"]["nodes.disks"], "4");
    let told = plan("room.toml", &text, &["--quick"]).stdout;
    assert!(told.contains("No: it is fast enough, but has no room"), "{told}");
    assert!(told.contains("it is full after 8 months"), "{told}");
}

#[test]
fn two_clusters_are_held_against_each_other() {
    let one = file("one.toml", TINY);
    let other = file("other.toml", &TINY.replace("objects_per_s = 3000", "objects_per_s = 30000"));
    let (one, other) = (one.to_str().expect("plain"), other.to_str().expect("plain"));
    let run = slotcast(&["plan", one, other, "--quick"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("A holds; B does not hold."), "{}", run.stdout);
    assert!(run.stdout.contains("target.objects_per_s"), "{}", run.stdout);
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 80), "{}", run.stdout);
    let run = slotcast(&["plan", one, other, "--quick", "--json", "-"]);
    let found: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!((&found["schema"], &found["holds_alone"]), (&3.into(), &"a".into()));
    assert_eq!(found["stated"][0]["key"], "target.objects_per_s");
    assert!(found["results"][0]["what"].is_string() && found["a"]["holds"] == "yes");
    let run = slotcast(&["plan", one, other, "--report", "x"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("--report is for one cluster"), "{}", run.stderr);
}

#[test]
fn a_plan_is_an_experiment_that_can_be_run() {
    let path = scratch("experiment.toml");
    let path = path.to_str().expect("a plain path");
    let run = plan("as-experiment.toml", TINY, &["--experiment", path]);
    assert_eq!((run.status, run.stdout.as_str()), (0, ""));
    let run = slotcast(&["sim", path, "--seeds", "1", "--json", "-"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let found: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(found["configuration"]["disk.per_target"], "2");
    assert_eq!(found["configuration"]["workload.mix"], "64KiB:50% 512KiB:50%");
}

#[test]
fn the_clusters_that_come_with_it_are_listed_and_are_the_files() {
    let run = slotcast(&["plan", "--list"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    for ready in READY {
        assert!(run.stdout.contains(ready.name), "{}", run.stdout);
        let path = root().join(format!("experiments/plans/{}.toml", ready.name));
        assert_eq!(std::fs::read_to_string(path).expect("the file"), ready.text);
        // By name and by path it is the same cluster.
        let by_name = slotcast(&["plan", ready.name, "--experiment", "-"]);
        assert_eq!(by_name.status, 0, "{}", by_name.stderr);
        let path = format!("experiments/plans/{}.toml", ready.name);
        assert_eq!(slotcast(&["plan", &path, "--experiment", "-"]).stdout, by_name.stdout);
    }
}

#[test]
fn the_template_is_a_cluster_file() {
    let template = slotcast(&["plan", "--template"]).stdout;
    let run = plan("template.toml", &template, &["--experiment", "-"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    for key in SETTINGS.keys() {
        let (_, name) = key.split_once('.').expect("section and name");
        assert!(template.contains(&format!("{name} = ")), "{key}");
    }
}

#[track_caller]
fn rejected(text: &str, parts: &[&str]) {
    let run = plan("wrong.toml", text, &["--quick"]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    for part in parts {
        assert!(run.stderr.contains(part), "`{part}` is not in:\n{}", run.stderr);
    }
}

#[test]
fn a_wrong_file_is_shown_where_it_is_wrong() {
    let with = |old: &str, new: &str| {
        assert!(TINY.contains(old), "{old}");
        TINY.replace(old, new)
    };
    rejected(
        &with("kind = \"ssd\"", "kind = \"nvm\""),
        &["wrong.toml:8:8", "disks.kind", "`hdd`", "did you mean `nvme`?"],
    );
    rejected(&with("link = \"10Gbps\"", "link = \"10GB\""), &["wrong.toml:6:8", "expected a rate"]);
    rejected(&with("disks = 2", "disk = 2"), &["wrong.toml:5:1", "did you mean `nodes.disks`?"]);
    rejected(&with("[target]", "[targets]"), &["`targets`", "did you mean `target`?"]);
    rejected(
        &with("count = 9", "replicas = 3"),
        &["`nodes.replicas`", "did you mean `data.replicas`?"],
    );
    rejected(
        &with("{ size = \"512KiB\", share = \"50%\" }", "{ size = \"512KiB\", share = \"40%\" }"),
        &["wrong.toml:12:9", "make 100% together, not 90%"],
    );
    rejected(
        &with("share = \"50%\" },\n]", "part = \"50%\" },\n]"),
        &["unknown key `part`", "expected `size` and `share`"],
    );
    rejected(
        &with("sizes = [", "sizes = [ 5,"),
        &["data.sizes", "expected sizes with their shares"],
    );
    rejected(
        &with("objects_per_s = 3000\n", ""),
        &["`objects_per_s` is missing in [target]", "rate = ", "ingest"],
    );
    rejected(
        &with("objects_per_s = 3000", "objects_per_s = 3000\nrate = \"1GB/s\""),
        &["wrong.toml:18:8", "say the same twice"],
    );
    rejected(&with("p99 = \"8ms\"", ""), &["`p99` is missing in [target]", "a duration in quotes"]);
    rejected(&with("count = 9\n", ""), &["`count` is missing in [nodes]"]);
    rejected(
        &with("count = 9", "count = 2"),
        &["data.replicas", "3 replicas need as many failure domains"],
    );
    rejected(
        &with("disks = 2", "disks = 2\nfailure_domain = \"rack\""),
        &["`per_rack` is missing in [nodes]"],
    );
    rejected(
        &with("disks = 2", "disks = 2\nper_rack = 3"),
        &["wrong.toml:6:12", "the failure domain is a node", "failure_domain = \"rack\""],
    );
    rejected(
        &with("disks = 2", "disks = 2\nfailure_domain = \"rack\"\nper_rack = 9"),
        &["3 replicas need as many failure domains"],
    );
    rejected(
        &format!("{TINY}[change]\nallow = [\"nodes\", \"lnik\"]\n"),
        &["change.allow", "did you mean `link`?"],
    );
    rejected(&with("chunk = \"256KiB\"", "chunk = 256"), &["wrong.toml:11:9", "a size in quotes"]);
    rejected("[nodes]\ncount = = 3\n", &["wrong.toml:2:", "not valid TOML"]);
}

#[test]
fn what_is_said_twice_or_makes_no_sense_is_refused() {
    let with = |old: &str, new: &str| TINY.replace(old, new);
    let load = "objects_per_s = 3000";
    rejected(
        &with(load, "objects_per_s = 3000\ningest = \"1GB/s\""),
        &["wrong.toml:17:17", "target.ingest states the load already"],
    );
    rejected(
        &with(load, "ingest = \"1GB/s\"\nreads = \"1GB/s\""),
        &["wrong.toml:10:9", "follows from target.ingest and target.reads"],
    );
    rejected(
        &with("p99 = \"8ms\"", "p99 = \"8ms\"\nput_p999 = \"5ms\""),
        &["wrong.toml:19:12", "expected 8ms at the least"],
    );
    rejected(
        &with("p99 = \"8ms\"", "p99 = \"8ms\"\nwith_a_rack_down = true"),
        &["failure_domain = \"rack\"` only"],
    );
    rejected(&with("disks = 2", "disks = 2\nbays = 1"), &["1 bays have no room for 2 disks"]);
    rejected(
        &with("disks = 2", "disks = 2\nracks = 2\nper_rack = 4"),
        &["2 racks of 4 have room for 8 nodes"],
    );
    rejected(
        &with("[target]", "growth = \"1TB\"\n[target]"),
        &["says nothing without data.stored"],
    );
    rejected(
        &with("[data]", "[data]\nec = \"8+3\""),
        &["data.ec", "no erasure code yet", "data.replicas"],
    );
}

#[test]
fn an_unknown_cluster_gets_the_nearest_name() {
    let run = slotcast(&["plan", "smal"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("did you mean `small`?"), "{}", run.stderr);
    let run = slotcast(&["plan", "no-such-file.toml"]);
    assert!(run.stderr.contains("--template"), "{}", run.stderr);
    assert_eq!(slotcast(&["plan"]).status, 2, "which cluster?");
}
