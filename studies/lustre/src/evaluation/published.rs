//! The published figures, as the tables of `experiments/published` hold them.

use std::sync::LazyLock;

use slotcast_lab::published::records;

use super::rows::Way;

/// One policy's figures. Rates are read as MiB/s, which is what the published simulator prints.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Figures {
    read: f64,
    write: f64,
    pub(super) seeks: f64,
}

impl Figures {
    pub(super) fn rate(&self, way: Way) -> f64 {
        match way {
            Way::Write => self.write,
            Way::Read => self.read,
        }
    }
}

/// FCFS and FRR.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Policies {
    fcfs: Figures,
    frr: Figures,
}

impl Policies {
    pub(super) fn of(&self, policy: &str) -> Figures {
        if policy == "fcfs" { self.fcfs } else { self.frr }
    }

    fn set(&mut self, policy: &str, figures: Figures) {
        if policy == "FCFS" {
            self.fcfs = figures;
        } else {
            self.frr = figures;
        }
    }
}

/// One OST on the slides.
pub(super) fn one_ost(policy: &str) -> Figures {
    static TABLE: LazyLock<Policies> = LazyLock::new(|| {
        let mut table = Policies::default();
        let text = include_str!("../../../../experiments/published/lustre_nrs_single_ost.csv");
        for record in records(text) {
            let (read, write, seeks) = (record.number(1), record.number(2), record.number(3));
            table.set(record.text(0), Figures { read, write, seeks });
        }
        table
    });
    TABLE.of(policy)
}

fn many(setup: &str) -> Policies {
    let mut table = Policies::default();
    let text = include_str!("../../../../experiments/published/lustre_nrs_144ost.csv");
    for record in records(text).filter(|record| record.text(0) == setup) {
        let figures = Figures { read: record.number(2), write: record.number(3), seeks: 0.0 };
        table.set(record.text(1), figures);
    }
    table
}

/// 144 OSTs on the slides.
pub(super) fn slides() -> Policies {
    many("slides")
}

/// 144 OSTs in the ISC 2009 paper.
pub(super) fn isc09() -> Policies {
    many("isc09")
}

/// How many merged requests of a size one OST's disk got, and their part in percent.
pub(super) fn request_sizes(policy: &str, mib: u32) -> (f64, f64) {
    let text = include_str!("../../../../experiments/published/lustre_nrs_request_sizes.csv");
    let is_it = |policy_there: &str, mib_there: u32| {
        policy_there.eq_ignore_ascii_case(policy) && mib_there == mib
    };
    let found = records(text).find(|record| is_it(record.text(0), record.number(1)));
    found.map_or((f64::NAN, f64::NAN), |record| (record.number(2), record.number(3)))
}

/// One transfer size of the ISC 2009 paper's figure.
pub(super) struct TransferSize {
    pub(super) transfer_kib: u32,
    /// In GB/s of all OSTs.
    pub(super) policies: Policies,
}

impl TransferSize {
    /// As an experiment file writes it.
    pub(super) fn transfer(&self) -> String {
        size_text(self.transfer_kib)
    }
}

/// As an experiment file writes it.
fn size_text(kib: u32) -> String {
    slotcast_units::Size::from_kib(u64::from(kib)).to_string()
}

/// The figure of the ISC 2009 paper.
pub(super) fn transfer_sizes() -> impl Iterator<Item = TransferSize> {
    let text = include_str!("../../../../experiments/published/lustre_nrs_transfer_sizes.csv");
    records(text).map(|record| {
        let figures = |write, read, seeks| Figures {
            read: record.number(read),
            write: record.number(write),
            seeks: record.number(seeks),
        };
        let policies = Policies { frr: figures(1, 2, 6), fcfs: figures(3, 4, 5) };
        TransferSize { transfer_kib: record.number(0), policies }
    })
}

/// How many RPCs time out on the slides, in percent, by rule.
pub(super) fn timeout_rates() -> impl Iterator<Item = (&'static str, f64)> {
    let text = include_str!("../../../../experiments/published/lustre_at_slides.csv");
    records(text).map(|record| (record.text(0), record.number(1)))
}

