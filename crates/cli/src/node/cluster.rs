//! `slotcast cluster`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand};
use slotcast_lab::InputError;
use slotcast_node::cluster::change::Refused;
use slotcast_node::cluster::{ChangeError, ClusterMap, FileError, FoundMap, MapSource};
use slotcast_protocol::Membership;

use crate::failure::Outcome;
use crate::format::{align_right, table};
use crate::output::print;

/// Show and change the map of a cluster: nodes join, are drained, and leave
#[derive(Debug, Args)]
#[command(after_help = "\
Examples, with the map in etcd:
  export SLOTCAST_MAP=etcd://10.0.0.9:2379/slotcast/main
  slotcast cluster init cluster.toml                  write the first map
  slotcast cluster show                               its nodes and groups
  slotcast cluster join --address 10.0.0.4:7481 --targets 3
  slotcast cluster drain 1                            and wait until it may be stopped
  slotcast cluster remove 1                           when it is stopped
  slotcast cluster remove 1 --lost                    it burnt down

Running nodes take a new map from etcd at once. A map in a file is changed by the same commands, with
--map cluster.toml; then copy it to all hosts, and send SIGHUP to their nodes.
See docs/operate/cluster.md.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Init(Init),
    Show(Show),
    Join(Join),
    Drain(Drain),
    Stay(Stay),
    Remove(Remove),
}

#[derive(Debug, Args)]
struct MapOption {
    /// Where the map is: etcd://ADDRESS:PORT,.../KEY, with TLS etcds://...?ca=FILE&cert=FILE&key=FILE, or a file
    #[arg(long, value_name = "MAP", env = "SLOTCAST_MAP")]
    map: String,
}

/// Write the first map of a cluster, where there is none
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  slotcast cluster init cluster.toml --map etcd://10.0.0.9:2379,10.0.0.10:2379/slotcast/main")]
struct Init {
    /// The map, as docs/operate/cluster.md says
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    map: MapOption,
}

/// Show the nodes of a cluster, and who sits in which group
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast cluster show --map etcd://10.0.0.9:2379/slotcast/main
  slotcast cluster show --map cluster.toml --toml")]
struct Show {
    /// As the text that is kept
    #[arg(long)]
    toml: bool,

    #[command(flatten)]
    map: MapOption,
}

/// Add a node; nothing has to move for it
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  slotcast cluster join --map etcd://10.0.0.9:2379/slotcast/main --address 10.0.0.4:7481 --targets 3

It prints what to write into node.toml of the new node. When that runs and hears the others, it becomes
active by itself.")]
struct Join {
    /// Where the others reach it by UDP
    #[arg(long, value_name = "ADDRESS:PORT")]
    address: SocketAddr,

    /// Number of its targets: one for each disk
    #[arg(long, value_name = "N")]
    targets: usize,

    #[command(flatten)]
    map: MapOption,
}

/// Let a node give all that it holds to the others, so that it can be stopped for good
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  slotcast cluster drain 1 --map etcd://10.0.0.9:2379/slotcast/main

The node takes no more chunks, is read from until it is done, and removes nothing. How far it is is shown
by `slotcast status` there. Ctrl-C ends only the waiting.")]
struct Drain {
    /// Its number
    #[arg(value_name = "NODE")]
    node: u32,

    /// Do not wait until it is drained
    #[arg(long)]
    no_wait: bool,

    #[command(flatten)]
    map: MapOption,
}

/// Let a node that is being drained, or was, take part again
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  slotcast cluster stay 1 --map etcd://10.0.0.9:2379/slotcast/main")]
struct Stay {
    /// Its number
    #[arg(value_name = "NODE")]
    node: u32,

    #[command(flatten)]
    map: MapOption,
}

/// Take a node out of the map: one that is drained, or is lost
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast cluster remove 1 --map etcd://10.0.0.9:2379/slotcast/main
  slotcast cluster remove 1 --map etcd://10.0.0.9:2379/slotcast/main --lost")]
struct Remove {
    /// Its number
    #[arg(value_name = "NODE")]
    node: u32,

    /// It is gone for good with all that it held; the others make up for it from their replicas
    #[arg(long)]
    lost: bool,

