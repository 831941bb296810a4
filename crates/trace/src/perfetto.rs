//! A trace that the Perfetto viewer opens: nodes as processes, what they do as slices on tracks, what
//! led to what as arrows, queues as counters. docs/simulate/traces.md says how to read it.
//!
//! Events are written as they become known, in no order of time, which the format allows. Kept is only
//! what is under way.

mod arrows;
mod json;
mod queues;
mod span;
mod tracks;

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};
use slotcast_lab::{InputError, Progress, Watch};
use slotcast_sim::{
    ClosedWindow, Course, Fate, Observation, Observer, Operation, Outcome, Place, RequestId,
    Scenario, Way, measured_until,
};
use slotcast_units::Time;

use arrows::{Anchor, Arrows};
use json::{Arg, Events, micros};
use queues::DiskQueue;
use tracks::{Kind, Track, Tracks};

pub use span::{TraceSpan, TraceSpanError};

/// Runs `scenario` with `seed` and writes what happens within `span` to `out`, as Chrome trace JSON.
///
/// Memory does not grow with the length of the run. The trace does: 5 to 15 kB per request.
///
/// # Errors
/// If the scenario cannot be run or ends before `span` begins, or the first error of `out`.
pub fn write_perfetto(
    scenario: &Scenario,
    seed: u64,
    span: TraceSpan,
    out: &mut dyn Write,
    progress: Progress<'_>,
) -> Result<io::Result<()>, Box<InputError>> {
    let end = measured_until(scenario);
    if span.from >= end {
        let message =
            format!("the span of the trace begins at {}; the run ends at {end}", span.from);
        return Err(InputError::plain(message));
    }
    let watch = Watch::new(scenario, progress);
    let mut writer = Writer::new(scenario, seed, span, out, watch);
    slotcast_sim::run_observed(scenario, seed, &mut writer)
        .map_err(|error| InputError::plain(format!("this cannot be run: {error}")))?;
    writer.watch.finish();
    Ok(writer.close())
}

struct Writer<'a> {
    span: TraceSpan,
    /// When the run ends.
    end: Time,
    events: Events<'a>,
    tracks: Tracks,
    arrows: Arrows,
    disks_per_target: u32,
    /// Those of the first target, those of the second, and so on.
    disks: Vec<DiskQueue>,
    /// By target.
    down_since: Vec<Option<Time>>,
    /// Tracks of requests that are under way.
    requests: BTreeMap<RequestId, Track>,
    watch: Watch<'a>,
}

