//! Reads `node.toml`, and what it names: the cluster map and the key.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use slotcast_member::ClusterMap;
use slotcast_protocol::TargetId;
use slotcast_units::{Rate, Size, Span};
use toml::Spanned;

use super::error::{Result, Source};
use super::key_file::{ClusterKeys, Encryption, KeysError};
use super::map_file::{map_text, read_map};
use super::map_source::MapSource;
use crate::label;
use crate::limits::{
    BODY_MEMORY, BODY_SIZES, CACHE_MEMORY, HEADER_SIZES, Limits, MIN_RATE, MIN_TIMEOUT,
};
use crate::whole_file::write_whole;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    node: Spanned<u32>,
    listen: Option<Spanned<String>>,
    http: Option<Spanned<String>>,
    cluster: Spanned<String>,
    key: Spanned<PathBuf>,
    encrypt: Option<Spanned<EncryptEntry>>,
    gone_after: Option<Spanned<String>>,
    disk_rate: Option<Spanned<String>>,
    link_rate: Option<Spanned<String>>,
    register: Option<PathBuf>,
    connections: Option<Spanned<NonZeroU32>>,
    idle_timeout: Option<Spanned<String>>,
    header_timeout: Option<Spanned<String>>,
    body_timeout: Option<Spanned<String>>,
    header_size: Option<Spanned<String>>,
    body_size: Option<Spanned<String>>,
    body_memory: Option<Spanned<String>>,
    waiting: Option<Spanned<u32>>,
    cache_memory: Option<Spanned<String>>,
    collect_every: Option<Spanned<String>>,
    lifecycle_day: Option<Spanned<String>>,
    target: Spanned<Vec<TargetEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TargetEntry {
    number: Spanned<u32>,
    folder: PathBuf,
}

/// Where a target of a node keeps its chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFolder {
    /// Its number.
    pub target: TargetId,
    /// Its folder.
    pub folder: PathBuf,
}

/// What one node of a cluster is told.
#[derive(Debug, Clone)]
pub struct NodeFile {
    /// What it is called.
    pub name: String,
    /// Its number.
    pub node: u32,
    /// Where it receives datagrams.
    pub listen: SocketAddr,
    /// Where it serves HTTP.
    pub http: SocketAddr,
    /// The cluster.
    pub map: ClusterMap,
    /// Where its map is kept.
    pub source: MapSource,
    /// Why the map is one that this node has had before, if it is.
    pub warning: Option<String>,
    /// What the nodes of the cluster know.
    pub keys: ClusterKeys,
    /// The file that has them, which is read again when it changes.
    pub key_file: PathBuf,
    /// Whether what it says to other nodes is encrypted.
    pub encryption: Encryption,
    /// How long another node may be silent before what it holds is replaced.
    pub gone_after: Span,
    /// How fast its disks may be, how fast it may send, and what its clients may take.
    pub limits: Limits,
    /// Its targets.
    pub targets: Vec<TargetFolder>,
    /// Where it keeps which target is in which folder.
    pub register: PathBuf,
}

/// Longer than a restart or an update takes: what comes back with its data needs no repair.
const GONE_AFTER: Span = Span::from_secs(600);

const HTTP: &str = "127.0.0.1:7480";

impl NodeFile {
    /// Reads the file at `path` and the files that it names; their paths are relative to its folder.
    ///
    /// # Errors
    /// If one of them cannot be read, says something that cannot be, or does not fit the others.
    pub fn read(path: &Path) -> Result<NodeFile> {
        let source = Source::open(path)?;
        let file: File = source.parse()?;
        let base = path.parent().unwrap_or(Path::new(""));
        let place = file.cluster.get_ref();
        let map_source = MapSource::parse(place, base).map_err(|error| {
            let message = format!("cluster = \"{place}\" {error}");
            let help = "write it as \"etcd://10.0.0.9:2379/slotcast/NAME\", or name a file";
            source.error(Some(file.cluster.span()), message, Some(help))
        })?;
        let folder = file.target.get_ref().first().map(|target| base.join(&target.folder));
        let (map, warning) = load_map(&map_source, folder.as_deref())?;
        let number = *file.node.get_ref();
        let Some(entry) = map.node(number) else {
            let message = format!("node = {number}: the cluster map has no such node");
            let help = match &map_source {
                MapSource::File(_) => format!("its nodes are in {place}"),
                MapSource::Etcd(_) => {
                    format!("`slotcast cluster join --map {place}` adds one, `show` shows all")
                }
            };
            return Err(source.error(Some(file.node.span()), message, Some(&help)));
        };
        let address = |key: &str, value: &Spanned<String>| {
            value.get_ref().parse::<SocketAddr>().map_err(|_| {
                let message =
                    format!("{key} = \"{}\" is not an address and a port", value.get_ref());
                source.error(Some(value.span()), message, Some("write it as \"10.0.0.1:7481\""))
            })
        };
        let listen = file.listen.as_ref().map_or(Ok(entry.address), |v| address("listen", v))?;
        let http = match &file.http {
            Some(value) => address("http", value)?,
            None => HTTP.parse().expect("an address"),
        };
        let gone_after = match &file.gone_after {
            None => GONE_AFTER,
            Some(value) => span(&source, "gone_after", value)?,
        };
        let limits = limits(&source, &file)?;
        let targets = target_folders(&source, &file, (number, &entry.targets), base)?;
        let key_file = base.join(file.key.get_ref());
        let keys = read_keys(&source, &key_file, &file.key)?;
        let encryption = encryption(&source, &file.encrypt)?;
        let register = file
            .register
            .map_or_else(|| path.with_extension("targets.toml"), |place| base.join(place));
        let name = file.name.unwrap_or_else(|| format!("node-{number}"));
        Ok(NodeFile {
            name,
            node: number,
            listen,
            http,
            map,
            source: map_source,
            warning,
            keys,
            key_file,
            encryption,
            gone_after,
            limits,
            targets,
            register,
        })
    }

