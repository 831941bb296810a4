//! `slotcast status`.

use std::process::ExitCode;

use clap::Args;
use slotcast_node::status::NodeStatus;
use slotcast_units::Size;

use super::client::{Client, NodeOption};
use crate::failure::Outcome;
use crate::format::{align_right, table};
use crate::output::print;

/// Show how the targets of a node are
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    node: NodeOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let status: NodeStatus = Client::new(&arguments.node).get_json("/v1/status")?;
    if arguments.json {
        let text = serde_json::to_string_pretty(&status).unwrap_or_default();
        print(&format!("{text}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table =
        table(&["target", "state", "chunks", "content", "to compact", "lost", "folder"]);
    for target in &status.targets {
        let state = match &target.reason {
            Some(reason) => format!("{}: {reason}", target.state),
            None => target.state.clone(),
        };
        table.add_row([
            target.target.to_string(),
            state,
            target.chunks.to_string(),
            Size::from_bytes(target.content_bytes).to_string(),
            Size::from_bytes(target.void_bytes).to_string(),
            target.lost_chunks.to_string(),
            target.folder.clone(),
        ]);
    }
    align_right(&mut table, 2);
    print(&format!("{table}\n"))?;
    Ok(ExitCode::SUCCESS)
}
