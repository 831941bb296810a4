//! The extension module `slotcast._slotcast` of the Python package in `python`.
//!
//! It carries settings, results and signals between Python and the lab, and decides nothing: what it returns is
//! the JSON of the command line, and columns that show their memory. Shape and names are made in Python.
//!
//! ```text
//!    slotcast.simulate(...)  -->  Experiment::simulate  -->  lab, on threads of its own, without the GIL
//!    Result, DataFrame       <--  JSON text, Findings   <--  SimReport, executions
//! ```
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "ring 3 reads files and clocks"
)]
#![allow(clippy::needless_pass_by_value, reason = "what Python hands over is a value")]

mod ask;
mod column;
mod error;
mod experiment;
mod findings;
mod interrupt;
mod program;
mod sweep;

use serde::Serialize;

/// The version that results carry.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A report as the command line writes it.
fn json(report: &impl Serialize) -> String {
    serde_json::to_string_pretty(report).expect("texts and numbers are JSON")
}

/// What `slotcast` imports.
#[pyo3::pymodule]
mod _slotcast {
    #[pymodule_export]
    use super::ask::{defaults, plan, reproduce};
    #[pymodule_export]
    use super::column::Column;
    #[pymodule_export]
    use super::experiment::Experiment;
    #[pymodule_export]
    use super::findings::Findings;
    #[pymodule_export]
    use super::sweep::Sweep;

    #[pymodule_export]
    const VERSION: &str = super::VERSION;
}
