//! What the publications conclude, and whether it holds here.

use slotcast_lab::{Claim, Findings, Row};

/// How far a group of rows may be from what was published.
struct Bar {
    id: &'static str,
    text: &'static str,
    /// Which rows: how their ids begin and end.
    from: &'static str,
    to: &'static [&'static str],
    /// In percent of the published value.
    within_pct: f64,
    certain: bool,
}

const BARS: &[Bar] = &[
    Bar {
        id: "one-ost/bandwidth",
        text: "One OST: every bandwidth within 10 % of the published one",
        from: "lustre/one-ost/1000-clients/256-threads/",
        to: &["_bandwidth"],
        within_pct: 10.0,
        certain: true,
    },
    Bar {
        id: "one-ost/seeks-fcfs",
        text: "One OST: FCFS seeks within 15 % of 240 a second",
        from: "lustre/one-ost/1000-clients/256-threads/fcfs/",
        to: &["write_seeks", "read_seeks"],
        within_pct: 15.0,
        certain: true,
    },
    Bar {
        id: "one-ost/seeks-frr-read",
        text: "One OST: FRR seeks within 15 % of 70 a second, reading",
        from: "lustre/one-ost/1000-clients/256-threads/frr/read",
        to: &["_seeks"],
        within_pct: 15.0,
        certain: true,
    },
    Bar {
        id: "one-ost/seeks-frr",
        text: "One OST: FRR seeks within 15 % of 70 a second, over writing and reading",
        from: "lustre/one-ost/1000-clients/256-threads/frr/all",
        to: &["_seeks"],
        within_pct: 15.0,
        certain: false,
    },
    Bar {
        id: "one-ost/seeks-frr-short-turns",
        text: "The same where the first turn of every object is cut short: as many threads as clients",
        from: "lustre/one-ost/",
        to: &["1000-threads/frr/all_seeks", "64-threads/frr/all_seeks"],
        within_pct: 15.0,
        certain: true,
    },
    Bar {
        id: "144-osts/slides",
        text: "144 OSTs as on the slides: every bandwidth within 10 %",
        from: "lustre/144-osts/slides/",
        to: &["_bandwidth"],
        within_pct: 10.0,
        certain: true,
    },
    Bar {
        id: "144-osts/isc09",
        text: "144 OSTs as in the paper: every bandwidth within 10 %",
        from: "lustre/144-osts/isc09/",
        to: &["_bandwidth"],
        within_pct: 10.0,
        certain: true,
    },
    Bar {
        id: "jaguar/1MiB",
        text: "Jaguar, 1 MiB: within 8 % of the machine",
        from: "lustre/jaguar/1MiB/",
        to: &["_bandwidth"],
        within_pct: 8.0,
        certain: true,
    },
    Bar {
        id: "scalability/points",
        text: "Scalability: every point within 20 %",
        from: "lustre/scalability/",
        to: &["_bandwidth"],
        within_pct: 20.0,
        certain: true,
    },
    Bar {
        id: "scalability/opens",
        text: "Scalability: opening takes the published time within 1 %",
        from: "lustre/scalability/",
        to: &["/open_time"],
        within_pct: 1.0,
        certain: true,
    },
    Bar {
        id: "request-sizes",
        text: "FRR: 1, 2 and 4 MiB requests reach the disk as often as published, within 10 %",
        from: "lustre/request-sizes/frr/",
        to: &["/count"],
        within_pct: 10.0,
        certain: true,
    },
    Bar {
        id: "early-replies/erpck",
        text: "Early replies also at arrival: as many messages as published, within 10 %, LCF and AET",
        from: "lustre/early-replies/at-arrival-too/",
        to: &["lcf/total", "aet/total"],
        within_pct: 10.0,
        certain: true,
    },
    Bar {
        id: "time-slices",
        text: "Time slices: class A gets 70 % of the bandwidth, within 5 %",
        from: "lustre/time-slices/",
        to: &["/share_of_a"],
        within_pct: 5.0,
        certain: true,
    },
    Bar {
        id: "deadlines/urgent",
        text: "Two-level deadline: no urgent request waits longer than 5 s, within 10 %",
        from: "lustre/deadlines/frr-deadline/",
        to: &["/longest_urgent"],
        within_pct: 10.0,
        certain: true,
    },
];

pub(super) fn claims(findings: &Findings) -> Vec<Claim> {
    let mut claims: Vec<Claim> = BARS.iter().map(|bar| bar.claim(findings)).collect();
    claims.extend([gain(findings), peak(findings), small(findings)]);
    claims.extend([rates(findings), order(findings), nobody(findings)]);
    claims.push(large_chunks(findings));
    claims
}

/// The mean of the row with this id.
fn value(findings: &Findings, id: &str) -> Option<f64> {
    findings.rows.iter().find(|row| row.id == id).map(|row| row.measured)
}

impl Bar {
    fn claim(&self, findings: &Findings) -> Claim {
        let is_meant = |row: &&Row| {
            row.id.starts_with(self.from) && self.to.iter().any(|end| row.id.ends_with(end))
        };
        let deviations: Vec<f64> =
            findings.rows.iter().filter(is_meant).filter_map(|row| row.deviation_pct).collect();
        let listed: Vec<_> = deviations.iter().map(|percent| format!("{percent:+.1} %")).collect();
        Claim {
            id: self.id.into(),
            text: self.text.into(),
            holds: !deviations.is_empty()
                && deviations.iter().all(|percent| percent.abs() <= self.within_pct),
            certain: self.certain,
            measured: listed.join(", "),
        }
    }
}

