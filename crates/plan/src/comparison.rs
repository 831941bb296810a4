//! Two answers side by side: what differs, and what matters most first.

use serde::Serialize;
use slotcast_lab::{Estimate, setting};

use super::check::{Check, Holds};
use super::report::{PlanReport, SCHEMA};

/// What `slotcast plan A B --json` writes.
#[derive(Debug, Clone, Serialize)]
pub struct PlanComparison {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// The cluster that does what it must while the other does not; `null` if both do, or neither.
    pub holds_alone: Option<Side>,
    /// Results that differ by more than chance, those that matter most first.
    pub results: Vec<Difference>,
    /// Results that cannot be told apart.
    pub alike: Vec<&'static str>,
    /// What was stated differently.
    pub stated: Vec<StatedDifference>,
    /// The first cluster.
    pub a: PlanReport,
    /// The second one.
    pub b: PlanReport,
}

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// A result of both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// What it is: `largest load`.
    pub what: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Of the first; `null` if it has none.
    pub a: Option<Estimate>,
    /// Of the second.
    pub b: Option<Estimate>,
    /// Which is better; `null` where no way is.
    pub better: Option<Side>,
}

/// A key that was stated differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatedDifference {
    /// Which key.
    pub key: &'static str,
    /// Of the first, as text; `null` if it has none.
    pub a: Option<String>,
    /// Of the second.
    pub b: Option<String>,
}

/// A result, as it is taken from a report.
struct Measure {
    what: &'static str,
    unit: &'static str,
    is_more_better: bool,
    of: fn(&PlanReport) -> Option<Estimate>,
}

const fn exact(value: f64) -> Estimate {
    Estimate { value, ci95: Some(0.0) }
}

fn in_ms(us: Option<Estimate>) -> Option<Estimate> {
    let Estimate { value, ci95 } = us?;
    // Where the interval is not known, half of the value is not told from the other one.
    let ci95 = Some(ci95.unwrap_or(value / 2.0) / 1e3);
    value.is_finite().then_some(Estimate { value: value / 1e3, ci95 })
}

fn write_p99(check: Option<&Check>) -> Option<Estimate> {
    in_ms(check?.write_p99_us)
}

fn read_p99(check: Option<&Check>) -> Option<Estimate> {
    in_ms(check?.read_p99_us)
}

/// What is nearer to each other than this part is the same.
const SAME: f64 = 1e-3;

/// Every result, in the order of what matters to a buyer.
static MEASURES: &[Measure] = &[
    Measure {
        what: "largest load",
        unit: "GB/s",
        is_more_better: true,
        of: |report| {
            let at = &report.limit.at;
            let value = (at.write_bytes_per_s + at.read_bytes_per_s) / 1e9;
            // It lies between the two ends of the search.
            let ends = report.limit.fails_at as f64 / report.limit.holds_at? as f64;
            Some(Estimate { value, ci95: Some(value * (ends - 1.0)) })
        },
    },
    Measure {
        what: "write p99 at the target",
        unit: "ms",
        is_more_better: false,
        of: |report| write_p99(Some(&report.at_target)),
    },
    Measure {
        what: "read p99 at the target",
        unit: "ms",
        is_more_better: false,
        of: |report| read_p99(Some(&report.at_target)),
    },
    Measure {
        what: "write p99, a node down",
        unit: "ms",
        is_more_better: false,
        of: |report| write_p99(report.node_down.as_ref()),
    },
    Measure {
        what: "read p99, a node down",
        unit: "ms",
        is_more_better: false,
        of: |report| read_p99(report.node_down.as_ref()),
    },
    Measure {
        what: "write p99, rebuilding",
        unit: "ms",
        is_more_better: false,
        of: |report| write_p99(report.rebuilding.as_ref()),
    },
    Measure {
        what: "read p99, rebuilding",
        unit: "ms",
        is_more_better: false,
        of: |report| read_p99(report.rebuilding.as_ref()),
    },
    Measure {
        what: "months until it is full",
        unit: "",
        is_more_better: true,
        of: |report| report.room.full_in_months.map(exact),
    },
    Measure {
        what: "usable",
        unit: "TB",
        is_more_better: true,
        of: |report| Some(exact(report.room.usable / 1e12)),
    },
    Measure {
        what: "rebuild of a node",
        unit: "hours",
        is_more_better: false,
        of: |report| report.rebuilding.as_ref().map(|_| exact(report.rebuild.seconds / 3600.0)),
    },
    Measure {
        what: "price",
        unit: "",
        is_more_better: false,
        of: |report| Some(exact(report.budget.cost)),
    },
    Measure {
        what: "price per usable TB",
        unit: "",
        is_more_better: false,
        of: |report| Some(exact(report.budget.cost_per_tb)),
    },
    Measure {
        what: "price per GB/s held",
        unit: "",
        is_more_better: false,
        of: |report| report.budget.cost_per_gb_per_s.map(exact),
    },
    Measure {
        what: "power at the target",
        unit: "kW",
        is_more_better: false,
        of: |report| Some(exact(report.budget.watts_at_target / 1e3)),
    },
];

