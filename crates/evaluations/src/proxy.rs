//! The evaluation of the group proxy: what it gains over Replicast-M and -H, and where it is too slow.
//!
//! Nothing is published to hold it against: the text that described it is lost.

use std::collections::BTreeMap;

use slotcast_lab::{
    Claim, Evaluation, Figure, FigureKind, Figures, Findings, Measured, Mode, Model, NotRun, Part,
    Row, Series,
};
use slotcast_sim::{ProtocolKind, RunReport, Scenario};

/// The evaluation, for the catalogue.
pub(crate) const EVALUATION: Evaluation = Evaluation {
    name: "proxy",
    by_default: false,
    title: "A proxy for each negotiating group (\"The Better Protocol\"; its text is lost)",
    parts: &[
        Part {
            title: "Against Replicast-M and Replicast-H, plain and choosy, in steady state",
            file: "experiments/proxy.toml",
            text: include_str!("../../../experiments/proxy.toml"),
            model: Model::Cluster(|measured| Findings {
                rows: gains(measured),
                figures: Figures::new(),
            }),
        },
        Part {
            title: "Where a proxy becomes the bottleneck",
            file: "experiments/proxy-limit.toml",
            text: include_str!("../../../experiments/proxy-limit.toml"),
            model: Model::Cluster(limits),
        },
    ],
    claims,
    statements: &[],
    not_run: &[NotRun {
        place: "\"The Better Protocol\"",
        words: "",
        reason: "the text is lost; its model is SURGE's `ma`: all claims are of this project",
    }],
};

/// What is measured, lower is better, and throughput.
const MEAN: (&str, fn(&RunReport) -> f64) = ("mean_latency", |report| report.latency.mean);
const P99: (&str, fn(&RunReport) -> f64) = ("p99_latency", |report| report.latency.p99);
const RATE: (&str, fn(&RunReport) -> f64) = ("chunks_per_s", |report| report.chunks_per_s);

/// The protocols that the proxy is held against.
const OTHERS: [&str; 3] = ["replicast-m", "replicast-h", "choosy-replicast-h"];

fn protocol(scenario: &Scenario) -> &'static str {
    match (scenario.protocol.kind, scenario.replicast.choosy) {
        (ProtocolKind::ReplicastProxy, _) => "replicast-proxy",
        (ProtocolKind::ReplicastH, true) => OTHERS[2],
        (ProtocolKind::ReplicastH, false) => OTHERS[1],
        _ => OTHERS[0],
    }
}

fn samples(point: &Measured, of: fn(&RunReport) -> f64) -> Vec<f64> {
    point.runs.iter().map(|run| of(&run.report)).collect()
}

fn row(id: String, samples: &[f64], unit: &'static str) -> Row {
    Row::new(id, None, samples, unit, Mode::SteadyState)
}

/// By how much `with` is lower than `without`, in percent, seed by seed: the same seed is the same
/// load, so most of the chance cancels.
fn lowered(with: &Measured, without: &Measured, of: fn(&RunReport) -> f64) -> Vec<f64> {
    let pairs = samples(with, of).into_iter().zip(samples(without, of));
    pairs.map(|(with, without)| (1.0 - with / without) * 100.0).collect()
}

/// Points that the proxy runs, each with those of other protocols that are the same otherwise.
fn pairs(measured: &[Measured]) -> impl Iterator<Item = (&Measured, Vec<&Measured>)> {
    let proxied = measured.iter().filter(|point| protocol(&point.scenario) == "replicast-proxy");
    proxied.map(|proxied| {
        let same_otherwise = |other: &&Measured| {
            let mut scenario = other.scenario.clone();
            scenario.protocol = proxied.scenario.protocol.clone();
            scenario.replicast.choosy = proxied.scenario.replicast.choosy;
            scenario == proxied.scenario && protocol(&other.scenario) != "replicast-proxy"
        };
        (proxied, measured.iter().filter(same_otherwise).collect())
    })
}

