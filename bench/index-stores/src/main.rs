//! Compares indexes for the chunks of one target: fjall, redb, and the lists that `slotcast-store` keeps in its
//! segments. See docs/understand/chunk-index.md.
//!
//! ```sh
//! cargo run --release -- FOLDER        # an empty folder on the disk in question, with 12 GiB of room
//! ```

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures time")]

mod databases;
mod files;
mod segments;
mod workload;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use workload::{Index, WORKLOADS, Workload};

type Outcome<T> = Result<T, Box<dyn Error>>;

const STORES: [&str; 3] = ["fjall", "redb", "segments"];

fn open(store: &str, folder: &Path, workload: &Workload) -> Outcome<Box<dyn Index>> {
    Ok(match store {
        "fjall" => Box::new(databases::Fjall::open(folder, workload)?),
        "redb" => Box::new(databases::Redb::open(folder, workload)?),
        "segments" => Box::new(segments::Segments::open(folder)?),
        other => return Err(format!("no store `{other}`").into()),
    })
}

/// A line of `/proc/self/status`, in MiB.
fn memory(line: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|l| l.strip_prefix(line)?.strip_prefix(':'));
    let kib = found.and_then(|text| text.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

/// Inserts all chunks, tells, and ends as `kill -9` would.
fn fill(store: &str, folder: &Path, workload: &Workload) -> Outcome<()> {
    let mut index = open(store, folder, workload)?;
    let began = Instant::now();
    index.insert(workload)?;
    let seconds = began.elapsed().as_secs_f64();
    println!("{seconds} {} {}", index.commits(), memory("VmHWM"));
    Command::new("kill").args(["-9", &std::process::id().to_string()]).status()?;
    Ok(())
}

/// Opens what a killed process has left, and looks chunks up.
fn start(store: &str, folder: &Path, workload: &Workload) -> Outcome<()> {
    let before = memory("VmRSS");
    let began = Instant::now();
    let index = open(store, folder, workload)?;
    let first = workload.name(0);
    if !index.holds(&first)? {
        return Err("the first chunk is not there".into());
    }
    let opened = began.elapsed().as_secs_f64();
    let lookups = 20_000;
    // Names are hashes: this order is random to the index. Half of what is asked for is not there, as where
    // a member of a group is asked for what others hold.
    let names: Vec<_> =
        (0..lookups).map(|n| workload.name(n * 7919 % (2 * workload.chunks))).collect();
    let began = Instant::now();
    let mut found = 0;
    for name in &names {
        found += u64::from(index.holds(name)?);
    }
    let each = began.elapsed().as_secs_f64() / lookups as f64;
    let expected =
        (0..lookups).filter(|n| n * 7919 % (2 * workload.chunks) < workload.chunks).count();
    if found != expected as u64 {
        return Err(format!("{found} of {expected} chunks are there").into());
    }
    println!("{opened} {each} {}", memory("VmRSS") - before);
    Ok(())
}

/// What a part of the program, run by itself, has told.
fn part(arguments: [&str; 3], folder: &Path) -> Outcome<Vec<f64>> {
    let output = Command::new(std::env::current_exe()?)
        .args(arguments)
        .arg(folder)
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    if numbers.len() == 3 { Ok(numbers) } else { Err(format!("{arguments:?}: {text}").into()) }
}

fn all(folder: &Path) -> Outcome<()> {
    for workload in &WORKLOADS {
        println!("\n{}: {} chunks, {}", workload.label, workload.chunks, workload.remark);
        println!(
            "| index | insert | chunks/s | flushed batches | memory, filling | start after `kill -9` | memory then | a lookup | on disk beside content |"
        );
        println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
        for store in STORES {
            let place = folder.join(store);
            let _ = fs::remove_dir_all(&place);
            fs::create_dir_all(&place)?;
            let filled = part(["fill", store, workload.label], &place)?;
            let opened = part(["start", store, workload.label], &place)?;
            let disk = match store {
                // Headers, padding and lists: what is reserved for later content is not counted.
                "segments" => segments::overhead(&place, workload)?,
                _ => files::used(&place.join("index"))?,
            };
            println!(
                "| {store} | {:.2} s | {:.0} | {:.0} | {:.0} MiB | {:.0} ms | {:.0} MiB | {:.2} us | {:.1} MiB |",
                filled[0],
                workload.chunks as f64 / filled[0],
                filled[1],
                filled[2],
                opened[0] * 1e3,
                opened[2],
                opened[1] * 1e6,
                disk as f64 / 1_048_576.0,
            );
            fs::remove_dir_all(&place)?;
        }
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let known = |label: &str| WORKLOADS.iter().find(|workload| workload.label == label);
    match arguments[..] {
        [folder] => all(Path::new(folder)),
        [task, store, label, folder] => {
            let workload = known(label).ok_or("no such workload")?;
            match task {
                "fill" => fill(store, Path::new(folder), workload),
                _ => start(store, Path::new(folder), workload),
            }
        }
        _ => Err("give a folder on the disk in question".into()),
    }
}
