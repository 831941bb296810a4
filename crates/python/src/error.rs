//! Errors of the lab as exceptions of the package.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyString};
use slotcast_lab::InputError;

/// The `slotcast.SettingsError` for `error`: what the command line prints, and its parts.
pub(crate) fn settings_error(py: Python<'_>, error: &InputError) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let message = error.to_string();
        let parts = [
            ("message", Some(message.as_str())),
            ("key", key_in(&message)),
            ("value", error.words()),
            ("expected", error.expected()),
            ("remedy", error.remedy()),
        ];
        let parts = parts.into_py_dict(py)?;
        parts.set_item("line", error.line())?;
        let class = py.import("slotcast._errors")?.getattr("SettingsError")?;
        let told = PyString::new(py, error.told().trim_end());
        Ok(PyErr::from_value(class.call((told,), Some(&parts))?))
    };
    made().unwrap_or_else(|failed| failed)
}

/// The key that `message` is about: `disk.rate: ...`, or the first in backquotes.
fn key_in(message: &str) -> Option<&str> {
    let is_key = |text: &&str| {
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '.';
        text.contains('.') && !text.contains("..") && text.chars().all(word)
    };
    let first = message.split(':').next().filter(is_key);
    first.or_else(|| message.split('`').skip(1).step_by(2).find(is_key))
}