fn gains(measured: &[Measured]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (proxied, others) in pairs(measured) {
        let chunk = proxied.scenario.workload.chunk_size;
        let disk = proxied.scenario.disk.rate.as_bps() / (8 << 20);
        let cell = format!("proxy/{chunk}/{disk}MBps");
        for point in others.iter().copied().chain([proxied]) {
            let name = protocol(&point.scenario);
            for ((metric, of), unit) in [(MEAN, "us"), (P99, "us"), (RATE, "1/s")] {
                rows.push(row(format!("{cell}/{name}/{metric}"), &samples(point, of), unit));
            }
        }
        for other in others {
            let name = protocol(&other.scenario);
            for (metric, of) in [MEAN, P99] {
                let gain = lowered(proxied, other, of);
                let id = format!("{cell}/gain_over/{name}/{metric}");
                rows.push(row(id, &gain, "%").with_note(
                    "gain_over: by how much the proxy lowers it, seed by seed; negative is worse",
                ));
            }
        }
    }
    rows
}

/// Puts per second that the ports of all proxies let through.
fn capacity(scenario: &Scenario) -> f64 {
    let control_rate = scenario.network.usable_rate().share(scenario.replicast.control_share);
    let control = control_rate.time_for(scenario.replicast.control_size).as_secs_f64();
    let groups = scenario.cluster.targets / scenario.cluster.group_size;
    f64::from(groups) / (control * f64::from(scenario.replicast.proxy_messages))
}

fn limits(measured: &[Measured]) -> Findings {
    let mut rows = Vec::new();
    let mut lines: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for (proxied, others) in pairs(measured) {
        let cluster = &proxied.scenario.cluster;
        let chunk = proxied.scenario.workload.chunk_size;
        let place = format!(
            "limit/{chunk}/{}-initiators/{}-targets/groups-of-{}",
            cluster.initiators, cluster.targets, cluster.group_size
        );
        for point in others.iter().copied().chain([proxied]) {
            let name = protocol(&point.scenario);
            for ((metric, of), unit) in [(MEAN, "us"), (P99, "us"), (RATE, "1/s")] {
                rows.push(row(format!("{place}/{name}/{metric}"), &samples(point, of), unit));
            }
            if chunk.as_bytes() == 16 << 10 && cluster.targets == 90 {
                let line = lines.entry(name).or_default();
                line.0.push(f64::from(cluster.initiators));
                line.1.push(row(String::new(), &samples(point, MEAN.1), "us").measured);
            }
        }
        let load: Vec<f64> = samples(proxied, RATE.1)
            .iter()
            .map(|rate| rate / capacity(&proxied.scenario) * 100.0)
            .collect();
        rows.push(
            row(format!("{place}/proxy_load"), &load, "%")
                .with_note("proxy_load: puts per second over what the proxies' ports let through"),
        );
        for other in others {
            let id = format!("{place}/gain_over/{}/mean_latency", protocol(&other.scenario));
            rows.push(row(id, &lowered(proxied, other, MEAN.1), "%"));
        }
    }
    let series = lines.into_iter().map(|(name, (x, y))| Series::new(name, x, y));
    let figure = Figure {
        kind: FigureKind::Lines,
        title: "16 KiB chunks, 1000 MB/s disks, 90 targets".into(),
        x: "initiators",
        y: "mean latency (us)",
        series: series.collect(),
    };
    Findings { rows, figures: Figures::from([("proxy-limit", figure)]) }
}

/// `12.3 % ± 0.4`.
fn shown(row: &Row) -> String {
    format!("{:.1} % ± {:.1}", row.measured, row.ci95.unwrap_or(f64::NAN))
}

/// Whether the whole interval of `row` is above zero.
fn is_positive(row: &Row) -> bool {
    row.ci95.is_some_and(|ci95| row.measured > ci95)
}

fn is_negative(row: &Row) -> bool {
    row.ci95.is_some_and(|ci95| row.measured < -ci95)
}

