//! `slotcast undelete`.

use std::process::ExitCode;

use clap::Args;
use slotcast_lab::InputError;

use super::client::{Client, NodeOption};
use super::names::versions_of;
use super::place::ObjectPlace;
use super::rm;
use crate::failure::Outcome;
use crate::output::print;

/// Take back a deletion, in a bucket that keeps versions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast undelete slot://documents/contract.pdf
  slotcast ls --versions slot://documents/contract.pdf    what there is

It removes the markers that say that the object was deleted, so that the version before them is the
latest again. `slotcast cp --version` gets any other one back.")]
pub(crate) struct Arguments {
    /// The objects
    #[arg(required = true, value_name = "slot://BUCKET/NAME")]
    objects: Vec<ObjectPlace>,

    /// The version that each stands for now as JSON, on a line of its own
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    node: NodeOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let client = Client::new(&arguments.node)?;
    for place in &arguments.objects {
        place.must_be_object()?;
        let versions = versions_of(&client, place)?;
        let markers = versions.iter().take_while(|version| version.deleted == Some(true)).count();
        let wrong = |message: String| {
            let help = format!("look with `slotcast ls --versions {place}`");
            InputError::plain(message).with_help(Some(help))
        };
        let Some(object) = versions.get(markers) else {
            return Err(wrong(format!("no version of `{place}` is kept")).into());
        };
        if markers == 0 {
            return Err(wrong(format!("`{place}` was not deleted")).into());
        }
        // From the oldest on: the name stands for an object when the last one is gone.
        for marker in versions[..markers].iter().rev() {
            rm::delete(&client, place, Some(&marker.version), None)?;
        }
        if arguments.json {
            print(&format!("{}\n", serde_json::to_string(&object).unwrap_or_default()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
