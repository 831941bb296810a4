//! What the Replicast paper left for later (seed 002, VI): gets, other ratios of initiators to targets,
//! other groups, other chunks, faster networks. Nothing was published about it.

use slotcast_lab::paired::per_seed;
use slotcast_lab::{
    Claim, Evaluation, Figures, Findings, Measured, Mode, Model, NotRun, Part, Row,
};
use slotcast_sim::{ProtocolKind, RunReport, Scenario};

/// The evaluation, for the catalogue.
pub(crate) const EVALUATION: Evaluation = Evaluation {
    name: "next-steps",
    title: "What the Replicast paper left for later: gets, ratios, groups, chunks, faster networks",
    by_default: false,
    parts: &[
        Part {
            title: "Gets beside puts",
            file: "experiments/next-steps-gets.toml",
            text: include_str!("../../../experiments/next-steps-gets.toml"),
            model: Model::Cluster(|measured| {
                rows(measured, |s| format!("gets/{}%", s.workload.get_share.as_ppm() / 10_000))
            }),
        },
        Part {
            title: "Initiators for 90 targets",
            file: "experiments/next-steps-initiators.toml",
            text: include_str!("../../../experiments/next-steps-initiators.toml"),
            model: Model::Cluster(|measured| {
                rows(measured, |s| format!("initiators/{}", s.cluster.initiators))
            }),
        },
        Part {
            title: "Members of a negotiating group",
            file: "experiments/next-steps-groups.toml",
            text: include_str!("../../../experiments/next-steps-groups.toml"),
            model: Model::Cluster(|measured| {
                rows(measured, |s| format!("group/{}", s.cluster.group_size))
            }),
        },
        Part {
            title: "Sizes of chunks",
            file: "experiments/next-steps-chunks.toml",
            text: include_str!("../../../experiments/next-steps-chunks.toml"),
            model: Model::Cluster(|measured| {
                rows(measured, |s| format!("chunk/{}", s.workload.chunk_size))
            }),
        },
        Part {
            title: "Faster networks with NVMe disks",
            file: "experiments/next-steps-networks.toml",
            text: include_str!("../../../experiments/next-steps-networks.toml"),
            model: Model::Cluster(|measured| {
                rows(measured, |s| format!("network/{}", s.network.link_rate))
            }),
        },
    ],
    claims,
    statements: &[],
    not_run: &[NotRun {
        place: "Replicast paper, IV.I",
        words: "impact of a) concurrent gets and puts, and their ratios, b) ratios of initiators to \
                    targets, c) size(s) of the negotiating group",
        reason: "questions that the paper leaves open: all claims are of this project",
    }],
};

fn protocol(kind: ProtocolKind) -> &'static str {
    match kind {
        ProtocolKind::ReplicastM => "replicast-m",
        ProtocolKind::ReplicastH => "replicast-h",
        ProtocolKind::UchCcp => "uch-ccp",
        ProtocolKind::UchAimd => "uch-aimd",
        ProtocolKind::UchDctcp => "uch-dctcp",
        ProtocolKind::ReplicastProxy => "replicast-proxy",
    }
}

