//! `slotcast rb`.

use std::process::ExitCode;

use clap::Args;
use slotcast_node::http::DeleteAnswer;

use super::client::{Client, NodeOption, new_key};
use super::many::AtATime;
use super::place::ObjectPlace;
use super::rm::{self, What};
use crate::failure::Outcome;

/// Remove buckets
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast rb slot://scratch
  slotcast rb --force slot://scratch     with all that is in it

A bucket is removed if nothing is in it: no object, no earlier version, no marker of a deletion. What
somebody stores at that moment is not lost: either the bucket stays, or the put fails and says so.")]
pub(crate) struct Arguments {
    /// The buckets
    #[arg(required = true, value_name = "slot://BUCKET")]
    buckets: Vec<ObjectPlace>,

    /// Delete all objects first, with all their versions
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    at_a_time: AtATime,

    #[command(flatten)]
    node: NodeOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let client = Client::new(&arguments.node)?;
    for place in &arguments.buckets {
        place.must_be_bucket()?;
    }
    for place in &arguments.buckets {
        if arguments.force {
            rm::delete_all(
                &arguments.node,
                &arguments.at_a_time,
                place,
                None,
                What::Versions,
                false,
            )?;
        }
        let request = client.agent().delete(client.url(&place.path()));
        let answer = client.checked(request.header("idempotency-key", new_key()?).call())?;
        let _: DeleteAnswer = client.read_json(answer)?;
    }
    Ok(ExitCode::SUCCESS)
}
