//! `slotcast target`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;
use slotcast_lab::InputError;
use slotcast_node::cluster::NodeFile;
use slotcast_node::{
    FolderState, Limits, ListedTarget, NodeConfig, RegisterError, RegisteredTargets, folder_in,
    register_in, targets_in,
};
use slotcast_protocol::TargetId;

use super::serve::SEGMENT_SIZE;
use crate::failure::Outcome;
use crate::format::{align_right, table};
use crate::output::print;

/// Show which target is in which folder, and replace one whose disk is lost
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast target list --config node.toml
  slotcast target replace --config node.toml --target 4       its disk is lost
  slotcast target replace --data /mnt/disk --target 4         of `slotcast serve --data /mnt/disk`
  slotcast target accept-layout --config node.toml            its cluster map was laid out anew

A node takes a folder for a target only if the label in it says so, and the node's register says
the same: a disk that is not mounted, or is at the place of another one, is refused and left as it
is. Mount it where it belongs, and start the node anew. See docs/operate/node.md.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(List),
    Replace(Replace),
    AcceptLayout(AcceptLayout),
}

#[derive(Debug, Args)]
struct NodeTargets {
    /// The file of a node of a cluster, as of `slotcast serve --config`
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    config: Option<PathBuf>,

    /// The folder of a store in one process, as of `slotcast serve --data`
    #[arg(long, value_name = "FOLDER", default_value = super::serve::DATA)]
    data: PathBuf,
}

/// Show the targets of a node, and what is in their folders
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast target list --config node.toml
  slotcast target list --data /mnt/disk --json

It reads the folders and changes nothing; the node may run or not. States:
  fits          the folder holds the target
  new           it is empty and was never used: the next start formats it
  refused       it holds something else, or nothing: below the table is what and why
  unreadable    the system does not let it be read")]
struct List {
    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    node: NodeTargets,
}

/// Give a target up with all that its disk held, and begin anew in an empty folder
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast target replace --config node.toml --target 4
  slotcast target replace --data /mnt/disk --target 4

Stop the node, mount the new disk at the folder of the target, and start the node afterwards: it
formats the folder, and the target is a new incarnation. The other targets bring back what it held,
if they have replicas of it. Nothing is deleted by this command: a folder that holds anything has to
be emptied first. If the old disk is only not mounted, mount it instead: then nothing is lost.")]
struct Replace {
    /// Its number
    #[arg(long, value_name = "N")]
    target: u32,

    /// Also if its folder holds it in good order: all that is on its disk is given up
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    node: NodeTargets,
}

/// Let the next start of a node use its targets with another layout than before
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  slotcast target accept-layout --config node.toml

A node does not start with a cluster map that places chunks otherwise than the one that it had last:
it would look for them where they are not. A change by `slotcast cluster`, or by hand with a later
epoch and as many groups, needs no such word. After this one the node takes whatever the map says,
and chunks that are in the wrong places are not found until they are put again.")]
struct AcceptLayout {
    /// The file of the node, as of `slotcast serve --config`
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.action {
        Action::List(arguments) => list(arguments),
        Action::Replace(arguments) => replace(arguments),
        Action::AcceptLayout(arguments) => accept_layout(arguments),
    }
}

/// What is wrong with a register, as every command shows it.
pub(super) fn wrong_register(RegisterError { message, help }: &RegisterError) -> Box<InputError> {
    InputError::plain(message.clone()).with_help(Some(help.clone()))
}

/// The store in one process under `data`, with as many targets as it has, or as are told if it is new.
pub(super) fn store_in(
    data: &Path,
    targets: Option<u32>,
    replicas: u8,
    limits: Limits,
) -> Result<NodeConfig, Box<InputError>> {
    let found = targets_in(data, targets).map_err(|error| wrong_register(&error))?;
    let targets = found.or(targets).unwrap_or(9);
    Ok(NodeConfig {
        folders: (0..targets).map(|number| folder_in(data, number)).collect(),
        register: Some(register_in(data)),
        group_size: targets.min(9),
        replicas,
        segment_size: SEGMENT_SIZE,
        limits,
    })
}

