//! `slotcast rm`.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use serde_json::json;
use slotcast_job::Glob;
use slotcast_lab::InputError;
use slotcast_node::http::DeleteAnswer;

use super::client::{Client, NodeOption, new_key};
use super::many::AtATime;
use super::names::{NameOption, Names};
use super::place::ObjectPlace;
use crate::failure::{Failure, Outcome};
use crate::output::print;
use crate::progress::Bar;

/// Delete objects
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast rm slot://photos/old.jpg
  slotcast rm 'slot://photos/2019/*.tmp'
  slotcast rm --if-version 7-00f3a2c41d5e6b78 slot://locks/leader
  slotcast rm --version 7-00f3a2c41d5e6b78 slot://documents/contract.pdf
  slotcast rm -r slot://photos/2019/

In a bucket that keeps versions a deletion is a marker, which `slotcast undelete` takes away; a version
that is deleted by --version or --versions is gone.")]
pub(crate) struct Arguments {
    /// The objects; `*`, `?`, `[a-z]` and `**` stand for letters
    #[arg(required = true, value_name = "slot://BUCKET/NAME")]
    objects: Vec<ObjectPlace>,

    /// All objects whose names begin so
    #[arg(short, long)]
    recursive: bool,

    /// This version, for good
    #[arg(long, value_name = "VERSION", conflicts_with = "recursive")]
    version: Option<String>,

    /// All versions, for good, and markers of deletion
    #[arg(long, conflicts_with = "version")]
    versions: bool,

    /// Only if this is the latest version
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["recursive", "versions"])]
    if_version: Option<String>,

    /// It is no error if there is nothing to delete
    #[arg(short, long)]
    force: bool,

    /// What became of each as JSON, on a line of its own
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    names: NameOption,

    #[command(flatten)]
    at_a_time: AtATime,

    #[command(flatten)]
    node: NodeOption,
}

/// Deletes one, or a version of it.
pub(super) fn delete(
    client: &Client,
    object: &ObjectPlace,
    version: Option<&str>,
    if_version: Option<&str>,
) -> Result<DeleteAnswer, Failure> {
    let request = client.agent().delete(client.url(&object.path_of(version)));
    let mut request = request.header("idempotency-key", new_key()?);
    if let Some(version) = if_version {
        request = request.header("if-match", format!("\"{version}\""));
    }
    Ok(client.read_json(client.checked(request.call())?)?)
}

fn tell(object: &ObjectPlace, version: Option<&str>, answer: &DeleteAnswer) -> Result<(), Failure> {
    let line = json!({
        "object": object.to_string(),
        "version": version,
        "deleted": answer.deleted,
        "marker": answer.marker,
    });
    print(&format!("{line}\n"))
}

/// What of each name is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// The name stands for nothing afterwards.
    Latest,
    /// All versions.
    Versions,
}

/// Deletes all that a place or a pattern stands for, many at a time. Gives how many there were.
pub(super) fn delete_all(
    node: &NodeOption,
    at_a_time: &AtATime,
    place: &ObjectPlace,
    glob: Option<Glob>,
    what: What,
    json: bool,
) -> Result<u64, Failure> {
    let client = Client::new(node)?;
    let of_all = what == What::Versions;
    let found = Names::new(&client, place).matching(glob).with_versions(of_all).objects();
    let (bar, count) = (Bar::new(0), AtomicU64::new(0));
    let ended = at_a_time.each(node, found, |client, object| {
        bar.expect(1);
        let place = place.named(object.name);
        let version = of_all.then_some(&*object.version);
        let answer = delete(client, &place, version, None)?;
        bar.advance(1);
        count.fetch_add(u64::from(answer.deleted), Ordering::Relaxed);
        if json { tell(&place, version, &answer) } else { Ok(()) }
    });
    bar.finish();
    ended.map(|()| count.into_inner())
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let client = Client::new(&arguments.node)?;
    let Arguments { recursive, json, version, if_version, .. } = arguments;
    let mut count = 0;
    for place in &arguments.objects {
        let glob = arguments.names.glob(place);
        let is_one = version.is_some() || if_version.is_some();
        if glob.is_some() && is_one {
            let message = format!("`{place}` may be several objects, and one version is of one");
            let help = "with --literal it is a name";
            return Err(InputError::plain(message).with_help(Some(help.into())).into());
        }
        if *recursive || glob.is_some() || arguments.versions {
            let of_all = if arguments.versions { What::Versions } else { What::Latest };
            let glob = match glob {
                Some(glob) if *recursive => Some(glob.and_below()),
                // Only this name.
                None if !*recursive => {
                    place.must_be_object()?;
                    Some(Glob::exactly(&place.name))
                }
                glob => glob,
            };
            let found =
                delete_all(&arguments.node, &arguments.at_a_time, place, glob, of_all, *json)?;
            if found == 0 && !*recursive && !arguments.force {
                return Err(InputError::plain(format!("there is no object `{place}`")).into());
            }
            count += found;
            continue;
        }
        if place.name.is_empty() {
            let help = format!("`slotcast rm -r {place}` deletes all objects of the bucket");
            let message = format!("`{place}` is a bucket");
            return Err(InputError::plain(message).with_help(Some(help)).into());
        }
        let answer = delete(&client, place, version.as_deref(), if_version.as_deref())?;
        if *json {
            tell(place, version.as_deref(), &answer)?;
        }
        if !answer.deleted && !arguments.force {
            let what = version.as_ref().map_or("object".into(), |v| format!("version {v} of"));
            return Err(InputError::plain(format!("there is no {what} `{place}`")).into());
        }
    }
    if *recursive && !*json {
        print(&format!("{count} deleted\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
