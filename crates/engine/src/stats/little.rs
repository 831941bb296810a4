use slotcast_units::Span;

/// Little's law over one stretch of time, with its edges, in whole numbers.
///
/// In a steady state the mean number in a system is the rate at which members come times their mean
/// sojourn time. Over a finite stretch that holds up to what the edges cut: sojourns that began before
/// it or end after it. With the edges accounted for it holds exactly, whatever the system does
/// ([`Little::unaccounted`]), so that a model which loses members, or gets their times wrong, can be told
/// from a run that is too short.
///
/// J. D. C. Little: A Proof for the Queuing Formula L = λW. Operations Research 9(3), 1961.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Little {
    /// Length of the stretch.
    pub elapsed: Span,
    /// Members whose whole sojourn is counted: those that came, or those that went.
    pub members: u64,
    /// The sojourn times of these members together, in ns.
    pub sojourns: u128,
    /// The integral over time of the number that was there, in ns.
    pub integral: u128,
    /// What must be added to `sojourns` to get `integral`, in ns: parts of sojourns inside the stretch
    /// of members that are not counted, less parts outside it of those that are.
    pub edges: i128,
}

impl Little {
    /// The mean number of members.
    pub fn mean_number(&self) -> f64 {
        per_time(self.integral, self.elapsed)
    }

    /// The rate of members times their mean sojourn time, which Little's law says is
    /// [`Little::mean_number`].
    pub fn rate_times_sojourn(&self) -> f64 {
        per_time(self.sojourns, self.elapsed)
    }

    /// [`Little::rate_times_sojourn`] over [`Little::mean_number`]: 1 where the law holds. None if
    /// nobody was there.
    pub fn ratio(&self) -> Option<f64> {
        (self.integral > 0).then(|| self.sojourns as f64 / self.integral as f64)
    }

    /// Time in ns that neither sojourns nor edges account for: zero, or the model is wrong.
    ///
    /// # Panics
    /// If an integral is beyond 2^127 ns, some 10^21 years.
    pub fn unaccounted(&self) -> i128 {
        let signed = |ns: u128| i128::try_from(ns).expect("fewer than 2^127 ns");
        signed(self.integral) - signed(self.sojourns) - self.edges
    }

    /// Two systems over the same stretch, taken as one.
    #[must_use]
    pub fn beside(self, other: Little) -> Little {
        debug_assert_eq!(self.elapsed, other.elapsed, "systems of different stretches");
        Little {
            elapsed: self.elapsed,
            members: self.members + other.members,
            sojourns: self.sojourns + other.sojourns,
            integral: self.integral + other.integral,
            edges: self.edges + other.edges,
        }
    }
}

fn per_time(ns: u128, elapsed: Span) -> f64 {
    match elapsed.as_ns() {
        0 => 0.0,
        elapsed => ns as f64 / elapsed as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two members of 30 and 50 ns in 100 ns, the second of which came 10 ns before the stretch.
    const CUT: Little =
        Little { elapsed: Span::from_ns(100), members: 2, sojourns: 80, integral: 70, edges: -10 };

    #[test]
    fn edges_account_for_what_the_ratio_misses() {
        assert_eq!((CUT.mean_number(), CUT.rate_times_sojourn()), (0.7, 0.8));
        assert_eq!(CUT.ratio(), Some(80.0 / 70.0));
        assert_eq!(CUT.unaccounted(), 0);
        assert_eq!(Little { integral: 75, ..CUT }.unaccounted(), 5);
        assert_eq!(Little::default().ratio(), None);
    }

    #[test]
    fn systems_side_by_side_add_up() {
        let both = CUT.beside(CUT);
        assert_eq!((both.mean_number(), both.ratio()), (1.4, CUT.ratio()));
    }
}
