use slotcast_units::Span;

/// How long the jobs of one server waited, and what theory says of random arrivals at the same rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queueing {
    /// Length of the time in which the jobs came.
    pub elapsed: Span,
    /// How many came.
    pub jobs: u64,
    /// Their waits before service together, in ns.
    pub wait: u128,
    /// Their service times together, in ns.
    pub service: u128,
    /// The squares of their service times together, in ns².
    pub service_squared: u128,
}

impl Queueing {
    /// The mean wait in ns; zero without jobs.
    pub fn mean_wait(&self) -> f64 {
        if self.jobs == 0 { 0.0 } else { self.wait as f64 / self.jobs as f64 }
    }

    /// The part of the time that the service of the jobs takes; 1 and more if it takes longer than
    /// there is.
    pub fn offered_load(&self) -> f64 {
        match self.elapsed.as_ns() {
            0 => 0.0,
            elapsed => self.service as f64 / elapsed as f64,
        }
    }

    /// The mean wait in ns if as many jobs, with such service times, came as a Poisson process:
    /// λ E\[S²\] / 2 (1 − ρ), by Pollaczek and Khinchine. None if they are more than one server can
    /// do.
    ///
    /// D. Gross et al.: Fundamentals of Queueing Theory, 4th edition, 5.1.1.
    pub fn pollaczek_khinchine(&self) -> Option<f64> {
        let load = self.offered_load();
        if load >= 1.0 {
            return None;
        }
        let elapsed = (self.elapsed.as_ns() as f64).max(1.0);
        Some(self.service_squared as f64 / elapsed / (2.0 * (1.0 - load)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theory_depends_on_rate_and_moments_alone() {
        // 8 jobs of 10 ns in 100 ns: M/D/1 at a load of 0.8 waits 0.8 * 10 / (2 * 0.2) = 20 ns.
        let disk = Queueing {
            elapsed: Span::from_ns(100),
            jobs: 8,
            wait: 56,
            service: 80,
            service_squared: 800,
        };
        assert_eq!((disk.mean_wait(), disk.offered_load()), (7.0, 0.8));
        assert!((disk.pollaczek_khinchine().unwrap() - 20.0).abs() < 1e-9);
        assert_eq!(Queueing { service: 100, ..disk }.pollaczek_khinchine(), None);
        assert_eq!(Queueing::default().pollaczek_khinchine(), Some(0.0));
    }
}
