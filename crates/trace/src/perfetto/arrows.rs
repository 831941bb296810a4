//! Arrows from a request through what it led to at one target to the answer.
//!
//! A put goes to several targets, and an arrow can only be one line. The one of category `put` or `get`
//! follows the target whose answer ended the request; the other replicas have arrows of category
//! `replica`.

use std::collections::BTreeMap;

use slotcast_sim::{Operation, Place, RequestId};
use slotcast_units::Time;

use super::json::{Events, FlowStep};
use super::tracks::Track;

/// Where an arrow touches a slice: at its beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Anchor {
    pub(super) track: Track,
    pub(super) at: Time,
}

/// What happened at one target for one request, in the round of asking that led to payload.
#[derive(Debug, Default)]
struct Steps {
    asked: Option<Anchor>,
    answered: Option<Anchor>,
    accepted: Option<Anchor>,
    window: Option<Anchor>,
    disk: Option<Anchor>,
    payload: Option<Anchor>,
    acknowledged: Option<Anchor>,
    /// The target has taken the acceptance: later messages do not belong to this.
    is_settled: bool,
    /// When the last answer is at the initiator, and whether it tells of a chunk.
    answer: Option<(Time, bool)>,
}

impl Steps {
    fn in_order(&self) -> Vec<Anchor> {
        let Steps { asked, answered, accepted, window, disk, payload, acknowledged, .. } = *self;
        let all = [asked, answered, accepted, window, disk, payload, acknowledged];
        let mut steps: Vec<Anchor> = all.into_iter().flatten().collect();
        steps.sort_by_key(|anchor| anchor.at);
        steps
    }
}

/// A request under way.
#[derive(Debug)]
struct Request {
    operation: Operation,
    targets: BTreeMap<u32, Steps>,
}

/// The requests under way, and what led to what.
#[derive(Debug, Default)]
pub(super) struct Arrows {
    requests: BTreeMap<RequestId, Request>,
    written: u64,
}

impl Arrows {
    pub(super) fn start(&mut self, request: RequestId, operation: Operation) {
        self.requests.insert(request, Request { operation, targets: BTreeMap::new() });
    }

    fn steps(&mut self, request: RequestId, target: u32) -> Option<&mut Steps> {
        Some(self.requests.get_mut(&request)?.targets.entry(target).or_default())
    }

    /// A message is on its way; `anchor` is its slice, if it has one.
    pub(super) fn message(
        &mut self,
        request: RequestId,
        kind: &str,
        (from, to): (Place, Place),
        received: Time,
        anchor: Option<Anchor>,
    ) {
        // What goes from one target to another is the step of the second.
        let ((_, Place::Target(target)) | (Place::Target(target), _)) = (from, to) else { return };
        let Some(steps) = self.steps(request, target) else { return };
        match kind {
            // Whatever went before came to nothing.
            "put-request" | "get-request" => *steps = Steps { asked: anchor, ..Steps::default() },
            "replica-ack" => {
                steps.acknowledged = anchor;
                steps.answer = Some((received, true));
            }
            _ if steps.is_settled => {}
            "bid" | "offer" | "rate-init" => {
                steps.answered = anchor;
                steps.answer = Some((received, false));
            }
            "put-accept" | "get-accept" | "proxy-notice" => steps.accepted = anchor,
            _ => {}
        }
    }

    /// The target has taken the acceptance.
    pub(super) fn settle(&mut self, request: RequestId, target: u32) {
        if let Some(steps) = self.steps(request, target) {
            steps.is_settled = true;
        }
    }

    pub(super) fn window(&mut self, request: RequestId, target: u32, anchor: Option<Anchor>) {
        if let Some(steps) = self.steps(request, target) {
            steps.window = anchor;
        }
    }

    pub(super) fn disk(&mut self, request: RequestId, target: u32, anchor: Option<Anchor>) {
        if let Some(steps) = self.steps(request, target) {
            steps.disk = anchor;
        }
    }

    /// Payload has arrived, at its target or from it.
    pub(super) fn payload(
        &mut self,
        request: RequestId,
        (from, to): (Place, Place),
        end: Time,
        anchor: Option<Anchor>,
    ) {
        let ((Place::Target(target), _) | (_, Place::Target(target))) = (from, to) else { return };
        if let Some(steps) = self.steps(request, target) {
            steps.payload = anchor;
            if let Place::Initiator(_) = to {
                steps.answer = Some((end, true));
            }
        }
    }

    /// The request ended, so all about it is known. Writes its arrows if it ended well and is drawn.
    pub(super) fn end(
        &mut self,
        request: RequestId,
        ended: Time,
        is_done: bool,
        start: Option<Anchor>,
        events: &mut Events<'_>,
    ) {
        let Some(Request { operation, targets }) = self.requests.remove(&request) else { return };
        let (true, Some(start)) = (is_done, start) else { return };
        let answer = |steps: &Steps| steps.answer.filter(|(received, _)| *received <= ended);
        let answered = || targets.iter().filter_map(|(&t, s)| Some((answer(s)?, t)));
        // The first of those whose answers came last.
        let last = answered().rev().max_by_key(|&(answer, _)| answer);
        let Some((_, last)) = last else { return };
        for ((_, is_of_chunk), target) in answered() {
            let category = match (target == last, operation) {
                (true, Operation::Put) => "put",
                (true, Operation::Get) => "get",
                (false, Operation::Put) => "replica",
                (false, Operation::Get) => continue,
            };
            if target == last || is_of_chunk {
                self.arrow(category, start, &targets[&target].in_order(), events);
            }
        }
    }

    fn arrow(
        &mut self,
        category: &'static str,
        start: Anchor,
        steps: &[Anchor],
        events: &mut Events<'_>,
    ) {
        let Some((end, between)) = steps.split_last() else { return };
        self.written += 1;
        let mut write = |step, anchor: &Anchor| {
            events.flow(step, category, self.written, anchor.track, anchor.at);
        };
        write(FlowStep::Start, &start);
        between.iter().for_each(|anchor| write(FlowStep::Step, anchor));
        write(FlowStep::End, end);
    }

    /// Requests that have not ended.
    pub(super) fn open(&self) -> usize {
        self.requests.len()
    }
}