    /// Its status says that it may be stopped; where the map is a file, nobody else can tell
    #[arg(long, conflicts_with = "lost")]
    drained: bool,

    #[command(flatten)]
    map: MapOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.action {
        Action::Init(arguments) => init(arguments),
        Action::Show(arguments) => show(arguments),
        Action::Join(arguments) => join(arguments),
        Action::Drain(arguments) => drain(arguments),
        Action::Stay(Stay { node, map }) => {
            let source = map.source()?;
            let (map, ()) = change(&source, |map| Ok((map.with_active(*node)?, ())))?;
            told(&source, &map, &format!("node {node} is active"), "")
        }
        Action::Remove(arguments) => remove(arguments),
    }
}

/// What is wrong with a file or a map, as every command shows it.
#[expect(clippy::boxed_local, reason = "errors are passed on in boxes")]
pub(crate) fn wrong_file(error: Box<FileError>) -> Box<InputError> {
    let FileError { file, text, span, message, help } = *error;
    let error = match span {
        Some(span) => InputError::in_file(&file, &text, span, message),
        None => InputError::plain(format!("`{file}` {message}")),
    };
    error.with_help(help)
}

impl MapOption {
    fn source(&self) -> Result<MapSource, Box<InputError>> {
        MapSource::parse(&self.map, Path::new("")).map_err(|error| {
            let help = "write it as etcd://10.0.0.9:2379/slotcast/NAME, or name a file";
            InputError::plain(format!("--map {} {error}", self.map)).with_help(Some(help.into()))
        })
    }
}

/// Changes the map by `by`; gives the new one, and what `by` gave with it.
fn change<T: Default>(
    source: &MapSource,
    by: impl Fn(&ClusterMap) -> Result<(ClusterMap, T), Refused>,
) -> Result<(ClusterMap, T), Box<InputError>> {
    change_unless(source, |_| false, by)
}

/// The same, but not where it is so already.
fn change_unless<T: Default>(
    source: &MapSource,
    is_so: impl Fn(&ClusterMap) -> bool,
    by: impl Fn(&ClusterMap) -> Result<(ClusterMap, T), Refused>,
) -> Result<(ClusterMap, T), Box<InputError>> {
    source.change(is_so, by).map_err(|error| match error {
        ChangeError::File(error) => wrong_file(error),
        ChangeError::Refused(Refused { message, help }) => {
            InputError::plain(format!("{source}: {message}")).with_help(Some(help))
        }
        ChangeError::Contended => {
            let help = "see who does with `slotcast cluster show`, and try again";
            InputError::plain(format!("{source}: somebody else changes it all the time"))
                .with_help(Some(help.into()))
        }
    })
}

/// Says what was changed, and what is left to do.
fn told(source: &MapSource, map: &ClusterMap, what: &str, next: &str) -> Outcome {
    let spread = match source {
        MapSource::Etcd(_) => "",
        MapSource::File(_) => "Copy the file to all hosts, and send SIGHUP to their nodes.\n",
    };
    print(&format!("{what}, in epoch {}\n{spread}{next}", map.epoch))?;
    Ok(ExitCode::SUCCESS)
}

fn init(Init { file, map }: &Init) -> Outcome {
    let source = map.source()?;
    let FoundMap { text, map, .. } = MapSource::File(file.clone()).load().map_err(wrong_file)?;
    if !source.replace(None, &text).map_err(wrong_file)? {
        let help = format!("`slotcast cluster show --map {source}` shows it");
        let error = InputError::plain(format!("{source}: there is a cluster map already"));
        return Err(error.with_help(Some(help)).into());
    }
    let next = format!("Write this into node.toml of every node:\n\n  cluster = \"{source}\"\n");
    told(&source, &map, &format!("{} nodes", map.nodes.len()), &next)
}

