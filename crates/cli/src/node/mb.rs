//! `slotcast mb`.

use std::process::ExitCode;

use clap::Args;

use super::client::{Client, NodeOption};
use super::place::ObjectPlace;
use super::put::replicas;
use crate::failure::Outcome;

/// Make a bucket
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast mb slot://photos
  slotcast mb --versions slot://documents
  slotcast mb --replicas 5 slot://keys")]
pub(crate) struct Arguments {
    /// The bucket
    #[arg(value_name = "slot://BUCKET")]
    bucket: ObjectPlace,

    /// Keep what is replaced and deleted; `slotcast versions` changes that later
    #[arg(long)]
    versions: bool,

    /// On how many targets each chunk of its objects is to be; the cluster's number unless said
    #[arg(long, value_name = "N", value_parser = replicas())]
    replicas: Option<u8>,

    #[command(flatten)]
    node: NodeOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let place = &arguments.bucket;
    place.must_be_bucket()?;
    let client = Client::new(&arguments.node)?;
    let versions = if arguments.versions { "on" } else { "off" };
    let replicas = arguments.replicas.map(|n| format!("&replicas={n}")).unwrap_or_default();
    let url = client.url(&format!("{}?versions={versions}{replicas}", place.path()));
    client.checked(client.agent().put(url).send_empty())?;
    Ok(ExitCode::SUCCESS)
}