fn claims(findings: &Findings) -> Vec<Claim> {
    let find = |id: &str| findings.rows.iter().find(|row| row.id == id);
    let all = |ids: &[String], holds: fn(&Row) -> bool| {
        let rows: Vec<&Row> = ids.iter().filter_map(|id| find(id)).collect();
        let measured: Vec<String> = rows.iter().map(|row| shown(row)).collect();
        let holds = rows.len() == ids.len() && rows.iter().all(|row| holds(row));
        (holds, measured.join(", "))
    };
    let mut claims = Vec::new();
    let mut claim = |id: &str, text: String, certain, (holds, measured): (bool, String)| {
        claims.push(Claim { id: id.into(), text, holds, certain, measured });
    };
    let gain = |cell: &str, other: &str| format!("proxy/{cell}/gain_over/{other}/mean_latency");

    for (cell, certain) in [
        ("16KiB/400MBps", true),
        ("16KiB/1000MBps", false),
        ("128KiB/400MBps", false),
        ("128KiB/1000MBps", true),
        ("1MiB/400MBps", false),
        ("1MiB/1000MBps", true),
    ] {
        let text = format!("{cell}: the proxy has a lower mean latency than Replicast-M");
        let found = all(&[gain(cell, OTHERS[0])], is_positive);
        claim(&format!("faster-than-m/{cell}"), text, certain, found);
        let text = format!("{cell}: and than Replicast-H, plain and choosy");
        let found = all(&[gain(cell, OTHERS[1]), gain(cell, OTHERS[2])], is_positive);
        claim(&format!("faster-than-h/{cell}"), text, true, found);
    }

    let limit = |place: &str, what: &str| format!("limit/{place}/{what}");
    let busiest = "16KiB/360-initiators/90-targets/groups-of-9";
    let text = "16 KiB, 360 initiators: the proxies grant 95 % or more of what their ports allow";
    let found = all(&[limit(busiest, "proxy_load")], |row| row.measured > 95.0);
    claim("limit/reached", text.into(), true, found);
    let over_m = "gain_over/replicast-m/mean_latency";
    let text = "and there Replicast-M has the lower mean latency";
    claim("limit/too-slow", text.into(), true, all(&[limit(busiest, over_m)], is_negative));
    let few = ["15", "30"]
        .map(|n| limit(&format!("16KiB/{n}-initiators/90-targets/groups-of-9"), over_m));
    let text = "16 KiB, 15 or 30 initiators: the proxy has the lower mean latency";
    claim("limit/far-from-it", text.into(), true, all(&few, is_positive));
    let groups = ["15", "30"]
        .map(|n| limit(&format!("128KiB/90-initiators/90-targets/groups-of-{n}"), over_m));
    let text = "128 KiB, groups of 15 and 30: the proxy has the lower mean latency";
    claim("limit/larger-groups", text.into(), true, all(&groups, is_positive));
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(gain: &[f64], load: f64) -> Findings {
        let cells = ["16KiB", "128KiB", "1MiB"];
        let mut rows = Vec::new();
        for cell in cells.iter().flat_map(|c| [400, 1000].map(|d| format!("{c}/{d}MBps"))) {
            for other in OTHERS {
                let id = format!("proxy/{cell}/gain_over/{other}/mean_latency");
                rows.push(row(id, gain, "%"));
            }
        }
        for (chunk, initiators, group) in
            [("16KiB", 15, 9), ("16KiB", 30, 9), ("128KiB", 90, 15), ("128KiB", 90, 30)]
        {
            let place = format!("{chunk}/{initiators}-initiators/90-targets/groups-of-{group}");
            rows.push(row(format!("limit/{place}/gain_over/replicast-m/mean_latency"), gain, "%"));
        }
        let busiest = "limit/16KiB/360-initiators/90-targets/groups-of-9";
        rows.push(row(format!("{busiest}/proxy_load"), &[load, load], "%"));
        let loss: Vec<f64> = gain.iter().map(|gain| -gain).collect();
        rows.push(row(format!("{busiest}/gain_over/replicast-m/mean_latency"), &loss, "%"));
        Findings { rows, figures: Figures::new() }
    }

    #[test]
    fn claims_follow_the_intervals() {
        let verdicts =
            |findings| claims(&findings).into_iter().map(|claim| claim.holds).collect::<Vec<_>>();
        assert!(verdicts(findings(&[5.0, 6.0, 7.0], 99.0)).iter().all(|holds| *holds));
        // Positive on average, but the interval holds zero.
        assert!(verdicts(findings(&[-5.0, 6.0, 7.0], 80.0)).iter().all(|holds| !holds));
        let nothing = Findings { rows: Vec::new(), figures: Figures::new() };
        assert!(verdicts(nothing).iter().all(|holds| !holds), "nothing was measured");
    }

    #[test]
    fn ten_proxies_of_the_paper_grant_a_million_windows_per_second() {
        let capacity = capacity(&Scenario::default());
        assert!((capacity - 10.0 / (4.0 * 2424e-9)).abs() < 1.0, "{capacity}");
    }
}
