//! `slotcast cat`.

use std::io;
use std::process::ExitCode;

use clap::Args;

use super::client::{Client, NodeOption};
use super::get::{broken, copy};
use super::place::ObjectPlace;
use super::verified::{Verified, expected_of};
use crate::failure::Outcome;
use crate::progress::Bar;

/// Write objects to standard output
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast cat slot://logs/today | grep error
  slotcast cat --version 7-00f3a2c41d5e6b78 slot://documents/draft")]
pub(crate) struct Arguments {
    /// The objects
    #[arg(required = true, value_name = "slot://BUCKET/NAME")]
    objects: Vec<ObjectPlace>,

    /// This version, and not the latest
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,

    #[command(flatten)]
    node: NodeOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let client = Client::new(&arguments.node)?;
    for object in &arguments.objects {
        object.must_be_object()?;
        let mut answer = client.get(&object.path_of(arguments.version.as_deref()))?;
        let length = answer.body().content_length();
        let bar = Bar::new(length.unwrap_or(0));
        let expected = expected_of(&answer);
        let mut content = Verified::new(answer.body_mut().as_reader(), expected);
        let copied = copy(&mut content, &mut io::stdout().lock(), length, &bar);
        bar.finish();
        copied.map_err(|error| broken("standard output", error))?;
    }
    Ok(ExitCode::SUCCESS)
}
