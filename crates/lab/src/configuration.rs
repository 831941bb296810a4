//! Everything that an experiment sets.

use slotcast_sim::Scenario;
use slotcast_units::{Share, Span};

/// A scenario, the seeds that it runs with, and what is made of the runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Configuration {
    /// What is simulated.
    pub scenario: Scenario,
    /// How often, and with which random numbers.
    pub seeds: Seeds,
    /// How far the figures must be trusted.
    pub statistics: Statistics,
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

/// Where the warm-up comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WarmupRule {
    /// `run.warmup` is taken, and checked against what MSER-5 finds.
    #[default]
    AsSet,
    /// Pilot runs find it.
    Found,
    /// `run.warmup` is taken because it was published so, right or wrong.
    AsPublished,
}

/// How the start of a run is dealt with, and when there are seeds enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    /// Where the warm-up comes from.
    pub warmup: WarmupRule,
    /// Half the width of a headline figure's interval over the figure, at most; zero takes the number of
    /// seeds as it is.
    pub precision: Share,
    /// With a precision: the number of seeds that is not exceeded.
    pub max_seeds: u32,
    /// With a precision: the time on the clock after which no run is started.
    pub max_time: Span,
}

impl Default for Statistics {
    fn default() -> Self {
        Statistics {
            warmup: WarmupRule::default(),
            precision: Share::ZERO,
            max_seeds: 1000,
            max_time: Span::from_secs(60),
        }
    }
}
