//! What a node of a cluster tells Prometheus of the cluster: how many voters on names are heard, and whether they are enough.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has clocks, processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use cluster::Cluster;
use cluster::etcd::Etcd;

/// A voter that is gone, and then a majority that is.
#[test]
fn metrics_tell_how_many_voters_are_heard() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(etcd) = Etcd::start(folder.path()) else { return };
    let mut cluster = Cluster::of_three(folder.path(), Some(&etcd));
    let says = |cluster: &Cluster, heard: u32, quorum: u32| {
        cluster.wait(&format!("{heard} voters are heard"), || {
            let text = cluster.metrics(0);
            let lines = [
                "slotcast_names_voters{group=\"0\"} 3".to_owned(),
                format!("slotcast_names_voters_heard{{group=\"0\"}} {heard}"),
                format!("slotcast_names_quorum{{group=\"0\"}} {quorum}"),
            ];
            lines.iter().all(|line| text.lines().any(|of| of == line))
        });
    };
    says(&cluster, 3, 1);
    cluster.kill(1);
    says(&cluster, 2, 1);
    cluster.kill(2);
    says(&cluster, 1, 0);
}