impl<'a> Writer<'a> {
    fn new(
        scenario: &Scenario,
        seed: u64,
        span: TraceSpan,
        out: &'a mut dyn Write,
        watch: Watch<'a>,
    ) -> Writer<'a> {
        let (initiators, targets) = (scenario.cluster.initiators, scenario.cluster.targets);
        let about = json!({
            "seed": seed,
            "initiators": initiators,
            "targets": targets,
            "length_us": micros(measured_until(scenario)),
            "warmup_us": scenario.run.warmup.as_us_f64(),
        });
        let tracks = Tracks::new(initiators, targets);
        let disks_per_target = scenario.disk.per_target;
        let disk = |n: u32| {
            let target = Place::Target(n / disks_per_target);
            DiskQueue::new(tracks.pid(target), n % disks_per_target)
        };
        Writer {
            span,
            end: measured_until(scenario),
            events: Events::open(out, &about),
            arrows: Arrows::default(),
            disks_per_target,
            disks: (0..targets * disks_per_target).map(disk).collect(),
            tracks,
            down_since: vec![None; targets as usize],
            requests: BTreeMap::new(),
            watch,
        }
    }

    /// Writes a slice on a free track, cut at the end of the run, unless it is outside of the span. Its
    /// name and arguments are only made if it is written.
    fn slice(
        &mut self,
        (place, kind): (Place, Kind),
        (begin, end): (Time, Time),
        describe: impl FnOnce() -> (String, Vec<Arg>),
    ) -> Option<Anchor> {
        let end = end.min(self.end);
        if begin >= end || end <= self.span.from || begin >= self.span.to {
            return None;
        }
        let (name, args) = describe();
        let track = self.tracks.lane(place, kind, (begin, end), &mut self.events);
        self.events.slice(track, &name, kind.name(), (begin, end), &args);
        Some(Anchor { track, at: begin })
    }

    fn request_ended(
        &mut self,
        (started, ended): (Time, Time),
        request: RequestId,
        operation: Operation,
        asked: Time,
        outcome: Outcome,
    ) {
        let place = initiator(request);
        let track = self.requests.remove(&request);
        let mut start = None;
        if let Some(track) = track {
            self.tracks.free(place, Kind::Requests, track, ended);
            if started < ended && ended > self.span.from {
                let args = [
                    ("outcome", Value::from(outcome.to_string())),
                    ("asked_us", Value::from(micros(asked))),
                    ("waited_us", Value::from((started - asked).as_us_f64())),
                ];
                let name = format!("{} {request}", word(operation));
                self.events.slice(track, &name, Kind::Requests.name(), (started, ended), &args);
                start = Some(Anchor { track, at: started });
            }
        }
        let is_done = outcome == Outcome::Done;
        self.arrows.end(request, ended, is_done, start, &mut self.events);
    }

    fn message(
        &mut self,
        request: RequestId,
        kind: &'static str,
        (from, to): (Place, Place),
        sent: Time,
        received: Option<Time>,
    ) {
        let Some(received) = received else {
            if sent < self.end && sent >= self.span.from && sent < self.span.to {
                let name = format!("lost {kind} {request} to {to}");
                self.events.instant(self.tracks.pid(from), &name, "lost", sent);
            }
            return;
        };
        let anchor = self.slice((to, Kind::Control), (sent, received), || {
            (format!("{kind} {request}"), vec![("from", Value::from(from.to_string()))])
        });
        self.arrows.message(request, kind, (from, to), received, anchor);
    }

    fn window(&mut self, window: &ClosedWindow) {
        let ClosedWindow { at, target, way, request, bid_at, bid, accepted, fate } = *window;
        let (kind, shown) = match (accepted, way) {
            (Some((_, window)), Way::In) => (Kind::WindowsIn, window),
            (Some((_, window)), Way::Out) => (Kind::WindowsOut, window),
            (None, _) => (Kind::Bids, bid),
        };
        let describe = || {
            let mut args = vec![
                ("bid_at_us", Value::from(micros(bid_at))),
                ("bid", Value::from(bid.to_string())),
            ];
            if let Some((at, _)) = accepted {
                args.push(("accepted_at_us", Value::from(micros(at))));
            }
            if let Fate::Used { begin, end } = fate {
                args.push(("payload", Value::from(format!("{begin}..{end}"))));
            }
            args.push(("closed_at_us", Value::from(micros(at))));
            (format!("{} {request}", fate_word(fate)), args)
        };
        let place = Place::Target(target);
        let anchor = self.slice((place, kind), (shown.start, shown.end), describe);
        if let Fate::Used { .. } = fate {
            self.arrows.window(request, target, anchor);
        }
    }

    fn payload(
        &mut self,
        (place, kind): (Place, Kind),
        request: RequestId,
        course: &Course,
        peers: impl FnOnce() -> Arg,
    ) -> Option<Anchor> {
        let (begin, end) = (course.begin(), course.end());
        self.slice((place, kind), (begin, end), || {
            let ns = ((end - begin).as_ns() as f64).max(1.0);
            let gbps = course.size().as_bits() as f64 / ns;
            let args = vec![
                peers(),
                ("size", Value::from(course.size().to_string())),
                ("mean_gbps", Value::from((gbps * 1000.0).round() / 1000.0)),
            ];
            (format!("chunk {request}"), args)
        })
    }

    fn disk(
        &mut self,
        (target, disk): (u32, u16),
        request: RequestId,
        operation: Operation,
        (queued, begin, end): (Time, Time, Time),
    ) {
        let span = self.queue_span();
        let index = target * self.disks_per_target + u32::from(disk);
        self.disks[index as usize].push(queued, end, span, &mut self.events);
        let place = Place::Target(target);
        let anchor = self.slice((place, Kind::Disk(disk)), (begin, end), || {
            let word = match operation {
                Operation::Put => "write",
                Operation::Get => "read",
            };
            let waited = Value::from((begin - queued).as_us_f64());
            (format!("{word} {request}"), vec![("waited_us", waited)])
        });
        self.arrows.disk(request, target, anchor);
    }

    /// Where queues are counted: not beyond the end of the run.
    fn queue_span(&self) -> TraceSpan {
        TraceSpan { to: self.span.to.min(self.end), ..self.span }
    }

    fn outage_over(&mut self, target: u32, until: Time) {
        if let Some(since) = self.down_since[target as usize].take() {
            let down = || ("down".into(), Vec::new());
            self.slice((Place::Target(target), Kind::Outages), (since, until), down);
        }
    }

    fn close(mut self) -> io::Result<()> {
        let (end, span) = (self.end, self.queue_span());
        for disk in &mut self.disks {
            disk.advance(end, span, &mut self.events);
        }
        for target in 0..u32::try_from(self.down_since.len()).expect("counted in u32") {
            self.outage_over(target, end);
        }
        debug_assert!(self.arrows.open() == 0 && self.requests.is_empty(), "all requests end");
        self.events.close()
    }
}

