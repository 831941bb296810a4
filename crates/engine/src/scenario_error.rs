//! What a model says of a scenario that it cannot run.

/// A scenario that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ScenarioError {
    /// The setting at fault, as in an experiment file: `cluster.targets`.
    pub key: &'static str,
    /// What is wrong with it and what would be right.
    pub problem: String,
}
