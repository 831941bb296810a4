//! Files and folders, and what a power failure leaves of them. Pure: no clock, no IO, no randomness of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use slotcast_random::Stream;

use crate::file::Content;

/// Number of a file or folder.
pub(crate) type Inode = u64;

/// The folder that is mounted.
pub(crate) const ROOT: Inode = 1;

/// Why an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// `EIO`: the device failed.
    #[error("the device failed")]
    Io,
    /// `EROFS`: the file system is read-only.
    #[error("the file system is read-only")]
    ReadOnly,
    /// `ENOSPC`: no room is left.
    #[error("no room is left")]
    NoSpace,
    /// `EMFILE`: too many files are open.
    #[error("too many files are open")]
    TooManyFiles,
    /// `ENOENT`.
    #[error("there is no such file or folder")]
    NotFound,
    /// `EEXIST`.
    #[error("there is such a file or folder already")]
    Exists,
    /// `ENOTDIR`.
    #[error("it is not a folder")]
    NotAFolder,
    /// `EISDIR`.
    #[error("it is a folder")]
    IsAFolder,
    /// `ENOTEMPTY`.
    #[error("the folder is not empty")]
    NotEmpty,
    /// `EINVAL`.
    #[error("it cannot be done so")]
    Invalid,
}

/// What a file or folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) inode: Inode,
    pub(crate) is_folder: bool,
    /// Bytes; 0 of a folder.
    pub(crate) length: u64,
}

/// What a power failure has cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Loss {
    /// Sectors of 512 bytes that do not hold what was written last, of files that are still there.
    pub sectors: u64,
    /// Creations, renames and deletions that have not happened.
    pub changes: u64,
}

#[derive(Debug)]
enum Kind {
    File(Content),
    Folder { current: BTreeMap<OsString, Inode>, stable: BTreeMap<OsString, Inode> },
}

#[derive(Debug)]
struct Node {
    kind: Kind,
    /// The folder and the name that it was last given.
    place: (Inode, OsString),
    /// How often it is open.
    opens: u64,
}

/// A creation, a rename or a deletion that was not flushed: what names stand for after it.
#[derive(Debug)]
struct Change(Vec<(Inode, OsString, Option<Inode>)>);

/// A file system.
#[derive(Debug)]
pub(crate) struct Volume {
    nodes: BTreeMap<Inode, Node>,
    next: Inode,
    /// Oldest first.
    changes: Vec<Change>,
}

fn empty_folder(place: (Inode, OsString)) -> Node {
    Node {
        kind: Kind::Folder { current: BTreeMap::new(), stable: BTreeMap::new() },
        place,
        opens: 0,
    }
}

impl Volume {
    /// An empty one.
    pub(crate) fn new() -> Volume {
        let root = empty_folder((ROOT, OsString::new()));
        Volume { nodes: BTreeMap::from([(ROOT, root)]), next: ROOT + 1, changes: Vec::new() }
    }

    /// Where `inode` is, or was last, below the root.
    pub(crate) fn path(&self, inode: Inode) -> PathBuf {
        let mut names = Vec::new();
        let mut at = inode;
        while at != ROOT
            && let Some(Node { place: (parent, name), .. }) = self.nodes.get(&at)
        {
            names.push(name.as_os_str());
            at = *parent;
        }
        names.into_iter().rev().collect()
    }

    fn node(&self, inode: Inode) -> Result<&Node, Error> {
        self.nodes.get(&inode).ok_or(Error::NotFound)
    }

    fn content(&mut self, inode: Inode) -> Result<&mut Content, Error> {
        match &mut self.nodes.get_mut(&inode).ok_or(Error::NotFound)?.kind {
            Kind::File(content) => Ok(content),
            Kind::Folder { .. } => Err(Error::IsAFolder),
        }
    }

    fn entries(&self, folder: Inode) -> Result<&BTreeMap<OsString, Inode>, Error> {
        match &self.node(folder)?.kind {
            Kind::Folder { current, .. } => Ok(current),
            Kind::File(_) => Err(Error::NotAFolder),
        }
    }

    /// What `inode` is.
    pub(crate) fn attributes(&self, inode: Inode) -> Result<Attributes, Error> {
        let (is_folder, length) = match &self.node(inode)?.kind {
            Kind::File(content) => (false, content.length()),
            Kind::Folder { .. } => (true, 0),
        };
        Ok(Attributes { inode, is_folder, length })
    }

    /// What has a name in a folder.
    pub(crate) fn look_up(&self, folder: Inode, name: &OsStr) -> Result<Attributes, Error> {
        self.attributes(*self.entries(folder)?.get(name).ok_or(Error::NotFound)?)
    }

