//! What the published figures and the slides say, and whether it holds here.

use crate::evaluation::{Claim, Findings, Row};

pub(super) fn claims(findings: &Findings) -> Vec<Claim> {
    let mut claims = Vec::new();
    for mode in ["stripe-lock", "coordinated"] {
        let id = |figure: &str| format!("stripes/suno/{mode}/1-clients/{figure}");
        claims.push(near(findings, &id("theoretical_latency"), 0.1, "theoretical latency", mode));
        claims.push(near(findings, &id("latency"), 4.0, "measured latency", mode));
    }
    claims.push(lock_is_flat(findings));
    claims.push(coordinated_grows(findings));
    claims.push(nothing_went_wrong(findings));
    claims
}

fn row<'a>(findings: &'a Findings, id: &str) -> Option<&'a Row> {
    findings.rows.iter().find(|row| row.id == id)
}

fn value(findings: &Findings, id: &str) -> f64 {
    row(findings, id).map_or(f64::NAN, |row| row.measured)
}

/// A published figure is met within so many percent.
fn near(findings: &Findings, id: &str, percent: f64, what: &str, mode: &str) -> Claim {
    let deviation = row(findings, id).and_then(|row| row.deviation_pct);
    Claim {
        id: id.trim_start_matches("stripes/").into(),
        text: format!("{mode}, one client: the {what} is met within {percent} %"),
        holds: deviation.is_some_and(|deviation| deviation.abs() <= percent),
        certain: true,
        measured: format!("{:.3} ms, {:+.2} %", value(findings, id), deviation.unwrap_or(f64::NAN)),
    }
}

/// Throughput with 1 to 8 clients.
fn over_clients(findings: &Findings, mode: &str) -> Vec<f64> {
    (1..=8)
        .map(|n| value(findings, &format!("stripes/suno/{mode}/{n}-clients/throughput")))
        .collect()
}

fn listed(values: &[f64]) -> String {
    values.iter().map(|value| format!("{value:.1}")).collect::<Vec<_>>().join(", ")
}

fn lock_is_flat(findings: &Findings) -> Claim {
    let found = over_clients(findings, "stripe-lock");
    Claim {
        id: "suno/stripe-lock/flat".into(),
        text: "stripe-lock: 1 to 8 clients have 30 writes per second together, within 5 %".into(),
        holds: found.iter().all(|ops| (ops / 30.0 - 1.0).abs() <= 0.05),
        certain: true,
        measured: listed(&found),
    }
}

fn coordinated_grows(findings: &Findings) -> Claim {
    let found = over_clients(findings, "coordinated");
    let full = 1e3 / 10.633;
    let grows = found.windows(2).all(|pair| pair[1] >= pair[0] * 1.03 || pair[1] >= full * 0.95);
    let is_full = found.last().is_some_and(|ops| (ops / full - 1.0).abs() <= 0.03);
    Claim {
        id: "suno/coordinated/grows".into(),
        text: "coordinated: throughput grows with clients until the parity server's link is full at 94 \
               writes per second, within 3 %"
            .into(),
        holds: grows && is_full,
        certain: true,
        measured: listed(&found),
    }
}

fn nothing_went_wrong(findings: &Findings) -> Claim {
    let rows = findings.rows.iter().filter(|row| row.id.ends_with("/wrong_runs"));
    let wrong: Vec<f64> = rows.map(|row| row.measured).collect();
    Claim {
        id: "consistent".into(),
        text: "when all has come to rest, parity is that of the data in every run, and no write failed"
            .into(),
        holds: !wrong.is_empty() && wrong.iter().all(|wrong| *wrong == 0.0),
        certain: true,
        measured: format!("{} wrong runs", wrong.iter().sum::<f64>()),
    }
}
