//! Where and how a node logs.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// What to log, and in which form.
#[derive(Debug, Args)]
pub(crate) struct LogOptions {
    /// What to log on standard error: off, error, warn, info, debug or trace, or a level for a part of
    /// the program, as in `info,slotcast_node::http=debug`
    #[arg(long, value_name = "LEVEL|FILTER", env = "SLOTCAST_LOG", default_value = "info", value_parser = filter)]
    log: Targets,

    /// How to log: text for people, or a JSON object a line for programs
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

fn filter(text: &str) -> Result<Targets, String> {
    let is_level = |part: &&str| part.contains('=') || part.parse::<LevelFilter>().is_ok();
    match text.split(',').find(|part| !is_level(part)) {
        Some(part) => Err(format!(
            "`{part}` is no level: give off, error, warn, info, debug or trace, or PART=LEVEL"
        )),
        None => with_quiet_library(text).parse().map_err(|error| format!("{error}")),
    }
}

/// The library that speaks S3 takes each refused request for an error of the program: it is heard only where it is named.
fn with_quiet_library(text: &str) -> String {
    let is_named = text.split(',').any(|part| part.trim_start().starts_with("s3s"));
    if is_named { text.to_owned() } else { format!("{text},s3s=off") }
}

/// Lines that wait to be written; more are left out. A node must not wait for whoever reads its log.
const WAITING: usize = 4096;

/// How long the last lines may take when the program ends.
const PATIENCE: Duration = Duration::from_secs(1);

enum Told {
    Line(Vec<u8>),
    /// All lines before this are to be written now.
    End(mpsc::Sender<()>),
}

/// Gives each line to the thread that writes.
#[derive(Clone)]
struct Lines {
    to_write: SyncSender<Told>,
    left_out: Arc<AtomicU64>,
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.to_write.try_send(Told::Line(line.to_vec())).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Lines;

    fn make_writer(&'a self) -> Lines {
        self.clone()
    }
}

/// Writes what is left when it is dropped.
pub(crate) struct Log(SyncSender<Told>);

impl Drop for Log {
    fn drop(&mut self) {
        let (done, is_done) = channel();
        if self.0.try_send(Told::End(done)).is_ok() {
            let _ = is_done.recv_timeout(PATIENCE);
        }
    }
}

/// Nobody may read standard error any more, and that is no reason to stop.
fn write(to_write: &Receiver<Told>, left_out: &AtomicU64) {
    let mut out = io::stderr();
    for told in to_write {
        match told {
            Told::Line(line) => drop(out.write_all(&line)),
            Told::End(done) => drop(done.send(())),
        }
        let lines = left_out.swap(0, Ordering::Relaxed);
        if lines > 0 {
            tracing::warn!(lines, "lines of the log left out");
        }
    }
}

impl LogOptions {
    /// Begins to log.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(crate) fn start(&self) -> io::Result<Log> {
        let (to_write, written) = sync_channel(WAITING);
        let left_out = Arc::new(AtomicU64::new(0));
        let lines = Lines { to_write: to_write.clone(), left_out: left_out.clone() };
        thread::Builder::new().name("log".into()).spawn(move || write(&written, &left_out))?;
        let has_colours = io::stderr().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let layer = fmt::layer().with_writer(lines).with_ansi(has_colours);
        // This is the only subscriber, and it is set once.
        let all = tracing_subscriber::registry().with(self.log.clone());
        let _ = match self.log_format {
            Format::Text => all.with(layer).try_init(),
            Format::Json => all.with(layer.json()).try_init(),
        };
        Ok(Log(to_write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_a_filter_is_no_part_of_the_program() {
        assert!(filter("info").is_ok() && filter("warn,slotcast_node::http=debug").is_ok());
        assert!(filter("inof").is_err_and(|error| error.contains("`inof` is no level")));
        assert!(filter("slotcast_node=loud").is_err());
        assert_eq!(with_quiet_library("info"), "info,s3s=off");
        assert_eq!(with_quiet_library("warn,s3s::ops=debug"), "warn,s3s::ops=debug");
    }
}
