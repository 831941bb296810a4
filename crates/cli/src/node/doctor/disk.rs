//! The folders of the targets: where they are, what room they have, and whether a flush is one.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{fstatfs, fstatvfs};

use super::{Finding, Verdict};

const FOLDER: &str = "folder";
const FILE_SYSTEM: &str = "file system";
const ROOM: &str = "room";
const FLUSH: &str = "flush";
const SHARED: &str = "disks";

pub(super) fn look(folders: &[PathBuf]) -> Vec<Finding> {
    let mut by_device: BTreeMap<u64, Vec<&Path>> = BTreeMap::new();
    let mut findings = Vec::new();
    for folder in folders {
        match existing(folder) {
            Ok((place, device)) => by_device.entry(device).or_default().push(place),
            Err(error) => findings.push(unusable(folder, &error)),
        }
    }
    let disks = by_device.len();
    // Of several folders on one disk one is looked at.
    for places in by_device.values() {
        let folder = places[0];
        match look_at(folder) {
            Ok(found) => findings.extend(found),
            Err(error) => findings.push(unusable(folder, &error)),
        }
    }
    match folders.len() {
        _ if disks == 0 => {}
        targets if disks < targets => findings.push(Finding::of(
            (SHARED, Verdict::Warning),
            format!("{targets} targets on {disks} disk{}", if disks == 1 { "" } else { "s" }),
            "replicas on one disk are lost with it, and its targets take turns: for more than a try \
             give each target a disk of its own",
        )),
        targets => findings.push(Finding::good(SHARED, format!("one for each of {targets} targets"))),
    }
    findings
}

/// The folder, or the nearest one above it that there is, and its device.
fn existing(folder: &Path) -> io::Result<(&Path, u64)> {
    let there = folder.ancestors().find(|path| path.as_os_str().is_empty() || path.exists());
    let there = match there {
        Some(path) if !path.as_os_str().is_empty() => path,
        _ => Path::new("."),
    };
    fs::metadata(there).map(|metadata| (there, metadata.dev()))
}

fn unusable(folder: &Path, error: &io::Error) -> Finding {
    Finding::of(
        (FOLDER, Verdict::Bad),
        format!("{}: {error}", folder.display()),
        "it must be a folder that this user may write to",
    )
}

fn look_at(folder: &Path) -> io::Result<Vec<Finding>> {
    let file = File::open(folder)?;
    let kind = fstatfs(&file)?.f_type.unsigned_abs();
    let room = fstatvfs(&file)?;
    let (all, free) = (room.f_blocks * room.f_frsize, room.f_bavail * room.f_frsize);
    let probe = Probe::create(folder)?;
    let flush = probe.flush()?;
    Ok(vec![file_system(folder, kind), room_for(folder, all, free), honesty(folder, kind, flush)])
}

/// What the kernel calls `f_type`, of those that matter here.
fn name_of(kind: u64) -> &'static str {
    match kind & 0xffff_ffff {
        0xef53 => "ext4",
        0x5846_5342 => "XFS",
        0x9123_683e => "btrfs",
        0x2fc1_2fc1 => "ZFS",
        0x0102_1994 => "tmpfs",
        0x8584_58f6 => "ramfs",
        0x6969 => "NFS",
        0xff53_4d42 | 0xfe53_4d42 => "SMB",
        0x6573_5546 => "FUSE",
        0x794c_7630 => "overlayfs",
        _ => "one that is not known here",
    }
}

fn is_memory(kind: u64) -> bool {
    matches!(name_of(kind), "tmpfs" | "ramfs")
}

fn file_system(folder: &Path, kind: u64) -> Finding {
    let (name, place) = (name_of(kind), folder.display());
    let says = format!("{place} is on {name}");
    match name {
        "tmpfs" | "ramfs" => Finding::of(
            (FILE_SYSTEM, Verdict::Bad),
            says,
            "it is gone with the power: what is acknowledged would be lost. Take a folder on a disk",
        ),
        "NFS" | "SMB" | "FUSE" | "overlayfs" => Finding::of(
            (FILE_SYSTEM, Verdict::Warning),
            says,
            "it may acknowledge a flush before the disk has it, and its latency is another \
             machine's or layer's: take a local ext4 or XFS",
        ),
        _ => Finding::good(FILE_SYSTEM, says),
    }
}

