//! `slotcast ls`.

use std::process::ExitCode;

use clap::Args;
use slotcast_node::http::BucketsAnswer;
use slotcast_units::Size;

use super::client::{Client, NodeOption};
use super::names::{Listed, Names};
use super::place::ObjectPlace;
use crate::failure::Outcome;
use crate::output::print;

/// List buckets, or the objects of one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast ls                       all buckets
  slotcast ls slot://photos/2026/   one level, as in a folder
  slotcast ls -r slot://photos      every object
  slotcast ls -r --json slot://photos | jq .size")]
pub(crate) struct Arguments {
    /// A bucket, and what the names begin with
    #[arg(value_name = "slot://BUCKET[/PREFIX]")]
    place: Option<ObjectPlace>,

    /// All names, and not those of one level
    #[arg(short, long)]
    recursive: bool,

    /// A JSON object for each name, on a line of its own
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    node: NodeOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let client = Client::new(&arguments.node);
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
    let delimiter = (!arguments.recursive).then_some("/");
    for listed in Names::new(&client, place, delimiter) {
        let line = match listed? {
            Listed::Object(object) if arguments.json => {
                serde_json::to_string(&object).unwrap_or_default()
            }
            Listed::Object(object) => {
                let size = Size::from_bytes(object.size).to_string();
                format!("{size:>12}  {}", object.name)
            }
            Listed::Prefix(prefix) if arguments.json => {
                serde_json::json!({ "prefix": prefix }).to_string()
            }
            Listed::Prefix(prefix) => format!("{:>12}  {prefix}", ""),
        };
        print(&format!("{line}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
