//! Faults of every kind, on whole nodes as they run in production.
//!
//! A *fault simulation* runs a small cluster of [`Member`](slotcast_member::Member)s: each is all that a node
//! decides. Around them are a network of datagrams that loses, repeats, delays, damages and cuts in two what is sent, clocks
//! that are days apart and drift, disks that fail, and a cluster map that reaches the nodes at different times.
//! Nodes crash, stand still, and start again from what was on their disks; they lose disks, are started with the
//! folders of others or with another layout, are of an older program, drain, join, or never come back. Everything
//! is drawn from one seed, and no node is told anything that a real one would not be told.
//!
//! Faults come in waves. After each they stop, and then must hold:
//!
//! * nothing hangs: every request ends, and new ones succeed;
//! * every acknowledged chunk can be fetched and is right, although replicas were destroyed, at up to
//!   one member fewer than there are replicas in each group; but for those of which their users wanted no
//!   more replicas than members were harmed;
//! * repair brings every acknowledged chunk back to the number of replicas that its users wanted, on stable
//!   storage, although nobody scans without a reason;
//! * what is on more targets than are wanted is removed where it is surplus, and nowhere else;
//! * a node that was told to leave says that it has handed over, and when it says so every chunk that it
//!   holds is on as many others as it is wanted on; it is taken away then, and everything can still be fetched;
//! * a target that is left alone offers windows as near as one that has just started, and nothing of what it had
//!   promised is left;
//! * where enough members of a group could keep names, some do, and requests about names are answered;
//! * what clients were told of each name is linearizable, and listings have the names that are there;
//! * no bucket is removed into which a put was acknowledged, however both meet;
//! * what names say is there; and where every node is up, what was put for names and is not named goes.
//!
//! And at any time:
//!
//! * what is acknowledged is on stable storage on as many targets as was wanted, and what a name says is content, too;
//! * the windows that a target has accepted do not overlap, and are a trip apart; what was cancelled is free;
//! * nodes with different layouts of one epoch do not believe each other;
//! * chunks leave in the windows that were granted for them, one after another;
//! * nothing is replaced while the node that has it may soon be back;
//! * no chunk is lost whose record on the disk was not harmed, when it is read or when a store is opened, and
//!   no get of an acknowledged chunk ends in "not found".

mod acks;
mod buckets;
mod carry;
mod catalogue;
mod check;
mod clients;
mod clock;
mod cluster;
mod collecting;
mod disagreement;
mod disks;
mod egress;
mod errands;
mod event;
mod faults;
mod maps;
mod month;
mod mounts;
mod name_answers;
mod names;
mod network;
mod node;
mod pace;
mod parcel;
mod plan;
mod quiet;
mod report;
mod requests;
mod rows;
mod surplus;
mod voters;
mod watch;
mod windows;

use slotcast_engine::{Agenda, Simulation};
use slotcast_member::Tape;
use slotcast_units::Time;

use cluster::Cluster;
use event::Event;
pub use month::{Day, Month, simulate_month};
use pace::Pace;
pub use report::{FaultReport, Injected};

/// A mistake planted into the cluster, to see that the checks find it.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// One in what joins the machines of a node.
    Of(slotcast_member::Mistake),
    /// Disks say that they have flushed before they have.
    AcknowledgeBeforeFlush,
    /// Targets forget what they have promised, and promise it again.
    ForgetPromises,
    /// Where a disk is harmed, it is so in another place as well, of which nobody knows.
    UntoldHarm,
    /// Targets count accepted chunks as work that is to come, although their windows are over.
    CountsWhatIsOver,
    /// Accepted windows whose chunks never came stay promised.
    AcceptedNeverExpires,
    /// Bids are forgotten as soon as they are made.
    HoldForgotten,
    /// Targets leave no time between two windows.
    NoTripBetweenWindows,
    /// Rows of names are said to be flushed before they are.
    RowsAcknowledgeBeforeFlush,
    /// A store of names that was wiped comes back as the one that it was.
    WipedRowsKeepTheirIdentity,
    /// The proposers of all nodes have the same numbers.
    OneSalt,
    /// Whoever puts an object does not see that somebody has sealed the bucket to remove it.
    IgnoresSeals,
    /// Nodes believe their folders: nothing outside of them says which target is where.
    KeepsNoRegister,
}

