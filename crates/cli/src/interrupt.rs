//! Ctrl-C, for commands that have something to keep.

use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use slotcast_lab::InputError;

use crate::failure::Failure;

/// Exit status of a command that Ctrl-C has stopped: 128 and the number of SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

/// True once Ctrl-C was pressed; a second one does not wait for what the first one asked for.
///
/// # Errors
/// If somebody else listens for it already.
pub(crate) fn stop_at_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let handler = move || {
        if asked.swap(true, Ordering::Relaxed) {
            exit(i32::from(INTERRUPTED));
        }
    };
    listen(handler)?;
    Ok(stop)
}

/// True once Ctrl-C was pressed, however often, for a command that ends soon after and has processes to stop first.
///
/// # Errors
/// If somebody else listens for it already.
pub(crate) fn asked_to_stop() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    listen(move || asked.store(true, Ordering::Relaxed))?;
    Ok(stop)
}

fn listen(handler: impl FnMut() + Send + 'static) -> Result<(), Failure> {
    ctrlc::set_handler(handler).map_err(|error| {
        Failure::Input(InputError::plain(format!("cannot listen for Ctrl-C: {error}")))
    })
}
