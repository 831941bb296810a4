//! A bar on stderr, for people who wait.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that takes less than this needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that appears after a second, and never if stderr is not a terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
    start: Instant,
    shown: AtomicBool,
}

impl Bar {
    /// For `units` of work.
    pub(crate) fn new(units: u64) -> Bar {
        Bar::with_template(units, "{bar:40} {percent:>3}%  {elapsed} of about {duration}  {msg}")
    }

    /// The same with what [`tell`](Bar::tell) was told, and the time that is left.
    pub(crate) fn counting(units: u64) -> Bar {
        Bar::with_template(units, "{bar:40} {percent:>3}%  {msg}, {eta} left")
    }

    /// For work in steps, each of which [`begins`](Bar::begin) a bar of its own.
    pub(crate) fn steps() -> Bar {
        Bar::with_template(1, "{elapsed}  {bar:20}  {msg}")
    }

    /// A step of `units` begins.
    pub(crate) fn begin(&self, message: String, units: u64) {
        self.bar.set_length(units);
        self.bar.set_position(0);
        self.bar.set_message(message);
    }

    fn with_template(units: u64, template: &str) -> Bar {
        let style = ProgressStyle::with_template(template).expect("a valid template");
        let bar = ProgressBar::with_draw_target(Some(units), ProgressDrawTarget::hidden());
        let never = !io::stderr().is_terminal();
        Bar { bar: bar.with_style(style), start: Instant::now(), shown: AtomicBool::new(never) }
    }

    /// Counts `units` more. May be called from any thread.
    pub(crate) fn advance(&self, units: u64) {
        self.bar.inc(units);
        if self.start.elapsed() > PATIENCE && !self.shown.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Adds `units` to the work.
    pub(crate) fn expect(&self, units: u64) {
        self.bar.inc_length(units);
    }

    /// Writes `message` beside the bar.
    pub(crate) fn tell(&self, message: String) {
        self.bar.set_message(message);
    }

    /// Takes the bar away while `print` writes.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Takes the bar away for good.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
