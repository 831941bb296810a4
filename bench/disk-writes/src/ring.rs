//! One thread for all files, with one io_uring: a write and the `fdatasync` linked to it in one submission.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, squeue, types};

use crate::{Block, SEGMENT, Work};

/// What a file is at.
struct Turn {
    written: u64,
    /// Since when a write is under way.
    since: Option<Instant>,
}

const WRITE: u64 = 1 << 32;

pub fn write_and_flush(files: &[File], work: &Work) -> io::Result<Vec<Duration>> {
    let mut ring = IoUring::new(64)?;
    let block = Block::new(work.size);
    let length = u32::try_from(work.size).expect("a chunk");
    let begun = Instant::now();
    let mut turns: Vec<Turn> = files.iter().map(|_| Turn { written: 0, since: None }).collect();
    let mut took = Vec::new();
    let all = work.count as usize * files.len();
    while took.len() < all {
        let mut next: Option<Instant> = None;
        for (n, turn) in turns.iter_mut().enumerate() {
            if turn.since.is_some() || turn.written == work.count {
                continue;
            }
            let due = work.due(begun, n, turn.written);
            if due > Instant::now() {
                next = Some(next.map_or(due, |next| next.min(due)));
                continue;
            }
            let file = types::Fd(files[n].as_raw_fd());
            let offset = turn.written * work.size as u64 % SEGMENT;
            let write = opcode::Write::new(file, block.bytes().as_ptr(), length)
                .offset(offset)
                .build()
                .flags(squeue::Flags::IO_LINK)
                .user_data(WRITE | n as u64);
            let flush = opcode::Fsync::new(file)
                .flags(types::FsyncFlags::DATASYNC)
                .build()
                .user_data(n as u64);
            turn.since = Some(Instant::now());
            // SAFETY: the block and the files live until every operation has ended, and nobody writes to
            // the block.
            unsafe { ring.submission().push_multiple(&[write, flush]) }
                .map_err(io::Error::other)?;
        }
        let wait = next.map(|next| next.saturating_duration_since(Instant::now()));
        let wait = wait.map(types::Timespec::from);
        let submitted = match &wait {
            Some(wait) => {
                ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(wait))
            }
            None => ring.submit_and_wait(1),
        };
        match submitted {
            Err(error) if error.raw_os_error() != Some(rustix::io::Errno::TIME.raw_os_error()) => {
                return Err(error);
            }
            _ => {}
        }
        for done in ring.completion() {
            let is_write = done.user_data() & WRITE != 0;
            let expected = if is_write { work.size as i32 } else { 0 };
            if done.result() != expected {
                return Err(io::Error::from_raw_os_error(-done.result().min(0)));
            }
            if !is_write {
                let turn = &mut turns[done.user_data() as usize];
                took.push(turn.since.take().expect("it was under way").elapsed());
                turn.written += 1;
            }
        }
    }
    Ok(took)
}
