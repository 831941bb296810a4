//! `slotcast du`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use slotcast_node::http::BucketsAnswer;
use slotcast_units::Size;

use super::client::{Client, NodeOption};
use super::names::{NameOption, Names};
use super::place::ObjectPlace;
use crate::failure::Outcome;
use crate::format::counted;
use crate::output::print;

/// Count objects and their bytes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast du                           each bucket
  slotcast du slot://photos/2026/
  slotcast du 'slot://photos/**.raw'
  slotcast du --versions slot://documents

Bytes are those of the content, once for each name. Equal chunks are stored once, and each on several
targets: what the disks hold is in `slotcast status`.")]
pub(crate) struct Arguments {
    /// Buckets, and what the names begin with, or patterns; all buckets without any
    #[arg(value_name = "slot://BUCKET[/PREFIX]")]
    places: Vec<ObjectPlace>,

    /// Earlier versions, too
    #[arg(long)]
    versions: bool,

    /// A JSON object for each, on a line of its own
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    names: NameOption,

    #[command(flatten)]
    node: NodeOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let client = Client::new(&arguments.node)?;
    let mut places = arguments.places.clone();
    if places.is_empty() {
        let answer: BucketsAnswer = client.get_json("/v2/")?;
        let place = |bucket| ObjectPlace { bucket, name: String::new() };
        places.extend(answer.buckets.into_iter().map(|bucket| place(bucket.bucket)));
    }
    for place in places {
        let glob = arguments.names.glob(&place);
        let names = Names::new(&client, &place).matching(glob).with_versions(arguments.versions);
        let (mut objects, mut versions, mut bytes) = (0_usize, 0_usize, 0_u64);
        for object in names.objects() {
            let object = object?;
            let is_marker = object.deleted == Some(true);
            versions += usize::from(!is_marker);
            objects += usize::from(!is_marker && object.latest != Some(false));
            bytes += object.size;
        }
        if arguments.json {
            let mut line = json!({
                "place": place.to_string(), "objects": objects, "bytes": bytes,
            });
            if arguments.versions {
                line["versions"] = versions.into();
            }
            print(&format!("{line}\n"))?;
            continue;
        }
        let size = Size::from_bytes(bytes).to_string();
        let mut count = counted(objects, "object");
        if arguments.versions {
            count += &format!(", {}", counted(versions, "version"));
        }
        print(&format!("{size:>12}  {count:>12}  {place}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