/// Below this part of a disk its file system becomes slow, and a target full soon.
const FREE_PART: u64 = 10;

fn room_for(folder: &Path, all: u64, free: u64) -> Finding {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let says = format!("{:.1} of {:.1} GiB free at {}", gib(free), gib(all), folder.display());
    match free < all / FREE_PART {
        true => Finding::of(
            (ROOM, Verdict::Warning),
            says,
            "a target that is nearly full takes no puts: make room, or add a disk",
        ),
        false => Finding::good(ROOM, says),
    }
}

/// No flash or disk that keeps its promise flushes faster, but for those with a capacitor or a battery.
const TOO_FAST: Duration = Duration::from_micros(20);
/// A put waits for one flush: at this rate a target confirms less than 50 batches a second.
const TOO_SLOW: Duration = Duration::from_millis(20);

fn honesty(folder: &Path, kind: u64, flush: Duration) -> Finding {
    let says = format!("4 KiB are on stable storage at {} after {flush:.0?}", folder.display());
    if is_memory(kind) {
        return Finding::of((FLUSH, Verdict::Bad), says, "in memory nothing is stable");
    }
    if flush < TOO_FAST {
        return Finding::of(
            (FLUSH, Verdict::Warning),
            format!("{says}: faster than most disks can"),
            "if the disk has no capacitor or battery, somebody only says so: look for a virtual \
             disk with cache=unsafe, or a controller that ignores flushes",
        );
    }
    if flush > TOO_SLOW {
        return Finding::of(
            (FLUSH, Verdict::Warning),
            says,
            "each put waits for a flush: a disk with flash, or a controller with a battery, is \
             many times faster",
        );
    }
    Finding::good(FLUSH, says)
}

/// A file that is written and flushed, and gone afterwards.
struct Probe {
    path: PathBuf,
    file: File,
}

/// A short measurement: a disk with platters takes some hundred milliseconds for it.
const FLUSHES: usize = 31;

impl Probe {
    fn create(folder: &Path) -> io::Result<Probe> {
        let path = folder.join(format!(".slotcast-doctor-{}", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let mut probe = Probe { path, file };
        // Blocks that are there already: what is measured is the content alone.
        probe.file.write_all(&[0; 4096])?;
        probe.file.sync_all()?;
        Ok(probe)
    }

    /// How long one takes, in the middle of some.
    fn flush(&self) -> io::Result<Duration> {
        let mut times = Vec::with_capacity(FLUSHES);
        for n in 0..FLUSHES {
            let begun = Instant::now();
            self.file.write_all_at(&[u8::try_from(n).unwrap_or(1); 4096], 0)?;
            self.file.sync_data()?;
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        Ok(times[FLUSHES / 2])
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // Whoever made it may remove it; if not, its name says what it is.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_memory_is_bad() {
        let memory = 0x0102_1994;
        let place = Path::new("/dev/shm");
        assert_eq!(file_system(place, memory).verdict, Verdict::Bad);
        assert_eq!(honesty(place, memory, Duration::from_millis(1)).verdict, Verdict::Bad);
        assert_eq!(file_system(place, 0x6969).verdict, Verdict::Warning);
        assert_eq!(file_system(place, 0xef53).verdict, Verdict::Good);
    }

    #[test]
    fn a_flush_can_be_too_fast_and_too_slow() {
        let of = |micros| honesty(Path::new("/"), 0xef53, Duration::from_micros(micros)).verdict;
        assert_eq!([5, 500, 50_000].map(of), [Verdict::Warning, Verdict::Good, Verdict::Warning]);
    }

    #[test]
    fn a_disk_that_is_nearly_full_is_told() {
        let of = |free| room_for(Path::new("/"), 1000, free).verdict;
        assert_eq!([50, 500].map(of), [Verdict::Warning, Verdict::Good]);
    }
}
