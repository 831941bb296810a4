//! `slotcast stat`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Args;
use slotcast_node::Address;
use slotcast_node::http::ChunkAnswer;
use slotcast_units::Size;

use super::client::{Client, NodeOption};
use crate::failure::Outcome;
use crate::format::table;
use crate::output::print;

/// Show the chunks of what is stored under an address, on how many targets each is wanted, and which of the
/// cluster hold it
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What `slotcast put` printed
    address: Address,

    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    node: NodeOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let client = Client::new(&arguments.node);
    let path = format!("/v1/content/{}/chunks", arguments.address);
    let chunks: Vec<ChunkAnswer> = client.get_json(&path)?;
    if arguments.json {
        let text = serde_json::to_string_pretty(&chunks).unwrap_or_default();
        print(&format!("{text}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = table(&["chunk", "size", "wanted", "targets"]);
    for chunk in &chunks {
        let holders: Vec<_> = chunk.holders.iter().map(u32::to_string).collect();
        let size = match chunk.length {
            0 => "-".into(),
            length => Size::from_bytes(length).to_string(),
        };
        let wanted = match chunk.replicas {
            0 => "-".into(),
            replicas => replicas.to_string(),
        };
        table.add_row([chunk.address.clone(), size, wanted, holders.join(", ")]);
    }
    print(&format!("{table}\n"))?;
    if let Some(silent) = silent(&chunks) {
        print(&format!("{silent}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Who did not answer for some of the chunks, and so may hold them or not.
fn silent(chunks: &[ChunkAnswer]) -> Option<String> {
    let all = |of: fn(&ChunkAnswer) -> &[u32]| -> Vec<String> {
        let numbers: BTreeSet<u32> = chunks.iter().flat_map(of).copied().collect();
        numbers.iter().map(u32::to_string).collect()
    };
    let (targets, nodes) = (all(|chunk| &chunk.silent_targets), all(|chunk| &chunk.silent_nodes));
    if targets.is_empty() {
        return None;
    }
    let of = match nodes.is_empty() {
        true => String::new(),
        false => format!(" of node {}", nodes.join(", ")),
    };
    let targets = targets.join(", ");
    Some(format!("no answer from target {targets}{of}: what they hold is not known"))
}
