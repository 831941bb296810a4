//! UCH-DCTCP beside the other protocols, and beside itself with other parameters: pairs of runs with the
//! same seed, and so with the same load.

use slotcast_lab::paired::per_seed;
use slotcast_lab::{Claim, Figures, Findings, Measured, Mode, Row};
use slotcast_sim::{ProtocolKind, RunReport, Scenario};

type Metric = fn(&RunReport) -> f64;

/// The metrics that are compared, and their units.
const METRICS: [(&str, &str, Metric); 3] = [
    ("mean_latency", "us", |r| r.latency.mean),
    ("p99_latency", "us", |r| r.latency.p99),
    ("chunks_per_s", "1/s", |r| r.chunks_per_s),
];

/// The protocols that UCH-DCTCP is compared with.
const OTHERS: [(&str, &str); 3] =
    [("uch-ccp", "UCH-CCP"), ("replicast-m", "Replicast-M"), ("replicast-h", "Replicast-H")];

fn name(kind: ProtocolKind) -> &'static str {
    match kind {
        ProtocolKind::UchDctcp => "uch-dctcp",
        ProtocolKind::UchCcp => "uch-ccp",
        ProtocolKind::ReplicastM => "replicast-m",
        ProtocolKind::ReplicastH => "replicast-h",
        ProtocolKind::UchAimd => "uch-aimd",
        ProtocolKind::ReplicastProxy => "replicast-proxy",
    }
}

/// `128KiB/400MBps`.
fn cell(scenario: &Scenario) -> String {
    format!("{}/{}MBps", scenario.workload.chunk_size, scenario.disk.rate.as_bps() / (8 << 20))
}

/// By how many percent `this` is above `base`, seed by seed.
fn difference(this: &[f64], base: &[f64]) -> Vec<f64> {
    this.iter().zip(base).map(|(this, base)| (this / base - 1.0) * 100.0).collect()
}

const DIFFERENCE_NOTE: &str =
    "against_dctcp: above or below UCH-DCTCP with the same seed, in percent of it";

pub(super) fn evaluate(measured: &[Measured]) -> Findings {
    let mode = Mode::SteadyState;
    let mut rows = Vec::new();
    for point in measured {
        let (place, kind) = (cell(&point.scenario), point.scenario.protocol.kind);
        let base = measured.iter().find(|base| {
            cell(&base.scenario) == place && base.scenario.protocol.kind == ProtocolKind::UchDctcp
        });
        for (metric, unit, of) in METRICS {
            let id = format!("dctcp/{place}/{}/{metric}", name(kind));
            let values = per_seed(point, of);
            rows.push(Row::new(id.clone(), None, &values, unit, mode));
            if let Some(base) = base.filter(|_| kind != ProtocolKind::UchDctcp) {
                let samples = difference(&values, &per_seed(base, of));
                let id = format!("{id}/against_dctcp");
                rows.push(Row::new(id, None, &samples, "%", mode).with_note(DIFFERENCE_NOTE));
            }
        }
        if kind == ProtocolKind::UchDctcp {
            let queue = per_seed(point, |r| r.port_queues.as_ref().map_or(0.0, |q| q.mean / 1e3));
            let id = format!("dctcp/{place}/uch-dctcp/port_queue");
            rows.push(Row::new(id, None, &queue, "kB", mode));
        }
    }
    Findings { rows, figures: Figures::new() }
}

pub(super) fn evaluate_tuning(measured: &[Measured]) -> Findings {
    let mode = Mode::SteadyState;
    let defaults = slotcast_sim::Dctcp::default();
    let mut rows = Vec::new();
    for point in measured {
        let dctcp = &point.scenario.dctcp;
        let base = measured.iter().find(|base| {
            cell(&base.scenario) == cell(&point.scenario)
                && base.scenario.dctcp.buffer == defaults.buffer
                && base.scenario.dctcp.mark_threshold.as_bytes() == 97_500
        });
        let (threshold, buffer) = (dctcp.mark_threshold.as_bytes(), dctcp.buffer.as_bytes());
        let kb = |bytes: u64| bytes as f64 / 1e3;
        let place = cell(&point.scenario);
        let id = format!("dctcp/tuning/{place}/K-{}kB/buffer-{}kB", kb(threshold), kb(buffer));
        let values = per_seed(point, |r| r.latency.mean);
        rows.push(Row::new(format!("{id}/mean_latency"), None, &values, "us", mode));
        let dropped = per_seed(point, |r| r.counts.frames_dropped as f64);
        rows.push(Row::new(format!("{id}/dropped"), None, &dropped, "frames", mode));
        if let Some(base) = base.filter(|base| !std::ptr::eq(*base, point)) {
            let samples = difference(&values, &per_seed(base, |r| r.latency.mean));
            let note = "against_default: mean latency above or below a K of 97.5 kB and a buffer of 700 kB";
            let id = format!("{id}/against_default");
            rows.push(Row::new(id, None, &samples, "%", mode).with_note(note));
        }
    }
    Findings { rows, figures: Figures::new() }
}

/// Whether a difference is below zero, and its interval with it.
fn is_below(row: &Row) -> bool {
    row.measured + row.ci95.unwrap_or(f64::INFINITY) < 0.0
}

/// Whether it is above zero, and its interval with it.
fn is_above(row: &Row) -> bool {
    row.measured - row.ci95.unwrap_or(f64::INFINITY) > 0.0
}

