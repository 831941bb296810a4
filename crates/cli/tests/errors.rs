//! Wrong input gives one clear error: file, line, what was expected, the nearest name. Nothing runs.

mod support;

use support::{file, slotcast};

/// Runs the experiment `text` and returns what it said on stderr; it must fail as input.
fn rejected(name: &str, text: &str, arguments: &[&str]) -> String {
    let path = file(name, text);
    let path = path.to_str().expect("a plain path");
    let mut all = vec!["sim", path];
    all.extend(arguments);
    let run = slotcast(&all);
    assert_eq!(run.status, 2, "{}{}", run.stdout, run.stderr);
    assert_eq!(run.stdout, "", "nothing may run");
    run.stderr
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_nearest_one() {
    let said = rejected("key.toml", "name = \"x\"\n[cluster]\ntargts = 18\n", &[]);
    says(
        &said,
        &["unknown key `cluster.targts`", "key.toml:3:1", "did you mean `cluster.targets`?"],
    );
}

#[test]
fn a_key_in_the_wrong_section_is_sent_to_the_right_one() {
    let said = rejected("moved.toml", "[cluster]\nlink_rate = \"10Gbps\"\n", &[]);
    says(&said, &["moved.toml:2:1", "did you mean `network.link_rate`?"]);
}

#[test]
fn an_unknown_section_is_named_with_the_nearest_one() {
    let said = rejected("section.toml", "[clutser]\ntargets = 18\n", &[]);
    says(&said, &["`clutser`", "section.toml:1:2", "did you mean `cluster`?"]);
}

#[test]
fn a_wrong_unit_says_what_is_expected() {
    let said = rejected("unit.toml", "[disk]\nrate = \"400MBps\"\n", &[]);
    says(&said, &["unit.toml:2:8", "disk.rate", "expected a rate", "400MiB/s"]);
}

#[test]
fn a_number_where_a_quantity_belongs_says_what_is_expected() {
    let said = rejected("type.toml", "[workload]\nchunk_size = 131072\n", &[]);
    says(&said, &["type.toml:2:14", "workload.chunk_size", "expected a size in quotes", "131072"]);
}

#[test]
fn quotes_around_a_count_are_pointed_out() {
    let said = rejected("quoted.toml", "[cluster]\ntargets = \"90\"\n", &[]);
    says(&said, &["quoted.toml:2:11", "expected a whole number without quotes"]);
}

#[test]
fn a_value_out_of_range_says_the_range() {
    let said = rejected("range.toml", "[cluster]\nreplicas = 0\n", &[]);
    says(&said, &["range.toml:2:12", "cluster.replicas", "out of range", "1 to 8"]);
    let said = rejected("negative.toml", "[cluster]\nreplicas = -3\n", &[]);
    says(&said, &["negative.toml:2:12", "not a whole number", "1 to 8"]);
}

#[test]
fn an_unknown_word_lists_the_words_and_the_nearest() {
    let said = rejected("word.toml", "[protocol]\nkind = \"replicast_m\"\n", &[]);
    says(&said, &["word.toml:2:8", "`uch-ccp`", "did you mean `replicast-m`?"]);
}

#[test]
fn a_duplicate_key_is_found() {
    let said = rejected("twice.toml", "[cluster]\ntargets = 18\ntargets = 36\n", &[]);
    says(&said, &["twice.toml:3:1", "duplicate key"]);
    let text = "[cluster]\ntargets = 18\n[[sweep]]\ncluster.targets = [18, 36]\n";
    let said = rejected("swept.toml", text, &[]);
    says(&said, &["swept.toml:4:9", "duplicate key `cluster.targets`"]);
}

#[test]
fn broken_toml_is_shown_where_it_breaks() {
    let said = rejected("broken.toml", "[cluster]\ntargets = = 18\n", &[]);
    says(&said, &["broken.toml:2:", "not valid TOML"]);
}

#[test]
fn lists_of_a_block_must_be_equally_long() {
    let text = "[[sweep]]\ndisk.rate = [\"400MiB/s\", \"1GB/s\"]\nrun.length = [\"10ms\"]\n";
    let said = rejected("uneven.toml", text, &[]);
    says(&said, &["uneven.toml:3:5", "`run.length` has 1 values", "`disk.rate`", "2"]);
}

#[test]
fn a_wrong_value_in_a_sweep_is_shown_in_its_list() {
    let text = "[[sweep]]\ndisk.rate = [\"400MiB/s\", \"1GB\"]\n";
    let said = rejected("list.toml", text, &[]);
    says(&said, &["list.toml:2:26", "disk.rate"]);
}

#[test]
fn settings_that_do_not_fit_together_point_at_their_line() {
    let text = "[run]\nlength = \"1ms\"\nwarmup = \"5ms\"\n";
    let said = rejected("unfit.toml", text, &[]);
    says(&said, &["unfit.toml:", "run."]);
}

#[test]
fn a_key_without_effect_is_refused_with_the_choice_that_it_needs() {
    let text = "[run]\nfidelity = \"frame\"\n[dctcp]\ngain = \"10%\"\n";
    let said = rejected("idle.toml", text, &[]);
    says(
        &said,
        &["idle.toml:4:8", "`dctcp.gain` has no effect without `protocol.kind`", "uch-dctcp"],
    );
    let swept = "[[sweep]]\nworkload.arrivals_per_s = [1000, 2000]\n";
    let said = rejected("idle-sweep.toml", swept, &[]);
    says(&said, &["idle-sweep.toml:2:10", "no effect without `workload.load`", "open"]);
    let said = rejected("fine.toml", support::SMALL, &["--set", "replicast.choosy_start=1us"]);
    says(&said, &["--set", "no effect without `replicast.choosy`", "true"]);
    let text = "[protocol]\nkind = \"uch-ccp\"\n[replicast]\nbackpressure = \"drain-first\"\n";
    let said = rejected("idle-peer.toml", text, &[]);
    says(&said, &["idle-peer.toml:4:16", "no effect without `protocol.kind`", "replicast-m"]);
    for (set, needed) in [
        ("unicast.target_choice=ring", "`protocol.kind` to be uch-ccp"),
        ("quirks.free_last_frame=true", "`protocol.kind` to be uch-ccp or uch-aimd"),
        ("faults.down_at=1ms", "`faults.targets_down` to be more than 0"),
        ("faults.slow_factor=50%", "`faults.slow_disks` to be more than 0"),
        ("workload.preloaded_chunks=10", "`workload.get_share` to be more than 0"),
        ("statistics.max_seeds=20", "`statistics.precision` to be more than 0"),
    ] {
        let said = rejected("fine.toml", support::SMALL, &["--set", set]);
        says(&said, &["no effect without", needed]);
    }
}

#[test]
fn a_key_has_an_effect_if_one_point_has_what_it_needs() {
    let loads = "[[sweep]]\nworkload.load = [\"closed\", \"open\"]\n";
    let text = format!("{}\n[workload]\narrivals_per_s = 1000\n{loads}", support::SMALL);
    let path = file("loads.toml", &text);
    let path = path.to_str().expect("a plain path");
    // What a file sets for the choices that it makes may stay if the command line makes another.
    for set in ["name=both", "workload.load=closed"] {
        let run = slotcast(&["sim", path, "--seeds", "1", "--set", set]);
        assert_eq!(run.status, 0, "{}", run.stderr);
    }
}

#[test]
fn a_missing_file_is_named() {
    let run = slotcast(&["sim", "no-such-file.toml"]);
    assert_eq!(run.status, 2);
    says(&run.stderr, &["no-such-file.toml", "expected the path of an experiment file"]);
}

#[test]
fn an_argument_of_set_is_checked_like_a_line_of_the_file() {
    let said = rejected("fine.toml", support::SMALL, &["--set", "cluster.targts=9"]);
    says(&said, &["--set", "unknown key `cluster.targts`", "did you mean `cluster.targets`?"]);
    let said = rejected("fine.toml", support::SMALL, &["--set", "run.length=10"]);
    says(&said, &["--set", "run.length", "a duration"]);
    let said = rejected("fine.toml", support::SMALL, &["--set", "cluster.targets"]);
    says(&said, &["--set", "expected `key=value`"]);
    let said = rejected("fine.toml", support::SMALL, &["--seeds", "0"]);
    says(&said, &["seeds.count", "out of range"]);
}

#[test]
fn a_trace_of_several_points_is_refused() {
    let text = "[[sweep]]\ncluster.replicas = [2, 3]\n";
    for option in ["--trace", "--events"] {
        let said = rejected("points.toml", text, &[option, "-"]);
        says(&said, &[option, "one point", "--set", "cluster.replicas"]);
    }
}

#[test]
fn only_one_thing_goes_to_standard_output() {
    for options in [["--json", "-", "--trace", "-"], ["--trace", "-", "--events", "-"]] {
        let said = rejected("streams.toml", support::SMALL, &options);
        says(&said, &[options[0], options[2], "standard output"]);
    }
}

#[test]
fn a_span_that_is_none_is_refused() {
    let refused =
        |span| rejected("span.toml", support::SMALL, &["--trace", "-", "--trace-span", span]);
    for (span, why) in [("5ms", "20ms..25ms"), ("5ms..1ms", "later"), ("0..1", "duration")] {
        says(&refused(span), &["--trace-span", why]);
    }
    says(&refused("4ms..5ms"), &["span of the trace", "the run ends at 4ms"]);
}

#[test]
fn an_unknown_evaluation_gets_the_nearest_name() {
    let run = slotcast(&["reproduce", "replicsat"]);
    assert_eq!(run.status, 2);
    says(&run.stderr, &["`replicsat`", "did you mean `replicast`?"]);
}
