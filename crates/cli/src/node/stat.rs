//! `slotcast stat`.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::io::{BufReader, Read};
use std::process::ExitCode;
use std::str::FromStr;

use clap::Args;
use serde::Deserializer;
use serde::de::{DeserializeSeed, SeqAccess, Visitor};
use slotcast_lab::InputError;
use slotcast_node::Address;
use slotcast_node::http::ChunkAnswer;
use slotcast_units::Size;

use super::client::{Client, NodeOption};
use super::describe;
use super::place::ObjectPlace;
use crate::failure::Outcome;
use crate::format::table;
use crate::output::print;

/// Show what is known of an object or a bucket; of an address its chunks, on how many targets each is wanted, and which
/// of the cluster hold it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast stat slot://photos/2026/holiday.jpg
  slotcast stat slot://photos
  slotcast stat --json slot://photos/2026/holiday.jpg | jq -r .content
  slotcast stat list-4f9c…")]
pub(crate) struct Arguments {
    /// An object, a bucket, or the address of content
    #[arg(value_name = "slot://BUCKET/NAME|ADDRESS")]
    what: What,

    /// This version of an object, and not the latest
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,

    /// List all chunks, however many; else a sum stands for more than 64
    #[arg(long)]
    all: bool,

    /// All there is as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    node: NodeOption,
}

#[derive(Debug, Clone)]
enum What {
    Address(Address),
    Place(ObjectPlace),
}

impl FromStr for What {
    type Err = String;

    fn from_str(text: &str) -> Result<What, String> {
        if text.contains("://") {
            return text.parse().map(What::Place);
        }
        text.parse()
            .map(What::Address)
            .map_err(|error| format!("{error}; an object would be slot://bucket/name"))
    }
}

/// More chunks than this are not listed one by one, unless that is asked for.
const MAX_LISTED: u64 = 64;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let client = Client::new(&arguments.node)?;
    let version = arguments.version.as_deref();
    match &arguments.what {
        What::Place(place) if place.name.is_empty() => {
            describe::bucket(&client, place, arguments.json)
        }
        What::Place(place) => describe::object(&client, place, version, arguments.json),
        What::Address(address) => chunks(&client, *address, arguments),
    }
}

fn chunks(client: &Client, address: Address, arguments: &Arguments) -> Outcome {
    let mut answer = client.get(&format!("/v1/content/{address}/chunks"))?;
    let mut content = BufReader::new(answer.body_mut().as_reader());
    let broke_off =
        |error: &dyn Display| InputError::plain(format!("the list of chunks broke off: {error}"));
    if arguments.json {
        // As long as the content is, it is never in memory as a whole.
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let read = (&mut content).take(1 << 20).read_to_end(&mut buffer);
            if read.map_err(|error| broke_off(&error))? == 0 {
                break;
            }
            print(&String::from_utf8_lossy(&buffer))?;
        }
        print("\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = table(&["chunk", "size", "wanted", "targets"]);
    let mut sum = Sum::default();
    let each = Each(|chunk: ChunkAnswer| {
        sum.add(&chunk);
        if arguments.all || sum.chunks <= MAX_LISTED {
            table.add_row(row(&chunk));
        }
    });
    let mut json = serde_json::Deserializer::from_reader(content);
    each.deserialize(&mut json).and_then(|()| json.end()).map_err(|error| broke_off(&error))?;
    if arguments.all || sum.chunks <= MAX_LISTED {
        print(&format!("{table}\n"))?;
    }
    print(&format!("{sum}\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn row(chunk: &ChunkAnswer) -> [String; 4] {
    let holders: Vec<_> = chunk.holders.iter().map(u32::to_string).collect();
    let size = match chunk.length {
        0 => "-".into(),
        length => Size::from_bytes(length).to_string(),
    };
    let wanted = match chunk.replicas {
        0 => "-".into(),
        replicas => replicas.to_string(),
    };
    [chunk.address.clone(), size, wanted, holders.join(", ")]
}

/// Does something with each chunk of a list while it is read.
struct Each<F>(F);

impl<'de, F: FnMut(ChunkAnswer)> DeserializeSeed<'de> for Each<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(ChunkAnswer)> Visitor<'de> for Each<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of chunks")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut chunks: A) -> Result<(), A::Error> {
        while let Some(chunk) = chunks.next_element()? {
            (self.0)(chunk);
        }
        Ok(())
    }
}

/// All chunks together.
#[derive(Default)]
struct Sum {
    chunks: u64,
    bytes: u64,
    /// On fewer targets than wanted, but on some.
    on_fewer: u64,
    on_none: u64,
    silent_targets: BTreeSet<u32>,
    silent_nodes: BTreeSet<u32>,
}

impl Sum {
    fn add(&mut self, chunk: &ChunkAnswer) {
        self.chunks += 1;
        self.bytes = self.bytes.saturating_add(chunk.length);
        match chunk.holders.len() {
            0 => self.on_none += 1,
            held if held < usize::from(chunk.replicas) => self.on_fewer += 1,
            _ => {}
        }
        self.silent_targets.extend(&chunk.silent_targets);
        self.silent_nodes.extend(&chunk.silent_nodes);
    }
}

impl Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sum { chunks, bytes, on_fewer, on_none, silent_targets, silent_nodes } = self;
        let size = Size::from_bytes(*bytes);
        let noun = if *chunks == 1 { "chunk" } else { "chunks" };
        write!(f, "{chunks} {noun}, {size} in all: ")?;
        match (on_fewer, on_none) {
            (0, 0) => write!(f, "each on as many targets as wanted")?,
            _ => write!(f, "{on_fewer} on fewer targets than wanted, {on_none} on none")?,
        }
        let numbers =
            |set: &BTreeSet<u32>| set.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        if silent_targets.is_empty() {
            return Ok(());
        }
        // They may hold some of the chunks or not.
        write!(f, "\nno answer from target {}", numbers(silent_targets))?;
        if !silent_nodes.is_empty() {
            write!(f, " of node {}", numbers(silent_nodes))?;
        }
        write!(f, ": what they hold is not known")
    }
}
