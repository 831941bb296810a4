//! The file system through the kernel, as a program sees it.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it has files and threads")]

mod mount;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::thread;

use rustix::fs::{FallocateFlags, OFlags, fallocate};
use slotcast_lossy::{Effect, Error, Operation, Rule};

use mount::mounted;

#[test]
fn files_and_folders_are_as_on_any_file_system() {
    let Some((disk, _folder)) = mounted() else { return };
    let at = disk.path().join("a/b");
    fs::create_dir_all(&at).expect("room");
    let path = at.join("file");
    fs::write(&path, "hello").expect("room");
    fs::write(&path, "hi").expect("room");
    assert_eq!(fs::read(&path).expect("it is there"), b"hi");
    fs::rename(&path, at.join("other")).expect("it is there");
    assert_eq!(fs::read(&path).expect_err("it is gone").kind(), ErrorKind::NotFound);
    for number in 0..2000 {
        File::create_new(at.join(format!("{number}"))).expect("it is new");
    }
    assert_eq!(fs::read_dir(&at).expect("a folder").count(), 2001);
    assert_eq!(
        fs::remove_dir(&at).expect_err("it is not empty").kind(),
        ErrorKind::DirectoryNotEmpty
    );
    fs::remove_dir_all(&at).expect("it goes");
    let file = File::create(path.with_file_name("x")).expect_err("its folder is gone");
    assert_eq!(file.kind(), ErrorKind::NotFound);
    let file = File::create_new(disk.path().join("long")).expect("it is new");
    fallocate(&file, FallocateFlags::empty(), 0, 64 << 20).expect("room");
    file.write_all_at(&vec![3; 5 << 20], 12_345).expect("room");
    file.set_len(2 << 20).expect("room");
    assert_eq!(file.metadata().expect("it is open").len(), 2 << 20);
    let first = File::open(disk.path().join("long")).expect("it is there");
    first.try_lock().expect("it is free");
    assert!(File::open(disk.path().join("long")).expect("it is there").try_lock().is_err());
    assert!(rustix::fs::statvfs(disk.path()).expect("it is mounted").f_bavail > 1 << 20);
}

/// Memory at an address that is a multiple of 4096.
fn aligned(memory: &mut Vec<u8>, length: usize, byte: u8) -> &[u8] {
    *memory = vec![byte; length + 4096];
    let skip = memory.as_ptr().align_offset(4096);
    &memory[skip..skip + length]
}

#[test]
fn writes_go_around_the_page_cache_in_whole_sectors_only() {
    let Some((disk, _folder)) = mounted() else { return };
    let flags = OFlags::DIRECT.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).custom_flags(flags);
    let file = options.open(disk.path().join("file")).expect("such writes are possible");
    let mut memory = Vec::new();
    file.write_all_at(aligned(&mut memory, 3 << 20, 7), 4096).expect("room");
    let odd = file.write_all_at(aligned(&mut memory, 1000, 7), 0).expect_err("1000 bytes");
    assert_eq!(odd.kind(), ErrorKind::InvalidInput);
    let odd = file.write_all_at(aligned(&mut memory, 1024, 7), 100).expect_err("at 100");
    assert_eq!(odd.kind(), ErrorKind::InvalidInput);
    let read = fs::read(disk.path().join("file")).expect("it is there");
    assert_eq!(read.len(), 4096 + (3 << 20));
    assert!(read[4096..].iter().all(|byte| *byte == 7));
}

#[test]
fn what_was_flushed_survives_and_the_rest_is_lost_in_part() {
    let Some((mut disk, _folder)) = mounted() else { return };
    let kept = disk.path().join("kept");
    let mut file = File::create(&kept).expect("room");
    file.write_all(&[1; 100_000]).expect("room");
    file.sync_data().expect("it is flushed");
    drop(file);
    File::open(disk.path()).and_then(|folder| folder.sync_all()).expect("it is flushed");
    let mut seen = [false; 4];
    for seed in 0..40 {
        let file = OpenOptions::new().write(true).open(&kept).expect("it is there");
        file.write_all_at(&[2; 50_000], 50_000).expect("room");
        fs::write(disk.path().join("new"), "not flushed").expect("room");
        drop(file);
        let loss = disk.restore_power(seed).expect("nobody uses it");
        let content = fs::read(&kept).expect("it was flushed");
        assert!(content[..50_000].iter().all(|byte| *byte == 1), "{seed}");
        let new = content.iter().filter(|byte| **byte == 2).count();
        seen[0] |= new > 0 && new < 50_000;
        seen[1] |= new == 0;
        seen[2] |= disk.path().join("new").exists();
        seen[3] |= !disk.path().join("new").exists() && loss.changes == 1;
        // For the next round.
        drop(fs::remove_file(disk.path().join("new")));
        let file = OpenOptions::new().write(true).open(&kept).expect("it is there");
        file.write_all_at(&[1; 50_000], 50_000).expect("room");
        file.sync_all().expect("it is flushed");
        File::open(disk.path()).and_then(|folder| folder.sync_all()).expect("it is flushed");
    }
    assert_eq!(seen, [true; 4]);
}

