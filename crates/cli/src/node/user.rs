//! `slotcast user`.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use slotcast_lab::InputError;
use slotcast_node::access::{Attached, PairAnswer, UserAnswer, UsersAnswer};
use slotcast_policy::{CANNED, Policy};

use super::client::{Client, NodeOption};
use super::place::encoded;
use crate::failure::{Failure, Outcome};
use crate::format::utc;
use crate::output::print;

/// Users: add, list, remove; their keys and what they may do
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast user add ann --policy readwrite         shows her keys, once
  slotcast user policy bob readonly ./photos.json  what is there already, and a document
  slotcast user key add ann                        a further key, before the old one goes
  slotcast user key rm ann M4XWS3TBMNXW2ZJA
  slotcast user suspend bob

Policies that are there already: readwrite, readonly, writeonly, admin. Documents are those of AWS; see
docs/operate/security.md for what is understood of them. A change counts everywhere within 5 seconds.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add a user, with one key
    Add {
        /// Its name
        name: String,

        /// What it may do: readwrite, readonly, writeonly, admin, or a file with a document; may be repeated
        #[arg(long, value_name = "POLICY|FILE")]
        policy: Vec<String>,

        #[command(flatten)]
        common: Common,
    },
    /// List the users
    Ls {
        #[command(flatten)]
        common: Common,
    },
    /// Show a user, with its policies
    Show {
        /// Its name
        name: String,

        #[command(flatten)]
        common: Common,
    },
    /// Remove a user, and all of its keys
    Rm {
        /// Its name
        name: String,

        #[command(flatten)]
        common: Common,
    },
    /// Let the keys of a user count no more, until it is resumed
    Suspend {
        /// Its name
        name: String,

        #[command(flatten)]
        common: Common,
    },
    /// Let the keys of a user count again
    Resume {
        /// Its name
        name: String,

        #[command(flatten)]
        common: Common,
    },
    /// Set what a user may do, in place of what it might before
    Policy {
        /// Its name
        name: String,

        /// readwrite, readonly, writeonly, admin, or a file with a document
        #[arg(value_name = "POLICY|FILE", required_unless_present = "none")]
        policies: Vec<String>,

        /// Nothing, but what policies of buckets allow
        #[arg(long, conflicts_with = "policies")]
        none: bool,

        #[command(flatten)]
        common: Common,
    },
    /// Add or remove keys of a user
    Key(KeyArguments),
}

#[derive(Debug, Args)]
struct KeyArguments {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Make a further key
    Add {
        /// The user
        name: String,

        #[command(flatten)]
        common: Common,
    },
    /// Take a key away
    Rm {
        /// The user
        name: String,

        /// The access key
        access: String,

        #[command(flatten)]
        common: Common,
    },
}

#[derive(Debug, Args)]
struct Common {
    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    node: NodeOption,
}

fn path_of(name: &str) -> String {
    format!("/v1/users/{}", encoded(name))
}

/// The policy that is there already, or that in a file.
fn attached(text: &str) -> Result<Attached, Failure> {
    if CANNED.iter().any(|(name, ..)| *name == text) {
        return Ok(Attached { policy: text.to_owned(), document: None });
    }
    let wrong = |message: String| -> Failure {
        let help = "readwrite, readonly, writeonly and admin are there already; else give a file with a document";
        InputError::plain(message).with_help(Some(help.into())).into()
    };
    let document = std::fs::read_to_string(text)
        .map_err(|error| wrong(format!("the policy `{text}`: {error}")))?;
    Policy::of_user(&document)
        .map_err(|error| wrong(format!("the policy in `{text}`: {error}")))?;
    let stem = Path::new(text).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok(Attached { policy: stem.unwrap_or_else(|| text.to_owned()), document: Some(document) })
}

fn all(policies: &[String]) -> Result<Vec<Attached>, Failure> {
    policies.iter().map(|text| attached(text)).collect()
}

fn names(policies: &[Attached]) -> String {
    match policies {
        [] => "none".into(),
        some => some.iter().map(|of| &of.policy[..]).collect::<Vec<_>>().join(", "),
    }
}

