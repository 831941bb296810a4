//! What the publications conclude, and whether it holds here.

use crate::evaluation::{Claim, Findings, Row};

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
        from: "lustre/one-ost/1000-clients/",
        to: &["_bandwidth"],
        within_pct: 10.0,
        certain: true,
    },
    Bar {
        id: "one-ost/seeks-fcfs",
        text: "One OST: FCFS seeks within 15 % of 240 a second",
        from: "lustre/one-ost/1000-clients/fcfs/",
        to: &["_seeks"],
        within_pct: 15.0,
        certain: true,
    },
    Bar {
        id: "one-ost/seeks-frr-read",
        text: "One OST: FRR seeks within 15 % of 70 a second, reading",
        from: "lustre/one-ost/1000-clients/frr/read",
        to: &["_seeks"],
        within_pct: 15.0,
        certain: true,
    },
    Bar {
        id: "one-ost/seeks-frr-write",
        text: "One OST: FRR seeks within 15 % of 70 a second, writing",
        from: "lustre/one-ost/1000-clients/frr/write",
        to: &["_seeks"],
        within_pct: 15.0,
        certain: false,
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
];

pub(super) fn claims(findings: &Findings) -> Vec<Claim> {
    let mut claims: Vec<Claim> = BARS.iter().map(|bar| bar.claim(findings)).collect();
    claims.push(gain(findings));
    claims
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
            row.id.starts_with("lustre/one-ost/1000-clients/") && row.id.ends_with("_gain")
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
