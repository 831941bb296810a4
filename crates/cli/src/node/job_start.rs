//! `slotcast job start`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use slotcast_job::{JobId, Template, is_glob};
use slotcast_lab::InputError;
use slotcast_node::jobs::JobAnswer;
use slotcast_units::{Size, Span};

use super::client::Client;
use super::http_options::timeout;
use super::job::{Common, PATH, show};
use super::job_watch;
use super::place::ObjectPlace;
use crate::failure::{Failure, Outcome};

/// What is done with each object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Give it another name; no content moves
    Copy,
    /// Store what a command makes of it
    Transform,
    /// Read it, and check its content
    Verify,
    /// Delete it
    Delete,
}

/// What becomes of objects that have the name of an output already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Existing {
    /// The output takes their place
    Replace,
    /// They stay
    Keep,
}

/// A job that is to be started.
#[derive(Debug, Args)]
pub(super) struct StartArguments {
    /// What is done with each object
    kind: Kind,

    /// Which objects: slot://BUCKET/PREFIX, or a pattern as in 'slot://BUCKET/2026/*.jpg'
    #[arg(value_name = "FROM")]
    from: ObjectPlace,

    /// Where the outputs go, of a copy or a transform: what follows the prefix follows this one
    #[arg(value_name = "TO")]
    to: Option<ObjectPlace>,

    /// Only names that this template counts, after the prefix, as in 'shard-{0001..0999}.tar'
    #[arg(long, value_name = "TEMPLATE", conflicts_with = "list")]
    range: Option<String>,

    /// Only names in this file, after the prefix, one a line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,

    /// `*`, `?` and `[` in FROM are letters like any other
    #[arg(long)]
    literal: bool,

    /// What becomes of objects that have the name of an output already
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Existing::Replace)]
    existing: Existing,

    /// Do not compare everything at the end: the job ends as finished, and never as verified
    #[arg(long)]
    no_check: bool,

    #[command(flatten)]
    transform: TransformOptions,

    /// Wait until it is over, and show how far it is
    #[arg(long)]
    watch: bool,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Transforms")]
struct TransformOptions {
    /// The command, for a shell: the object on standard input, the output on standard output; SLOTCAST_NAME has the name
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,

    /// What the name of an output ends with, after that of its object
    #[arg(long, value_name = "TEXT", default_value = "")]
    suffix: String,

    /// How long a command may take for one object
    #[arg(long, value_name = "TIME", value_parser = timeout, default_value = "300s")]
    timeout: Span,

    /// How long it may compute for one object
    #[arg(long, value_name = "TIME", value_parser = timeout, default_value = "300s")]
    cpu: Span,

    /// How much memory each of its processes may have
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    memory: Size,

    /// Let it use the network
    #[arg(long)]
    network: bool,
}

fn wrong(message: String, help: &str) -> Failure {
    InputError::plain(message).with_help(Some(help.into())).into()
}

/// Where a pattern begins, as a prefix of whole folders.
fn fixed_part(name: &str) -> usize {
    let first = name.find(['*', '?', '[', '\\']).unwrap_or(name.len());
    name[..first].rfind('/').map_or(0, |slash| slash + 1)
}

fn names_in(path: &Path) -> Result<Vec<String>, Failure> {
    let mut text = String::new();
    let read = match path.to_str() {
        Some("-") => std::io::stdin().read_to_string(&mut text).map(drop),
        _ => std::fs::read_to_string(path).map(|read| text = read),
    };
    let help = "it has a name a line, without what FROM has";
    read.map_err(|error| wrong(format!("the list `{}`: {error}", path.display()), help))?;
    let names: Vec<String> =
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    match names.is_empty() {
        true => Err(wrong(format!("the list `{}` is empty", path.display()), help)),
        false => Ok(names),
    }
}

/// A number for the job, so that it is started once though the request may be sent again.
fn new_id() -> Result<JobId, Failure> {
    let mut random = [0; 8];
    let failed = |error| InputError::plain(format!("no random numbers: {error}"));
    getrandom::fill(&mut random).map_err(failed)?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    Ok(JobId::new(now_ms, u64::from_le_bytes(random)))
}

impl StartArguments {
    fn kind(&self) -> Result<Value, Failure> {
        let TransformOptions { command, suffix, timeout, cpu, memory, network } = &self.transform;
        let help = "only `slotcast job start transform` runs a command";
        match (self.kind, command) {
            (Kind::Transform, Some(command)) => Ok(json!({ "transform": {
                "command": command,
                "suffix": suffix,
                "timeout_ms": timeout.as_ns().div_ceil(1_000_000),
                "cpu_s": cpu.as_ns().div_ceil(1_000_000_000),
                "memory": memory.as_bytes(),
                "network": network,
            } })),
            (Kind::Transform, None) => {
                let help = "give --command, as in --command 'gzip -c'";
                Err(wrong("a transform needs a command".into(), help))
            }
            (_, Some(_)) => Err(wrong("--command has no effect here".into(), help)),
            (Kind::Copy, None) => Ok("copy".into()),
            (Kind::Verify, None) => Ok("verify".into()),
            (Kind::Delete, None) => Ok("delete".into()),
        }
    }

    /// The prefix, which of the names after it are meant, and those of a list.
    fn selection(&self) -> Result<(&str, Value, Vec<String>), Failure> {
        let name = &self.from.name[..];
        if let Some(range) = &self.range {
            let help = "write it as in --range 'shard-{0001..0999}.tar'";
            Template::new(range).map_err(|error| wrong(format!("`{range}`: {error}"), help))?;
            return Ok((name, json!({ "template": range }), Vec::new()));
        }
        if let Some(path) = &self.list {
            return Ok((name, json!({ "list": 0 }), names_in(path)?));
        }
        if !self.literal && is_glob(name) {
            let (prefix, pattern) = name.split_at(fixed_part(name));
            return Ok((prefix, json!({ "glob": pattern }), Vec::new()));
        }
        Ok((name, "all".into(), Vec::new()))
    }

    pub(super) fn run(&self) -> Outcome {
        let (prefix, select, names) = self.selection()?;
        let mut body = json!({
            "id": new_id()?.to_string(),
            "kind": self.kind()?,
            "from": { "bucket": self.from.bucket, "prefix": prefix },
            "select": select,
            "names": names,
            "existing": match self.existing {
                Existing::Replace => "replace",
                Existing::Keep => "keep",
            },
            "check": !self.no_check,
        });
        if let Some(to) = &self.to {
            body["to"] = json!({ "bucket": to.bucket, "prefix": to.name });
        }
        let client = Client::new(&self.common.node)?;
        let request = client.agent().post(client.url(PATH));
        let started = client.checked(request.send(body.to_string()))?;
        let job: JobAnswer = client.read_json(started)?;
        let Common { json, .. } = self.common;
        if !self.watch || !json {
            show(json, &job, |job| format!("{}\n", job.job))?;
        }
        match self.watch {
            true => job_watch::watch(&client, &job.job, Span::from_secs(1), json),
            false => Ok(ExitCode::SUCCESS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fixed_part;

    #[test]
    fn a_pattern_begins_after_its_last_whole_folder() {
        for (name, fixed) in [("a/b*.x", "a/"), ("*", ""), ("a/b/**", "a/b/"), ("ab[c]", "")] {
            assert_eq!(&name[..fixed_part(name)], fixed, "{name}");
        }
    }
}
