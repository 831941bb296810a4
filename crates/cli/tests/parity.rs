//! The simulator and a real cluster of known rates, side by side.

mod support;

use support::{file, slotcast};

/// So slow that a busy machine is fast enough, and so short that nobody waits for it.
const SMALL: &str = r#"
[cluster]
initiators = 1
targets = 9
[network]
link_rate = "2Gbps"
trip = "50us"
[disk]
rate = "8MB/s"
queue_limit = "1MiB"
[replicast]
choosy = true
ties = "backlog"
[workload]
window = 16
chunk_size = "128KiB"
[run]
length = "1500ms"
warmup = "500ms"
[seeds]
count = 3
"#;

#[test]
fn a_cluster_does_what_its_simulation_says() {
    let path = file("parity.toml", SMALL);
    let data = tempfile::tempdir().expect("a folder");
    let data = data.path().join("chunks");
    let arguments = |within| {
        let (path, data) = (path.to_str().expect("plain"), data.to_str().expect("plain"));
        slotcast(&["parity", path, "--data", data, "--within", within, "--json", "-"])
    };
    // That both are the same thing; how well they agree is measured where nobody else is
    // (docs/understand/parity.md).
    let finished = arguments("60%");
    assert_eq!(finished.status, 0, "{} {}", finished.stdout, finished.stderr);
    let json: serde_json::Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let point = &json["points"][0];
    assert_eq!(point["failures"], 0);
    let simulated = point["chunks_per_s"]["simulated"]["value"].as_f64().expect("a rate");
    // Three replicas on 9 disks of 8 MB/s.
    let most = 9.0 * 8e6 / 3.0 / (128.0 * 1024.0);
    assert!(simulated > most * 0.5 && simulated <= most * 1.05, "{simulated} of {most}");
    let measured = point["chunks_per_s"]["measured"]["value"].as_f64().expect("a rate");
    assert!(measured <= most * 1.1, "{measured}: the disks are faster than allowed");
    assert!(!data.exists(), "nothing is left");
    assert_eq!(arguments("0%").status, 1, "nothing real agrees to the last digit");
}

#[test]
fn limits_that_are_a_slip_are_refused() {
    for rate in ["1kbps", "400", "fast"] {
        let finished = slotcast(&["serve", "--s3", "off", "--disk-rate", rate]);
        assert_eq!(finished.status, 2, "{rate}");
        assert!(finished.stderr.contains("--disk-rate"), "{}", finished.stderr);
    }
}

#[test]
fn what_a_node_cannot_be_is_refused() {
    let text = SMALL.replace("initiators = 1", "initiators = 4");
    let finished = slotcast(&["parity", file("parity4.toml", &text).to_str().expect("plain")]);
    assert_eq!(finished.status, 2);
    assert!(finished.stderr.contains("cluster.initiators"), "{}", finished.stderr);
}
