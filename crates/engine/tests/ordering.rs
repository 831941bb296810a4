//! Events run in the order of (time, sequence number), and a run can be cut anywhere without a trace.

use slotcast_engine::{
    Agenda, Event, EventQueue, HeapQueue, LadderQueue, Model, Simulation, TimerId,
};
use slotcast_units::{Span, Time};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Note(u32),
    /// Schedules so many notes for this very time.
    Burst(u32),
}

impl Event for Step {
    fn trace_word(&self) -> u64 {
        match self {
            Step::Note(n) => u64::from(*n),
            Step::Burst(n) => u64::from(*n) << 32,
        }
    }
}

#[derive(Debug, Default)]
struct Notebook {
    notes: Vec<(Time, u32)>,
}

impl Model for Notebook {
    type Event = Step;

    fn handle(&mut self, now: Time, event: Step, agenda: &mut Agenda<Step>) {
        assert_eq!(now, agenda.now());
        match event {
            Step::Note(n) => self.notes.push((now, n)),
            Step::Burst(n) => (0..n).for_each(|i| agenda.at(now, Step::Note(i))),
        }
    }
}

fn simulation<Q: EventQueue<Step>>() -> Simulation<Notebook, Q> {
    Simulation::with_queue(Notebook::default(), Q::default())
}

fn at(ns: u64) -> Time {
    Time::from_ns(ns)
}

