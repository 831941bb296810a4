//! What must hold.

use slotcast_job::{Cursor, Kind, Range, Stage, StateRecord, Status, Totals, UnitRecord};
use slotcast_object::VersionId;

use crate::world::{LOST, World};

/// The job is about to become this.
pub(crate) fn next_state(world: &mut World, state: &StateRecord) {
    let totals = totals(world);
    let is_over = |stage: Stage| {
        let plan = &world.units[&0].1;
        let mut units = (1..=plan.units).map(|unit| world.units.get(&unit));
        plan.is_done && units.all(|unit| unit.is_some_and(|(_, of)| of.is_done_in(stage)))
    };
    let problem = match state.status {
        Status::Finished if !is_over(Stage::Work) => Some("finished before all work is done"),
        Status::Verified if !is_over(Stage::Check) => Some("verified before all is compared"),
        Status::Verified if !totals.check.are_even() || totals.check.failed > 0 => {
            Some("verified though the counts differ")
        }
        _ => None,
    };
    world.problems.extend(problem.map(str::to_owned));
}

/// A unit is about to say this.
pub(crate) fn next_unit(world: &mut World, unit: u32, record: &UnitRecord) {
    let Some((_, before)) = world.units.get(&unit) else { return };
    let is_before = |a: &Cursor, b: &Cursor| match (a, b) {
        (_, Cursor::End) | (Cursor::Start, _) => true,
        (Cursor::After(a), Cursor::After(b)) => a <= b,
        (Cursor::Count(a), Cursor::Count(b)) => a <= b,
        _ => false,
    };
    let goes_back = record.token < before.token
        || record.stage < before.stage
        || (record.stage == before.stage && !is_before(&before.cursor, &record.cursor))
        || record.range != before.range;
    if goes_back {
        world.problems.push(format!("unit {unit} goes back: {before:?} becomes {record:?}"));
    }
}

/// The job has changed a name that stood for `before`.
pub(crate) fn effect(
    world: &mut World,
    (name, source): (&str, VersionId),
    before: Option<VersionId>,
    deletes: bool,
) {
    if world.effects[&(name.to_owned(), source)] > 1 {
        world.problems.push(format!("{name} was made twice of the same version"));
    }
    if !deletes && before.is_some_and(|before| !world.was_seen(before)) {
        world.problems.push(format!("{name} was replaced without having been seen"));
    }
}

pub(crate) fn totals(world: &World) -> Totals {
    let mut totals = Totals::default();
    world.units.iter().for_each(|(unit, (_, record))| totals.add(*unit, record));
    totals
}

/// The ranges of the units follow one another.
fn ranges(world: &World) -> Vec<String> {
    let plan = &world.units[&0].1;
    let mut at: (Option<String>, u64) = (None, 0);
    let mut problems = Vec::new();
    for unit in 1..=plan.units {
        match &world.units[&unit].1.range {
            Range::Names { after, upto } if *after == at.0 => at.0.clone_from(upto),
            Range::Numbers { from, end } if *from == at.1 => at.1 = *end,
            range => problems.push(format!("unit {unit} follows {at:?} and has {range:?}")),
        }
    }
    if plan.units > 0 && plan.is_done && at.0.is_some() {
        problems.push("the last unit has an end".into());
    }
    problems
}

/// The job is over.
pub(crate) fn at_the_end(world: &World) -> Vec<String> {
    let mut problems = world.problems.clone();
    let (plan, state, totals) = (&world.plan, &world.state.1, totals(world));
    if plan.is_calm && world.fenced > 0 {
        problems.push(format!("{} units were taken from those who worked on them", world.fenced));
    }
    if state.status == Status::Aborted {
        return problems;
    }
    if world.has_lost_sources && state.status == Status::Failed {
        let is_told = state.reason.as_deref() == Some(LOST);
        problems.extend((!is_told).then(|| format!("it has failed: {:?}", state.reason)));
        return problems;
    }
    problems.extend(ranges(world));
    let expected = if plan.can_be_done() { Status::Verified } else { Status::Failed };
    if state.status != expected {
        let failures: Vec<_> =
            world.units.values().flat_map(|(_, of)| &of.failures).take(3).collect();
        problems.push(format!(
            "{:?} and not {expected:?}: {:?}, {failures:?}",
            state.status, state.reason
        ));
    }
    // What was deleted before its cursor was kept is listed no more, and so not counted.
    let is_counted = match plan.text.kind {
        Kind::Delete => totals.work.objects <= plan.names,
        _ => totals.work.objects == plan.names,
    };
    if !plan.changes_sources && !is_counted {
        problems.push(format!("{} of {} objects are counted", totals.work.objects, plan.names));
    }
    if !totals.work.are_even() {
        problems.push(format!("counts differ: {totals:?}"));
    }
    missing(world, &mut problems);
    problems
}

/// Each selected version has had its effect, once.
fn missing(world: &World, problems: &mut Vec<String>) {
    let plan = &world.plan;
    match plan.text.kind {
        Kind::Verify => {}
        Kind::Delete => {
            let left = world.sources.values().filter(|record| record.head().is_some()).count();
            if left > 0 {
                problems.push(format!("{left} objects are left"));
            }
        }
        Kind::Copy | Kind::Transform(_) => {
            for (name, record) in &world.sources {
                let Some(head) = record.head() else { continue };
                let output = plan.text.output(name).expect("it has one");
                let count = world.effects.get(&(output, head.id)).copied().unwrap_or(0);
                let is_poison = plan.poison.get(name) == Some(&crate::plan::Poison::Always);
                if count != u32::from(!is_poison) {
                    problems.push(format!("the output of {name} was made {count} times"));
                }
            }
        }
    }
}
