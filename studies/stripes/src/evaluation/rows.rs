//! Rows: what was measured at each point, beside what was published.

use slotcast_lab::setting::Value;
use slotcast_lab::{Findings, Point, Row};
use slotcast_units::Span;

use super::published::parity_suno;
use super::{Measured, figures};
use crate::{Mode, Report, Scenario, Step};

/// A published time in milliseconds.
fn published(operation: &str) -> Option<f64> {
    let line = parity_suno().iter().find(|line| line.operation == operation)?;
    Some(line.mean_ms)
}

/// `stripe lock` or `coordinated`, as the published table has it.
pub(super) fn words(mode: Mode) -> &'static str {
    match mode {
        Mode::StripeLock => "stripe lock",
        Mode::Coordinated => "coordinated",
    }
}

/// The latency that the published sums of costs give, in milliseconds.
///
/// Stripe lock T1 + T2 + D + P + L + S, coordinated 2 T1 + D + 2 P + 5 S: the sums are not printed, and are
/// the only ones of the printed costs that give the printed latencies.
pub(super) fn theory_ms(scenario: &Scenario) -> f64 {
    let Scenario { network, disk, costs, .. } = scenario;
    let (t1, t2, s) = (network.transfer, network.transfer_pair, network.message);
    let (d, p, l) = (disk.write, costs.parity, costs.lock);
    let sum = match scenario.stripes.mode {
        Mode::StripeLock => t1 + t2 + d + p + l + s,
        Mode::Coordinated => t1 * 2 + d + p * 2 + s * 5,
    };
    ms(sum)
}

/// Writes per second that the published costs allow with `n` clients: under the lock one after another, else
/// as many at a time as the link of the parity server can take in.
pub(super) fn theory_ops(scenario: &Scenario) -> f64 {
    let alone = 1e3 / theory_ms(scenario);
    match scenario.stripes.mode {
        Mode::StripeLock => alone,
        Mode::Coordinated => {
            let full = 1.0 / scenario.network.transfer.as_secs_f64();
            (f64::from(scenario.clients.count) * alone).min(full)
        }
    }
}

fn ms(span: Span) -> f64 {
    span.as_secs_f64() * 1e3
}

pub(super) fn per_seed(measured: &Measured<'_>, of: impl Fn(&Report) -> f64) -> Vec<f64> {
    measured.reports.iter().map(of).collect()
}

/// The mean over the seeds.
pub(super) fn mean(measured: &Measured<'_>, of: impl Fn(&Report) -> f64) -> f64 {
    per_seed(measured, of).iter().sum::<f64>() / measured.reports.len() as f64
}

/// What the sweep varies: `stripe-lock/8-clients`.
pub(super) fn place(point: &Point<Scenario>) -> String {
    let stripes = &point.scenario.stripes;
    let part = |(key, value): &(&'static str, Value)| match *key {
        "clients.count" => Some(format!("{value}-clients")),
        "stripes.data" => Some(format!("{}+{}", stripes.data, stripes.parity)),
        "stripes.parity" => None,
        "clients.zipf" => Some(format!("zipf-{value}")),
        "cache.data_hits" => Some(format!("{value}-hits")),
        "cache.second" => Some(format!("second-{value}")),
        "cache.prefetch" => match value {
            Value::Switch(true) => Some("prefetch".into()),
            _ => Some("no-prefetch".into()),
        },
        "network.bottleneck" => Some(format!("limit-at-{value}")),
        "disk.access" => Some(format!("access-{value}")),
        _ => Some(value.to_string()),
    };
    point.swept.iter().filter_map(part).collect::<Vec<_>>().join("/")
}

/// The rows that every point has, and one that says whether all runs were right.
pub(super) fn plain(name: &str, measured: &[Measured<'_>]) -> Findings {
    let mut rows = Vec::new();
    let mode = slotcast_lab::Mode::SteadyState;
    for point in measured {
        let id = |figure: &str| format!("stripes/{name}/{}/{figure}", place(point.point));
        let mut row = |figure: &str, samples: Vec<f64>, unit| {
            rows.push(Row::new(id(figure), None, &samples, unit, mode));
        };
        row("throughput", per_seed(point, Report::ops_per_s), "1/s");
        row("latency", per_seed(point, Report::mean_latency_ms), "ms");
        row("p99_latency", per_seed(point, |report| report.quantile_ms(0.99)), "ms");
        let failed = per_seed(point, |report| report.failed as f64);
        if failed.iter().any(|failed| *failed > 0.0) {
            rows.push(Row::new(id("failed_writes"), None, &failed, "writes", mode).with_note(
                "failed writes: turned away by a full queue for so long that the data server no longer \
                 knows whether they were made; their clients are told",
            ));
        }
    }
    let wrong =
        |report: &&Report| report.problem.is_some() || report.lost > 0 || report.writes() == 0;
    let wrong = measured.iter().flat_map(|point| &point.reports).filter(wrong).count();
    rows.push(
        Row::new(format!("stripes/{name}/wrong_runs"), None, &[wrong as f64], "runs", mode).with_note(
            "wrong runs: parity is not that of the data after all has come to rest, or a stripe was given up",
        ),
    );
    Findings { rows, ..Findings::default() }
}

/// The published setup: theory and measurement beside the published latencies, steps, and pictures.
pub(super) fn suno(name: &str, measured: &[Measured<'_>]) -> Findings {
    let mut findings = plain(name, measured);
    let mode = slotcast_lab::Mode::AsPublished;
    for point in measured.iter().filter(|point| point.point.scenario.clients.count == 1) {
        let scenario = &point.point.scenario;
        let place = place(point.point);
        let words = words(scenario.stripes.mode);
        let latency = format!("stripes/{name}/{place}/latency");
        if let Some(row) = findings.rows.iter_mut().find(|row| row.id == latency) {
            let samples = per_seed(point, Report::mean_latency_ms);
            let value = published(&format!("measured {words} mode latency"));
            *row = Row::new(latency, value, &samples, "ms", mode);
        }
        let id = |figure: &str| format!("stripes/{name}/{place}/{figure}");
        let value = published(&format!("theoretical {words} mode latency"));
        let theory = Row::new(id("theoretical_latency"), value, &[theory_ms(scenario)], "ms", mode);
        let theory = theory.derived_from("the scenario: the sum of its published costs");
        findings.rows.push(theory);
        for step in Step::ALL {
            let samples = per_seed(point, |report| report.step_ms(step));
            if samples.iter().any(|time| *time > 0.0) {
                let figure = format!("step/{}", step.name().replace(' ', "-"));
                findings.rows.push(Row::new(id(&figure), None, &samples, "ms", mode).with_note(
                    "step: what is on the critical path of a write, which is what its latency is made of",
                ));
            }
        }
    }
    findings.figures = figures::over_clients(name, measured);
    findings
}

/// The plain rows, and pictures over the number of clients.
pub(super) fn over_clients(name: &str, measured: &[Measured<'_>]) -> Findings {
    Findings { figures: figures::over_clients(name, measured), ..plain(name, measured) }
}
