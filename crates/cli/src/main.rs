//! The `slotcast` command.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "ring 3 reads files and clocks"
)]

mod chart;
mod claims_page;
mod compare;
mod documents;
mod drill;
mod explain;
mod failure;
mod format;
mod fuzz;
mod help;
mod interrupt;
mod list;
mod node;
mod output;
mod outputs;
mod parity;
mod plan;
mod plan_text;
mod progress;
mod reproduce;
mod reproduce_text;
mod sim;
mod statistics;
mod sweep;
mod tune;
mod tune_text;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Object storage by appointment: plan and simulate a cluster, and repeat the published evaluations.
#[derive(Debug, Parser)]
#[command(name = "slotcast", version, max_term_width = 100, help_template = HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Commands are listed by what one wants to do, and not one after another.
const HELP: &str =
    "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\nOptions:\n{options}\n";

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<node::serve::Arguments>),
    User(node::user::Arguments),
    Key(node::key::Arguments),
    Cluster(node::cluster::Arguments),
    Target(node::target::Arguments),
    Doctor(node::doctor::Arguments),
    Mb(node::mb::Arguments),
    Ls(node::ls::Arguments),
    Cp(node::cp::Arguments),
    Mv(node::mv::Arguments),
    Cat(node::cat::Arguments),
    Rm(node::rm::Arguments),
    Undelete(node::undelete::Arguments),
    Versions(node::versions::Arguments),
    Tag(node::tag::Arguments),
    Du(node::du::Arguments),
    Rb(node::rb::Arguments),
    Put(node::put::Arguments),
    Get(node::get::Arguments),
    Stat(node::stat::Arguments),
    Job(node::job::Arguments),
    Gc(node::gc::Arguments),
    Status(node::status::Arguments),
    Top(node::top::Arguments),
    Bench(node::bench::Arguments),
    Parity(parity::Arguments),
    Reproduce(reproduce::Arguments),
    Sim(sim::Arguments),
    Compare(compare::Arguments),
    Sweep(sweep::Arguments),
    Tune(tune::Arguments),
    Plan(plan::Arguments),
    Explain(explain::Arguments),
    Fuzz(fuzz::Arguments),
    Drill(Box<drill::Arguments>),
    Completions(documents::Completions),
    Man(documents::Man),
}

fn main() -> ExitCode {
    let matches = help::grouped(Cli::command()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = match cli.command {
        Command::Serve(arguments) => node::serve::run(&arguments),
        Command::User(arguments) => node::user::run(&arguments),
        Command::Key(arguments) => node::key::run(&arguments),
        Command::Cluster(arguments) => node::cluster::run(&arguments),
        Command::Target(arguments) => node::target::run(&arguments),
        Command::Doctor(arguments) => node::doctor::run(&arguments),
        Command::Mb(arguments) => node::mb::run(&arguments),
        Command::Ls(arguments) => node::ls::run(&arguments),
        Command::Cp(arguments) => node::cp::run(&arguments),
        Command::Mv(arguments) => node::mv::run(&arguments),
        Command::Cat(arguments) => node::cat::run(&arguments),
        Command::Rm(arguments) => node::rm::run(&arguments),
        Command::Undelete(arguments) => node::undelete::run(&arguments),
        Command::Versions(arguments) => node::versions::run(&arguments),
        Command::Tag(arguments) => node::tag::run(&arguments),
        Command::Du(arguments) => node::du::run(&arguments),
        Command::Rb(arguments) => node::rb::run(&arguments),
        Command::Put(arguments) => node::put::run(&arguments),
        Command::Get(arguments) => node::get::run(&arguments),
        Command::Stat(arguments) => node::stat::run(&arguments),
        Command::Job(arguments) => node::job::run(&arguments),
        Command::Gc(arguments) => node::gc::run(&arguments),
        Command::Status(arguments) => node::status::run(&arguments),
        Command::Top(arguments) => node::top::run(&arguments),
        Command::Bench(arguments) => node::bench::run(&arguments),
        Command::Parity(arguments) => parity::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Sim(arguments) => sim::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Tune(arguments) => tune::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Drill(arguments) => drill::run(&arguments),
        Command::Completions(arguments) => documents::completions(&arguments, Cli::command()),
        Command::Man(arguments) => documents::man(&arguments, help::grouped(Cli::command())),
    };
    result.unwrap_or_else(failure::report)
}

/// The version that reports carry.
const VERSION: &str = env!("CARGO_PKG_VERSION");
