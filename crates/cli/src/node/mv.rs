//! `slotcast mv`.

use clap::Args;

use super::client::{Client, NodeOption};
use super::copies;
use super::many::AtATime;
use super::names::NameOption;
use super::place::ObjectPlace;
use super::transfer::{Conditions, Transfer};
use crate::failure::Outcome;

/// Give objects other names, in the same bucket or another one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast mv slot://docs/draft slot://docs/final
  slotcast mv --if-absent slot://queue/new/7 slot://queue/taken/7    of many who try one succeeds
  slotcast mv 'slot://docs/*.tmp' slot://trash/
  slotcast mv -r slot://docs/2025/ slot://archive/2025/

No content moves. Each object is there under its new name before it is deleted under the old one, and
only the version that was copied is deleted: what somebody puts there meanwhile stays. A move that was
stopped goes on where it is repeated with --resume. Earlier versions stay where they are.")]
pub(crate) struct Arguments {
    /// Objects; `*`, `?`, `[a-z]` and `**` stand for letters
    #[arg(required = true, value_name = "FROM")]
    from: Vec<ObjectPlace>,

    /// Where to; names that begin so, where it ends with `/`
    #[arg(value_name = "TO")]
    to: ObjectPlace,

    /// All objects whose names begin so
    #[arg(short, long)]
    recursive: bool,

    /// Delete what is there under the new name already, with the same content
    #[arg(long, conflicts_with = "if_version")]
    resume: bool,

    #[command(flatten)]
    conditions: Conditions,

    /// What became of each as JSON, on a line of its own
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    names: NameOption,

    #[command(flatten)]
    at_a_time: AtATime,

    #[command(flatten)]
    node: NodeOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { from, to, recursive, names, .. } = arguments;
    let client = Client::new(&arguments.node)?;
    let copies = copies::within(&client, from, to, *recursive, names)?;
    let transfer = Transfer {
        conditions: &arguments.conditions,
        said: None,
        version: None,
        resume: arguments.resume,
        moves: true,
        json: arguments.json,
    };
    let tells = recursive.then_some("moved");
    transfer.make_all((&arguments.at_a_time, &arguments.node), copies, tells)
}