fn gain(findings: &Findings) -> Claim {
    let rows = findings.rows.iter();
    let gains: Vec<f64> = rows
        .filter(|row| {
            row.id.starts_with("lustre/one-ost/1000-clients/256-threads/")
                && row.id.ends_with("_gain")
        })
        .map(|row| row.measured)
        .collect();
    Claim {
        id: "one-ost/gain".into(),
        text: "One OST: FRR moves more than 1.45 times as much as FCFS, writing and reading".into(),
        holds: gains.len() == 2 && gains.iter().all(|gain| *gain > 1.45),
        certain: true,
        measured: gains.iter().map(|gain| format!("{gain:.2}")).collect::<Vec<_>>().join(", "),
    }
}

fn peak(findings: &Findings) -> Claim {
    let curve: Vec<&Row> = findings
        .rows
        .iter()
        .filter(|row| row.id.starts_with("lustre/scalability/") && row.id.ends_with("_bandwidth"))
        .collect();
    let best = curve.iter().max_by(|a, b| a.measured.total_cmp(&b.measured));
    Claim {
        id: "scalability/peak".into(),
        text: "Scalability: bandwidth is highest with 256 clients".into(),
        holds: best.is_some_and(|row| row.id.contains("/256-clients/")),
        certain: true,
        measured: best.map_or(String::new(), |row| format!("{}: {:.0}", row.id, row.measured)),
    }
}

fn small(findings: &Findings) -> Claim {
    let small = super::published::jaguar().find(|table| table.transfer_kib == 64);
    let mut parts = Vec::new();
    let mut holds = small.is_some();
    for (table, way) in
        small.iter().flat_map(|table| super::rows::Way::BOTH.map(|way| (table, way)))
    {
        let id = format!("lustre/jaguar/64KiB/with-cache/{}_bandwidth", way.name());
        let machine = table.machine.rate(way);
        let here = value(findings, &id).map_or(f64::NAN, |value| (value / machine - 1.0) * 100.0);
        let there = (table.simulator.rate(way) / machine - 1.0) * 100.0;
        holds &= here.abs() < there.abs();
        parts.push(format!("{} {here:+.0} %, the published simulator {there:+.0} %", way.name()));
    }
    Claim {
        id: "jaguar/64KiB".into(),
        text: "Jaguar, 64 KiB: with a storage cache nearer to the machine than the published simulator"
            .into(),
        holds,
        certain: true,
        measured: parts.join("; "),
    }
}

/// The rates of the slides, in their order.
fn slides(findings: &Findings) -> Vec<(f64, f64)> {
    super::published::timeout_rates()
        .filter_map(|(rule, said)| {
            Some((said, value(findings, &format!("lustre/timeouts/slides/{rule}"))?))
        })
        .collect()
}

fn listed(rates: &[(f64, f64)]) -> String {
    rates.iter().map(|(_, rate)| format!("{rate:.1} %")).collect::<Vec<_>>().join(", ")
}

fn rates(findings: &Findings) -> Claim {
    let rates = slides(findings);
    Claim {
        id: "timeouts/rates".into(),
        text: "Timeouts: 86, 40, 9 and 9 %, each within 6 percentage points".into(),
        holds: rates.len() == 4 && rates.iter().all(|(said, rate)| (said - rate).abs() <= 6.0),
        certain: true,
        measured: listed(&rates),
    }
}

fn order(findings: &Findings) -> Claim {
    let rates = slides(findings);
    let [fixed, max, lcf, aet] = &rates[..] else {
        return not_measured(
            "timeouts/order",
            "Timeouts: fixed loses most, then MAX, then LCF and AET",
        );
    };
    Claim {
        id: "timeouts/order".into(),
        text: "Timeouts: fixed loses most, then MAX, then LCF and AET".into(),
        holds: fixed.1 > max.1 && max.1 > lcf.1 && max.1 > aet.1,
        certain: true,
        measured: listed(&rates),
    }
}

fn not_measured(id: &str, text: &str) -> Claim {
    let measured = "not measured".into();
    Claim { id: id.into(), text: text.into(), holds: false, certain: true, measured }
}

fn nobody(findings: &Findings) -> Claim {
    let rows = findings.rows.iter();
    let late: Vec<f64> = rows
        .filter(|row| row.id.starts_with("lustre/early-replies/") && row.id.ends_with("/timeouts"))
        .map(|row| row.measured)
        .collect();
    Claim {
        id: "early-replies/nobody".into(),
        text: "With early replies no RPC times out".into(),
        holds: late.len() == 6 && late.iter().all(|rate| *rate == 0.0),
        certain: true,
        measured: late.iter().map(|rate| format!("{rate:.2} %")).collect::<Vec<_>>().join(", "),
    }
}

fn large_chunks(findings: &Findings) -> Claim {
    let rate = |what: &str| value(findings, &format!("lustre/replicast/{what}/bandwidth"));
    let [plain, ordered, large] =
        ["chunks-of-1MiB", "chunks-of-1MiB-in-object-order", "chunks-of-8MiB"]
            .map(|what| rate(what).unwrap_or(f64::NAN));
    Claim {
        id: "replicast/order".into(),
        text: "Replicast: object order could gain half as much again, and chunks of 8 MiB gain as much \
               without it, within 5 %"
            .into(),
        holds: ordered > 1.5 * plain && (large / ordered - 1.0).abs() < 0.05,
        certain: true,
        measured: format!("{plain:.0}, {ordered:.0} and {large:.0} MiB/s"),
    }
}
