//! Order of arrival against object-based round robin.

use slotcast_lab::{Figures, Findings, Row};

use super::published::{self, Policies};
use super::rows::{Way, all_seeks, at, bandwidth, row, seeks};
use super::runs::Measured;

const POLICIES: [&str; 2] = ["fcfs", "frr"];

/// Service threads: what the authors' program has, and four times as many.
const THREADS: [&str; 2] = ["64", "256"];

/// One OST: bandwidth and seeks, and the gain.
pub(super) fn one_ost(measured: &[Measured]) -> Findings {
    let mut rows = Vec::new();
    for threads in THREADS {
        let place = format!("one-ost/{threads}-threads");
        let points = points(measured, &[("ost.threads", threads)]);
        let is_published = threads == THREADS[0];
        let said = |value: f64| is_published.then_some(value);
        for (policy, measured) in &points {
            let published = published::one_ost(policy);
            for way in Way::BOTH {
                let id = |what: &str| format!("{place}/{policy}/{}_{what}", way.name());
                let rate = bandwidth(measured, way);
                rows.push(row(id("bandwidth"), said(published.rate(way)), &rate, "MiB/s"));
                rows.push(row(id("seeks"), None, &seeks(measured, way), "1/s"));
            }
            let id = format!("{place}/{policy}/all_seeks");
            rows.push(row(id, said(published.seeks), &all_seeks(measured), "1/s"));
        }
        let gains = gains(&place, &points, |policy, way| published::one_ost(policy).rate(way));
        rows.extend(gains.into_iter().filter(|_| is_published));
    }
    Findings { rows, figures: Figures::new() }
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
        let seeks = if policy == "fcfs" { 240.0 } else { 75.0 };
        let id = format!("144-osts/isc09/{policy}/all_seeks");
        rows.push(row(id, Some(seeks), &all_seeks(measured), "1/s"));
        for (class, size) in [(4, 1), (5, 2), (6, 4)] {
            let (count, percent) = published::request_sizes(policy, size);
            let osts = f64::from(measured.scenario().ost.count);
            let place = format!("request-sizes/{policy}/{size}MiB");
            let counts = measured.per_seed(|report| report.disks.write.sizes[class] as f64 / osts);
            // A single request of 1759 is no figure that could be near or far.
            let said = (count > 1.0).then_some(count);
            rows.push(row(format!("{place}/count"), said, &counts, "per OST"));
            let parts = measured.per_seed(|report| {
                let write = &report.disks.write;
                write.sizes[class] as f64 / write.requests as f64 * 100.0
            });
            let said = (percent > 0.0).then_some(percent);
            rows.push(row(format!("{place}/part"), said, &parts, "%"));
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
            .derived_from("bandwidths: FRR over FCFS")
    };
    Way::BOTH.into_iter().map(gain).collect()
}
