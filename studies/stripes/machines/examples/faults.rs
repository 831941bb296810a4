//! Random histories of stripes with parity: messages are lost, repeated, late and out of order, disks are
//! slow, servers lose their memory or their disks, clients die, leases are too short. After each run
//! parity must be that of the data, every acknowledged write must be there, and nobody may have read an
//! older content after a newer one.
//!
//! ```text
//! cargo run --release -p slotcast-stripe --example faults -- --seeds 10000
//! cargo run --release -p slotcast-stripe --example faults -- --mode coordinated --seed 681
//! ```
//!
//! The first one simulates the faults of seeds 0 to 9999 on each mode, and stops at the first that finds
//! something. The second one prints every event of one of them.

extern crate alloc;

#[path = "../tests/check/mod.rs"]
mod check;

use std::process::ExitCode;

use check::coordinated::Coordinated;
use check::faults::{Simulated, simulate, simulate_all};
use check::locked::Locked;

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
        simulate_mode::<Coordinated>(&wanted)?;
        simulate_mode::<Locked>(&wanted)
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

fn simulate_mode<M: Simulated>(wanted: &Wanted) -> Result<(), String> {
    if wanted.mode.as_ref().is_some_and(|mode| mode != M::NAME) {
        return Ok(());
    }
    if let Some(seed) = wanted.seed {
        let outcome = simulate::<M>(seed, true, |_| {})?;
        println!("{}, seed {seed}: right; {outcome:?}", M::NAME);
        return Ok(());
    }
    let seeds = wanted.first..wanted.first.saturating_add(wanted.seeds);
    let all = simulate_all::<M>(seeds)?;
    println!(
        "{}: {} simulations, {} writes acknowledged, {} events, no violation",
        M::NAME,
        wanted.seeds,
        all.acknowledged,
        all.events
    );
    Ok(())
}
