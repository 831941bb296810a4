//! The `slotcast` command.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "ring 3 reads files and clocks"
)]

mod explain;
mod failure;
mod format;
mod list;
mod node;
mod output;
mod progress;
mod reproduce;
mod sim;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Object storage by appointment: simulate a cluster, and repeat the published evaluations.
#[derive(Debug, Parser)]
#[command(name = "slotcast", version, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  slotcast reproduce                           repeat every published figure
  slotcast sim experiments/first.toml          run one experiment
  slotcast sim --list                          everything that an experiment can set
  slotcast explain disk.rate                   one of those in full

Exit status:
  0  all is well
  1  a claim that must hold does not, or two runs that must be equal differ
  2  the input is wrong, and nothing has run";

#[derive(Debug, Subcommand)]
enum Command {
    Serve(node::serve::Arguments),
    Put(node::put::Arguments),
    Get(node::get::Arguments),
    Stat(node::stat::Arguments),
    Status(node::status::Arguments),
    Reproduce(reproduce::Arguments),
    Sim(sim::Arguments),
    Explain(explain::Arguments),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Serve(arguments) => node::serve::run(&arguments),
        Command::Put(arguments) => node::put::run(&arguments),
        Command::Get(arguments) => node::get::run(&arguments),
        Command::Stat(arguments) => node::stat::run(&arguments),
        Command::Status(arguments) => node::status::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Sim(arguments) => sim::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
    };
    result.unwrap_or_else(failure::report)
}

/// The version that reports carry.
const VERSION: &str = env!("CARGO_PKG_VERSION");