fn show(Show { toml, map }: &Show) -> Outcome {
    let source = map.source()?;
    let FoundMap { text, map, .. } = source.load().map_err(wrong_file)?;
    if *toml {
        print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = table(&["node", "state", "targets", "groups", "address"]);
    let groups = map.groups().map_err(|error| InputError::plain(error.to_string()))?;
    for node in &map.nodes {
        let list = |numbers: Vec<u32>| {
            let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
            numbers.join(", ")
        };
        let of_node = |target| groups.find(target).map(|(group, _)| group.0);
        table.add_row([
            node.number.to_string(),
            node.state().to_owned(),
            list(node.targets.iter().map(|target| target.0).collect()),
            list(node.targets.iter().filter_map(|target| of_node(*target)).collect()),
            node.address.to_string(),
        ]);
    }
    align_right(&mut table, 0);
    print(&format!(
        "epoch {}, {} replicas, {} groups\n{table}\n",
        map.epoch,
        map.replicas,
        groups.groups()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn join(Join { address, targets, map }: &Join) -> Outcome {
    let source = map.source()?;
    // With a file nobody could say that it has come.
    let membership = match &source {
        MapSource::Etcd(_) => Membership::Joining,
        MapSource::File(_) => Membership::Active,
    };
    let (map, number) = change(&source, |map| {
        map.with_node(*address, *targets, membership).map(|(map, node)| (map, node.number))
    })?;
    let Some(node) = map.node(number) else {
        return Err(InputError::plain(format!("{source}: node {number} is not there")).into());
    };
    let mut next = format!(
        "Write this into its node.toml, with a folder on each of its disks, and start it:\n\n\
         \x20 node = {}\n  cluster = \"{source}\"\n  key = \"cluster.key\"\n",
        node.number
    );
    for target in &node.targets {
        let number = target.0;
        next.push_str(&format!(
            "\n  [[target]]\n  number = {number}\n  folder = \"/mnt/disk{number}\"\n"
        ));
    }
    told(&source, &map, &format!("node {} is {}", node.number, node.state()), &next)
}

fn drain(Drain { node, no_wait, map }: &Drain) -> Outcome {
    let source = map.source()?;
    // Called again it goes on waiting.
    let (map, ()) = change_unless(
        &source,
        |map| map.node(*node).is_some_and(|node| node.membership.is_draining()),
        |map| Ok((map.with_draining(*node)?, ())),
    )?;
    let next = match (&source, no_wait) {
        (MapSource::File(_), _) => format!(
            "When `slotcast status` there says that it may be stopped:\n\n\
             \x20 slotcast cluster remove {node} --drained --map {source}\n"
        ),
        (MapSource::Etcd(_), true) => {
            "`slotcast status` there, and `slotcast cluster show`, say when it may be stopped\n"
                .into()
        }
        (MapSource::Etcd(_), false) => {
            "Waiting until it is drained; Ctrl-C ends only the waiting\n".into()
        }
    };
    let state = map.node(*node).map_or("", |node| node.state());
    told(&source, &map, &format!("node {node} is {state}"), &next)?;
    if *no_wait || matches!(source, MapSource::File(_)) {
        return Ok(ExitCode::SUCCESS);
    }
    let epoch = map.epoch;
    loop {
        thread::sleep(Duration::from_millis(500));
        // An etcd that is away for a while comes back.
        let Ok(found) = source.load() else { continue };
        match found.map.node(*node).map(|node| node.membership) {
            Some(Membership::Draining) => {}
            Some(Membership::Drained) => {
                let next =
                    format!("Stop it, and then: slotcast cluster remove {node} --map {source}\n");
                return told(&source, &found.map, &format!("node {node} is drained"), &next);
            }
            _ => {
                let message = format!(
                    "node {node} is not draining any more: somebody has changed the map since epoch {epoch}"
                );
                return Err(InputError::plain(message).into());
            }
        }
    }
}

fn remove(Remove { node, lost, drained, map }: &Remove) -> Outcome {
    let source = map.source()?;
    if *drained && matches!(source, MapSource::Etcd(_)) {
        let message = "--drained: with etcd a node says so in the map itself";
        let help = format!("`slotcast cluster drain {node}` waits until it has");
        return Err(InputError::plain(message).with_help(Some(help)).into());
    }
    let (map, ()) = change(&source, |map| {
        let is_draining = |map: &ClusterMap| {
            map.node(*node).is_some_and(|node| node.membership == Membership::Draining)
        };
        let map = match *drained && is_draining(map) {
            true => map.with_drained(*node)?,
            false => map.clone(),
        };
        Ok((map.without_node(*node, *lost)?, ()))
    })?;
    told(&source, &map, &format!("node {node} is out of the cluster"), "")
}
