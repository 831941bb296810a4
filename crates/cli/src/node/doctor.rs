//! `slotcast doctor`: whether a machine is fit for a node.

mod disk;
mod network;
mod system;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use slotcast_node::cluster::NodeFile;
use slotcast_node::{Limits, NodeConfig};

use super::client::DEFAULT_NODE;
use super::serve::DATA;
use super::{cluster, target};
use crate::VERSION;
use crate::failure::Outcome;
use crate::output::print;

/// Look whether this machine is fit for a node: disks, open files, clock, network
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast doctor                              for `slotcast serve` as it is
  slotcast doctor --data /mnt/disk --targets 12
  slotcast doctor --config node.toml           for one node of a cluster
  slotcast doctor --json | jq '.findings[] | select(.verdict != \"good\")'

It changes nothing: of what it writes to measure a flush nothing is left. The node may run or not.

Verdicts:
  good      as it should be
  warning   a node runs, and may be slow, or lose what it should not: below is why
  bad       a node does not start so, or loses what it has acknowledged
  unknown   this system does not say

Exit status: 0 if nothing is bad, 1 otherwise.")]
pub(crate) struct Arguments {
    /// The file of a node of a cluster, as of `slotcast serve --config`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "targets", "listen"])]
    config: Option<PathBuf>,

    /// The folder of a store in one process, as of `slotcast serve --data`
    #[arg(long, value_name = "FOLDER", default_value = DATA)]
    data: PathBuf,

    /// Number of targets of a new store, 9 unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    targets: Option<u32>,

    /// Where it is to listen for HTTP
    #[arg(long, value_name = "ADDRESS:PORT", default_value = DEFAULT_NODE)]
    listen: SocketAddr,

    /// Where it is to serve S3
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9000")]
    s3: SocketAddr,

    /// As JSON
    #[arg(long)]
    json: bool,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Good,
    Unknown,
    Warning,
    Bad,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Good => "good",
            Verdict::Unknown => "unknown",
            Verdict::Warning => "warning",
            Verdict::Bad => "bad",
        }
    }
}

/// What was found out about one thing.
#[derive(Debug, Serialize)]
struct Finding {
    /// What was looked at.
    check: &'static str,
    verdict: Verdict,
    /// What was found.
    says: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Finding {
    fn good(check: &'static str, says: impl Into<String>) -> Finding {
        Finding { check, verdict: Verdict::Good, says: says.into(), remedy: None }
    }

    fn unknown(check: &'static str, says: impl Into<String>) -> Finding {
        Finding { check, verdict: Verdict::Unknown, says: says.into(), remedy: None }
    }

    fn of(
        (check, verdict): (&'static str, Verdict),
        says: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding { check, verdict, says: says.into(), remedy: Some(remedy.into()) }
    }
}

/// The node that is to run here.
#[derive(Debug)]
struct Plan {
    folders: Vec<PathBuf>,
    http: SocketAddr,
    s3: SocketAddr,
    network: Option<network::Datagrams>,
}

impl Plan {
    fn of(arguments: &Arguments) -> Result<Plan, Box<slotcast_lab::InputError>> {
        let Some(path) = &arguments.config else {
            let targets = arguments.targets;
            let NodeConfig { folders, .. } =
                target::store_in(&arguments.data, targets, 3, Limits::default())?;
            let (http, s3) = (arguments.listen, arguments.s3);
            return Ok(Plan { folders, http, s3, network: None });
        };
        let file = NodeFile::read(path).map_err(cluster::wrong_file)?;
        let network = network::Datagrams {
            listen: file.listen,
            size: file.map.datagram,
            multicast: file.map.multicast,
        };
        let folders = file.targets.into_iter().map(|target| target.folder).collect();
        Ok(Plan { folders, http: file.http, s3: arguments.s3, network: Some(network) })
    }
}

#[derive(Debug, Serialize)]
struct Findings {
    version: &'static str,
    worst: Verdict,
    findings: Vec<Finding>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let plan = Plan::of(arguments)?;
    let mut findings = disk::look(&plan.folders);
    findings.extend(system::look(plan.folders.len(), plan.network.is_some()));
    findings.extend(network::look(&plan));
    let worst = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Good);
    let findings = Findings { version: VERSION, worst, findings };
    if arguments.json {
        let text = serde_json::to_string_pretty(&findings).unwrap_or_default();
        print(&(text + "\n"))?;
    } else {
        print(&text(&findings))?;
    }
    Ok(ExitCode::from(u8::from(worst == Verdict::Bad)))
}

/// Columns of a terminal.
const WIDTH: usize = 80;

/// One line for what is good, and below what is not what to do.
fn text(Findings { findings, worst, .. }: &Findings) -> String {
    let mut text = String::new();
    for Finding { check, verdict, says, remedy } in findings {
        let head = format!("{:<8} {check:<14} ", verdict.name());
        text += &wrapped(&head, says);
        if let Some(remedy) = remedy {
            text += &wrapped(&format!("{:<24}", ""), remedy);
        }
    }
    let count = |verdict| findings.iter().filter(|of| of.verdict == verdict).count();
    text += &match worst {
        Verdict::Good => "\nThis machine is fit for a node.\n".to_owned(),
        _ => format!(
            "\nBad: {}, warnings: {}, unknown: {}, good: {}.\n",
            count(Verdict::Bad),
            count(Verdict::Warning),
            count(Verdict::Unknown),
            count(Verdict::Good)
        ),
    };
    text
}

/// `says` after `head`, in lines of at most 80 columns that begin under each other.
fn wrapped(head: &str, says: &str) -> String {
    let mut lines = vec![head.to_owned()];
    let indent = head.len();
    for word in says.split_whitespace() {
        let line = lines.last_mut().expect("there is one");
        if line.len() > indent && line.len() + 1 + word.len() > WIDTH {
            lines.push(format!("{:indent$}{word}", ""));
        } else {
            let space = if line.len() > indent { " " } else { "" };
            line.push_str(space);
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_fits_a_terminal() {
        let says =
            "a long text of many words that goes on and on until it does not fit into a line";
        let text = wrapped("warning  clock          ", says);
        assert!(text.lines().count() > 1 && text.lines().all(|line| line.len() <= WIDTH), "{text}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&text)[2..], words(says));
    }

    #[test]
    fn the_worst_is_what_is_worst_for_data() {
        let all = [Verdict::Good, Verdict::Unknown, Verdict::Warning, Verdict::Bad];
        assert!(all.is_sorted());
    }
}
