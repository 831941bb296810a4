//! `slotcast mb`.

use std::process::ExitCode;

use clap::Args;
use slotcast_lab::InputError;

use super::client::{Client, NodeOption};
use super::place::ObjectPlace;
use super::put::replicas;
use crate::failure::Outcome;

/// Make a bucket
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast mb slot://photos
  slotcast mb --replicas 5 slot://keys")]
pub(crate) struct Arguments {
    /// The bucket
    #[arg(value_name = "slot://BUCKET")]
    bucket: ObjectPlace,

    /// On how many targets each chunk of its objects is to be; the cluster's number unless said
    #[arg(long, value_name = "N", value_parser = replicas())]
    replicas: Option<u8>,

    #[command(flatten)]
    node: NodeOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let place = &arguments.bucket;
    if !place.name.is_empty() {
        let message = format!("`{place}` is a name in a bucket");
        let help = format!("the bucket is slot://{}", place.bucket);
        return Err(InputError::plain(message).with_help(Some(help)).into());
    }
    let client = Client::new(&arguments.node);
    let replicas = arguments.replicas.map(|n| format!("?replicas={n}")).unwrap_or_default();
    let url = client.url(&(place.path() + &replicas));
    client.checked(client.agent().put(url).send_empty())?;
    Ok(ExitCode::SUCCESS)
}
