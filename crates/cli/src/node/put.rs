//! `slotcast put`.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Counts what is read, until the node takes in no more.
pub(super) struct Counted<'a> {
    pub(super) inner: &'a mut dyn Read,
    pub(super) bar: &'a Bar,
    pub(super) is_cut: &'a AtomicBool,
    pub(super) length: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_cut.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let n = self.inner.read(buffer)?;
        self.bar.advance(n as u64);
        self.length += n as u64;
        Ok(n)
    }
}

/// A file, or standard input.
pub(super) enum Source {
    File(File, Metadata),
    Input(io::Stdin),
}

impl Source {
    pub(super) fn open(path: &Path) -> io::Result<Source> {
        if path.as_os_str() == "-" {
            return Ok(Source::Input(io::stdin()));
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        match metadata.is_dir() {
            true => Err(io::Error::other("it is a folder")),
            false => Ok(Source::File(file, metadata)),
        }
    }

    /// Its length; 0 if that is not known.
    pub(super) fn length(&self) -> u64 {
        match self {
            Source::File(_, metadata) => metadata.len(),
            Source::Input(_) => 0,
        }
    }

    /// Whether it is another file now than that of which so many bytes were read. The content of pipes and devices
    /// has no length.
    pub(super) fn has_changed(&self, read: u64) -> io::Result<bool> {
        let Source::File(file, before) = self else { return Ok(false) };
        let after = file.metadata()?;
        let what = |of: &Metadata| {
            (of.len(), (of.mtime(), of.mtime_nsec()), (of.ctime(), of.ctime_nsec()))
        };
        Ok(before.is_file() && (read != before.len() || what(before) != what(&after)))
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::File(file, _) => file.read(buffer),
            Source::Input(input) => input.read(buffer),
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let chunk_size = arguments.chunk_size.as_bytes();
    let (least, most) = CHUNK_SIZES.into_inner();
    if !(least as u64..=most as u64).contains(&chunk_size) {
        let message = format!("a chunk is from {least} to {most} bytes, not {chunk_size}");
        return Err(InputError::plain(message).into());
    }
    let client = Client::new(&arguments.node)?;
    let url = client.url(&put_path(chunk_size, arguments.replicas));
    for path in &arguments.files {
        let failed = |error: &dyn std::fmt::Display| {
            InputError::plain(format!("cannot read `{}`: {error}", path.display()))
        };
        let mut source = Source::open(path).map_err(|error| failed(&error))?;
        let bar = Bar::new(source.length());
        let is_cut = client.is_cut();
        is_cut.store(false, Ordering::Relaxed);
        let mut content = Counted { inner: &mut source, bar: &bar, is_cut, length: 0 };
        let body = ureq::SendBody::from_reader(&mut content);
        // A node that refuses says so before it is sent anything, where it can.
        let request = client.agent().put(&url).header("expect", "100-continue");
        let answer = client.checked(request.send(body));
        bar.finish();
        let read = content.length;
        let text = answer?.body_mut().read_to_string().map_err(|error| failed(&error))?;
        let answer: PutAnswer = serde_json::from_str(&text).map_err(|error| failed(&error))?;
        if source.has_changed(read).map_err(|error| failed(&error))? {
            let message = format!("`{}` changed while it was put", path.display());
            let help = format!("what is stored as {} may never have been in it", answer.address);
            return Err(InputError::plain(message).with_help(Some(help)).into());
        }
        match arguments.files.len() {
            1 => print(&format!("{}\n", answer.address))?,
            _ => print(&format!("{}  {}\n", answer.address, path.display()))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}
