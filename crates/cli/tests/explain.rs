//! `explain` and `--list` teach what can be set.

mod support;

use support::slotcast;

#[test]
fn a_key_is_explained_with_unit_range_default_source_and_use() {
    let run = slotcast(&["explain", "disk.rate"]);
    assert_eq!(run.status, 0);
    for part in ["400MiB/s", "range", "default", "source", "paper", "--set disk.rate=", "[disk]"] {
        assert!(run.stdout.contains(part), "`{part}` is not in:\n{}", run.stdout);
    }
}

#[test]
fn the_words_of_a_choice_are_explained() {
    let run = slotcast(&["explain", "protocol.kind"]);
    for word in ["replicast-m", "replicast-h", "uch-ccp", "uch-aimd", "multicast"] {
        assert!(run.stdout.contains(word), "{}", run.stdout);
    }
}

#[test]
fn a_section_lists_its_keys() {
    let run = slotcast(&["explain", "seeds"]);
    assert_eq!(run.status, 0);
    assert!(run.stdout.contains("seeds.first") && run.stdout.contains("seeds.count"));
    assert!(!run.stdout.contains("disk.rate"));
}

#[test]
fn an_unknown_key_gets_the_nearest_name() {
    let run = slotcast(&["explain", "disk.rat"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("did you mean `disk.rate`?"), "{}", run.stderr);
}

#[test]
fn the_list_has_every_key_on_a_line_of_its_own() {
    let run = slotcast(&["sim", "--list"]);
    assert_eq!(run.status, 0);
    for setting in slotcast_lab::setting::CLUSTER.settings {
        let own = |line: &str| line.split_whitespace().next() == Some(setting.key);
        assert!(run.stdout.lines().any(own), "{} is not listed", setting.key);
    }
}

#[test]
fn the_evaluations_are_listed() {
    let run = slotcast(&["reproduce", "--list"]);
    assert_eq!(run.status, 0);
    assert!(run.stdout.contains("replicast") && run.stdout.contains("experiments/replicast.toml"));
}