/// Throughput and latency of every point, and what the Replicast protocols gain on UCH-CCP at the same
/// place with the same seeds.
fn rows(measured: &[Measured], place: fn(&Scenario) -> String) -> Findings {
    let mode = Mode::SteadyState;
    let mut rows = Vec::new();
    for point in measured {
        let kind = point.scenario.protocol.kind;
        let place = place(&point.scenario);
        let id = |name: &str| format!("next-steps/{place}/{}/{name}", protocol(kind));
        let mut row = |name: &str, of: fn(&RunReport) -> f64, unit| {
            rows.push(Row::new(id(name), None, &per_seed(point, of), unit, mode));
        };
        row("chunks_per_s", |r| r.chunks_per_s, "1/s");
        row("mean_latency", |r| r.latency.mean, "us");
        row("p99_latency", |r| r.latency.p99, "us");
        if point.runs.iter().any(|run| run.report.get_latency.count > 0) {
            row("mean_put_latency", |r| r.put_latency.mean, "us");
            row("mean_get_latency", |r| r.get_latency.mean, "us");
        }
        row("disk_utilization", |r| r.disk_utilization * 100.0, "%");
        row("link_utilization", |r| r.link_utilization * 100.0, "%");

        let mut other = point.scenario.clone();
        other.protocol.kind = ProtocolKind::UchCcp;
        let peer = measured.iter().find(|peer| peer.scenario == other);
        if let Some(peer) = peer.filter(|_| kind != ProtocolKind::UchCcp) {
            let of = |r: &RunReport| r.chunks_per_s;
            let pairs = per_seed(point, of).into_iter().zip(per_seed(peer, of));
            let gain: Vec<f64> = pairs.map(|(own, peer)| (own / peer - 1.0) * 100.0).collect();
            rows.push(Row::new(id("throughput_gain"), None, &gain, "%", mode).with_note(GAIN));
        }
    }
    Findings { rows, figures: Figures::new() }
}

const GAIN: &str = "throughput_gain: over UCH-CCP with the same seeds, in percent of it";

/// What the intervals allow to be said.
fn claims(findings: &Findings) -> Vec<Claim> {
    let row = |id: String| findings.rows.iter().find(|row| row.id == format!("next-steps/{id}"));
    let interval =
        |row: &Row| format!("{:.1} % ± {:.1}", row.measured, row.ci95.unwrap_or(f64::NAN));
    let is_above_zero = |row: &Row| row.measured - row.ci95.unwrap_or(f64::INFINITY) > 0.0;
    let mut claims = Vec::new();
    let mut gain = |id: &str, text: &str, places: &[&str], protocol: &str| {
        let found: Vec<_> =
            places.iter().map(|place| row(format!("{place}/{protocol}/throughput_gain"))).collect();
        let listed: Vec<_> =
            found.iter().map(|row| row.map_or_else(|| "not measured".into(), interval)).collect();
        claims.push(Claim {
            id: id.into(),
            text: text.into(),
            holds: found.iter().all(|row| row.is_some_and(is_above_zero)),
            certain: true,
            measured: listed.join(", "),
        });
    };
    gain(
        "networks/replicast-m",
        "1 MiB: Replicast-M moves more than UCH-CCP at 10, 25, 100 and 200 Gb/s",
        &["network/10Gbps", "network/25Gbps", "network/100Gbps", "network/200Gbps"],
        "replicast-m",
    );
    gain(
        "chunks/replicast-m",
        "Replicast-M moves more than UCH-CCP for chunks from 64 KiB to 4 MiB",
        &["chunk/64KiB", "chunk/256KiB", "chunk/1MiB", "chunk/4MiB"],
        "replicast-m",
    );
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_follow_the_rows() {
        let row = |place: &str, samples: &[f64]| {
            let id = format!("next-steps/{place}/replicast-m/throughput_gain");
            Row::new(id, None, samples, "%", Mode::SteadyState)
        };
        let places = [
            "network/10Gbps",
            "network/25Gbps",
            "network/100Gbps",
            "network/200Gbps",
            "chunk/64KiB",
            "chunk/256KiB",
            "chunk/1MiB",
            "chunk/4MiB",
        ];
        let verdicts = |rows: Vec<Row>| -> Vec<bool> {
            let findings = Findings { rows, figures: Figures::new() };
            claims(&findings).into_iter().map(|claim| claim.holds).collect()
        };
        let mut rows: Vec<_> = places.iter().map(|place| row(place, &[20.0, 21.0, 19.0])).collect();
        assert_eq!(verdicts(rows.clone()), [true, true]);
        rows[7] = row("chunk/4MiB", &[20.0, -30.0, 10.0]);
        assert_eq!(verdicts(rows), [true, false], "an interval that holds zero says nothing");
        assert_eq!(verdicts(Vec::new()), [false, false]);
    }
}
