//! Work without the GIL, that Ctrl-C ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use slotcast_lab::{Cancelled, InputError};

use crate::error::settings_error;

/// How often Python is asked for signals.
const BEAT: Duration = Duration::from_millis(50);

/// Whether work is to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Cancels what this thread is at, if it is to end. To be called from its progress.
    pub(crate) fn check(&self) {
        if self.0.load(Ordering::Relaxed) {
            Cancelled::throw();
        }
    }

    /// The flag, for those who look at it themselves.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }
}

/// Does `work` on a thread of its own, while this one waits without the GIL for its end or a signal. After a
/// signal whose handler raises, such as Ctrl-C, `work` is told to stop, and the exception is raised when it has.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> Result<T, Box<InputError>> + Send,
) -> PyResult<T> {
    let stop = Stop::default();
    let end = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                Cancelled::catch(|| work(&stop))
            }));
            *end.0.lock().expect("nobody panics with it") = true;
            end.1.notify_all();
            done
        });
        let mut raised = Ok(());
        while !py.detach(|| wait(&end)) {
            if raised.is_ok() {
                raised = py.check_signals();
                if raised.is_err() {
                    stop.0.store(true, Ordering::Relaxed);
                }
            }
        }
        let done = worker.join().and_then(|done| done);
        raised?;
        match done {
            Ok(Ok(result)) => result.map_err(|error| settings_error(py, &error)),
            Ok(Err(_)) => unreachable!("only a signal cancels"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Waits for one beat; true if the work has ended.
fn wait((ended, condition): &(Mutex<bool>, Condvar)) -> bool {
    let guard = ended.lock().expect("nobody panics with it");
    let (ended, _) =
        condition.wait_timeout_while(guard, BEAT, |ended| !*ended).expect("nobody panics with it");
    *ended
}
