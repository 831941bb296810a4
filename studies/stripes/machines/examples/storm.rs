//! Random histories of stripes with parity: messages are lost, repeated, late and out of order, disks are
//! slow, servers lose their memory or their disks, clients die, leases are too short. After each storm
//! parity must be that of the data, every acknowledged write must be there, and nobody may have read an
//! older content after a newer one.
//!
//! ```text
//! cargo run --release -p slotcast-stripe --example storm -- --seeds 10000
//! cargo run --release -p slotcast-stripe --example storm -- --mode coordinated --seed 681
//! ```
//!
//! The first one blows the storms of seeds 0 to 9999 on each mode, and stops at the first that finds
//! something. The second one prints every event of one storm.

extern crate alloc;

#[path = "../tests/check/mod.rs"]
mod check;

use std::process::ExitCode;

use check::coordinated::Coordinated;
use check::locked::Locked;
use check::storm::{Storms, storm, storms};

const USAGE: &str =
    "expected --seeds NUMBER, --first NUMBER, --seed NUMBER, --mode stripe-lock|coordinated";

/// What was asked for.
struct Wanted {
    /// Both if none is named.
    mode: Option<String>,
    first: u64,
    seeds: u64,
    /// The one whose events are printed.
    seed: Option<u64>,
}

fn main() -> ExitCode {
    let found = wanted().and_then(|wanted| {
        blow::<Coordinated>(&wanted)?;
        blow::<Locked>(&wanted)
    });
    match found {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("Error: {problem}");
            ExitCode::from(1)
        }
    }
}

fn wanted() -> Result<Wanted, String> {
    let mut wanted = Wanted { mode: None, first: 0, seeds: 1000, seed: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or(format!("`{option}` has no value; {USAGE}"))?;
        let number = || value.parse().map_err(|_| format!("`{value}` is no number; {USAGE}"));
        match option.as_str() {
            "--seeds" => wanted.seeds = number()?,
            "--first" => wanted.first = number()?,
            "--seed" => wanted.seed = Some(number()?),
            "--mode" if [Coordinated::NAME, Locked::NAME].contains(&value.as_str()) => {
                wanted.mode = Some(value);
            }
            _ => return Err(format!("`{option} {value}` is unknown; {USAGE}")),
        }
    }
    Ok(wanted)
}

fn blow<M: Storms>(wanted: &Wanted) -> Result<(), String> {
    if wanted.mode.as_ref().is_some_and(|mode| mode != M::NAME) {
        return Ok(());
    }
    if let Some(seed) = wanted.seed {
        let aftermath = storm::<M>(seed, true, |_| {})?;
        println!("{}, seed {seed}: right; {aftermath:?}", M::NAME);
        return Ok(());
    }
    let seeds = wanted.first..wanted.first.saturating_add(wanted.seeds);
    let all = storms::<M>(seeds)?;
    println!(
        "{}: {} storms, {} writes acknowledged, {} events, no violation",
        M::NAME,
        wanted.seeds,
        all.acknowledged,
        all.events
    );
    Ok(())
}
