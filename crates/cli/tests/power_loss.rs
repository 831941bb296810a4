//! Power failures and errors of disks, with the real binary on a file system that loses what was not flushed.
//! Skipped, and said so, where nothing can be mounted through FUSE.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

mod lossy;
#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use lossy::Store;
use served::PATIENCE;
use slotcast_lossy::{Effect, Error, Operation, Rule};

/// Any number, the same for the same one.
fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 31)).wrapping_add(1).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

/// Power failures at any moment under load, of one store, as `seed` says. Returns the number of contents that were
/// acknowledged, and of sectors and changes of names that were lost.
fn lose_power_again_and_again(seed: u64, failures: u64) -> Option<(usize, u64, u64)> {
    // With one replica each acknowledgement rests on one file.
    let (targets, replicas) = if seed.is_multiple_of(2) { (4, 1) } else { (5, 3) };
    let mut store = Store::with_small_segments(targets, replicas)?;
    let (mut sectors, mut changes, mut checked) = (0, 0, 0);
    for failure in 0..failures {
        let draw = mixed(seed << 32 | failure);
        store.start();
        // What is older was there after the failure before.
        store.check_from(checked);
        store.check_replicas_from(checked);
        store.check_open();
        checked = store.stored.len();
        store.put_while(|served, disk| match draw % 3 {
            // The process ends first, amid what it does.
            0 => {
                thread::sleep(Duration::from_millis(draw / 3 % 200));
                served.process.kill().expect("it is a child");
            }
            // The power fails at some change, and the process sees errors before it ends.
            1 => {
                let (operations, within): (&[Operation], _) = match draw / 3 % 3 {
                    0 => (&Operation::CHANGES, 400),
                    1 => (&[Operation::Flush], 100),
                    _ => (&[Operation::FlushFolder], 3),
                };
                disk.cut_power_at(operations, draw / 9 % within);
                let start = Instant::now();
                while !disk.is_cut() {
                    assert!(start.elapsed() < PATIENCE, "nothing is written any more");
                    thread::sleep(Duration::from_millis(1));
                }
            }
            _ => {
                thread::sleep(Duration::from_millis(draw / 3 % 200));
                disk.cut_power();
            }
        });
        let loss = store.lose_power(draw);
        (sectors, changes) = (sectors + loss.sectors, changes + loss.changes);
    }
    store.start();
    store.check_open();
    assert_eq!(store.said_lost(), 0, "what was torn was never acknowledged");
    store.check();
    Some((store.stored.len(), sectors, changes))
}

#[test]
fn what_was_acknowledged_survives_power_failures() {
    for seed in 0..2 {
        let Some((acknowledged, ..)) = lose_power_again_and_again(seed, 4) else { return };
        assert!(acknowledged > 0, "seed {seed}: nothing was put");
    }
}

#[test]
#[ignore = "it takes a minute or two; run it with `cargo test -p slotcast --test power_loss -- --ignored --nocapture`"]
fn what_was_acknowledged_survives_two_hundred_power_failures() {
    for seed in 0..10 {
        let Some((acknowledged, sectors, changes)) = lose_power_again_and_again(seed, 20) else {
            return;
        };
        println!(
            "seed {seed}: 20 power failures, {acknowledged} contents acknowledged and there; {sectors} sectors \
             and {changes} changes of names lost"
        );
        assert!(acknowledged > 0 && sectors > 0, "nothing was tried");
    }
}

/// The power fails at changes in turn that the first start makes, until there are no more: the next start makes up for
/// what is missing. At each of the first ones, and at some of those that make the stores for names, which have such a test
/// of their own (`crates/lossy/tests/rows.rs`).
#[test]
fn a_power_failure_at_any_moment_of_the_first_start_is_made_up_for() {
    for changes in (0..30).chain((30..).step_by(11)) {
        let Some(mut store) = Store::new(2, 1) else { return };
        store.disk.cut_power_at(&Operation::CHANGES, changes);
        let is_cut = store.try_start();
        store.lose_power(mixed(changes));
        store.start();
        store.check_open();
        assert_eq!(store.said_lost(), 0);
        assert_eq!(store.put(3, None), 3);
        store.lose_power(changes);
        store.start();
        store.check();
        if !is_cut {
            assert!(changes > 20, "a first start makes more changes than {changes}");
            return;
        }
    }
}

/// Contents that are lost, of those that were acknowledged on a disk with `rule`.
fn lost_with(rule: Option<&Rule>, seed: u64) -> Option<usize> {
    let mut store = Store::with_small_segments(1, 1)?;
    store.start();
    assert_eq!(store.put(5, None), 5);
    rule.into_iter().for_each(|rule| _ = store.disk.inject(rule.clone()));
    // More than three segments.
    assert_eq!(store.put(60, Some(60_000)), 60);
    store.lose_power(seed);
    store.start();
    Some(store.count_lost())
}

/// The same with a disk that keeps what it says, and with disks that lie about flushes: as if the node left them out.
/// So the tests above would see that.
#[test]
fn a_flush_that_is_left_out_is_found() {
    let lies = [
        Rule::new(&[Operation::Flush], "*.seg", Effect::Lie),
        Rule::new(&[Operation::FlushFolder], "*/segments", Effect::Lie),
    ];
    for lie in &lies {
        let mut lost = 0;
        for seed in 0..4 {
            let Some(count) = lost_with(Some(lie), seed) else { return };
            lost += count;
        }
        assert!(lost > 0, "{lie:?}: nothing is lost, so the check is blind");
    }
    for seed in 0..4 {
        assert_eq!(lost_with(None, seed), Some(0));
    }
}