    /// Keeps a copy of `map` beside the chunks of the first target, for a start without etcd. Nothing is written
    /// into a folder that does not hold this target.
    pub(crate) fn keep(&self, map: &ClusterMap) {
        if let (MapSource::Etcd(_), Some(target)) = (&self.source, self.targets.first())
            && label::holds(&target.folder, target.target)
        {
            // Without it the node starts only when etcd answers.
            let _ = write_whole(&copy_in(&target.folder), &map_text(map));
        }
    }
}

/// A folder for each target that the cluster map gives the node, and for no other.
fn target_folders(
    source: &Source,
    file: &File,
    (number, mapped): (u32, &[TargetId]),
    base: &Path,
) -> Result<Vec<TargetFolder>> {
    let place = file.cluster.get_ref();
    let mut left: BTreeSet<TargetId> = mapped.iter().copied().collect();
    let mut targets = Vec::new();
    for TargetEntry { number: target, folder } in file.target.get_ref() {
        let id = TargetId(*target.get_ref());
        if !left.remove(&id) {
            let message = format!(
                "number = {}: it is no target of node {number} in the cluster map, or is listed twice",
                id.0
            );
            let help = format!("see the targets of node {number} in {place}");
            return Err(source.error(Some(target.span()), message, Some(&help)));
        }
        targets.push(TargetFolder { target: id, folder: base.join(folder) });
    }
    if let Some(missing) = left.first() {
        let message = format!(
            "target: the cluster map gives node {number} a target {}, and no folder is named for it",
            missing.0
        );
        let help = format!("add [[target]] with number = {} and its folder", missing.0);
        return Err(source.error(Some(file.target.span()), message, Some(&help)));
    }
    targets.sort_by_key(|target| target.target);
    Ok(targets)
}

fn span(source: &Source, key: &str, value: &Spanned<String>) -> Result<Span> {
    value.get_ref().parse::<Span>().map_err(|error| {
        let message = format!("{key} = \"{}\": {error}", value.get_ref());
        source.error(Some(value.span()), message, Some("write it as \"10min\" or \"30s\""))
    })
}

fn timeout(source: &Source, key: &str, value: &Option<Spanned<String>>) -> Result<Option<Span>> {
    let Some(value) = value else { return Ok(None) };
    let timeout = span(source, key, value)?;
    if timeout >= MIN_TIMEOUT {
        return Ok(Some(timeout));
    }
    let message = format!("{key} = \"{}\" is too short", value.get_ref());
    Err(source.error(Some(value.span()), message, Some("at least 1s")))
}

fn rate(source: &Source, key: &str, value: &Option<Spanned<String>>) -> Result<Option<Rate>> {
    let Some(value) = value else { return Ok(None) };
    match value.get_ref().parse::<Rate>() {
        Ok(rate) if rate >= MIN_RATE => Ok(Some(rate)),
        Ok(_) => {
            let message = format!("{key} = \"{}\" is too slow", value.get_ref());
            Err(source.error(Some(value.span()), message, Some("at least 1Mbps")))
        }
        Err(error) => {
            let message = format!("{key} = \"{}\": {error}", value.get_ref());
            let help = "write it as \"400MB/s\" or \"10Gbps\"";
            Err(source.error(Some(value.span()), message, Some(help)))
        }
    }
}

