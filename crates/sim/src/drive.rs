//! Runs a model of a cluster from start to report.

use slotcast_engine::{Agenda, Model, Simulation};
use slotcast_units::{Span, Time};

use crate::observe::{Observer, TraceLine};
use crate::recorder::{Recorder, measured_until};
use crate::report::{PortQueues, RunReport};
use crate::scenario::Scenario;

/// A model of a whole cluster.
pub(crate) trait ClusterModel: Model + Sized {
    /// Schedules the first events.
    fn start(&mut self, agenda: &mut Agenda<Self::Event>);

    fn recorder(&mut self) -> &mut Recorder;

    fn into_recorder(self) -> Recorder;

    /// The warm-up ends `now`: what was measured until now is forgotten.
    fn start_measuring(&mut self, now: Time) {
        self.recorder().start_measuring(now);
    }

    /// The queues of the switch over the time `measured`, if the model has any.
    fn port_queues(&mut self, _measured: Span) -> Option<PortQueues> {
        None
    }

    /// Where executed events are written while somebody looks on.
    fn trace(&mut self) -> &mut Trace;
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

pub(crate) fn drive<M: ClusterModel>(
    mut model: M,
    scenario: &Scenario,
    seed: u64,
    observer: &mut dyn Observer,
) -> RunReport {
    model.trace().wanted = observer.wants_events();
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
        simulation.run_until(next);
        reached = next;
        if !measuring && reached == warm {
            simulation.model_mut().start_measuring(warm);
            measuring = true;
        }
        for line in simulation.model_mut().trace().lines.drain(..) {
            observer.event(line);
        }
        observer.progress(reached);
    }

    let (events, trace_hash) = (simulation.executed(), simulation.trace_hash());
    let mut model = simulation.into_model();
    let port_queues = model.port_queues(end - warm);
    let report = model.into_recorder().report(scenario, seed, end);
    RunReport { events, trace_hash, port_queues, ..report }
}