impl NodeTargets {
    fn read(&self) -> Result<RegisteredTargets, Box<InputError>> {
        let no_layout =
            |error: slotcast_protocol::LayoutError| InputError::plain(error.to_string());
        if let Some(path) = &self.config {
            let file = NodeFile::read(path).map_err(super::cluster::wrong_file)?;
            return file.registered_targets().map_err(no_layout);
        }
        let data = &self.data;
        if targets_in(data, None).map_err(|error| wrong_register(&error))?.is_none() {
            let message = format!("there is no store under `{}`", data.display());
            let help = "name its folder with --data, or the file of its node with --config";
            return Err(InputError::plain(message).with_help(Some(help.into())));
        }
        let config = store_in(data, None, 1, Limits::default())?;
        let targets = config.registered_targets().map_err(no_layout)?;
        targets.ok_or_else(|| InputError::plain("it has no register"))
    }

    /// The option that names the node.
    fn option(&self) -> String {
        match &self.config {
            Some(path) => format!("--config {}", path.display()),
            None => format!("--data {}", self.data.display()),
        }
    }
}

/// A target as JSON shows it.
#[derive(Debug, Serialize)]
struct Shown {
    target: u32,
    folder: String,
    state: &'static str,
    incarnation: u32,
    cluster: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Shown {
    fn new(cluster: String, listed: ListedTarget) -> Shown {
        let ListedTarget { target, folder, incarnation, state, refusal, error } = listed;
        let (found, expected, remedy) = match refusal {
            Some(refusal) => (Some(refusal.found), Some(refusal.expected), Some(refusal.remedy)),
            None => (error.map(|error| error.to_string()), None, None),
        };
        let state = match state {
            FolderState::Fits => "fits",
            FolderState::New => "new",
            FolderState::Refused => "refused",
            FolderState::Unreadable => "unreadable",
        };
        let (target, folder) = (target.0, folder.display().to_string());
        Shown { target, folder, state, incarnation, cluster, found, expected, remedy }
    }
}

fn list(List { json, node }: &List) -> Outcome {
    let (cluster, targets) = node.read()?.list().map_err(|error| wrong_register(&error))?;
    let shown = |listed| Shown::new(cluster.to_string(), listed);
    let targets: Vec<Shown> = targets.into_iter().map(shown).collect();
    if *json {
        let text = serde_json::to_string_pretty(&targets).unwrap_or_default();
        print(&format!("{text}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = table(&["target", "state", "incarnation", "folder"]);
    for target in &targets {
        table.add_row([
            target.target.to_string(),
            target.state.to_owned(),
            target.incarnation.to_string(),
            target.folder.clone(),
        ]);
    }
    align_right(&mut table, 0);
    for column in [1, 3] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
    }
    print(&format!("cluster {cluster}\n{table}\n"))?;
    for target in targets {
        let Some(found) = target.found else { continue };
        let more = [target.expected.map(|text| format!("expected {text}")), target.remedy];
        let more: String = more.into_iter().flatten().map(|line| format!("  {line}\n")).collect();
        print(&format!("\ntarget {}: {found}\n{more}", target.target))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn replace(Replace { target, force, node }: &Replace) -> Outcome {
    let targets = node.read()?;
    let number = TargetId(*target);
    let incarnation = targets.replace(number, *force).map_err(|error| wrong_register(&error))?;
    let folder = targets.targets.iter().find(|placed| placed.target == number);
    let folder = folder.map(|placed| placed.folder.display().to_string()).unwrap_or_default();
    print(&format!(
        "target {target} begins anew, as incarnation {incarnation}, in {folder}\n\
         Make sure that its disk is mounted there, and empty; then start the node:\n\n\
         \x20 slotcast serve {}\n",
        node.option()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn accept_layout(AcceptLayout { config }: &AcceptLayout) -> Outcome {
    let node = NodeTargets { config: Some(config.clone()), data: PathBuf::new() };
    let layout = node.read()?.accept_layout().map_err(|error| wrong_register(&error))?;
    print(&format!(
        "the next start takes the layout of the cluster map, {} of epoch {} at present:\n\n\
         \x20 slotcast serve {}\n",
        layout.digest,
        layout.epoch,
        node.option()
    ))?;
    Ok(ExitCode::SUCCESS)
}