fn with_interval(row: &Row) -> String {
    format!("{:+.1} % ± {:.1}", row.measured, row.ci95.unwrap_or(f64::NAN))
}

/// The cells in which a protocol is better, worse, or neither as far as the intervals tell.
#[derive(Default)]
struct Verdicts<'a> {
    better: Vec<&'a Row>,
    worse: Vec<&'a Row>,
    undecided: Vec<&'a Row>,
}

impl<'a> Verdicts<'a> {
    fn of(rows: &[&'a Row], more_is_better: bool) -> Verdicts<'a> {
        let mut verdicts = Verdicts::default();
        for row in rows {
            let list = match (is_below(row), is_above(row)) {
                (false, false) => &mut verdicts.undecided,
                (_, above) if above == more_is_better => &mut verdicts.better,
                _ => &mut verdicts.worse,
            };
            list.push(row);
        }
        verdicts
    }

    fn listed(&self) -> String {
        let lists =
            [("better", &self.better), ("worse", &self.worse), ("undecided", &self.undecided)];
        let of_list = |(name, rows): (&str, &Vec<&Row>)| {
            let cells = rows.iter().map(|row| {
                let cell: Vec<_> = row.id.split('/').skip(1).take(2).collect();
                format!("{} {}", cell.join("/"), with_interval(row))
            });
            format!("{name}: {}", cells.collect::<Vec<_>>().join(", "))
        };
        let any = lists.into_iter().filter(|(_, rows)| !rows.is_empty());
        any.map(of_list).collect::<Vec<_>>().join("; ")
    }
}

pub(super) fn claims(findings: &Findings) -> Vec<Claim> {
    let mut claims = Vec::new();
    let ending = |end: String| {
        let rows = findings.rows.iter().filter(move |row| row.id.ends_with(&end));
        rows.collect::<Vec<&Row>>()
    };
    for (other, title) in OTHERS {
        for (metric, better, more_is_better) in [
            ("mean_latency", "a lower mean latency", false),
            ("p99_latency", "a lower p99", false),
            ("chunks_per_s", "a higher throughput", true),
        ] {
            let rows = ending(format!("/{other}/{metric}/against_dctcp"));
            let verdicts = Verdicts::of(&rows, more_is_better);
            claims.push(Claim {
                id: format!("{other}/{metric}"),
                text: format!("{title} has {better} than UCH-DCTCP in every cell"),
                holds: !rows.is_empty() && verdicts.better.len() == rows.len(),
                certain: false,
                measured: verdicts.listed(),
            });
        }
    }
    let tuned = ending("/against_default".into());
    let best = tuned.iter().min_by(|a, b| a.measured.total_cmp(&b.measured));
    claims.push(Claim {
        id: "tuning".into(),
        text: "No threshold and buffer of the sweep is better than the defaults by more than 3 %"
            .into(),
        holds: best.is_some_and(|best| best.measured > -3.0),
        certain: true,
        measured: best
            .map_or(String::new(), |best| format!("{}: {}", best.id, with_interval(best))),
    });
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, samples: &[f64]) -> Row {
        Row::new(id.into(), None, samples, "%", Mode::SteadyState)
    }

    fn holds(rows: Vec<Row>, id: &str) -> bool {
        let findings = Findings { rows, figures: Figures::new() };
        claims(&findings).iter().find(|claim| claim.id == id).expect("a claim").holds
    }

    #[test]
    fn a_claim_holds_only_as_far_as_the_intervals_support_it() {
        let of = |samples: &[f64]| {
            vec![
                row("dctcp/16KiB/400MBps/replicast-m/mean_latency/against_dctcp", &[-9.0, -10.0]),
                row("dctcp/1MiB/400MBps/replicast-m/mean_latency/against_dctcp", samples),
            ]
        };
        // Two seeds: the half width is 12.7 times the standard error.
        assert!(holds(of(&[-20.0, -20.1]), "replicast-m/mean_latency"));
        assert!(!holds(of(&[-20.0, -10.0]), "replicast-m/mean_latency"), "the interval holds zero");
        assert!(!holds(of(&[20.0, 20.1]), "replicast-m/mean_latency"));
        assert!(!holds(Vec::new(), "replicast-m/mean_latency"), "nothing was measured");
    }

    #[test]
    fn cells_are_better_worse_or_undecided() {
        let rows = [
            row("dctcp/16KiB/400MBps/uch-ccp/mean_latency/against_dctcp", &[5.0, 5.1]),
            row("dctcp/1MiB/400MBps/uch-ccp/mean_latency/against_dctcp", &[-5.0, 5.1]),
            row("dctcp/1MiB/1000MBps/uch-ccp/mean_latency/against_dctcp", &[-5.0, -5.0]),
        ];
        let rows: Vec<&Row> = rows.iter().collect();
        let listed = Verdicts::of(&rows, false).listed();
        let expected = "better: 1MiB/1000MBps -5.0 % ± 0.0; worse: 16KiB/400MBps +5.0 % ± 0.6; \
                        undecided: 1MiB/400MBps +0.0 % ± 64.2";
        assert_eq!(listed, expected);
        assert!(Verdicts::of(&rows, true).listed().starts_with("better: 16KiB/400MBps"));
    }

    #[test]
    fn a_better_setting_than_the_default_is_found() {
        let of = |best: f64| vec![row("dctcp/tuning/a/against_default", &[best, best - 0.1])];
        assert!(holds(of(-1.0), "tuning"));
        assert!(!holds(of(-5.0), "tuning"));
    }
}