/// Runs a test on both queues.
macro_rules! on_both_queues {
    ($($test:ident),*) => {
        mod on_the_heap { $(#[test] fn $test() { super::$test::<super::HeapQueue<_>>(); })* }
        mod on_the_ladder { $(#[test] fn $test() { super::$test::<super::LadderQueue<_>>(); })* }
    };
}

on_both_queues!(
    ties_run_as_they_were_scheduled,
    ties_made_by_a_tie_run_after_the_others,
    a_huge_burst_at_one_time_keeps_its_order,
    run_until_takes_the_end_with_it,
    a_run_may_stop_before_an_event_and_schedule_an_earlier_one,
    never_is_later_than_everything,
    a_cancelled_timer_leaves_no_trace,
    an_old_timer_id_is_harmless,
    run_counts_what_it_executes
);

fn ties_run_as_they_were_scheduled<Q: EventQueue<Step>>() {
    let mut simulation = simulation::<Q>();
    for n in 0..1_000 {
        simulation.agenda().at(at(u64::from(n % 10)), Step::Note(n));
    }
    simulation.run_until(Time::NEVER);
    let mut expected: Vec<_> = (0..1_000).map(|n| (at(u64::from(n % 10)), n)).collect();
    expected.sort();
    assert_eq!(simulation.model().notes, expected);
}

fn ties_made_by_a_tie_run_after_the_others<Q: EventQueue<Step>>() {
    let mut simulation = simulation::<Q>();
    simulation.agenda().at(at(5), Step::Burst(2));
    simulation.agenda().at(at(5), Step::Note(100));
    simulation.run_until(at(5));
    assert_eq!(simulation.model().notes, [(at(5), 100), (at(5), 0), (at(5), 1)]);
}

fn a_huge_burst_at_one_time_keeps_its_order<Q: EventQueue<Step>>() {
    let mut simulation = simulation::<Q>();
    for start in 0..100 {
        simulation.agenda().at(at(7_000_000), Step::Burst(1_000));
        simulation.agenda().at(at(start), Step::Note(start as u32));
    }
    simulation.run_until(at(7_000_000));
    let notes = &simulation.model().notes[100..];
    assert_eq!(notes.len(), 100_000);
    assert!(notes.iter().zip((0..1_000).cycle()).all(|((_, n), expected)| *n == expected));
}

fn run_until_takes_the_end_with_it<Q: EventQueue<Step>>() {
    let mut simulation = simulation::<Q>();
    simulation.agenda().at(at(10), Step::Note(1));
    simulation.agenda().at(at(11), Step::Note(2));
    simulation.run_until(at(10));
    assert_eq!(simulation.model().notes, [(at(10), 1)]);
    assert_eq!((simulation.now(), simulation.pending(), simulation.executed()), (at(10), 1, 1));
    simulation.run_until(at(100));
    assert_eq!((simulation.now(), simulation.pending(), simulation.executed()), (at(100), 0, 2));
    simulation.run_until(at(50));
    assert_eq!(simulation.now(), at(100));
}

fn a_run_may_stop_before_an_event_and_schedule_an_earlier_one<Q: EventQueue<Step>>() {
    let mut simulation = simulation::<Q>();
    for n in 0..100 {
        simulation.agenda().at(at(1_000_000), Step::Note(n));
    }
    simulation.run_until(at(10));
    for n in 100..200 {
        simulation.agenda().after(Span::from_ns(u64::from(n)), Step::Note(n));
        simulation.agenda().at(at(1_000_000), Step::Note(n + 100));
    }
    simulation.run_until(Time::NEVER);
    let early = (100..200).map(|n| (at(10 + u64::from(n)), n));
    let late = (0..100).chain(200..300).map(|n| (at(1_000_000), n));
    assert_eq!(simulation.model().notes, early.chain(late).collect::<Vec<_>>());
}

fn never_is_later_than_everything<Q: EventQueue<Step>>() {
    let mut simulation = simulation::<Q>();
    for n in 0..100 {
        simulation.agenda().at(Time::NEVER, Step::Note(1_000 + n));
        simulation.agenda().at(at(u64::from(n) << 56), Step::Note(n));
    }
    simulation.run_until(at(u64::MAX - 1));
    assert_eq!((simulation.executed(), simulation.pending()), (100, 100));
    simulation.run_until(Time::NEVER);
    let order: Vec<u32> = simulation.model().notes.iter().map(|(_, n)| *n).collect();
    assert_eq!(order, (0..100).chain(1_000..1_100).collect::<Vec<_>>());
}

fn a_cancelled_timer_leaves_no_trace<Q: EventQueue<Step>>() {
    let run = |timers: bool| {
        let mut simulation = simulation::<Q>();
        let agenda = simulation.agenda();
        // The timers come last: the notes have the same sequence numbers in both runs.
        agenda.at(at(1), Step::Note(1));
        agenda.at(at(3), Step::Note(3));
        if timers {
            let ids: Vec<TimerId> =
                (0..100).map(|n| agenda.timer_at(at(2), Step::Note(n))).collect();
            assert!(ids.iter().all(|id| agenda.cancel(*id)));
            assert_eq!(simulation.pending(), 2);
        }
        simulation.run_until(at(10));
        assert_eq!((simulation.executed(), simulation.pending()), (2, 0));
        assert_eq!(simulation.model().notes, [(at(1), 1), (at(3), 3)]);
        simulation.trace_hash()
    };
    assert_eq!(run(true), run(false));
}

fn an_old_timer_id_is_harmless<Q: EventQueue<Step>>() {
    let mut simulation = simulation::<Q>();
    let fired = simulation.agenda().timer_after(Span::from_ns(1), Step::Note(1));
    let cancelled = simulation.agenda().timer_after(Span::from_ns(2), Step::Note(2));
    assert!(simulation.agenda().cancel(cancelled));
    assert!(!simulation.agenda().cancel(cancelled));
    simulation.run_until(at(1));
    assert!(!simulation.agenda().cancel(fired));
    // The slots of both are used again.
    let next = simulation.agenda().timer_at(at(5), Step::Note(3));
    let last = simulation.agenda().timer_at(at(6), Step::Note(4));
    assert!(!simulation.agenda().cancel(fired) && !simulation.agenda().cancel(cancelled));
    assert_eq!(simulation.pending(), 2);
    assert!(simulation.agenda().cancel(last));
    simulation.run_until(at(10));
    assert!(!simulation.agenda().cancel(next));
    assert_eq!(simulation.model().notes, [(at(1), 1), (at(5), 3)]);
    assert_eq!((simulation.executed(), simulation.pending()), (2, 0));
}

fn run_counts_what_it_executes<Q: EventQueue<Step>>() {
    let mut simulation = simulation::<Q>();
    for n in 0..10 {
        let id = simulation.agenda().timer_at(at(u64::from(n)), Step::Note(n));
        if n % 2 == 1 {
            simulation.agenda().cancel(id);
        }
    }
    assert_eq!(simulation.run(2), 2);
    assert_eq!(simulation.now(), at(2));
    assert_eq!(simulation.run_some(at(7), 1), 1);
    assert_eq!(simulation.run_some(at(7), 100), 1);
    assert_eq!(simulation.now(), at(6), "at the last event, not at the end");
    assert_eq!(simulation.run_some(at(7), 100), 0);
    assert_eq!(simulation.run(100), 1);
    assert_eq!(simulation.run(100), 0);
}

#[test]
#[should_panic(expected = "before")]
fn the_past_is_closed() {
    let mut simulation = Simulation::new(Notebook::default());
    simulation.run_until(at(10));
    simulation.agenda().at(at(9), Step::Note(0));
}

#[test]
fn an_observer_sees_each_event_before_it_is_handled() {
    let mut simulation = Simulation::new(Notebook::default());
    simulation.agenda().at(at(1), Step::Burst(2));
    let mut seen = Vec::new();
    simulation.run_until_observed(at(1), &mut |time, sequence, event| {
        seen.push((time, sequence, *event));
    });
    let expected =
        [(at(1), 0, Step::Burst(2)), (at(1), 1, Step::Note(0)), (at(1), 2, Step::Note(1))];
    assert_eq!(seen, expected);
}
