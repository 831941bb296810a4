//! Runs a model of a cluster from start to report.

use slotcast_engine::{Agenda, Model, Simulation};
use slotcast_units::{Span, Time};

use crate::clients::Clients;
use crate::observe::{Observer, TraceLine};
use crate::recorder::{Asked, Recorder, measured_until};
use crate::report::{PortQueues, RunReport};
use crate::scenario::Scenario;
use crate::watch::Watch;

/// A model of a whole cluster.
pub trait ClusterModel: Model + Sized {
    /// Schedules the first events.
    fn start(&mut self, agenda: &mut Agenda<Self::Event>);

    /// What measures it.
    fn recorder(&mut self) -> &mut Recorder;

    /// What has measured it, when the run is over.
    fn into_recorder(self) -> Recorder;

    /// Its load.
    fn clients(&mut self) -> &mut Clients;

    /// When each request was asked for that this model has in its hands, each once, those left out that
    /// wait at the load for a place in a window.
    fn asked(&self) -> impl Iterator<Item = Time>;

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

    /// Where observations are collected; there if somebody wants them.
    fn watch(&mut self) -> &mut Option<Box<Watch>>;

    /// Tells of all that is under way when the run ends; called only if observations are wanted.
    fn tell_rest(&mut self, end: Time);
}

/// Lines for an onlooker; off unless one wants them.
#[derive(Debug, Default)]
pub struct Trace {
    /// Whether somebody wants them.
    pub wanted: bool,
    executed: u64,
    lines: Vec<TraceLine>,
}

impl Trace {
    /// The line of the event that is being executed, given its number.
    pub fn write(&mut self, line: impl FnOnce(u64) -> TraceLine) {
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

/// Runs `model` from start to report while `observer` looks on. The scenario must have been checked.
pub fn drive<M: ClusterModel>(
    mut model: M,
    scenario: &Scenario,
    seed: u64,
    observer: &mut dyn Observer,
) -> RunReport {
    model.trace().wanted = observer.wants_events();
    *model.watch() = observer.wants_observations().then(Box::default);
    let is_watched = model.trace().wanted || model.watch().is_some();
    let mut simulation = Simulation::new(model);
    simulation.schedule(ClusterModel::start);

    let end = measured_until(scenario);
    let warm = Time::ZERO + scenario.run.warmup;
    let step = Span::from_ns((end.as_ns() / STEPS).max(1));
    let mut reached = Time::ZERO;
    let mut asked = Asked::default();
    let mut measuring = scenario.run.warmup == Span::ZERO;
    while reached < end {
        let mut next = (reached + step).min(end);
        if !measuring {
            next = next.min(warm);
        }
        while is_watched && simulation.run_some(next, EVENTS_PER_TELLING) > 0 {
            tell(simulation.model_mut(), observer);
        }
        simulation.run_until(next);
        reached = next;
        if !measuring && reached == warm {
            let model = simulation.model_mut();
            asked.age_at_start = age(model, warm);
            model.clients().asked_for().reset(warm);
            model.start_measuring(warm);
            measuring = true;
        }
        observer.progress(reached);
    }
    if simulation.model_mut().watch().is_some() {
        simulation.model_mut().tell_rest(end);
        tell(simulation.model_mut(), observer);
    }

    let (events, trace_hash) = (simulation.executed(), simulation.trace_hash());
    let mut model = simulation.into_model();
    asked.age_at_end = age(&mut model, end);
    asked.integral = model.clients().asked_for().integral(end);
    let port_queues = model.port_queues(end - warm);
    let report = model.into_recorder().report(scenario, seed, end, asked);
    RunReport { events, trace_hash, port_queues, ..report }
}

fn tell<M: ClusterModel>(model: &mut M, observer: &mut dyn Observer) {
    for line in model.trace().lines.drain(..) {
        observer.event(line);
    }
    if let Some(watch) = model.watch() {
        watch.take().for_each(|observation| observer.observe(observation));
    }
}

/// How long all requests under way have been under way, together, in ns.
fn age<M: ClusterModel>(model: &mut M, now: Time) -> u128 {
    let since = |asked: Time| u128::from((now - asked).as_ns());
    let waiting: u128 = model.clients().waiting().map(since).sum();
    waiting + model.asked().map(since).sum::<u128>()
}
