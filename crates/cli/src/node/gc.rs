//! `slotcast gc`.

use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use slotcast_lab::InputError;
use slotcast_node::http::{CollectionAnswer, LastRound, LostListAnswer};
use slotcast_units::{Size, Span};

use super::client::{Client, NodeOption};
use super::http_options::timeout;
use crate::failure::Outcome;
use crate::output::print;

/// Collect garbage: chunks that no object names any more
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast gc status                 how far the nodes are
  slotcast gc run                    free what was deleted, now

Nodes collect by themselves (`slotcast serve --collect-every`), in rounds. What was put for objects and is not
named by any is removed when it was not put again in a round or the one before: so what was deleted just now
goes with the next round if it is old, and with the third one if it is new. Chunks that were stored without a
name (`slotcast put`) stay. While any node of the cluster map does not answer, nothing is removed.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show how the collection stands, as one node knows
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        node: NodeOption,
    },
    /// Begin rounds now, and wait until they are over
    Run {
        /// So many, one after the other
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
        rounds: u32,

        /// Give up when a round takes longer
        #[arg(long, value_name = "TIME", value_parser = timeout, default_value = "600s")]
        timeout: Span,

        /// As JSON, a line for each round
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        node: NodeOption,
    },
}

const PATH: &str = "/v1/collection";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Status { json, node } => status(&Client::new(node)?, *json),
        Command::Run { rounds, timeout, json, node } => {
            let client = Client::new(node)?;
            for _ in 0..*rounds {
                let last = round(&client, *timeout)?;
                match json {
                    true => print(&format!("{}\n", json_of(&last)))?,
                    false => print(&format!("{}\n", told(&last)))?,
                }
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn json_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn status(client: &Client, json: bool) -> Outcome {
    let status: CollectionAnswer = client.get_json(PATH)?;
    if json {
        print(&format!("{}\n", json_of(&status)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = match status.round {
        0 => "no round has begun yet\n".to_string(),
        round => format!("round {round} is the latest\n"),
    };
    if let Some(stage) = &status.stage {
        text.push_str(&format!("this node conducts one: {stage}{}\n", awaited(&status)));
    }
    let size = Size::from_bytes(status.removed_bytes);
    let removed = status.removed_replicas;
    text.push_str(&format!(
        "removed from its targets since it started: {removed} replicas, {size}\n"
    ));
    if status.uploads > 0 {
        text.push_str(&format!("{} uploads of many chunks are under way\n", status.uploads));
    }
    if let Some(last) = &status.last {
        text.push_str(&format!("the last that it conducted: {}\n", told(last)));
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn awaited(status: &CollectionAnswer) -> String {
    let nodes: Vec<String> = status.awaited_nodes.iter().map(u32::to_string).collect();
    if nodes.is_empty() { String::new() } else { format!(", waits for nodes {}", nodes.join(", ")) }
}

fn told(last: &LastRound) -> String {
    let LastRound { round, removed_replicas, removed_bytes, .. } = *last;
    if let Some(lost) = &last.lost {
        return format!("round {round}: given up, nothing was removed: {}", told_of_list(lost));
    }
    if last.given_up {
        return format!("round {round}: given up, nothing was removed");
    }
    let size = Size::from_bytes(removed_bytes);
    let sat_out = match last.some_sat_out {
        true => "; some nodes were started too recently to remove anything",
        false => "",
    };
    format!("round {round}: {removed_replicas} replicas removed, {size}{sat_out}")
}

fn told_of_list(lost: &LostListAnswer) -> String {
    let LostListAnswer { list, bucket, bucket_number, object, upload } = lost;
    let (whose, remedy) = match bucket {
        Some(bucket) if *upload => {
            (format!("an upload to slot://{bucket}/{object}"), "abort that upload")
        }
        Some(bucket) => (format!("slot://{bucket}/{object}"), "delete that version of the object"),
        None => (
            format!("\"{object}\" of bucket number {bucket_number}"),
            "abort or delete what it is of",
        ),
    };
    format!(
        "{list}, of {whose}, cannot be read, and what it lists is not known.\n\
         Bring back the targets that hold it, or {remedy} (docs/operate/garbage.md)"
    )
}

/// Begins a round, and waits until it is over.
fn round(client: &Client, longest: Span) -> Result<LastRound, Box<InputError>> {
    let before = client.get_json::<CollectionAnswer>(PATH)?.last;
    let began = Instant::now();
    let request = client.agent().post(client.url(PATH));
    let answer = client.checked(request.send_empty())?;
    let mut status: CollectionAnswer = client.read_json(answer)?;
    loop {
        if let Some(last) = status.last.clone().filter(|last| Some(last) != before.as_ref()) {
            return Ok(last);
        }
        if began.elapsed() > Duration::from_nanos(longest.as_ns()) {
            let message = format!("no round is over after {longest}{}", awaited(&status));
            let help =
                "are all nodes of the cluster map up? `slotcast status` says whom a node hears";
            return Err(InputError::plain(message).with_help(Some(help.into())));
        }
        sleep(Duration::from_millis(50));
        status = client.get_json(PATH)?;
    }
}
