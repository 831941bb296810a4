//! Which build does the runs.

use std::path::PathBuf;
use std::sync::OnceLock;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use slotcast_lab::sweep::Program;

static PROGRAM: OnceLock<Program> = OnceLock::new();

/// The program of this process: not Python, but the library that Python has loaded, by the hash of its file.
pub(crate) fn program(py: Python<'_>) -> PyResult<&'static Program> {
    if let Some(program) = PROGRAM.get() {
        return Ok(program);
    }
    let path: PathBuf = py.import("slotcast._slotcast")?.getattr("__file__")?.extract()?;
    let program = Program::of_file(&path)
        .map_err(|error| PyOSError::new_err(format!("cannot read {}: {error}", path.display())))?;
    Ok(PROGRAM.get_or_init(|| program))
}
