//! `slotcast tag`.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};
use slotcast_lab::InputError;
use slotcast_node::http::ObjectDescription;

use super::client::{Client, NodeOption};
use super::place::ObjectPlace;
use crate::failure::Outcome;
use crate::output::print;

/// Show or change the tags of an object
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast tag slot://documents/contract.pdf
  slotcast tag slot://documents/contract.pdf project=north state=signed
  slotcast tag --remove state slot://documents/contract.pdf
  slotcast tag --clear slot://documents/contract.pdf state=new

Tags change in place: the object keeps its version. Those that are not named stay.")]
pub(crate) struct Arguments {
    /// The object
    #[arg(value_name = "slot://BUCKET/NAME")]
    object: ObjectPlace,

    /// Tags that it is to have
    #[arg(value_name = "TAG=VALUE", value_parser = pair)]
    tags: Vec<(String, String)>,

    /// A tag that it is not to have; may be repeated
    #[arg(long, value_name = "TAG")]
    remove: Vec<String>,

    /// No tags but those that are named
    #[arg(long, conflicts_with = "remove")]
    clear: bool,

    /// This version, and not the latest
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,

    /// Only if this is the latest version
    #[arg(long, value_name = "VERSION")]
    if_version: Option<String>,

    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    node: NodeOption,
}

/// `key=value`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.into(), value.into())),
        _ => Err(format!("`{text}` is not written as NAME=VALUE")),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { object, tags, remove, clear, version, if_version, .. } = arguments;
    object.must_be_object()?;
    let client = Client::new(&arguments.node)?;
    let path = object.path_of(version.as_deref());
    let mut described: Option<ObjectDescription> = None;
    if *clear {
        let change = json!({ "tags": null });
        described = Some(client.patch(&path, &change, if_version.as_deref())?);
    }
    if !tags.is_empty() || !remove.is_empty() {
        let mut change: Map<String, Value> =
            tags.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        change.extend(remove.iter().map(|key| (key.clone(), Value::Null)));
        let change = json!({ "tags": change });
        described = Some(client.patch(&path, &change, if_version.as_deref())?);
    }
    let described = match described {
        Some(_) if !arguments.json => return Ok(ExitCode::SUCCESS),
        Some(described) => described,
        None => client.described(object, version.as_deref())?.ok_or_else(|| {
            InputError::plain(format!("there is no object `{object}`, or no such version"))
        })?,
    };
    if arguments.json {
        print(&format!("{}\n", json!(described.tags)))?;
    } else {
        for (key, value) in described.tags {
            print(&format!("{key}={value}\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
