//! What the publications conclude, and whether it holds here.

use slotcast_lab::{Claim, Findings, Row};

use super::bars::BARS;

pub(super) fn claims(findings: &Findings) -> Vec<Claim> {
    let mut claims: Vec<Claim> = BARS.iter().map(|bar| bar.claim(findings)).collect();
    claims.extend([gain(findings), peak(findings), small(findings)]);
    claims.extend([rates(findings), order(findings), nobody(findings)]);
    claims.extend([large_chunks(findings), gain_of_many(findings), unsteady(findings)]);
    claims
}

/// The mean of the row with this id.
fn value(findings: &Findings, id: &str) -> Option<f64> {
    findings.rows.iter().find(|row| row.id == id).map(|row| row.measured)
}

fn gain(findings: &Findings) -> Claim {
    let rows = findings.rows.iter();
    let gains: Vec<f64> = rows
        .filter(|row| row.id.starts_with("lustre/one-ost/64-threads/") && row.id.ends_with("_gain"))
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

fn gain_of_many(findings: &Findings) -> Claim {
    let rows = findings.rows.iter();
    let gains: Vec<f64> = rows
        .filter(|row| row.id.starts_with("lustre/144-osts/slides/") && row.id.ends_with("_gain"))
        .map(|row| row.measured)
        .collect();
    Claim {
        id: "144-osts/gain".into(),
        text: "144 OSTs: FRR moves at least 1.3 times as much as FCFS, writing and reading".into(),
        holds: gains.len() == 2 && gains.iter().all(|gain| *gain >= 1.3),
        certain: true,
        measured: gains.iter().map(|gain| format!("{gain:.2}")).collect::<Vec<_>>().join(", "),
    }
}

fn unsteady(findings: &Findings) -> Claim {
    let of = |epoch: &str| {
        let id = format!("lustre/time-slices/{epoch}/deviation_between_epochs");
        value(findings, &id).unwrap_or(f64::NAN)
    };
    let (long, short) = (of("10s"), of("1s"));
    Claim {
        id: "time-slices/unsteady".into(),
        text: "Time slices: the share of class A varies more from epoch to epoch in epochs of 1 s than of 10 s"
            .into(),
        holds: short > long,
        certain: false,
        measured: format!("{short:.1} and {long:.1} points"),
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
        text: "Timeouts: 86, 40, 9 and 9 %, each within 8 percentage points".into(),
        holds: rates.len() == 4 && rates.iter().all(|(said, rate)| (said - rate).abs() <= 8.0),
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
