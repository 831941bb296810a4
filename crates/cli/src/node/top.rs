//! `slotcast top`.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use slotcast_lab::InputError;
use slotcast_node::status::{NodeStatus, Target};
use slotcast_units::{Size, Span};

use super::client::{Client, NodeOption};
use crate::failure::Outcome;
use crate::format::{align_right, table};
use crate::interrupt::stop_at_ctrl_c;
use crate::output::print;

/// Watch the targets of a node at work, until Ctrl-C
#[derive(Debug, Args)]
#[command(after_help = "\
Columns:
  windows   promised or bid, in and out, at the moment
  at disk   chunks that wait for the disk or are there, at the moment
  in, out   content per second over the interval
  disk %    part of the interval in which the disk had something to do
  disk, link MB/s  what the target has measured and bids with; - before that
  free      on the file system of the target's folder

With a pipe in place of a terminal one table follows the other.")]
pub(crate) struct Arguments {
    /// Time between two looks
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: Span,

    /// Looks, then stop; without end if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    #[command(flatten)]
    node: NodeOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.interval < Span::from_ms(50) {
        let message = format!("--interval: {} is too short; at least 50ms", arguments.interval);
        return Err(InputError::plain(message).into());
    }
    let interval = Duration::from_nanos(arguments.interval.as_ns());
    let client = Client::new(&arguments.node)?;
    let stop = stop_at_ctrl_c()?;
    let mut before: NodeStatus = client.get_json("/v1/status")?;
    let mut looked = Instant::now();
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 {
        // In small steps, so that Ctrl-C is heard.
        while looked.elapsed() < interval {
            if stop.load(Ordering::Relaxed) {
                return Ok(ExitCode::SUCCESS);
            }
            thread::sleep(
                (interval.saturating_sub(looked.elapsed())).min(Duration::from_millis(50)),
            );
        }
        let now: NodeStatus = client.get_json("/v1/status")?;
        let passed = looked.elapsed();
        looked = Instant::now();
        // Home, the text, and nothing of the last one below it.
        let (start, end) =
            if io::stdout().is_terminal() { ("\x1b[H", "\x1b[J") } else { ("", "\n") };
        print(&format!("{start}{}{end}", text(&before, &now, passed)))?;
        before = now;
        left -= 1;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(before: &NodeStatus, now: &NodeStatus, passed: Duration) -> String {
    let mut table = table(&[
        "target",
        "state",
        "windows",
        "at disk",
        "in MB/s",
        "out MB/s",
        "disk %",
        "disk MB/s",
        "link MB/s",
        "chunks",
        "content",
        "free",
    ]);
    let mut total = [0.0; 2];
    for target in &now.targets {
        // One that is new, or that counts from zero again, has no rate yet.
        let earlier = before.targets.iter().find(|other| other.target == target.target);
        let rate = |of: fn(&Target) -> u64| {
            let gained = of(target).saturating_sub(earlier.map_or(of(target), of));
            gained as f64 / passed.as_secs_f64()
        };
        let rates = [rate(|t| t.received_bytes) / 1e6, rate(|t| t.sent_bytes) / 1e6];
        total = [total[0] + rates[0], total[1] + rates[1]];
        table.add_row([
            target.target.to_string(),
            target.state.clone(),
            target.windows.to_string(),
            target.chunks_at_disk.to_string(),
            format!("{:.1}", rates[0]),
            format!("{:.1}", rates[1]),
            format!("{:.0}", (rate(|t| t.disk_busy_ns) / 1e7).min(100.0)),
            measured(target.disk_rate_bytes_per_s),
            measured(target.link_rate_bytes_per_s),
            target.chunks.to_string(),
            Size::from_bytes(target.content_bytes).to_string(),
            target
                .free_bytes
                .map_or("-".into(), |free| Size::from_bytes(free >> 20 << 20).to_string()),
        ]);
    }
    align_right(&mut table, 2);
    let [received, sent] = total;
    format!("{table}\nall targets: in {received:.1} MB/s, out {sent:.1} MB/s\n")
}

/// A measured rate in MB/s.
pub(super) fn measured(bytes_per_s: Option<u64>) -> String {
    bytes_per_s.map_or("-".into(), |rate| format!("{:.0}", rate as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(received_bytes: u64, disk_busy_ns: u64) -> NodeStatus {
        let target = serde_json::json!({
            "target": 3, "folder": "f", "state": "open", "chunks": 2, "content_bytes": 8192,
            "void_bytes": 0, "segments": 1, "lost_chunks": 0, "unreadable_chunks": 0,
            "unreadable_segments": 0,
            "compacted_segments": 0, "flushed_batches": 1, "windows": 4, "chunks_at_disk": 5,
            "received_bytes": received_bytes, "sent_bytes": 0, "disk_busy_ns": disk_busy_ns,
            "free_bytes": 1_048_576,
        });
        let status = serde_json::json!({ "version": "1", "targets": [target] });
        serde_json::from_value(status).expect("a status")
    }

    #[test]
    fn rates_are_what_was_gained_over_the_time_that_passed() {
        let text =
            text(&status(1_000_000, 0), &status(7_000_000, 500_000_000), Duration::from_secs(2));
        assert!(text.contains("all targets: in 3.0 MB/s, out 0.0 MB/s"), "{text}");
        assert!(text.contains(" 25 "), "a quarter of the time: {text}");
        assert!(text.contains("1MiB"), "{text}");
    }

    #[test]
    fn a_node_that_was_started_anew_has_no_negative_rates() {
        let text = text(&status(9_000_000, 9), &status(0, 0), Duration::from_secs(1));
        assert!(text.contains("in 0.0 MB/s"), "{text}");
    }
}