/// Everything that target 1 of a store is asked for.
const ALL: &str = "target-001/*";

/// Tells the process to end, and waits until it has.
fn terminate(store: &mut Store) {
    let mut served = store.served.take().expect("it runs");
    let id = served.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().expect("it runs").success());
    let start = Instant::now();
    while served.process.try_wait().expect("it is a child").is_none() {
        let log = fs::read_to_string(store.log()).unwrap_or_default();
        // Threads that wait for a disk cannot end, but nothing else goes on.
        if log.contains("stopped although disks were still at work") {
            return store.disk.cut_power();
        }
        assert!(start.elapsed() < PATIENCE, "it does not end:\n{log}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// One of five targets has `effect` on some `operations`, at run time and at the next start: nothing is lost, and puts
/// go on. What status says of the target is one of `states`.
fn one_target_fails(operations: &[Operation], path: &str, effect: Effect, states: [&[&str]; 2]) {
    let Some(mut store) = Store::with_small_segments(5, 3) else { return };
    let state_is = |store: &Store, expected: &[&str]| {
        let target = &store.targets()[1];
        let state = target["state"].as_str().expect("text");
        assert!(expected.contains(&state), "{target}");
    };
    store.start();
    assert_eq!(store.put(20, None), 20);
    let rule = store.disk.inject(Rule::new(operations, path, effect));
    // More than two segments.
    assert_eq!(store.put(80, Some(60_000)), 80, "four targets are enough");
    store.check();
    state_is(&store, states[0]);
    terminate(&mut store);
    store.lose_power(1);

    store.start();
    state_is(&store, states[1]);
    store.check();
    assert_eq!(store.put(30, None), 30, "four targets are enough");
    terminate(&mut store);
    store.disk.withdraw(rule);
    store.lose_power(2);

    store.start();
    store.check();
    state_is(&store, &["open"]);
    assert_eq!(store.put(10, None), 10);
    store.check();
}

/// A few reads that fail are borne, many are not.
#[test]
fn reads_of_one_target_fail() {
    let (path, effect) = ("target-001/segments/*.seg", Effect::Fail(Error::Io));
    let states: [&[&str]; 2] = [&["open", "read-only"], &["read-only"]];
    one_target_fails(&[Operation::Read], path, effect, states);
}

/// Neither its label nor its segments: the node starts with the rest.
#[test]
fn nothing_of_one_target_can_be_read() {
    let operations = [Operation::Stat, Operation::Open, Operation::Read, Operation::List];
    let states: [&[&str]; 2] = [&["open", "read-only"], &["failed"]];
    one_target_fails(&operations, "target-001*", Effect::Fail(Error::Io), states);
}

#[test]
fn flushes_of_one_target_fail() {
    let (path, effect) = ("target-001/segments/*.seg", Effect::Fail(Error::Io));
    one_target_fails(&[Operation::Flush], path, effect, [&["read-only"], &["failed"]]);
}

#[test]
fn the_file_system_of_one_target_is_read_only() {
    let effect = Effect::Fail(Error::ReadOnly);
    one_target_fails(&Operation::CHANGES, ALL, effect, [&["read-only"], &["failed"]]);
}

/// Segments have their room from the start on, so writes still succeed.
#[test]
fn the_disk_of_one_target_is_full() {
    let operations = [Operation::Reserve, Operation::Create, Operation::MakeFolder];
    let effect = Effect::Fail(Error::NoSpace);
    one_target_fails(&operations, ALL, effect, [&["full"], &["full"]]);
}

#[test]
fn no_more_files_of_one_target_can_be_opened() {
    let effect = Effect::Fail(Error::TooManyFiles);
    let operations = [Operation::Open, Operation::Create];
    let path = "target-001/segments/*.seg";
    one_target_fails(&operations, path, effect, [&["open"], &["opening"]]);
}

/// What its disk does not answer for ten seconds is done without it. The process waits for as long when it ends.
#[test]
fn the_disk_of_one_target_stalls() {
    one_target_fails(&Operation::CHANGES, ALL, Effect::Stall, [&["open"], &["opening"]]);
}

#[test]
fn what_rots_on_one_target_is_read_from_another() {
    let Some(mut store) = Store::with_small_segments(4, 3) else { return };
    store.start();
    assert_eq!(store.put(40, None), 40);
    for seed in 0..200 {
        let (_, _) = store.disk.rot("target-001/segments/*.seg", seed).expect("it has content");
    }
    store.check();
    store.lose_power(1);
    store.start();
    store.check();
}

/// What a start has found is told to be stored already, also where its flush had failed, and there is no room for the rest of
/// its segment.
#[test]
fn what_a_start_relies_on_is_flushed_where_the_disk_is_full() {
    let Some(mut store) = Store::with_small_segments(1, 1) else { return };
    store.start();
    assert_eq!(store.put(3, Some(60_000)), 3);
    let (path, fails) = ("target-000/segments/*.seg", Effect::Fail(Error::Io));
    let rule = store.disk.inject(Rule::new(&[Operation::Flush], path, fails));
    assert_eq!(store.put(1, Some(60_000)), 0);
    // The process ends, and what it has written is still in memory.
    terminate(&mut store);
    store.disk.withdraw(rule);
    let full = Effect::Fail(Error::NoSpace);
    let rule = store.disk.inject(Rule::new(&[Operation::Reserve], "target-000/*", full));
    store.start();
    assert!(store.put_again(60_000), "it is there already");
    terminate(&mut store);
    store.disk.withdraw(rule);
    for seed in 0..4 {
        store.lose_power(seed);
        store.start();
        store.check();
    }
}
