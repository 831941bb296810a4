//! How the blocks of a sweep become points.

use slotcast_lab::Experiment;

fn labels(text: &str, overrides: &[&str]) -> Vec<String> {
    let overrides: Vec<_> = overrides.iter().map(|text| (*text).to_string()).collect();
    let experiment = Experiment::from_toml("test.toml", text, &overrides).expect("a right file");
    experiment.points.iter().map(slotcast_lab::Point::label).collect()
}

const CROSSED: &str = r#"
[[sweep]]
protocol.kind = ["replicast-m", "uch-ccp"]
[[sweep]]
disk.rate = ["400MiB/s", "1000MiB/s"]
run.length = ["30ms", "40ms"]
"#;

#[test]
fn keys_of_a_block_advance_together_and_blocks_are_crossed() {
    assert_eq!(
        labels(CROSSED, &[]),
        [
            "protocol.kind=replicast-m disk.rate=400MiB/s run.length=30ms",
            "protocol.kind=replicast-m disk.rate=1000MiB/s run.length=40ms",
            "protocol.kind=uch-ccp disk.rate=400MiB/s run.length=30ms",
            "protocol.kind=uch-ccp disk.rate=1000MiB/s run.length=40ms",
        ]
    );
}

#[test]
fn a_key_given_on_the_command_line_leaves_its_block() {
    assert_eq!(
        labels(CROSSED, &["protocol.kind=replicast-h", "run.length=50ms"]),
        ["disk.rate=400MiB/s", "disk.rate=1000MiB/s"]
    );
}

#[test]
fn a_swept_value_given_on_the_command_line_chooses_its_rows() {
    assert_eq!(
        labels(CROSSED, &["disk.rate=1000MiB/s"]),
        ["protocol.kind=replicast-m run.length=40ms", "protocol.kind=uch-ccp run.length=40ms"]
    );
    assert_eq!(
        labels(CROSSED, &["disk.rate=1000MiB/s", "run.length=40ms", "protocol.kind=uch-ccp"]),
        [""]
    );
}

#[test]
fn without_a_sweep_there_is_one_point() {
    assert_eq!(labels("name = \"plain\"", &[]), [""]);
}

#[test]
fn a_quoted_or_hexadecimal_way_of_writing_toml_means_the_same() {
    let plain = Experiment::from_toml("a.toml", "[cluster]\ntargets = 18\n", &[]).unwrap();
    let other = Experiment::from_toml("a.toml", "cluster.targets = 0x12\n", &[]).unwrap();
    assert_eq!(plain.points[0].scenario, other.points[0].scenario);
}

#[test]
fn more_points_than_anyone_can_want_are_refused() {
    let hundred: Vec<_> = (1..=150).map(|n| n.to_string()).collect();
    let text = format!(
        "[[sweep]]\ncluster.initiators = [{0}]\n[[sweep]]\ncluster.targets_per_domain = [{0}]\n",
        hundred.join(",")
    );
    let error = Experiment::from_toml("many.toml", &text, &[]).unwrap_err();
    assert!(error.to_string().contains("more than 10000 points"), "{error}");
}
