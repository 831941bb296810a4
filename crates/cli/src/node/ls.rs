//! `slotcast ls`.

use std::process::ExitCode;

use clap::Args;
use slotcast_node::http::{BucketsAnswer, ObjectAnswer};
use slotcast_units::Size;

use super::client::{Client, NodeOption};
use super::names::{Listed, NameOption, Names};
use super::place::ObjectPlace;
use crate::failure::Outcome;
use crate::format::utc;
use crate::output::print;

/// List buckets, or the objects of one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast ls                       all buckets
  slotcast ls slot://photos/2026/   one level, as in a folder
  slotcast ls 'slot://photos/*/*.jpg'
  slotcast ls -r slot://photos      every object
  slotcast ls --versions slot://documents
  slotcast ls -r --json slot://photos | jq .size")]
pub(crate) struct Arguments {
    /// A bucket, and what the names begin with, or a pattern: `*`, `?`, `[a-z]` and `**` stand for letters
    #[arg(value_name = "slot://BUCKET[/PREFIX]")]
    place: Option<ObjectPlace>,

    /// All names, and not those of one level
    #[arg(short, long)]
    recursive: bool,

    /// All versions, newest first, and markers of deletion
    #[arg(long)]
    versions: bool,

    /// When each was put, and its version
    #[arg(short, long)]
    long: bool,

    /// A JSON object for each name or version, on a line of its own
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    names: NameOption,

    #[command(flatten)]
    node: NodeOption,
}

/// A line of a listing for people.
fn line(object: &ObjectAnswer, long: bool) -> String {
    let ObjectAnswer { name, version, size, modified, deleted, .. } = object;
    let (size, time) = match deleted {
        Some(true) if *modified == 0 => ("deleted".into(), String::new()),
        Some(true) => ("deleted".into(), utc(*modified)),
        _ => (Size::from_bytes(*size).to_string(), utc(*modified)),
    };
    match long {
        true => format!("{size:>12}  {time:20}  {version:22}  {name}"),
        false => format!("{size:>12}  {name}"),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let client = Client::new(&arguments.node)?;
    let Some(place) = &arguments.place else {
        let answer: BucketsAnswer = client.get_json("/v2/")?;
        for bucket in answer.buckets {
            let line = match arguments.json {
                true => serde_json::to_string(&bucket).unwrap_or_default(),
                false => format!("slot://{}", bucket.bucket),
            };
            print(&format!("{line}\n"))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let glob = arguments.names.glob(place);
    let one_level = !arguments.recursive && glob.is_none();
    let glob = glob.map(|glob| if arguments.recursive { glob.and_below() } else { glob });
    let names = Names::new(&client, place)
        .matching(glob)
        .one_level(one_level)
        .with_versions(arguments.versions);
    let long = arguments.long || arguments.versions;
    for listed in names {
        let line = match listed? {
            Listed::Object(object) if arguments.json => {
                serde_json::to_string(&object).unwrap_or_default()
            }
            Listed::Object(object) => line(&object, long),
            Listed::Prefix(prefix) if arguments.json => {
                serde_json::json!({ "prefix": prefix }).to_string()
            }
            Listed::Prefix(prefix) => format!("{:>12}  {prefix}", ""),
        };
        print(&format!("{line}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
