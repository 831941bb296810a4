//! What is searched for, and how.

use slotcast_engine::ScenarioError;
use slotcast_tune::Method;
use slotcast_units::Share;

/// A search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scenario {
    /// How, and for how long.
    pub search: Search,
    /// The networks, where they are the method.
    pub networks: Networks,
}

/// How the maximum is sought.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// By what.
    pub method: Method,
    /// Evaluations of the function.
    pub calls: u32,
}

/// The networks of the method of that name.
#[derive(Debug, Clone, PartialEq)]
pub struct Networks {
    /// How many.
    pub count: u32,
    /// Calls at random before the first step.
    pub pretraining: u32,
    /// Part of the weights that begin as zero.
    pub sparsity: Share,
}

impl Default for Search {
    fn default() -> Self {
        Search { method: Method::Networks, calls: 2300 }
    }
}

impl Default for Networks {
    fn default() -> Self {
        Networks { count: 5, pretraining: 300, sparsity: Share::from_percent(10) }
    }
}

/// Finds what makes a scenario impossible.
///
/// # Errors
/// If the networks have no window each.
pub fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Networks { count, pretraining, .. } = scenario.networks;
    if scenario.search.method == Method::Networks && pretraining / count < 10 {
        let problem = format!(
            "{count} networks share {pretraining} calls of pretraining, less than 10 each; expected at \
             most {} networks",
            pretraining / 10
        );
        return Err(ScenarioError { key: "networks.count", problem });
    }
    Ok(())
}
