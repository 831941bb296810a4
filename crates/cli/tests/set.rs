//! `--set` reaches every key, and goes before what the file sets or sweeps.

mod support;

use std::collections::BTreeSet;

use serde_json::Value;
use slotcast_lab::Configuration;
use slotcast_lab::setting::{CLUSTER, Kind, Setting};
use support::{SMALL, file, slotcast};

fn configuration(path: &str, settings: &[String]) -> Value {
    let mut arguments = vec!["sim", path, "--json", "-"];
    for setting in settings {
        arguments.extend(["--set", setting]);
    }
    let run = slotcast(&arguments);
    assert_eq!(run.status, 0, "{settings:?}\n{}", run.stderr);
    let json: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert!(json.get("points").is_none(), "a swept key that is set is not swept any more");
    json["configuration"].clone()
}

fn default(setting: &Setting<Configuration>) -> String {
    setting.text(&Configuration::default())
}

/// Every key that has an effect is set to its own default: accepted by the command line, and told back
/// the same.
#[test]
fn every_key_can_be_set() {
    let path = file("every.toml", "");
    let small = ["cluster.initiators=18", "cluster.targets=18", "run.length=2ms", "run.warmup=0"];
    let defaults = Configuration::default();
    let has_effect =
        |setting: &&Setting<Configuration>| CLUSTER.lacks(setting, &defaults).is_none();
    let mut settings: Vec<String> = CLUSTER
        .settings
        .iter()
        .filter(has_effect)
        .map(|setting| format!("{}={}", setting.key, default(setting)))
        .collect();
    settings.extend(small.map(String::from));
    settings.push("seeds.count=1".into());
    let told = configuration(path.to_str().expect("a plain path"), &settings);
    for setting in CLUSTER.settings {
        let changed =
            ["cluster.initiators", "cluster.targets", "run.length", "run.warmup", "seeds.count"];
        if !changed.contains(&setting.key) {
            assert_eq!(told[setting.key], default(setting), "{}", setting.key);
        }
    }
    assert_eq!(told["cluster.targets"], "18");
    assert_eq!(told["seeds.count"], "1");
}

#[test]
fn one_key_of_every_section_takes_effect() {
    let path = file("sections.toml", SMALL);
    // Half of them has an effect with Replicast only, the other half without it.
    let replicast = ["replicast.bid_gap=1us", "quirks.queued_windows=true"].map(String::from);
    let told = configuration(path.to_str().expect("a plain path"), &replicast);
    assert_eq!(told["quirks.queued_windows"], "true");
    let settings = [
        "cluster.replicas=2",
        "network.trip=2us",
        "disk.rate=1000MiB/s",
        "protocol.kind=uch-dctcp",
        "unicast.control_size=200B",
        "dctcp.gain=10%",
        "workload.chunk_size=64KiB",
        "faults.message_delay=0",
        "run.fidelity=frame",
        "seeds.first=5",
        "statistics.warmup=as-published",
    ]
    .map(String::from);
    let sections = settings.iter().chain(&replicast);
    let sections: BTreeSet<_> = sections.map(|s| s.split('.').next().expect("a section")).collect();
    let all: BTreeSet<_> = CLUSTER.sections.iter().map(|(section, _)| *section).collect();
    assert_eq!(sections, all, "one of each section");
    let told = configuration(path.to_str().expect("a plain path"), &settings);
    assert_eq!(told["disk.rate"], "1000MiB/s");
    assert_eq!(told["seeds.first"], "5");
    assert_eq!(told["statistics.warmup"], "as-published");
}

#[test]
fn a_set_key_is_no_longer_swept() {
    let text = format!("{SMALL}\n[[sweep]]\nprotocol.kind = [\"replicast-m\", \"uch-ccp\"]\n");
    let path = file("swept.toml", &text);
    let told =
        configuration(path.to_str().expect("a plain path"), &["protocol.kind=uch-ccp".into()]);
    assert_eq!(told["protocol.kind"], "uch-ccp");
}

#[test]
fn every_choice_accepts_all_its_words() {
    let path = file("words.toml", SMALL);
    for setting in CLUSTER.settings {
        if let Kind::Choice(words) = setting.kind {
            for word in words {
                let text = format!("{}={}", setting.key, word.word);
                // Not every protocol can do without frames.
                let run = ["run.length=2ms", "seeds.count=1", "run.fidelity=frame"];
                let run = run.map(String::from).into_iter().chain([text]);
                let only = setting.only.iter().map(|(key, values)| format!("{key}={}", values[0]));
                let run: Vec<_> = run.chain(only).collect();
                let told = configuration(path.to_str().expect("a plain path"), &run);
                assert_eq!(told[setting.key], word.word);
            }
        }
    }
}
