//! Order of arrival against object-based round robin.

use super::published::{self, Policies};
use super::rows::{Way, at, bandwidth, row, seeks};
use super::runs::Measured;
use crate::evaluation::{Figures, Findings, Row};

const POLICIES: [&str; 2] = ["fcfs", "frr"];

/// One OST: bandwidth and seeks, and the gain.
pub(super) fn one_ost(measured: &[Measured]) -> Findings {
    let mut rows = Vec::new();
    for clients in ["1000", "56"] {
        let place = format!("one-ost/{clients}-clients");
        let points = points(measured, &[("job.clients", clients)]);
        for (policy, measured) in &points {
            let published = published::one_ost(policy);
            for way in Way::BOTH {
                let id = |what: &str| format!("{place}/{policy}/{}_{what}", way.name());
                let rate = published.rate(way);
                rows.push(noted(
                    row(id("bandwidth"), Some(rate), &bandwidth(measured, way), "MiB/s"),
                    clients,
                ));
                let per_s = seeks(measured, way);
                rows.push(noted(row(id("seeks"), Some(published.seeks), &per_s, "1/s"), clients));
            }
        }
        rows.extend(gains(&place, &points, |policy, way| published::one_ost(policy).rate(way)));
    }
    Findings { rows, figures: Figures::new() }
}

fn noted(row: Row, clients: &str) -> Row {
    match clients {
        "56" => {
            row.with_note("56-clients: as many as each OST of the 144 has; the slide says 1000")
        }
        _ => row,
    }
}

/// The table of the slides.
pub(super) fn slides(measured: &[Measured]) -> Findings {
    Findings {
        rows: many(measured, "144-osts/slides", published::slides()),
        figures: Figures::new(),
    }
}

/// The numbers of the paper, and the sizes of merged requests on one of its OSTs.
pub(super) fn paper(measured: &[Measured]) -> Findings {
    let mut rows = many(measured, "144-osts/isc09", published::isc09());
    for (policy, measured) in points(measured, &[]) {
        for way in Way::BOTH {
            let per_s = seeks(measured, way);
            let seeks = if policy == "fcfs" { 240.0 } else { 75.0 };
            let id = format!("144-osts/isc09/{policy}/{}_seeks", way.name());
            rows.push(row(id, Some(seeks), &per_s, "1/s"));
        }
        for (class, size) in [(4, 1), (5, 2), (6, 4)] {
            let (count, percent) = published::request_sizes(policy, size);
            let osts = f64::from(measured.scenario().ost.count);
            let place = format!("request-sizes/{policy}/{size}MiB");
            let counts = measured.per_seed(|report| report.disks.write.sizes[class] as f64 / osts);
            rows.push(row(format!("{place}/count"), Some(count), &counts, "per OST"));
            let parts = measured.per_seed(|report| {
                let write = &report.disks.write;
                write.sizes[class] as f64 / write.requests as f64 * 100.0
            });
            rows.push(row(format!("{place}/part"), Some(percent), &parts, "%"));
        }
    }
    Findings { rows, figures: Figures::new() }
}

fn many(measured: &[Measured], place: &str, published: Policies) -> Vec<Row> {
    let points = points(measured, &[]);
    let mut rows = Vec::new();
    for (policy, measured) in &points {
        for way in Way::BOTH {
            let id = format!("{place}/{policy}/{}_bandwidth", way.name());
            let rate = published.of(policy).rate(way);
            rows.push(row(id, Some(rate), &bandwidth(measured, way), "MiB/s"));
        }
    }
    rows.extend(gains(place, &points, |policy, way| published.of(policy).rate(way)));
    rows
}

/// The point of every policy, with the values `wanted`.
fn points<'a>(
    measured: &'a [Measured],
    wanted: &[(&str, &str)],
) -> Vec<(&'static str, &'a Measured)> {
    let point = |policy: &'static str| {
        let wanted: Vec<_> = wanted.iter().copied().chain([("scheduler.policy", policy)]).collect();
        at(measured, &wanted).map(|point| (policy, point))
    };
    POLICIES.into_iter().filter_map(point).collect()
}

/// FRR over FCFS, seed by seed.
fn gains(
    place: &str,
    points: &[(&'static str, &Measured)],
    published: impl Fn(&str, Way) -> f64,
) -> Vec<Row> {
    let [(_, fcfs), (_, frr)] = points else { return Vec::new() };
    let gain = |way: Way| {
        let (before, after) = (bandwidth(fcfs, way), bandwidth(frr, way));
        let ratios: Vec<f64> = before.iter().zip(&after).map(|(a, b)| b / a).collect();
        let said = published("frr", way) / published("fcfs", way);
        row(format!("{place}/{}_gain", way.name()), Some(said), &ratios, "FRR/FCFS")
    };
    Way::BOTH.into_iter().map(gain).collect()
}
