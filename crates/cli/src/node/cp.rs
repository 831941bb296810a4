//! `slotcast cp`.

use clap::Args;

use super::client::{Client, NodeOption};
use super::copies::{self, wrong};
use super::many::AtATime;
use super::names::NameOption;
use super::place::Place;
use super::transfer::{Conditions, Said, Transfer};
use crate::failure::Outcome;

/// Copy files into a bucket, objects out of it, or objects inside the store
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast cp report.pdf slot://docs/           under its own name
  slotcast cp report.pdf slot://docs/2026/q3.pdf
  slotcast cp -r photos slot://backup/photos    a folder and all in it
  slotcast cp -r --resume photos slot://backup/photos    what is not there yet
  slotcast cp -r slot://backup/photos .         and back
  slotcast cp 'slot://backup/photos/*.jpg' .
  slotcast cp -r slot://backup/photos/ slot://archive/2026/    inside the store: no content moves
  slotcast cp --version 3-00f3a2c41d5e6b78 slot://docs/q3.pdf old.pdf
  slotcast cp --if-absent me slot://locks/leader
  tar c folder | slotcast cp - slot://backup/folder.tar

An object appears under its name when all of it is on stable storage, and a file when all of it was
read; what was there before stays until then. The length and the hash of each copy are compared with
those of what was read. A file that changes meanwhile is an error.

With --resume what has the same length and the same hash is passed over; both are of the whole
content, so each file that is there is read.")]
pub(crate) struct Arguments {
    /// Files, folders or objects; `-` for standard input. In names of objects `*`, `?`, `[a-z]` and `**` stand for letters
    #[arg(required = true, value_name = "FROM")]
    from: Vec<Place>,

    /// Where to; a folder, or names that begin so, where it ends with `/`; `-` for standard output
    #[arg(value_name = "TO")]
    to: Place,

    /// Folders and all in them, or all objects whose names begin so
    #[arg(short, long)]
    recursive: bool,

    /// Pass over what has the same content already
    #[arg(long, conflicts_with = "if_version")]
    resume: bool,

    /// Copy this version of the object
    #[arg(long, value_name = "VERSION", conflicts_with = "recursive")]
    version: Option<String>,

    #[command(flatten)]
    conditions: Conditions,

    #[command(flatten)]
    said: Said,

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

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { from, to, recursive, names, version, .. } = arguments;
    let client = Client::new(&arguments.node)?;
    let objects = || {
        from.iter().map(|place| match place {
            Place::Object(object) => Some(object.clone()),
            Place::File(_) | Place::Stream => None,
        })
    };
    let is_of_objects = objects().all(|object| object.is_some());
    if version.is_some() {
        let is_one = |object: &super::place::ObjectPlace| names.glob(object).is_none();
        if !(from.len() == 1 && objects().flatten().any(|object| is_one(&object))) {
            return wrong("a version is of one object".into(), "name that, and nothing else");
        }
    }
    let comes_in = matches!(to, Place::Object(_)) && !is_of_objects;
    if !comes_in && !arguments.said.is_empty() {
        let message = "--type, --meta and --tag are for files that come into the store";
        return wrong(message.into(), "`slotcast tag` changes the tags of an object");
    }
    let (copies, done) = match to {
        Place::Object(to) if is_of_objects => {
            let from: Vec<_> = objects().flatten().collect();
            (copies::within(&client, &from, to, *recursive, names)?, "copied")
        }
        Place::Object(to) => {
            let copies = copies::into_bucket(from, to, *recursive)?;
            let copies: copies::Copies<'_> = Box::new(copies.into_iter().map(Ok));
            (copies, "copied and verified")
        }
        Place::File(_) | Place::Stream => {
            let copies = copies::out_of_buckets(&client, from, to, *recursive, names)?;
            (copies, "copied and verified")
        }
    };
    let transfer = Transfer {
        conditions: &arguments.conditions,
        said: Some(&arguments.said),
        version: version.as_deref(),
        resume: arguments.resume,
        moves: false,
        json: arguments.json,
    };
    let tells = recursive.then_some(done);
    transfer.make_all((&arguments.at_a_time, &arguments.node), copies, tells)
}