    /// What is in a folder.
    pub(crate) fn list(&self, folder: Inode) -> Result<Vec<(Attributes, OsString)>, Error> {
        let entries = self.entries(folder)?.iter();
        entries.map(|(name, inode)| Ok((self.attributes(*inode)?, name.clone()))).collect()
    }

    /// Bytes of a file, as [`Content::read`].
    pub(crate) fn read(&mut self, file: Inode, offset: u64, size: usize) -> Result<Vec<u8>, Error> {
        Ok(self.content(file)?.read(offset, size))
    }

    /// Writes to a file.
    pub(crate) fn write(&mut self, file: Inode, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.content(file)?.write(offset, bytes);
        Ok(())
    }

    /// Cuts a file off, or adds zeros.
    pub(crate) fn resize(&mut self, file: Inode, length: u64) -> Result<(), Error> {
        self.content(file)?.resize(length);
        Ok(())
    }

    /// Makes a file `length` bytes long at least.
    pub(crate) fn reserve(&mut self, file: Inode, length: u64) -> Result<(), Error> {
        self.content(file)?.reserve(length);
        Ok(())
    }

    /// Puts the content of a file on stable storage, its name not.
    pub(crate) fn flush(&mut self, file: Inode) -> Result<(), Error> {
        self.content(file)?.flush();
        Ok(())
    }

    /// Counts a use of `inode`: while it is in use it stays, whatever becomes of its name.
    pub(crate) fn open(&mut self, inode: Inode) -> Result<(), Error> {
        self.nodes.get_mut(&inode).ok_or(Error::NotFound)?.opens += 1;
        Ok(())
    }

    /// Ends a use.
    pub(crate) fn close(&mut self, inode: Inode) {
        if let Some(node) = self.nodes.get_mut(&inode) {
            node.opens = node.opens.saturating_sub(1);
        }
        self.collect();
    }

    /// Makes a file that is empty.
    pub(crate) fn create(&mut self, folder: Inode, name: &OsStr) -> Result<Attributes, Error> {
        let place = (folder, name.to_owned());
        self.add(Node { kind: Kind::File(Content::default()), place, opens: 0 })
    }

    /// Makes a folder that is empty.
    pub(crate) fn make_folder(&mut self, folder: Inode, name: &OsStr) -> Result<Attributes, Error> {
        self.add(empty_folder((folder, name.to_owned())))
    }

    fn add(&mut self, node: Node) -> Result<Attributes, Error> {
        let (folder, name) = node.place.clone();
        if self.entries(folder)?.contains_key(&name) {
            return Err(Error::Exists);
        }
        let inode = self.next;
        self.next += 1;
        self.nodes.insert(inode, node);
        self.change(vec![(folder, name, Some(inode))]);
        self.attributes(inode)
    }

    /// Takes a file or, if `is_folder`, an empty folder away.
    pub(crate) fn remove(
        &mut self,
        folder: Inode,
        name: &OsStr,
        is_folder: bool,
    ) -> Result<(), Error> {
        let found = self.look_up(folder, name)?;
        match (found.is_folder, is_folder) {
            (true, false) => return Err(Error::IsAFolder),
            (false, true) => return Err(Error::NotAFolder),
            (true, true) if !self.entries(found.inode)?.is_empty() => return Err(Error::NotEmpty),
            _ => {}
        }
        self.change(vec![(folder, name.to_owned(), None)]);
        self.collect();
        Ok(())
    }

    /// Gives a file or folder another name. A file that has it is replaced, a folder not.
    pub(crate) fn rename(
        &mut self,
        (folder, name): (Inode, &OsStr),
        (new_folder, new_name): (Inode, &OsStr),
    ) -> Result<(), Error> {
        let inode = self.look_up(folder, name)?.inode;
        match self.look_up(new_folder, new_name) {
            Ok(there) if there.inode == inode => return Ok(()),
            Ok(there) if there.is_folder => return Err(Error::Exists),
            Ok(_) | Err(Error::NotFound) => {}
            Err(error) => return Err(error),
        }
        let place = (new_folder, new_name.to_owned());
        self.nodes.get_mut(&inode).ok_or(Error::NotFound)?.place = place;
        self.change(vec![
            (folder, name.to_owned(), None),
            (new_folder, new_name.to_owned(), Some(inode)),
        ]);
        self.collect();
        Ok(())
    }

    fn change(&mut self, parts: Vec<(Inode, OsString, Option<Inode>)>) {
        for (folder, name, inode) in &parts {
            if let Some(Node { kind: Kind::Folder { current, .. }, .. }) =
                self.nodes.get_mut(folder)
            {
                set(current, name, *inode);
            }
        }
        self.changes.push(Change(parts));
    }

