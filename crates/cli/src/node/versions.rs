//! `slotcast versions`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;
use slotcast_node::http::{BucketAnswer, BucketsAnswer};

use super::client::{Client, NodeOption};
use super::place::{ObjectPlace, encoded};
use crate::failure::Outcome;
use crate::output::print;

/// Show or change whether a bucket keeps what is replaced and deleted
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast versions slot://documents        `on`, `off`, or `suspended`: off, and it was on before
  slotcast versions slot://documents on
  slotcast ls --versions slot://documents   which there are

Versions that were kept stay when it is switched off, until they are deleted.")]
pub(crate) struct Arguments {
    /// The bucket
    #[arg(value_name = "slot://BUCKET")]
    bucket: ObjectPlace,

    /// Whether it keeps versions from now on
    #[arg(value_name = "on|off")]
    keeps: Option<Keeps>,

    /// Only if this is the version of the bucket, as in the JSON of `slotcast ls`
    #[arg(long, value_name = "VERSION", requires = "keeps")]
    if_version: Option<String>,

    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    node: NodeOption,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Keeps {
    #[value(alias = "enable")]
    On,
    #[value(alias = "suspend")]
    Off,
}

/// What there is to know of a bucket.
pub(super) fn bucket_of(
    client: &Client,
    place: &ObjectPlace,
) -> Result<BucketAnswer, Box<slotcast_lab::InputError>> {
    let path = format!("/v2/?bucket={}", encoded(&place.bucket));
    let mut answer: BucketsAnswer = client.get_json(&path)?;
    let none = || slotcast_lab::InputError::plain(format!("there is no bucket `{place}`"));
    answer.buckets.pop().ok_or_else(none)
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let place = &arguments.bucket;
    place.must_be_bucket()?;
    let client = Client::new(&arguments.node)?;
    let bucket: BucketAnswer = match arguments.keeps {
        None => bucket_of(&client, place)?,
        Some(keeps) => {
            let word = if matches!(keeps, Keeps::On) { "on" } else { "off" };
            let change = json!({ "versions": word });
            client.patch(&place.path(), &change, arguments.if_version.as_deref())?
        }
    };
    match arguments.json {
        true => print(&format!("{}\n", serde_json::to_string(&bucket).unwrap_or_default()))?,
        false => print(&format!("{}\n", bucket.versions))?,
    }
    Ok(ExitCode::SUCCESS)
}
