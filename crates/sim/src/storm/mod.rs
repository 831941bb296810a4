//! Faults of every kind, on the machines that run in production.
//!
//! A *storm* is a small cluster of [`StoringTarget`](slotcast_store::StoringTarget)s over simulated
//! disks, of initiators, and of the repair of every target, on a network that loses, repeats, delays and
//! damages what is sent. Targets crash and start again from what was on their disks, lose their disks,
//! or never come back. Everything is drawn from one seed.
//!
//! Faults come in waves. After each they stop, and then must hold:
//!
//! * nothing hangs: every request ends, and new ones succeed;
//! * every acknowledged chunk can be fetched and is right, although replicas were destroyed, at up to
//!   one member fewer than there are replicas in each group; but for those of which their users wanted no
//!   more replicas than members were harmed;
//! * repair brings every acknowledged chunk back to the number of replicas that its users wanted, on stable
//!   storage;
//! * a target that was told to leave says that it has handed over, and when it says so every chunk that it
//!   holds is on as many others as it is wanted on; it is taken away then, and everything can still be fetched;
//! * at every acceptance: the windows that a target has accepted do not overlap;
//! * a target that is left alone offers windows as near as one that has just started;
//! * no chunk is lost whose record on the disk was not harmed, when it is read or when a store is opened, and
//!   no get of an acknowledged chunk ends in "not found".

mod carry;
mod catalogue;
mod check;
mod cluster;
mod drain;
mod event;
mod faults;
mod hosts;
mod network;
mod plan;
mod quiet;
mod report;
mod requests;
mod windows;

use slotcast_engine::Simulation;
use slotcast_units::Span;

use cluster::Storm;
pub use report::{Injected, StormReport};

/// A mistake planted into the cluster, to see that the checks find it.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// Disks say that they have flushed before they have.
    AcknowledgeBeforeFlush,
    /// Targets forget what they have promised, and promise it again.
    ForgetPromises,
    /// Repair passes some chunks over.
    RepairForgets,
    /// Repair puts every chunk again on as many targets as the cluster's number says.
    RepairKnowsOneNumber,
    /// Where a disk is harmed, it is so in another place as well, of which nobody knows.
    UntoldHarm,
    /// A target that leaves says that it has handed over as soon as it knows of no chunk that lacks replicas,
    /// whether it has walked over all or not.
    HandsOverEarly,
    /// Targets count accepted chunks as work that is to come, although their windows are over.
    CountsWhatIsOver,
}

/// How long requests and repair may take once the faults have stopped.
const PATIENCE: Span = Span::from_secs(10);
const STEP: Span = Span::from_ms(1);

/// Walks and scrubs that a repair may need: those under way, a whole scrub, and a walk that goes by what it
/// hears in vain.
const WALKS_AND_SCRUBS: (u64, u64) = (3, 2);

/// Runs the storm of `seed`.
pub fn run_storm(seed: u64) -> StormReport {
    run_storm_with(seed, None)
}

/// Runs the storm of `seed` with a planted mistake.
#[doc(hidden)]
pub fn run_storm_with(seed: u64, mistake: Option<Mistake>) -> StormReport {
    let mut simulation = Simulation::new(Storm::new(seed, mistake));
    simulation.schedule(|storm, agenda| {
        for target in 0..storm.plan.targets {
            storm.start(agenda.now(), target);
        }
        storm.settle(agenda.now(), agenda);
    });
    let (waves, wave) = (simulation.model().plan.waves, simulation.model().plan.wave);
    for _ in 0..waves {
        simulation.schedule(|storm, agenda| storm.begin_wave(agenda.now(), agenda));
        let end = simulation.now() + wave;
        simulation.run_until(end);
        simulation.schedule(|storm, agenda| storm.calm(agenda.now(), agenda));
        if !run_while(&mut simulation, |storm| !storm.is_quiet()) {
            break;
        }
        let now = simulation.now();
        simulation.model_mut().check_windows(now);
        simulation.schedule(|storm, agenda| storm.check_all(agenda.now(), agenda));
        if !run_while(&mut simulation, |storm| !storm.is_quiet()) {
            break;
        }
        let before = simulation.model().repairs();
        let has_repaired = |storm: &Storm| {
            storm.has_repaired(&before, WALKS_AND_SCRUBS) && storm.has_handed_over()
        };
        if !run_while(&mut simulation, |storm| !has_repaired(storm)) {
            break;
        }
        simulation.model_mut().check_replicas();
        if !simulation.model().report.violations.is_empty() {
            break;
        }
        simulation.model_mut().healed();
        simulation.schedule(|storm, agenda| {
            if storm.take_away(agenda.now(), agenda) {
                storm.check_all(agenda.now(), agenda);
            }
        });
        if !run_while(&mut simulation, |storm| !storm.is_quiet()) {
            break;
        }
    }
    let (events, trace_hash) = (simulation.executed(), simulation.trace_hash());
    let storm = simulation.into_model();
    let mut report = storm.report;
    for host in &storm.targets {
        report.healed += host.repair.statistics().healed;
        report.compacted += host.machine.as_ref().map_or(0, |m| m.statistics().compacted);
    }
    StormReport { events, trace_hash, ..report }
}

/// Runs on while `condition` holds; false if it held too long, which is then reported.
fn run_while(simulation: &mut Simulation<Storm>, condition: impl Fn(&Storm) -> bool) -> bool {
    let end = simulation.now() + PATIENCE;
    while condition(simulation.model()) {
        let next = simulation.now() + STEP;
        if next > end {
            let now = simulation.now();
            simulation.model_mut().tell_open(now);
            return false;
        }
        simulation.run_until(next);
    }
    true
}

#[cfg(test)]
mod tests;
