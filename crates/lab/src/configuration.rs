//! Everything that an experiment sets.

use slotcast_sim::Scenario;

/// A scenario and the seeds that it runs with.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Configuration {
    /// What is simulated.
    pub scenario: Scenario,
    /// How often, and with which random numbers.
    pub seeds: Seeds,
}

/// Consecutive seeds, one run each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds {
    /// The first seed.
    pub first: u64,
    /// How many there are.
    pub count: u32,
}

impl Default for Seeds {
    fn default() -> Self {
        Seeds { first: 1, count: 10 }
    }
}

impl Seeds {
    /// Every seed, in order. After the largest number comes zero.
    pub fn iter(self) -> impl Iterator<Item = u64> {
        (0..u64::from(self.count)).map(move |index| self.first.wrapping_add(index))
    }
}