    /// A file cannot have been renamed where it never was.
    fn can_settle(&self, Change(parts): &Change) -> bool {
        let [(folder, name, None), (.., Some(inode))] = &parts[..] else { return true };
        let node = self.nodes.get(folder).map(|node| &node.kind);
        matches!(node, Some(Kind::Folder { stable, .. }) if stable.get(name) == Some(inode))
    }

    fn settle(&mut self, Change(parts): Change) {
        for (folder, name, inode) in parts {
            if let Some(Node { kind: Kind::Folder { stable, .. }, .. }) =
                self.nodes.get_mut(&folder)
            {
                set(stable, &name, inode);
            }
        }
    }

    /// Puts the names in a folder on stable storage.
    pub(crate) fn flush_folder(&mut self, folder: Inode) -> Result<(), Error> {
        self.entries(folder)?;
        // What came before to the same names goes with it.
        let (mut here, mut elsewhere, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
        for change in std::mem::take(&mut self.changes).into_iter().rev() {
            let place = |(of, name, _): &(Inode, OsString, _)| (*of, name.clone());
            let places: Vec<_> = change.0.iter().map(place).collect();
            if places.iter().any(|place| place.0 == folder || names.contains(place)) {
                names.extend(places);
                here.push(change);
            } else {
                elsewhere.push(change);
            }
        }
        elsewhere.reverse();
        here.reverse();
        self.changes = elsewhere;
        here.into_iter().for_each(|change| self.settle(change));
        self.collect();
        Ok(())
    }

    /// The power fails: nothing is open any more, and of what was not flushed some is there.
    pub(crate) fn lose_power(&mut self, random: &mut Stream) -> Loss {
        let mut loss = Loss::default();
        let eighths = random.below(9);
        for change in std::mem::take(&mut self.changes) {
            match random.below(8) < eighths && self.can_settle(&change) {
                true => self.settle(change),
                false => loss.changes += 1,
            }
        }
        for node in self.nodes.values_mut() {
            node.opens = 0;
            if let Kind::Folder { current, stable } = &mut node.kind {
                current.clone_from(stable);
            }
        }
        self.collect();
        let mut places = Vec::new();
        for (inode, node) in &mut self.nodes {
            match &mut node.kind {
                Kind::File(content) => loss.sectors += content.lose_power(random),
                Kind::Folder { current, .. } => {
                    places.extend(current.iter().map(|(name, at)| (*at, (*inode, name.clone()))));
                }
            }
        }
        for (inode, place) in places {
            self.nodes.get_mut(&inode).into_iter().for_each(|node| node.place = place.clone());
        }
        loss
    }

    /// Changes one bit in one of the files whose paths are `chosen`, for good. Returns the file and the offset of the
    /// byte; none if there is no content.
    pub(crate) fn rot(
        &mut self,
        chosen: impl Fn(&Path) -> bool,
        random: &mut Stream,
    ) -> Option<(PathBuf, u64)> {
        let files = self.nodes.iter().filter(|(_, node)| matches!(node.kind, Kind::File(_)));
        let mut files: Vec<Inode> =
            files.map(|(inode, _)| *inode).filter(|inode| chosen(&self.path(*inode))).collect();
        while !files.is_empty() {
            let file = files.swap_remove(random.below(files.len() as u64) as usize);
            if let Some(at) = self.content(file).ok()?.rot(random) {
                return Some((self.path(file), at));
            }
        }
        None
    }

    /// Forgets what has no name, is not in use, and cannot come back after a power failure.
    fn collect(&mut self) {
        let mut reached: BTreeSet<Inode> = BTreeSet::new();
        let mut next: Vec<Inode> = vec![ROOT];
        next.extend(self.nodes.iter().filter(|(_, node)| node.opens > 0).map(|(inode, _)| *inode));
        for Change(parts) in &self.changes {
            next.extend(
                parts.iter().flat_map(|(folder, _, inode)| [Some(*folder), *inode]).flatten(),
            );
        }
        while let Some(inode) = next.pop() {
            let Some(Node { kind, place, .. }) = self.nodes.get(&inode) else { continue };
            if !reached.insert(inode) {
                continue;
            }
            // Its path goes through these.
            next.push(place.0);
            if let Kind::Folder { current, stable } = kind {
                next.extend(current.values().chain(stable.values()));
            }
        }
        self.nodes.retain(|inode, _| reached.contains(inode));
    }
}

fn set(entries: &mut BTreeMap<OsString, Inode>, name: &OsStr, inode: Option<Inode>) {
    match inode {
        Some(inode) => drop(entries.insert(name.to_owned(), inode)),
        None => drop(entries.remove(name)),
    }
}

#[cfg(test)]
mod tests;