/// Runs the fault simulation of `seed`.
pub fn simulate_faults(seed: u64) -> FaultReport {
    simulate_faults_with(seed, None)
}

/// Runs the fault simulation of `seed` with a planted mistake.
#[doc(hidden)]
pub fn simulate_faults_with(seed: u64, mistake: Option<Mistake>) -> FaultReport {
    run(Cluster::new(seed, mistake)).0
}

/// Runs the fault simulation of `seed`, and keeps what every incarnation of each node heard and did.
pub fn record_faults(seed: u64) -> (FaultReport, Vec<Tape>) {
    let mut cluster = Cluster::new(seed, None);
    cluster.tapes = Some(Vec::new());
    let (report, cluster) = run(cluster);
    let running = cluster.nodes.into_iter().filter_map(|host| host.tape);
    let ended = cluster.tapes.into_iter().flatten();
    (report, ended.chain(running).collect())
}

fn run(cluster: Cluster) -> (FaultReport, Cluster) {
    let mut simulation = begun(cluster);
    for _ in 0..simulation.model().plan.waves {
        if !outlives_wave(&mut simulation) {
            break;
        }
    }
    removes_surplus(&mut simulation);
    collects_garbage(&mut simulation);
    ended(simulation)
}

/// All nodes are started.
fn begun(cluster: Cluster) -> Simulation<Cluster> {
    let mut simulation = Simulation::new(cluster);
    simulation.schedule(|cluster, agenda| {
        for node in 0..cluster.plan.nodes {
            cluster.start(agenda.now(), node, agenda);
        }
    });
    let begins_calm = simulation.model().plan.names.is_some_and(|names| names.begins_calm);
    if begins_calm {
        run_while(&mut simulation, |cluster, _| cluster.lacks_voters());
    }
    simulation
}

/// A wave of faults, and the calm after it. False if something does not hold then.
fn outlives_wave(simulation: &mut Simulation<Cluster>) -> bool {
    simulation.schedule(|cluster, agenda| cluster.begin_wave(agenda.now(), agenda));
    let end = simulation.now() + simulation.model().plan.wave;
    simulation.run_until(end);
    simulation.schedule(|cluster, agenda| cluster.calm(agenda.now(), agenda));
    let is_busy = |cluster: &Cluster, _| !cluster.is_quiet() || cluster.lacks_voters();
    if !run_while(simulation, is_busy) || !keeps_its_word(simulation) {
        return false;
    }
    if simulation.model().has_dead() && !outlives_disks(simulation) {
        return false;
    }
    let before = simulation.model().scrubs();
    let scrubs = simulation.model().plan.pace.scrubs;
    let has_repaired = |cluster: &Cluster, now| {
        cluster.has_repaired(now, &before, scrubs)
            && cluster.has_handed_over()
            && cluster.all_follow()
    };
    if !run_while(simulation, |cluster, now| !has_repaired(cluster, now)) {
        return false;
    }
    let now = simulation.now();
    simulation.model_mut().check_windows(now);
    simulation.model_mut().check_replicas();
    if !simulation.model().report.violations.is_empty() {
        return false;
    }
    simulation.model_mut().healed();
    simulation.schedule(|cluster, agenda| {
        if cluster.take_away(agenda.now(), agenda) {
            cluster.check_all(agenda.now(), agenda);
        }
    });
    run_while(simulation, |cluster, _| !cluster.is_quiet())
}

/// In a calm: what was acknowledged is there, and what clients were told of names can be explained.
fn keeps_its_word(simulation: &mut Simulation<Cluster>) -> bool {
    let steps: [fn(&mut Cluster, Time, &mut Agenda<Event>); 3] = [
        |cluster, now, agenda| {
            cluster.check_all(now, agenda);
            cluster.change_names(now, agenda);
        },
        Cluster::read_names,
        Cluster::check_named_content,
    ];
    for step in steps {
        simulation.schedule(|cluster, agenda| step(cluster, agenda.now(), agenda));
        if !run_while(simulation, |cluster, _| !cluster.is_quiet()) {
            return false;
        }
    }
    let now = simulation.now();
    simulation.model_mut().check_names(now);
    true
}