/// One line of the paper's table over the factor between estimate and timeout.
pub(super) struct ByFactor {
    pub(super) rule: &'static str,
    pub(super) factor_pct: u32,
    /// RPCs that time out, in percent.
    pub(super) rate_pct: f64,
    /// Mean of response time over timeout.
    pub(super) used: f64,
}

/// The paper's table over the factor.
pub(super) fn timeouts_by_factor() -> impl Iterator<Item = ByFactor> {
    let text = include_str!("../../../../experiments/published/lustre_at_lambda.csv");
    records(text).map(|record| {
        let tenths: String = record.text(1).chars().filter(char::is_ascii_digit).collect();
        ByFactor {
            rule: record.text(0),
            factor_pct: tenths.parse::<u32>().expect("a factor with one decimal") * 10,
            rate_pct: record.number(2),
            used: record.number(4),
        }
    })
}

/// Early replies of one strategy and estimator.
pub(super) struct EarlyReplies {
    pub(super) strategy: &'static str,
    pub(super) rule: &'static str,
    /// RPCs with one, two, ... of them.
    pub(super) by_replies: [f64; 5],
    pub(super) total: f64,
}

/// The paper's table of early replies.
pub(super) fn early_replies() -> impl Iterator<Item = EarlyReplies> {
    let text = include_str!("../../../../experiments/published/lustre_at_early_replies.csv");
    records(text).map(|record| EarlyReplies {
        strategy: record.text(0),
        rule: record.text(1),
        by_replies: [2, 3, 4, 5, 6].map(|column| record.number(column)),
        total: record.number(7),
    })
}

/// One point of the scalability curve.
pub(super) struct Scalability {
    pub(super) clients: u32,
    pub(super) write: f64,
    pub(super) open_s: Option<f64>,
}

/// The scalability curve.
pub(super) fn scalability() -> impl Iterator<Item = Scalability> {
    let text = include_str!("../../../../experiments/published/lustre_sim_scalability.csv");
    records(text).map(|record| Scalability {
        clients: record.number(0),
        write: record.number(1),
        open_s: record.text(2).parse().ok(),
    })
}

/// One transfer size on Jaguar and in the published simulator.
pub(super) struct Jaguar {
    pub(super) transfer_kib: u32,
    pub(super) machine: Figures,
    pub(super) simulator: Figures,
}

impl Jaguar {
    /// As an experiment file writes it.
    pub(super) fn transfer(&self) -> String {
        size_text(self.transfer_kib)
    }
}

/// Jaguar and the published simulator.
pub(super) fn jaguar() -> impl Iterator<Item = Jaguar> {
    let text = include_str!("../../../../experiments/published/lustre_sim_jaguar.csv");
    records(text).map(|record| {
        let figures = |read, write| Figures {
            read: record.number(read),
            write: record.number(write),
            seeks: 0.0,
        };
        Jaguar { transfer_kib: record.number(0), machine: figures(1, 2), simulator: figures(3, 4) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_hold_what_was_published() {
        assert_eq!(one_ost("fcfs").rate(Way::Read), 246.36);
        assert_eq!((one_ost("frr").rate(Way::Write), one_ost("frr").seeks), (381.49, 70.0));
        assert_eq!(slides().of("fcfs").rate(Way::Write), 34743.0);
        assert_eq!(isc09().of("frr").rate(Way::Read), 49200.0);
        assert_eq!(request_sizes("frr", 2), (312.0, 30.0));
        assert_eq!(timeout_rates().last(), Some(("aet", 9.0)));
        let factor = timeouts_by_factor().find(|line| line.rule == "lcf" && line.factor_pct == 120);
        assert_eq!(factor.map(|line| (line.rate_pct, line.used)), Some((14.0, 0.72)));
        assert_eq!(timeouts_by_factor().count(), 33);
        assert_eq!(early_replies().map(|line| line.total).last(), Some(24452.0));
        assert_eq!(scalability().map(|point| point.clients).last(), Some(8192));
        assert_eq!(scalability().nth(4).and_then(|point| point.open_s), Some(0.255));
        let large = jaguar().last().expect("five sizes");
        assert_eq!(
            (large.machine.rate(Way::Read), large.simulator.rate(Way::Write)),
            (33793.55, 30037.51)
        );
    }
}
