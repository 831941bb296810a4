//! The published figures, as the tables of `experiments/published` hold them.

use std::sync::LazyLock;

use super::rows::Way;
use crate::published::records;

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
    }
}
