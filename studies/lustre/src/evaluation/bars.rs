//! How far groups of rows may be from what was published: a claim for each.

use slotcast_lab::{Claim, Findings, Row};

/// How far a group of rows may be from what was published.
pub(super) struct Bar {
    id: &'static str,
    text: &'static str,
    /// Which rows: how their ids begin and end.
    from: &'static str,
    to: &'static [&'static str],
    /// In percent of the published value.
    within_pct: f64,
    certain: bool,
}

pub(super) const BARS: &[Bar] = &[
    Bar {
        id: "one-ost/seeks-fcfs",
        text: "One OST: FCFS seeks within 10 % of 240 a second, over writing and reading",
        from: "lustre/one-ost/64-threads/fcfs/all",
        to: &["_seeks"],
        within_pct: 10.0,
        certain: true,
    },
    Bar {
        id: "one-ost/seeks-frr",
        text: "One OST: FRR seeks within 15 % of 70 a second, over writing and reading",
        from: "lustre/one-ost/64-threads/frr/all",
        to: &["_seeks"],
        within_pct: 15.0,
        certain: false,
    },
    Bar {
        id: "144-osts/slides/fcfs-write",
        text: "144 OSTs as on the slides: FCFS, writing, within 10 %",
        from: "lustre/144-osts/slides/fcfs/write",
        to: &["_bandwidth"],
        within_pct: 10.0,
        certain: true,
    },
    Bar {
        id: "144-osts/slides/fcfs-read",
        text: "144 OSTs as on the slides: FCFS, reading, within 10 %",
        from: "lustre/144-osts/slides/fcfs/read",
        to: &["_bandwidth"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "144-osts/slides/frr-write",
        text: "144 OSTs as on the slides: FRR, writing, within 10 %",
        from: "lustre/144-osts/slides/frr/write",
        to: &["_bandwidth"],
        within_pct: 10.0,
        certain: true,
    },
    Bar {
        id: "144-osts/slides/frr-read",
        text: "144 OSTs as on the slides: FRR, reading, within 10 %",
        from: "lustre/144-osts/slides/frr/read",
        to: &["_bandwidth"],
        within_pct: 10.0,
        certain: true,
    },
    Bar {
        id: "request-sizes/1MiB",
        text: "FRR: 1 MiB requests reach the disk as often as published, within 10 %",
        from: "lustre/request-sizes/frr/1MiB",
        to: &["/count"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "request-sizes/2MiB",
        text: "FRR: 2 MiB requests reach the disk as often as published, within 10 %",
        from: "lustre/request-sizes/frr/2MiB",
        to: &["/count"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "request-sizes/4MiB",
        text: "FRR: 4 MiB requests reach the disk as often as published, within 10 %",
        from: "lustre/request-sizes/frr/4MiB",
        to: &["/count"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "isc09/seeks",
        text: "The paper's run: seeks within 10 %, over writing and reading",
        from: "lustre/144-osts/isc09/",
        to: &["_seeks"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "one-ost/bandwidth",
        text: "One OST: every bandwidth within 10 % of the published one",
        from: "lustre/one-ost/64-threads/",
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
        text: "Jaguar, 1 MiB: within 8 %, of the machine with a cache and of the published simulator without",
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
    Bar {
        id: "jaguar/machine",
        text: "Jaguar: every transfer size within 10 % of the machine, with a storage cache",
        from: "lustre/jaguar/",
        to: &["with-cache/write_bandwidth", "with-cache/read_bandwidth"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "jaguar/simulator",
        text: "Jaguar: every transfer size within 10 % of the published simulator, without a cache",
        from: "lustre/jaguar/",
        to: &["without-cache/write_bandwidth", "without-cache/read_bandwidth"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "scalability/points-near",
        text: "Scalability: every point within 10 %",
        from: "lustre/scalability/",
        to: &["_bandwidth"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "transfer-sizes/bandwidth",
        text: "By transfer size: every bandwidth within 10 % of what was read off",
        from: "lustre/transfer-sizes/",
        to: &["_bandwidth"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "transfer-sizes/seeks",
        text: "By transfer size: seeks within 15 % of what was read off",
        from: "lustre/transfer-sizes/",
        to: &["/seeks"],
        within_pct: 15.0,
        certain: false,
    },
    Bar {
        id: "timeouts/rate/fixed",
        text: "Timeouts: a fixed one loses 86 %, within 10 %",
        from: "lustre/timeouts/slides/fixed",
        to: &[""],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "timeouts/rate/max",
        text: "Timeouts: MAX loses 40 %, within 10 %",
        from: "lustre/timeouts/slides/max",
        to: &[""],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "timeouts/rate/lcf",
        text: "Timeouts: LCF loses 9 %, within 10 %",
        from: "lustre/timeouts/slides/lcf",
        to: &[""],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "timeouts/rate/aet",
        text: "Timeouts: AET loses 9 %, within 10 %",
        from: "lustre/timeouts/slides/aet",
        to: &[""],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "timeouts/factor/rate",
        text: "Timeouts by factor: every rate within 10 %",
        from: "lustre/timeouts/factor-",
        to: &["/rate"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "timeouts/factor/used",
        text: "Timeouts by factor: the mean part that is used within 10 %",
        from: "lustre/timeouts/factor-",
        to: &["/used"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "early-replies/erp",
        text: "Early replies before a deadline: as many messages as published, within 10 %",
        from: "lustre/early-replies/before-deadline/",
        to: &["/total"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "early-replies/erpck-max",
        text: "Early replies also at arrival: as many messages as published, within 10 %, MAX",
        from: "lustre/early-replies/at-arrival-too/",
        to: &["max/total"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "deadlines/normal",
        text: "Two-level deadline: normal responses up to 25 s, within 10 %",
        from: "lustre/deadlines/frr-deadline/",
        to: &["/longest_normal"],
        within_pct: 10.0,
        certain: false,
    },
    Bar {
        id: "deadlines/queue",
        text: "Two-level deadline: a queue of up to 8000 RPCs, within 10 %",
        from: "lustre/deadlines/frr-deadline/",
        to: &["/queue_peak"],
        within_pct: 10.0,
        certain: false,
    },
];

impl Bar {
    /// Whether all rows of the group are that near.
    pub(super) fn claim(&self, findings: &Findings) -> Claim {
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
