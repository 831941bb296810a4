//! Cancellation of runs that are under way.
//!
//! A run tells its progress a thousand times, and whoever hears of it can cancel the run there. Its thread is
//! unwound, as Salsa cancels queries: no result has to say that there is none, and all that the run holds is
//! dropped.

use std::panic::{self, AssertUnwindSafe};

/// Work was cancelled, and has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled(());

impl Cancelled {
    /// Cancels what this thread works on, for instance from a [`Progress`](crate::Progress).
    /// [`Cancelled::catch`] must be around it; [`Runner`](crate::Runner) passes it on to the thread that
    /// waits for its results.
    pub fn throw() -> ! {
        panic::resume_unwind(Box::new(Cancelled(())))
    }

    /// Does `work`, which may be cancelled. A panic goes on. What `work` changes outside may be left half
    /// done.
    ///
    /// # Errors
    /// If it was cancelled.
    pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Cancelled> {
        panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
            match payload.downcast::<Cancelled>() {
                Ok(cancelled) => *cancelled,
                Err(panic) => panic::resume_unwind(panic),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Completions, Experiment, Runner};
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_study_is_cancelled_from_its_progress() {
        let text = "[run]\nlength = \"20ms\"\nwarmup = \"1ms\"\n[seeds]\ncount = 4\n";
        let experiment = Experiment::from_toml("a.toml", text, &[]).unwrap();
        let runner = Runner::new(Some(2)).unwrap();
        let told = AtomicU64::new(0);
        let progress = |_| {
            if told.fetch_add(1, Ordering::Relaxed) >= 10 {
                Cancelled::throw();
            }
        };
        let Experiment { points, seeds, .. } = &experiment;
        let found =
            Cancelled::catch(|| runner.run(points, *seeds, Completions::Drop, &progress).is_ok());
        assert_eq!(found, Err(Cancelled(())));
        let told = told.into_inner();
        assert!((11..=12).contains(&told), "each thread stops where it hears of it: {told}");
        // The threads are still there.
        assert!(runner.run(points, *seeds, Completions::Drop, &|_| ()).is_ok());
    }

    #[test]
    fn a_panic_goes_on() {
        let caught = panic::catch_unwind(|| Cancelled::catch(|| panic::resume_unwind(Box::new(7))));
        assert_eq!(*caught.unwrap_err().downcast::<i32>().unwrap(), 7);
        assert_eq!(Cancelled::catch(|| 1), Ok(1));
    }
}