impl PlanComparison {
    /// Of the answers to two clusters.
    pub fn new(version: &str, a: PlanReport, b: PlanReport) -> PlanComparison {
        let holds = |report: &PlanReport| report.holds == Holds::Yes;
        let holds_alone = match (holds(&a), holds(&b)) {
            (true, false) => Some(Side::A),
            (false, true) => Some(Side::B),
            _ => None,
        };
        let mut alike = Vec::new();
        // How far apart the two are, as a ratio, decides what comes first; what one of them lacks most of all.
        let mut results: Vec<(f64, Difference)> = Vec::new();
        for measure in MEASURES {
            let (of_a, of_b) = ((measure.of)(&a), (measure.of)(&b));
            let apart = match (of_a, of_b) {
                (None, None) => continue,
                (Some(a), Some(b)) => match is_told_apart(a, b) {
                    true => (a.value / b.value).ln().abs(),
                    false => {
                        alike.push(measure.what);
                        continue;
                    }
                },
                _ => f64::INFINITY,
            };
            let better = match (of_a, of_b) {
                (Some(a), Some(b)) if (a.value > b.value) == measure.is_more_better => {
                    Some(Side::A)
                }
                (Some(_), Some(_)) => Some(Side::B),
                _ => None,
            };
            let Measure { what, unit, .. } = *measure;
            results.push((apart, Difference { what, unit, a: of_a, b: of_b, better }));
        }
        results.sort_by(|a, b| b.0.total_cmp(&a.0));
        PlanComparison {
            schema: SCHEMA,
            version: version.into(),
            holds_alone,
            results: results.into_iter().map(|(_, difference)| difference).collect(),
            alike,
            stated: stated(&a, &b),
            a,
            b,
        }
    }
}

/// Whether the intervals do not meet.
fn is_told_apart(a: Estimate, b: Estimate) -> bool {
    let chance = a.ci95.unwrap_or(0.0) + b.ci95.unwrap_or(0.0);
    (a.value - b.value).abs() > chance.max(a.value.abs() * SAME)
}

/// The keys whose values differ, in the order of the settings.
fn stated(a: &PlanReport, b: &PlanReport) -> Vec<StatedDifference> {
    let mut keys: Vec<&'static str> = a.cluster.keys().chain(b.cluster.keys()).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    let known = setting::Settings::keys(&super::keys::PLAN);
    keys.sort_by_key(|key| known.iter().position(|known| known == key).unwrap_or(usize::MAX));
    let value = |report: &PlanReport, key| report.cluster.get(key).cloned();
    let differs = |key: &&'static str| value(a, *key) != value(b, *key);
    let of = |key: &'static str| StatedDifference { key, a: value(a, key), b: value(b, key) };
    keys.into_iter().filter(differs).map(of).collect()
}
