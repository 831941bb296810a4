//! `slotcast rm`.

use std::process::ExitCode;

use clap::Args;
use slotcast_lab::InputError;
use slotcast_node::http::DeleteAnswer;

use super::client::{Client, NodeOption};
use super::names::{Listed, Names};
use super::place::ObjectPlace;
use crate::failure::{Failure, Outcome};

/// Delete objects
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast rm slot://photos/old.jpg
  slotcast rm --if-version 7-00f3a2c41d5e6b78 slot://locks/leader
  slotcast rm -r slot://photos/2019/")]
pub(crate) struct Arguments {
    /// The objects
    #[arg(required = true, value_name = "slot://BUCKET/NAME")]
    objects: Vec<ObjectPlace>,

    /// All objects whose names begin so
    #[arg(short, long)]
    recursive: bool,

    /// Only if this is the latest version
    #[arg(long, value_name = "VERSION", conflicts_with = "recursive")]
    if_version: Option<String>,

    /// It is no error if there is nothing to delete
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    node: NodeOption,
}

/// Deletes one; gives whether it was there.
fn delete(client: &Client, object: &ObjectPlace, version: Option<&str>) -> Result<bool, Failure> {
    let mut request = client.agent().delete(client.url(&object.path()));
    if let Some(version) = version {
        request = request.header("if-match", format!("\"{version}\""));
    }
    let mut answer = client.checked(request.call())?;
    let text = answer.body_mut().read_to_string().unwrap_or_default();
    let answer = serde_json::from_str::<DeleteAnswer>(&text);
    let answer = answer.map_err(|error| InputError::plain(format!("{object}: {error}")))?;
    Ok(answer.deleted)
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let client = Client::new(&arguments.node);
    for place in &arguments.objects {
        if arguments.recursive {
            for listed in Names::new(&client, place, None) {
                if let Listed::Object(object) = listed? {
                    delete(&client, &place.named(object.name), None)?;
                }
            }
            continue;
        }
        if place.name.is_empty() {
            let help = format!("`slotcast rm -r {place}` deletes all objects of the bucket");
            let message = format!("`{place}` is a bucket");
            return Err(InputError::plain(message).with_help(Some(help)).into());
        }
        let deleted = delete(&client, place, arguments.if_version.as_deref())?;
        if !deleted && !arguments.force {
            return Err(InputError::plain(format!("there is no object `{place}`")).into());
        }
    }
    Ok(ExitCode::SUCCESS)
}