/// What it found and did.
fn ended(simulation: Simulation<Cluster>) -> (FaultReport, Cluster) {
    let (events, trace_hash) = (simulation.executed(), simulation.trace_hash());
    let mut cluster = simulation.into_model();
    let mut report = std::mem::take(&mut cluster.report);
    let members = cluster.nodes.iter().flat_map(|host| &host.member);
    for target in members.flat_map(|member| member.targets()) {
        report.healed += target.repair_statistics().healed;
        report.compacted += target.statistics().compacted;
        report.surplus_removed += target.surplus_removed();
    }
    let members = cluster.nodes.iter().flat_map(|host| &host.member);
    for status in members.filter_map(|member| member.collection_status()) {
        report.collected += status.removed_chunks;
    }
    report.collections = cluster.map.collection.round;
    (FaultReport { events, trace_hash, ..report }, cluster)
}

/// Others make up for what was on disks that failed for good; then those are replaced. False if something was
/// wrong.
fn outlives_disks(simulation: &mut Simulation<Cluster>) -> bool {
    let before = simulation.model().scrubs();
    let Pace { told, scrubs, .. } = simulation.model().plan.pace;
    // That a disk has failed shows when something is written to it, and that may be what repairs another: the others
    // have to be told, and to begin.
    for _ in 0..3 {
        if !run_while(simulation, |cluster, now| !cluster.has_repaired(now, &before, scrubs)) {
            return false;
        }
        let later = simulation.now() + told;
        simulation.run_until(later);
    }
    if !run_while(simulation, |cluster, now| !cluster.has_repaired(now, &before, scrubs)) {
        return false;
    }
    simulation.model_mut().check_replicas();
    simulation.schedule(|cluster, agenda| cluster.replace_dead(agenda.now(), agenda));
    simulation.model().report.violations.is_empty()
}

/// When nothing is wrong any more, every member has looked at what it holds, and no put was heard for a while, a chunk
/// is on as many targets as wanted, and on no more. Users must not notice that some are removed. A look may raise what
/// others hold, which only the next look finds to be too much: then there is one more.
fn removes_surplus(simulation: &mut Simulation<Cluster>) {
    for (look, is_used) in [true, false, false].into_iter().enumerate() {
        if !simulation.model().report.violations.is_empty() {
            return;
        }
        if look == 2 && simulation.model().surplus().is_none() {
            break;
        }
        simulation.schedule(|cluster, agenda| {
            cluster.look_for_surplus(agenda.now(), agenda);
            if is_used {
                cluster.use_meanwhile(agenda.now(), agenda);
            }
        });
        let later = simulation.now() + simulation.model().plan.pace.scanned;
        simulation.run_until(later);
        let before = simulation.model().scrubs();
        let is_done = |cluster: &Cluster, now| {
            cluster.is_quiet()
                && cluster.has_repaired(now, &before, 0)
                && cluster.has_removed_surplus()
        };
        if !run_while(simulation, |cluster, now| !is_done(cluster, now)) {
            return;
        }
        simulation.model_mut().check_replicas();
    }
    simulation.model_mut().check_surplus();
    simulation.schedule(|cluster, agenda| cluster.check_all(agenda.now(), agenda));
    run_while(simulation, |cluster, _| !cluster.is_quiet());
}

/// Where everybody is there, all that was put for names and is not named is gone in the end.
fn collects_garbage(simulation: &mut Simulation<Cluster>) {
    if !simulation.model().report.violations.is_empty() || !simulation.model().can_collect() {
        return;
    }
    let Pace { patience, step, .. } = simulation.model().plan.pace;
    let end = simulation.now() + patience;
    while simulation.model().garbage().is_some() || simulation.model().deleted().is_some() {
        let next = simulation.now() + step;
        if next > end {
            let now = simulation.now();
            return simulation.model_mut().tell_garbage(now);
        }
        simulation.run_until(next);
    }
}

/// Runs on while `condition` holds; false if it held too long, which is then reported.
fn run_while(
    simulation: &mut Simulation<Cluster>,
    condition: impl Fn(&Cluster, Time) -> bool,
) -> bool {
    let Pace { patience, step, .. } = simulation.model().plan.pace;
    let end = simulation.now() + patience;
    while condition(simulation.model(), simulation.now()) {
        let next = simulation.now() + step;
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