impl Observer for Writer<'_> {
    fn progress(&mut self, reached: Time) {
        self.watch.progress(reached);
    }

    fn wants_observations(&self) -> bool {
        true
    }

    fn observe(&mut self, observation: Observation) {
        match observation {
            Observation::RequestStarted { at, request, operation, .. } => {
                if at < self.span.to {
                    self.arrows.start(request, operation);
                    let span = (at, Time::NEVER);
                    let place = initiator(request);
                    let track = self.tracks.lane(place, Kind::Requests, span, &mut self.events);
                    self.requests.insert(request, track);
                }
            }
            Observation::RequestEnded { at, request, operation, asked, started, outcome } => {
                self.request_ended((started, at), request, operation, asked, outcome);
            }
            Observation::Message { request, kind, from, to, sent, received } => {
                self.message(request, kind, (from, to), sent, received);
            }
            Observation::WindowBid { .. } => {}
            Observation::WindowAccepted { target, request, .. } => {
                self.arrows.settle(request, target);
            }
            Observation::WindowClosed(window) => self.window(&window),
            Observation::Sent { request, from, to, course } => {
                self.payload((from, Kind::PortOut), request, &course, || {
                    let to: Vec<String> = to.iter().map(Place::to_string).collect();
                    ("to", Value::from(to.join(" ")))
                });
            }
            Observation::Received { request, from, to, course } => {
                let anchor = self.payload((to, Kind::PortIn), request, &course, || {
                    ("from", Value::from(from.to_string()))
                });
                self.arrows.payload(request, (from, to), course.end(), anchor);
            }
            Observation::Disk { request, target, disk, operation, queued, begin, end } => {
                self.disk((target, disk), request, operation, (queued, begin, end));
            }
            Observation::TargetDown { at, target } => {
                self.down_since[target as usize] = Some(at);
            }
            Observation::TargetUp { at, target } => self.outage_over(target, at),
        }
    }
}

fn initiator(request: RequestId) -> Place {
    Place::Initiator(request.initiator.0)
}

fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Put => "put",
        Operation::Get => "get",
    }
}

fn fate_word(fate: Fate) -> &'static str {
    match fate {
        Fate::Used { .. } => "used",
        Fate::Cancelled => "cancelled",
        Fate::Expired => "expired",
        Fate::Idle => "idle",
        Fate::Forgotten => "forgotten",
        Fate::Open => "open",
    }
}
