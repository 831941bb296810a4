//! Runs a model of a cluster from start to report.

use slotcast_engine::{Agenda, Model, Simulation};
use slotcast_units::{Span, Time};

use crate::observe::{Observer, TraceLine};
use crate::recorder::{Recorder, measured_until};
use crate::report::RunReport;
use crate::scenario::Scenario;
use crate::watch::Watch;

/// A model of a whole cluster.
pub(crate) trait ClusterModel: Model + Sized {
    /// Schedules the first events.
    fn start(&mut self, agenda: &mut Agenda<Self::Event>);

    fn recorder(&mut self) -> &mut Recorder;

    fn into_recorder(self) -> Recorder;

    /// Where executed events are written while somebody looks on.
    fn trace(&mut self) -> &mut Trace;

    /// Where observations are collected while somebody looks on.
    fn watch(&mut self) -> &mut Watch;

    /// Tells of all that is under way when the run ends; called only if observations are wanted.
    fn tell_rest(&mut self, end: Time);
}

/// Lines for an onlooker; off unless one wants them.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) wanted: bool,
    executed: u64,
    lines: Vec<TraceLine>,
}

impl Trace {
    pub(crate) fn write(&mut self, line: impl FnOnce(u64) -> TraceLine) {
        if self.wanted {
            self.lines.push(line(self.executed));
            self.executed += 1;
        }
    }
}

/// In how many steps a run reports its progress.
const STEPS: u64 = 100;

/// After so many events an onlooker is told: what waits to be told does not grow with the run.
const EVENTS_PER_TELLING: u64 = 4096;

pub(crate) fn drive<M: ClusterModel>(
    mut model: M,
    scenario: &Scenario,
    seed: u64,
    observer: &mut dyn Observer,
) -> RunReport {
    model.trace().wanted = observer.wants_events();
    model.watch().wanted = observer.wants_observations();
    let at_once = match model.trace().wanted || model.watch().wanted {
        true => EVENTS_PER_TELLING,
        false => u64::MAX,
    };
    let mut simulation = Simulation::new(model);
    simulation.schedule(ClusterModel::start);

    let end = measured_until(scenario);
    let warm = Time::ZERO + scenario.run.warmup;
    let step = Span::from_ns((end.as_ns() / STEPS).max(1));
    let mut reached = Time::ZERO;
    let mut measuring = scenario.run.warmup == Span::ZERO;
    while reached < end {
        let mut next = (reached + step).min(end);
        if !measuring {
            next = next.min(warm);
        }
        while simulation.run_some(next, at_once) == at_once {
            tell(simulation.model_mut(), observer);
        }
        simulation.run_until(next);
        tell(simulation.model_mut(), observer);
        reached = next;
        if !measuring && reached == warm {
            simulation.model_mut().recorder().start_measuring(warm);
            measuring = true;
        }
        observer.progress(reached);
    }
    if simulation.model_mut().watch().wanted {
        simulation.model_mut().tell_rest(end);
        tell(simulation.model_mut(), observer);
    }

    let (events, trace_hash) = (simulation.executed(), simulation.trace_hash());
    let report = simulation.into_model().into_recorder().report(scenario, seed, end);
    RunReport { events, trace_hash, ..report }
}

fn tell<M: ClusterModel>(model: &mut M, observer: &mut dyn Observer) {
    for line in model.trace().lines.drain(..) {
        observer.event(line);
    }
    for observation in model.watch().take() {
        observer.observe(observation);
    }
}
