//! `slotcast get`.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use slotcast_lab::InputError;
use slotcast_node::Address;

use super::client::{Client, NodeOption};
use crate::failure::{Failure, Outcome};
use crate::progress::Bar;

/// Fetch what is stored under an address
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast get list-4f9c… -o FILE
  slotcast get list-4f9c… | tar x")]
pub(crate) struct Arguments {
    /// What `slotcast put` printed
    address: Address,

    /// Where to write it; standard output if not given. Nothing is left there if it fails
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    node: NodeOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let client = Client::new(&arguments.node)?;
    let mut answer = client.get(&format!("/v1/content/{}", arguments.address))?;
    let length = answer.body().content_length();
    let bar = Bar::new(length.unwrap_or(0));
    let mut content = answer.body_mut().as_reader();
    let result = match &arguments.output {
        None => {
            let copied = copy(&mut content, &mut io::stdout().lock(), length, &bar);
            copied.map_err(|error| broken("standard output", error))
        }
        Some(path) => to_file(path, &mut content, length, &bar),
    };
    bar.finish();
    result?;
    Ok(ExitCode::SUCCESS)
}

/// Whole or not at all: it is written beside, and renamed.
pub(super) fn to_file(
    path: &Path,
    content: &mut impl Read,
    length: Option<u64>,
    bar: &Bar,
) -> Result<(), Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let beside = PathBuf::from(name);
    let written = File::create(&beside)
        .map_err(Broken::Out)
        .and_then(|mut file| copy(content, &mut file, length, bar))
        .and_then(|()| fs::rename(&beside, path).map_err(Broken::Out));
    written.map_err(|error| {
        // It may never have been there.
        let _ = fs::remove_file(&beside);
        broken(&format!("`{}`", path.display()), error)
    })
}

/// Which side failed.
pub(super) enum Broken {
    In(io::Error),
    Out(io::Error),
}

pub(super) fn broken(place: &str, error: Broken) -> Failure {
    match error {
        Broken::In(error) => InputError::plain(format!("the content broke off: {error}")).into(),
        Broken::Out(error) => Failure::Output(place.into(), error),
    }
}

pub(super) fn copy(
    from: &mut impl Read,
    to: &mut impl Write,
    length: Option<u64>,
    bar: &Bar,
) -> Result<(), Broken> {
    let mut buffer = vec![0; 256 << 10];
    let mut copied = 0;
    loop {
        let n = from.read(&mut buffer).map_err(Broken::In)?;
        if n == 0 {
            break;
        }
        to.write_all(&buffer[..n]).map_err(Broken::Out)?;
        bar.advance(n as u64);
        copied += n as u64;
    }
    if length.is_some_and(|length| length != copied) {
        return Err(Broken::In(io::ErrorKind::UnexpectedEof.into()));
    }
    to.flush().map_err(Broken::Out)
}
