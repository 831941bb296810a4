//! Turns requests of the kernel into operations of a [`Volume`](crate::volume::Volume), and results into answers.
//! Decides nothing.
#![allow(
    clippy::disallowed_types,
    reason = "the kernel's requests have times, which nobody looks at"
)]

use std::ffi::OsStr;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{FallocateFlags, OFlags};

use crate::disk::{self, Grant, Shared, Turn};
use crate::faults::Operation;
use crate::file::SECTOR;
use crate::volume::{Attributes, Error};

/// Nothing is cached by the kernel: what the next power failure changes it must ask for anew.
const TTL: Duration = Duration::ZERO;

/// Room that is said to be free, in blocks of 4096 bytes: 1 TiB.
const BLOCKS: u64 = 1 << 28;

/// What the kernel calls.
pub(crate) struct Glue {
    shared: Shared,
}

fn errno(error: Error) -> Errno {
    match error {
        Error::Io => Errno::EIO,
        Error::ReadOnly => Errno::EROFS,
        Error::NoSpace => Errno::ENOSPC,
        Error::TooManyFiles => Errno::EMFILE,
        Error::NotFound => Errno::ENOENT,
        Error::Exists => Errno::EEXIST,
        Error::NotAFolder => Errno::ENOTDIR,
        Error::IsAFolder => Errno::EISDIR,
        Error::NotEmpty => Errno::ENOTEMPTY,
        Error::Invalid => Errno::EINVAL,
    }
}

fn kind(is_folder: bool) -> FileType {
    if is_folder { FileType::Directory } else { FileType::RegularFile }
}