/// A key that was just made, as it is shown once.
fn told_key(pair: &PairAnswer) -> String {
    let PairAnswer { access_key, secret_key } = pair;
    format!(
        "The secret key is shown this once:\n\n\
         \x20 export AWS_ACCESS_KEY_ID={access_key}\n\
         \x20 export AWS_SECRET_ACCESS_KEY={secret_key}\n"
    )
}

fn told(user: &UserAnswer) -> String {
    let UserAnswer { user, status, created, keys, policies, .. } = user;
    let mut text = format!(
        "user      {user}\nstatus    {status}\nadded     {}\npolicies  {}\n",
        utc(*created),
        names(policies)
    );
    for key in keys {
        // Writing to a string does not fail.
        let _ = writeln!(text, "key       {}  {}", key.access_key, utc(key.created));
    }
    for Attached { policy, document } in policies {
        if let Some(document) = document {
            let _ = write!(text, "\n{policy}:\n{}\n", document.trim_end());
        }
    }
    text
}

fn listed(users: &[UserAnswer]) -> String {
    let width = users.iter().map(|user| user.user.len()).max().unwrap_or(0);
    let line = |user: &UserAnswer| {
        let UserAnswer { user, status, keys, policies, .. } = user;
        let count = keys.len();
        let keys = if count == 1 { "key" } else { "keys" };
        format!("{user:<width$}  {status:<9}  {count} {keys}  {}\n", names(policies))
    };
    users.iter().map(line).collect()
}

/// What is printed: a text, or the same as JSON.
fn show<T: serde::Serialize>(
    is_json: bool,
    answer: &T,
    text: impl FnOnce(&T) -> String,
) -> Outcome {
    match is_json {
        true => {
            let text = serde_json::to_string(answer).unwrap_or_default();
            print(&format!("{text}\n"))?;
        }
        false => print(&text(answer))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn change(common: &Common, name: &str, change: &Value) -> Outcome {
    let client = Client::new(&common.node)?;
    let user: UserAnswer = client.patch(&path_of(name), change, None)?;
    show(common.json, &user, told)
}

fn remove(common: &Common, path: &str, what: &str) -> Outcome {
    let client = Client::new(&common.node)?;
    let answer = client.checked(client.agent().delete(client.url(path)).call())?;
    let answer: Value = client.read_json(answer)?;
    show(common.json, &answer, |_| format!("removed {what}\n"))
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Add { name, policy, common } => {
            let body = json!({ "policies": all(policy)? });
            let client = Client::new(&common.node)?;
            let request = client.agent().put(client.url(&path_of(name)));
            let added = client.checked(request.send(body.to_string()))?;
            let user: UserAnswer = client.read_json(added)?;
            show(common.json, &user, |user| {
                let key = user.new_key.as_ref().map(told_key).unwrap_or_default();
                format!("{}\n{key}", told(user))
            })
        }
        Command::Ls { common } => {
            let users: UsersAnswer = Client::new(&common.node)?.get_json("/v1/users")?;
            show(common.json, &users, |users| listed(&users.users))
        }
        Command::Show { name, common } => {
            let user: UserAnswer = Client::new(&common.node)?.get_json(&path_of(name))?;
            show(common.json, &user, told)
        }
        Command::Rm { name, common } => remove(common, &path_of(name), name),
        Command::Suspend { name, common } => {
            change(common, name, &json!({ "status": "suspended" }))
        }
        Command::Resume { name, common } => change(common, name, &json!({ "status": "active" })),
        Command::Policy { name, policies, common, .. } => {
            change(common, name, &json!({ "policies": all(policies)? }))
        }
        Command::Key(KeyArguments { command: KeyCommand::Add { name, common } }) => {
            let client = Client::new(&common.node)?;
            let request = client.agent().post(client.url(&format!("{}/keys", path_of(name))));
            let made = client.checked(request.send_empty())?;
            let pair: PairAnswer = client.read_json(made)?;
            show(common.json, &pair, told_key)
        }
        Command::Key(KeyArguments { command: KeyCommand::Rm { name, access, common } }) => {
            remove(common, &format!("{}/keys/{}", path_of(name), encoded(access)), access)
        }
    }
}
