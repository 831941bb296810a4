//! One cluster for many days, with the times of production: what nodes keep, in memory and on their disks, must not grow
//! with what has happened to them.

use std::fmt::{self, Write};

use slotcast_engine::{Agenda, Simulation, Streams};
use slotcast_units::Time;

use super::cluster::Cluster;
use super::event::Event;
use super::plan::Plan;
use super::{
    FaultReport, begun, collects_garbage, ended, outlives_wave, removes_surplus, run_while,
};

/// Waves of a day, each of which has one fault.
const WAVES: u32 = 4;

/// The most that anything may have grown, in percent, from the second fifth of the days to the last one.
const MAX_GROWTH: u64 = 10;

/// Fewer days than this say nothing about growth.
const MIN_DAYS: usize = 10;

/// What the nodes of a cluster keep at the end of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// Counted from 1.
    pub number: u32,
    /// Events of the simulation so far.
    pub events: u64,
    /// Faults so far.
    pub faults: u64,
    /// Requests about names that were answered so far.
    pub answered: u64,
    /// What all members know, written out, in bytes: it grows where anything in them does.
    pub state: u64,
    /// Replicas of chunks that are held.
    pub replicas: u64,
    /// Files of segments on all disks.
    pub segments: u64,
    /// Rows of names of all voters.
    pub rows: u64,
}

/// What a month was like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Month {
    /// As many as there were without anything wrong.
    pub days: Vec<Day>,
    /// What happened, and what did not hold.
    pub report: FaultReport,
}

/// Simulates one cluster of six nodes for so many days: some names are put, read, listed and deleted, and every six hours
/// one thing fails. A node that is gone for good is replaced. `told` hears of each day.
pub fn simulate_month(seed: u64, days: u32, told: impl FnMut(&Day)) -> Month {
    simulate(seed, Plan::month(&Streams::new(seed)), days, told)
}

fn simulate(seed: u64, plan: Plan, days: u32, mut told: impl FnMut(&Day)) -> Month {
    let mut simulation = begun(Cluster::of(seed, plan));
    let mut all = Vec::new();
    'days: for number in 1..=days {
        for wave in 0..WAVES {
            if !outlives_wave(&mut simulation)
                || !forgets_names(&mut simulation, number * WAVES + wave)
            {
                break 'days;
            }
            simulation.schedule(|cluster, agenda| cluster.replace_lost(agenda.now(), agenda));
        }
        let day = measure(&simulation, number);
        told(&day);
        all.push(day);
    }
    if let Some(grown) = growth(&all) {
        simulation.model_mut().report.violated(grown);
    }
    removes_surplus(&mut simulation);
    collects_garbage(&mut simulation);
    Month { days: all, report: ended(simulation).0 }
}

/// The names are deleted, and others are used from now on; and what was put without a name is removed.
fn forgets_names(simulation: &mut Simulation<Cluster>, wave: u32) -> bool {
    simulation.schedule(|cluster, agenda| {
        cluster.delete_names(agenda.now(), agenda);
        cluster.remove_unnamed(agenda.now(), agenda);
    });
    if !run_while(simulation, |cluster, _| !cluster.is_quiet()) {
        return false;
    }
    simulation.model_mut().names.rename(wave);
    simulation.model().report.violations.is_empty()
}

impl Cluster {
    /// Chunks that were put to see whether that can be done are not wanted any more.
    fn remove_unnamed(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        let all: Vec<_> = self.catalogue.acknowledged().map(|(_, chunk)| chunk).collect();
        for chunk in all {
            if self.catalogue.bare(&chunk) > 0 {
                self.remove_chunk(now, chunk, agenda);
            }
        }
    }

    /// Somebody looks after the cluster: in the place of a node that is gone for good there is another one, and the map says
    /// so. Nothing is collected before it does.
    fn replace_lost(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        let numbers = self.map.nodes.iter().map(|node| node.number);
        let lost: Vec<u32> = numbers.filter(|n| self.nodes[*n as usize].is_gone()).collect();
        for number in lost {
            self.join(now, agenda);
            self.remove(now, number, true, agenda);
        }
    }
}

fn measure(simulation: &Simulation<Cluster>, number: u32) -> Day {
    let cluster = simulation.model();
    let injected = cluster.report.injected;
    let members = || cluster.nodes.iter().filter_map(|host| host.member.as_ref());
    let disks = || cluster.nodes.iter().flat_map(|host| host.disks.values());
    let held = |target: &slotcast_member::StorageTarget| target.chunks().count() as u64;
    Day {
        number,
        events: simulation.executed(),
        faults: injected.total() - injected.lost - injected.partitioned,
        answered: cluster.report.names_answered,
        state: members().map(written).sum(),
        replicas: members().flat_map(|member| member.targets()).map(held).sum(),
        segments: disks().map(|disk| disk.disk.files() as u64).sum(),
        rows: disks().map(|disk| disk.rows.rows.all().count() as u64).sum(),
    }
}

/// The length of what is written of something for people who look for a mistake.
fn written(what: &impl fmt::Debug) -> u64 {
    struct Counts(u64);
    impl Write for Counts {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len() as u64;
            Ok(())
        }
    }
    let mut counts = Counts(0);
    write!(counts, "{what:?}").map_or(0, |()| counts.0)
}

/// What has grown, if there are enough days to say.
fn growth(days: &[Day]) -> Option<String> {
    if days.len() < MIN_DAYS {
        return None;
    }
    let fifth = days.len() / 5;
    let (before, after) = (&days[fifth..2 * fifth], &days[days.len() - fifth..]);
    type Of = fn(&Day) -> u64;
    let all: [(&str, Of); 4] = [
        ("bytes of what members know", |day| day.state),
        ("replicas", |day| day.replicas),
        ("segments", |day| day.segments),
        ("rows", |day| day.rows),
    ];
    all.into_iter().find_map(|(what, of)| {
        let sum = |days: &[Day]| days.iter().map(of).sum::<u64>();
        let (before, after) = (sum(before), sum(after));
        (after * 100 > before * (100 + MAX_GROWTH)).then(|| {
            let days = fifth as u64;
            format!("{what} grow: {} at first, {} at the end", before / days, after / days)
        })
    })
}

#[cfg(test)]
mod tests {
    use slotcast_units::Span;

    use super::*;

    fn day(state: u64) -> Day {
        Day {
            number: 1,
            events: 0,
            faults: 0,
            answered: 0,
            state,
            replicas: 9,
            segments: 9,
            rows: 9,
        }
    }

    #[test]
    fn what_grows_is_found() {
        let level: Vec<Day> = (0..30).map(|n| day(1000 + n * 7 % 5)).collect();
        assert_eq!(growth(&level), None);
        let slow: Vec<Day> = (0..30).map(|n| day(1000 + n * 10)).collect();
        assert!(growth(&slow).is_some_and(|what| what.starts_with("bytes")));
        let rows: Vec<Day> = (0..30).map(|n| Day { rows: 10 + n, ..day(1000) }).collect();
        assert!(growth(&rows).is_some_and(|what| what.starts_with("rows")));
        assert_eq!(growth(&slow[..9]), None, "too few days");
    }

    #[test]
    fn waves_with_the_times_of_production_end_well() {
        let mut plan = Plan::month(&Streams::new(1));
        plan.wave = Span::from_secs(600);
        let month = simulate(1, plan, 1, |_| {});
        assert_eq!(month.report.violations, Vec::<String>::new());
        let [day] = month.days[..] else { panic!("{:?}", month.days) };
        assert!(day.answered > 500 && day.faults > 0 && day.state > 0 && day.rows > 0);
    }
}