fn size(
    source: &Source,
    key: &str,
    value: &Option<Spanned<String>>,
    allowed: RangeInclusive<Size>,
) -> Result<Option<Size>> {
    let Some(value) = value else { return Ok(None) };
    match value.get_ref().parse::<Size>() {
        Ok(size) if allowed.contains(&size) => Ok(Some(size)),
        Ok(_) => {
            let (least, most) = allowed.into_inner();
            let message = format!("{key} = \"{}\" is not possible", value.get_ref());
            let help = format!("from {least} to {most}");
            Err(source.error(Some(value.span()), message, Some(&help)))
        }
        Err(error) => {
            let message = format!("{key} = \"{}\": {error}", value.get_ref());
            Err(source.error(Some(value.span()), message, Some("write it as \"256MiB\"")))
        }
    }
}

fn limits(source: &Source, file: &File) -> Result<Limits> {
    let timeout = |key: &str, value: &Option<Spanned<String>>| timeout(source, key, value);
    Ok(Limits {
        disk_rate: rate(source, "disk_rate", &file.disk_rate)?,
        link_rate: rate(source, "link_rate", &file.link_rate)?,
        connections: file.connections.as_ref().map(|n| n.get_ref().get()),
        idle_timeout: timeout("idle_timeout", &file.idle_timeout)?,
        header_timeout: timeout("header_timeout", &file.header_timeout)?,
        body_timeout: timeout("body_timeout", &file.body_timeout)?,
        header_size: size(source, "header_size", &file.header_size, HEADER_SIZES)?,
        body_size: size(source, "body_size", &file.body_size, BODY_SIZES)?,
        body_memory: size(source, "body_memory", &file.body_memory, BODY_MEMORY)?,
        waiting: file.waiting.as_ref().map(|n| *n.get_ref()),
        cache_memory: size(source, "cache_memory", &file.cache_memory, CACHE_MEMORY)?,
        collect_every: timeout("collect_every", &file.collect_every)?,
        lifecycle_day: timeout("lifecycle_day", &file.lifecycle_day)?,
    })
}

fn copy_in(folder: &Path) -> PathBuf {
    folder.join("cluster.toml")
}

/// The map, or if etcd does not answer or has an older one, the last one that this node had.
fn load_map(source: &MapSource, folder: Option<&Path>) -> Result<(ClusterMap, Option<String>)> {
    let found = source.load();
    let copy =
        folder.map(copy_in).filter(|path| matches!(source, MapSource::Etcd(_)) && path.exists());
    let Some(copy) = copy else { return Ok((found?.map, None)) };
    let copy = match (read_map(&copy), &found) {
        (Ok(copy), _) => copy,
        (Err(_), Ok(found)) => return Ok((found.map.clone(), None)),
        (Err(error), Err(_)) => return Err(error),
    };
    let problem = match found {
        Ok(found) => {
            let Err(fault) = found.map.may_begin_after(&copy) else { return Ok((found.map, None)) };
            format!("{source}: {fault}")
        }
        Err(error) => error.to_string(),
    };
    let epoch = copy.epoch;
    Ok((
        copy,
        Some(format!("{problem}; the map of epoch {epoch}, which this node had last, is used")),
    ))
}

/// The keys in the file at `path`.
fn read_keys(source: &Source, path: &Path, key: &Spanned<PathBuf>) -> Result<ClusterKeys> {
    ClusterKeys::read(path).map_err(|error| {
        let place = key.get_ref().display();
        let (what, help) = match &error {
            KeysError::Open { who, .. } => {
                let help =
                    format!("`chmod 600 {}`; whoever has read it can be a node", path.display());
                (format!("{who} can read it, or write it"), help)
            }
            error => {
                let help = "`slotcast key` prints a new one; all nodes of a cluster have the same";
                (error.to_string(), help.to_owned())
            }
        };
        source.error(Some(key.span()), format!("key = \"{place}\": {what}"), Some(&help))
    })
}

/// What `encrypt` says.
#[derive(Deserialize)]
#[serde(untagged)]
enum EncryptEntry {
    Is(bool),
    Word(String),
}

fn encryption(source: &Source, entry: &Option<Spanned<EncryptEntry>>) -> Result<Encryption> {
    let Some(entry) = entry else { return Ok(Encryption::Off) };
    match entry.get_ref() {
        EncryptEntry::Is(false) => Ok(Encryption::Off),
        EncryptEntry::Is(true) => Ok(Encryption::Only),
        EncryptEntry::Word(word) if word == "sends" => Ok(Encryption::Sends),
        EncryptEntry::Word(word) => {
            let message = format!("encrypt = \"{word}\" means nothing");
            let help = "true: nothing else is believed; \"sends\": what is not encrypted is believed, too, until all nodes encrypt; false";
            Err(source.error(Some(entry.span()), message, Some(help)))
        }
    }
}
