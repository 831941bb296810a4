//! `slotcast put`.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use slotcast_lab::InputError;
use slotcast_node::http::{CHUNK_SIZES, PutAnswer};
use slotcast_protocol::MAX_REPLICAS;
use slotcast_units::Size;

use super::client::{Client, NodeOption};
use crate::failure::Outcome;
use crate::output::print;
use crate::progress::Bar;

/// Store files, and print the address of each
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast put FILE
  slotcast put --chunk-size 4MiB *.iso
  slotcast put --replicas 5 keys.db
  tar c folder | slotcast put -

An address is the hash of the content: equal files are stored once, on as many targets as the
highest number says that they were put with.")]
pub(crate) struct Arguments {
    /// Files to store; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Into chunks of which size files are cut, from 4KiB to 8MiB
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    chunk_size: Size,

    /// On how many targets each chunk is to be, and to be kept; the cluster's number unless said
    #[arg(long, value_name = "N", value_parser = replicas())]
    replicas: Option<u8>,

    #[command(flatten)]
    node: NodeOption,
}

/// What `--replicas` takes.
pub(super) fn replicas() -> clap::builder::RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(1..=MAX_REPLICAS as i64)
}

/// Where content is put.
pub(super) fn put_path(chunk_size: u64, replicas: Option<u8>) -> String {
    let replicas = replicas.map(|replicas| format!("&replicas={replicas}"));
    format!("/v1/content?chunk_size={chunk_size}{}", replicas.unwrap_or_default())
}

/// Counts what is read.
struct Counted<'a, R> {
    inner: R,
    bar: &'a Bar,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.bar.advance(n as u64);
        Ok(n)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let chunk_size = arguments.chunk_size.as_bytes();
    let (least, most) = CHUNK_SIZES.into_inner();
    if !(least as u64..=most as u64).contains(&chunk_size) {
        let message = format!("a chunk is from {least} to {most} bytes, not {chunk_size}");
        return Err(InputError::plain(message).into());
    }
    let client = Client::new(&arguments.node);
    let url = client.url(&put_path(chunk_size, arguments.replicas));
    for path in &arguments.files {
        let failed = |error: &dyn std::fmt::Display| {
            InputError::plain(format!("cannot read `{}`: {error}", path.display()))
        };
        let (content, length): (Box<dyn Read>, u64) = if path.as_os_str() == "-" {
            (Box::new(io::stdin()), 0)
        } else {
            let file = File::open(path).map_err(|error| failed(&error))?;
            let metadata = file.metadata().map_err(|error| failed(&error))?;
            if metadata.is_dir() {
                return Err(failed(&"it is a folder").into());
            }
            (Box::new(file), metadata.len())
        };
        let bar = Bar::new(length);
        let mut content = Counted { inner: content, bar: &bar };
        let body = ureq::SendBody::from_reader(&mut content);
        // A node that refuses says so before it is sent anything: afterwards nobody would read what it says.
        let request = client.agent().put(&url).header("expect", "100-continue");
        let answer = client.checked(request.send(body));
        bar.finish();
        let text = answer?.body_mut().read_to_string().map_err(|error| failed(&error))?;
        let answer: PutAnswer = serde_json::from_str(&text).map_err(|error| failed(&error))?;
        match arguments.files.len() {
            1 => print(&format!("{}\n", answer.address))?,
            _ => print(&format!("{}  {}\n", answer.address, path.display()))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}