fn attr(Attributes { inode, is_folder, length }: Attributes) -> FileAttr {
    let time = SystemTime::UNIX_EPOCH;
    FileAttr {
        ino: INodeNo(inode),
        size: length,
        blocks: length.div_ceil(SECTOR as u64),
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind: kind(is_folder),
        perm: if is_folder { 0o755 } else { 0o644 },
        nlink: if is_folder { 2 } else { 1 },
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

fn answer_empty(reply: ReplyEmpty, result: Result<(), Error>) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

fn answer_entry(reply: ReplyEntry, result: Result<Attributes, Error>) {
    match result {
        Ok(found) => reply.entry(&TTL, &attr(found), Generation(0)),
        Err(error) => reply.error(errno(error)),
    }
}

impl Glue {
    pub(crate) fn new(shared: Shared) -> Glue {
        Glue { shared }
    }

    fn ask(
        &self,
        operation: Operation,
        inode: INodeNo,
        task: impl FnOnce(Turn<'_>) + Send + 'static,
    ) {
        let task = Box::new(task);
        let request = disk::Request { operation, inode: inode.0, name: None, task };
        self.shared.lock().handle(request);
    }

    fn ask_of_name(
        &self,
        operation: Operation,
        (folder, name): (INodeNo, &OsStr),
        task: impl FnOnce(Turn<'_>) + Send + 'static,
    ) {
        let (name, task) = (Some(name.to_owned()), Box::new(task));
        let request = disk::Request { operation, inode: folder.0, name, task };
        self.shared.lock().handle(request);
    }
}

impl Filesystem for Glue {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let text = name.to_owned();
        self.ask_of_name(Operation::Stat, (parent, name), move |turn| {
            answer_entry(reply, turn.and_then(|grant| grant.volume.look_up(parent.0, &text)));
        });
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.ask(Operation::Stat, ino, move |turn| {
            match turn.and_then(|grant| grant.volume.attributes(ino.0)) {
                Ok(found) => reply.attr(&TTL, &attr(found)),
                Err(error) => reply.error(errno(error)),
            }
        });
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let operation = if size.is_some() { Operation::Resize } else { Operation::Stat };
        self.ask(operation, ino, move |turn| {
            let result = turn.and_then(|Grant { volume, .. }| {
                size.map_or(Ok(()), |size| volume.resize(ino.0, size))?;
                volume.attributes(ino.0)
            });
            match result {
                Ok(found) => reply.attr(&TTL, &attr(found)),
                Err(error) => reply.error(errno(error)),
            }
        });
    }

    fn mkdir(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let text = name.to_owned();
        self.ask_of_name(Operation::MakeFolder, (parent, name), move |turn| {
            answer_entry(reply, turn.and_then(|grant| grant.volume.make_folder(parent.0, &text)));
        });
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let text = name.to_owned();
        self.ask_of_name(Operation::Remove, (parent, name), move |turn| {
            let result = turn.and_then(|grant| grant.volume.remove(parent.0, &text, false));
            answer_empty(reply, result);
        });
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let text = name.to_owned();
        self.ask_of_name(Operation::Remove, (parent, name), move |turn| {
            let result = turn.and_then(|grant| grant.volume.remove(parent.0, &text, true));
            answer_empty(reply, result);
        });
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if !flags.is_empty() {
            return reply.error(Errno::EINVAL);
        }
        let (from, to) = (name.to_owned(), newname.to_owned());
        self.ask_of_name(Operation::Rename, (parent, name), move |turn| {
            let rename =
                |grant: Grant<'_>| grant.volume.rename((parent.0, &from), (newparent.0, &to));
            answer_empty(reply, turn.and_then(rename));
        });
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let text = name.to_owned();
        let flags = OFlags::from_bits_retain(flags.cast_unsigned());
        self.ask_of_name(Operation::Create, (parent, name), move |turn| {
            let result = turn.and_then(|Grant { volume, .. }| {
                let made = match volume.create(parent.0, &text) {
                    Err(Error::Exists) if !flags.contains(OFlags::EXCL) => {
                        let found = volume.look_up(parent.0, &text)?;
                        if flags.contains(OFlags::TRUNC) {
                            volume.resize(found.inode, 0)?;
                        }
                        volume.attributes(found.inode)?
                    }
                    made => made?,
                };
                volume.open(made.inode)?;
                Ok(made)
            });
            match result {
                Ok(made) => reply.created(
                    &TTL,
                    &attr(made),
                    Generation(0),
                    FileHandle(0),
                    FopenFlags::FOPEN_DIRECT_IO,
                ),
                Err(error) => reply.error(errno(error)),
            }
        });
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.ask(Operation::Open, ino, move |turn| {
            match turn.and_then(|grant| grant.volume.open(ino.0)) {
                Ok(()) => reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO),
                Err(error) => reply.error(errno(error)),
            }
        });
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let is_possible = is_possible(flags, offset, size as usize);
        self.ask(Operation::Read, ino, move |turn| {
            let read = |grant: Grant<'_>| grant.volume.read(ino.0, offset, size as usize);
            match turn.and_then(|grant| is_possible.and_then(|()| read(grant))) {
                Ok(bytes) => reply.data(&bytes),
                Err(error) => reply.error(errno(error)),
            }
        });
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let is_possible = is_possible(flags, offset, data.len());
        let bytes = data.to_vec();
        self.ask(Operation::Write, ino, move |turn| {
            let result = turn.and_then(|grant| match grant.is_lie {
                true => Ok(()),
                false => is_possible.and_then(|()| grant.volume.write(ino.0, offset, &bytes)),
            });
            match result {
                // Requests have at most 16 MiB.
                Ok(()) => reply.written(bytes.len() as u32),
                Err(error) => reply.error(errno(error)),
            }
        });
    }

    /// Called by `close`. Puts nothing on stable storage.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.shared.lock().volume.close(ino.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.ask(Operation::Flush, ino, move |turn| {
            let result = turn.and_then(|grant| match grant.is_lie {
                true => Ok(()),
                false => grant.volume.flush(ino.0),
            });
            answer_empty(reply, result);
        });
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let shared = self.shared.clone();
        let mut state = shared.lock();
        let handle = state.next_handle;
        match state.volume.list(ino.0) {
            Ok(listing) => {
                state.listings.insert(handle, listing);
                state.next_handle += 1;
                reply.opened(FileHandle(handle), FopenFlags::empty());
            }
            Err(error) => reply.error(errno(error)),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let listing = self.shared.lock().listings.get(&fh.0).cloned().unwrap_or_default();
        self.ask(Operation::List, ino, move |turn| {
            if let Err(error) = turn {
                return reply.error(errno(error));
            }
            for (next, (entry, name)) in (1..).zip(&listing).skip(offset as usize) {
                if reply.add(INodeNo(entry.inode), next, kind(entry.is_folder), name) {
                    break;
                }
            }
            reply.ok();
        });
    }

    fn releasedir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.shared.lock().listings.remove(&fh.0);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.ask(Operation::FlushFolder, ino, move |turn| {
            let result = turn.and_then(|grant| match grant.is_lie {
                true => Ok(()),
                false => grant.volume.flush_folder(ino.0),
            });
            answer_empty(reply, result);
        });
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(BLOCKS, BLOCKS, BLOCKS, 1 << 20, 1 << 20, 4096, 255, 4096);
    }

    fn fallocate(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if mode.cast_unsigned() != FallocateFlags::empty().bits() {
            return reply.error(Errno::EOPNOTSUPP);
        }
        self.ask(Operation::Reserve, ino, move |turn| {
            let end = offset.saturating_add(length);
            answer_empty(reply, turn.and_then(|grant| grant.volume.reserve(ino.0, end)));
        });
    }
}

/// Around the page cache only whole sectors are read and written.
fn is_possible(flags: OpenFlags, offset: u64, length: usize) -> Result<(), Error> {
    let is_direct = OFlags::from_bits_retain(flags.0.cast_unsigned()).contains(OFlags::DIRECT);
    let is_aligned = offset.is_multiple_of(SECTOR as u64) && length.is_multiple_of(SECTOR);
    if is_direct && !is_aligned { Err(Error::Invalid) } else { Ok(()) }
}
