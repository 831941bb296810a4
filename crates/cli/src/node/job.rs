//! `slotcast job`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use slotcast_node::jobs::{JobAnswer, JobLogAnswer, JobsAnswer};
use slotcast_units::Span;

use super::client::{Client, NodeOption};
use super::http_options::timeout;
use super::job_start::StartArguments;
use super::{job_text, job_watch};
use crate::failure::Outcome;
use crate::output::print;

/// Work on many objects that the cluster does by itself: copy, transform, verify, delete
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast job start copy slot://photos/2026/ slot://backup/2026/ --watch
  slotcast job start delete 'slot://logs/2024-*'
  slotcast job start verify slot://photos                      read everything, and check it
  slotcast job start transform slot://data/ slot://sums/ --command sha256sum --suffix .sha256
  slotcast job start copy slot://data/ slot://part/ --range 'shard-{0001..0999}.tar'
  slotcast job ls
  slotcast job watch 019a3f5c2b41e207
  slotcast job log 019a3f5c2b41e207                            what has failed, and why

A job needs neither this terminal nor the node that was asked: all nodes work on it, and it goes on when any of them is lost
or all are started anew. States: running, paused, finished (all work is done, and is being compared), verified (every object
that is selected was compared with its output), failed, aborted. Transforms are commands, which nodes carry out that were
started with `slotcast serve --transforms N`. See docs/operate/jobs.md.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a job
    Start(Box<StartArguments>),
    /// List the jobs
    Ls {
        #[command(flatten)]
        common: Common,
    },
    /// Show a job
    Show {
        /// Its number, as `slotcast job ls` shows it
        job: String,

        #[command(flatten)]
        common: Common,
    },
    /// Show how far a job is until it is over; the exit status is 1 if it has failed
    Watch {
        /// Its number
        job: String,

        /// Ask so often
        #[arg(long, value_name = "TIME", value_parser = timeout, default_value = "1s")]
        refresh: Span,

        #[command(flatten)]
        common: Common,
    },
    /// Pause a job: nodes end what they are at, and begin nothing more
    Pause {
        /// Its number
        job: String,

        #[command(flatten)]
        common: Common,
    },
    /// Let a paused job go on
    Resume {
        /// Its number
        job: String,

        #[command(flatten)]
        common: Common,
    },
    /// End a job; what it has done stays
    Abort {
        /// Its number
        job: String,

        #[command(flatten)]
        common: Common,
    },
    /// Show the objects with which a job has failed, and why
    Log {
        /// Its number
        job: String,

        #[command(flatten)]
        common: Common,
    },
    /// Forget a job that is over
    Rm {
        /// Its number
        job: String,

        #[command(flatten)]
        common: Common,
    },
}

/// What all of them have in common.
#[derive(Debug, Args)]
pub(super) struct Common {
    /// As JSON
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) node: NodeOption,
}

/// The path of requests about all jobs.
pub(super) const PATH: &str = "/v1/jobs";

pub(super) fn path_of(job: &str) -> String {
    format!("{PATH}/{}", super::place::encoded(job))
}

/// What is printed: a text, or the same as JSON.
pub(super) fn show<T: serde::Serialize>(
    is_json: bool,
    answer: &T,
    text: impl FnOnce(&T) -> String,
) -> Outcome {
    match is_json {
        true => print(&format!("{}\n", serde_json::to_string(answer).unwrap_or_default()))?,
        false => print(&text(answer))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn order(common: &Common, job: &str, order: &str) -> Outcome {
    let client = Client::new(&common.node)?;
    let answer: JobAnswer = client.patch(&path_of(job), &json!({ "order": order }), None)?;
    show(common.json, &answer, |answer| format!("{} is {}\n", answer.job, answer.status))
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Start(start) => start.run(),
        Command::Ls { common } => {
            let jobs: JobsAnswer = Client::new(&common.node)?.get_json(PATH)?;
            show(common.json, &jobs, |jobs| job_text::listed(&jobs.jobs))
        }
        Command::Show { job, common } => {
            let answer: JobAnswer = Client::new(&common.node)?.get_json(&path_of(job))?;
            show(common.json, &answer, job_text::told)
        }
        Command::Watch { job, refresh, common } => {
            job_watch::watch(&Client::new(&common.node)?, job, *refresh, common.json)
        }
        Command::Pause { job, common } => order(common, job, "pause"),
        Command::Resume { job, common } => order(common, job, "resume"),
        Command::Abort { job, common } => order(common, job, "abort"),
        Command::Log { job, common } => {
            let path = format!("{}/log", path_of(job));
            let log: JobLogAnswer = Client::new(&common.node)?.get_json(&path)?;
            show(common.json, &log, job_text::log)
        }
        Command::Rm { job, common } => {
            let client = Client::new(&common.node)?;
            let answer = client.checked(client.agent().delete(client.url(&path_of(job))).call())?;
            let answer: Value = client.read_json(answer)?;
            show(common.json, &answer, |_| format!("removed {job}\n"))
        }
    }
}