#[test]
fn a_disk_that_lies_about_flushes_loses_what_was_flushed() {
    let Some((mut disk, _folder)) = mounted() else { return };
    disk.inject(Rule::new(&[Operation::Flush], "lied*", Effect::Lie));
    for name in ["lied", "true"] {
        let mut file = File::create(disk.path().join(name)).expect("room");
        file.write_all(&[1; 4096]).expect("room");
        file.sync_all().expect("it says so");
    }
    File::open(disk.path()).and_then(|folder| folder.sync_all()).expect("it is flushed");
    let loss = (0..20).map(|seed| disk.restore_power(seed).expect("nobody uses it").sectors);
    assert!(loss.sum::<u64>() > 0);
    assert_eq!(fs::read(disk.path().join("true")).expect("it is there"), [1; 4096]);
    assert_ne!(fs::read(disk.path().join("lied")).expect("it is there"), [1; 4096]);
}

#[test]
fn operations_fail_where_a_rule_says_so() {
    let Some((disk, _folder)) = mounted() else { return };
    let (a, b) = (disk.path().join("a"), disk.path().join("b"));
    fs::write(&a, "a").expect("room");
    fs::write(&b, "b").expect("room");
    let code = |result: io::Result<()>| result.expect_err("a rule").raw_os_error();
    let open = |path| OpenOptions::new().write(true).open(path).expect("it is there");
    type Attempt<'a> = &'a dyn Fn() -> io::Result<()>;
    let attempts: [(Operation, Error, rustix::io::Errno, Attempt<'_>); 6] = [
        (Operation::Read, Error::Io, rustix::io::Errno::IO, &|| fs::read(&a).map(drop)),
        (Operation::Flush, Error::Io, rustix::io::Errno::IO, &|| open(&a).sync_data()),
        (Operation::Write, Error::NoSpace, rustix::io::Errno::NOSPC, &|| {
            open(&a).write_all_at(b"x", 0)
        }),
        (Operation::Open, Error::TooManyFiles, rustix::io::Errno::MFILE, &|| {
            File::open(&a).map(drop)
        }),
        (Operation::Remove, Error::ReadOnly, rustix::io::Errno::ROFS, &|| fs::remove_file(&a)),
        (Operation::Resize, Error::ReadOnly, rustix::io::Errno::ROFS, &|| open(&a).set_len(0)),
    ];
    for (operation, error, expected, attempt) in attempts {
        let rule = disk.inject(Rule::new(&[operation], "a", Effect::Fail(error)));
        assert_eq!(code(attempt()), Some(expected.raw_os_error()), "{operation:?}");
        assert_eq!(fs::read(&b).expect("no rule is about it"), b"b");
        disk.withdraw(rule);
        assert_eq!(fs::read(&a).expect("nothing was changed"), b"a");
    }
}

#[test]
fn a_stalled_operation_is_answered_when_the_rule_is_withdrawn() {
    let Some((disk, _folder)) = mounted() else { return };
    let path = disk.path().join("a");
    fs::write(&path, "before").expect("room");
    let rule = disk.inject(Rule::new(&[Operation::Write], "a", Effect::Stall));
    thread::scope(|scope| {
        let writes =
            scope.spawn(|| OpenOptions::new().write(true).open(&path)?.write_all_at(b"behind", 0));
        while disk.stalled() == 0 {
            thread::yield_now();
        }
        assert_eq!(fs::read(&path).expect("reads are not stalled"), b"before");
        disk.withdraw(rule);
        writes.join().expect("it ends").expect("it is written");
    });
    assert_eq!(fs::read(&path).expect("it is there"), b"behind");
}

#[test]
fn without_power_everything_fails_and_nothing_changes() {
    let Some((mut disk, _folder)) = mounted() else { return };
    let path = disk.path().join("a");
    disk.cut_power_at(&Operation::CHANGES, 3);
    let mut file = File::create(&path).expect("the first change");
    file.write_all(b"a").expect("the second one");
    file.sync_all().expect("the third one");
    assert!(!disk.is_cut());
    let folder = File::open(disk.path()).expect("it is there");
    assert!(folder.sync_all().is_err());
    assert!(disk.is_cut());
    assert!(fs::read(&path).is_err());
    drop((file, folder));
    let found: Vec<bool> = (0..20)
        .map(|seed| {
            disk.restore_power(seed).expect("nobody uses it");
            path.exists()
        })
        .collect();
    // Its name was not flushed; what it came to stays.
    assert!(found.windows(2).all(|two| two[0] == two[1]), "{found:?}");
}

#[test]
fn one_bit_rots() {
    let Some((disk, _folder)) = mounted() else { return };
    let path = disk.path().join("a");
    fs::write(&path, [0x55; 4096]).expect("room");
    let (file, at) = disk.rot("*", 3).expect("it has content");
    assert_eq!(file.to_str(), Some("a"));
    let content = fs::read(&path).expect("it is there");
    let changed: Vec<usize> = (0..4096).filter(|at| content[*at] != 0x55).collect();
    assert_eq!(changed, [at as usize]);
}
