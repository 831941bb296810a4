//! Turns what a host does into observations, for an onlooker who wants them.
//!
//! A host has a [`Watch`] only if there is one. All that is done then is cold code, so that a run that
//! nobody looks at pays for a branch and no more.

use std::collections::BTreeMap;

use slotcast_protocol::{Message, RequestId};
use slotcast_units::{Size, Span, Time};

use crate::faults::Copies;
use crate::observation::{Course, Observation, Outcome};
use crate::observe::Place;
use crate::report::Operation;

/// Where a host keeps payload that is on its way: a slot, and which one of several in it.
pub type PayloadKey = (u32, u64);

/// What has been observed and not yet told, and what is under way.
#[derive(Debug, Default)]
pub struct Watch {
    told: Vec<Observation>,
    requests: BTreeMap<RequestId, OpenRequest>,
    payload: BTreeMap<PayloadKey, OpenPayload>,
}

#[derive(Debug)]
struct OpenRequest {
    operation: Operation,
    asked: Time,
    started: Time,
}

#[derive(Debug)]
struct OpenPayload {
    request: RequestId,
    from: Place,
    to: Vec<Place>,
    /// Receivers that it has not arrived at.
    missing: Vec<Place>,
    sent: Course,
    is_sent_told: bool,
    /// How it arrives, if that is not just a trip later.
    arrives: Option<Course>,
}

impl OpenPayload {
    fn tell_sent(&mut self) -> Option<Observation> {
        if self.is_sent_told || self.sent.is_empty() {
            return None;
        }
        self.is_sent_told = true;
        let OpenPayload { request, from, ref to, ref sent, .. } = *self;
        Some(Observation::Sent { request, from, to: to.clone(), course: sent.clone() })
    }

    fn arrival(&self, to: Place, trip: Span) -> Option<Observation> {
        let OpenPayload { request, from, .. } = *self;
        let course = self.arrives.clone().unwrap_or_else(|| self.sent.later(trip));
        (!course.is_empty()).then_some(Observation::Received { request, from, to, course })
    }
}

impl Watch {
    /// What is to be told now.
    pub fn take(&mut self) -> impl Iterator<Item = Observation> {
        self.told.drain(..)
    }

    /// Keeps `observation` to be told.
    #[cold]
    pub fn tell(&mut self, observation: Observation) {
        self.told.push(observation);
    }

    /// A message of Replicast, and when its copies arrive; `arrival` is the usual time.
    #[cold]
    pub fn message(
        &mut self,
        message: &Message,
        (from, to): (Place, Place),
        sent: Time,
        arrival: Time,
        copies: Copies,
    ) {
        let (request, kind) = (message.request(), message.name());
        let copy = |received| Observation::Message { request, kind, from, to, sent, received };
        if copies.is_empty() {
            self.told.push(copy(None));
        }
        self.told.extend(copies.delays().map(|delay| copy(Some(arrival + delay))));
    }

    /// A request is started.
    #[cold]
    pub fn request_started(
        &mut self,
        at: Time,
        request: RequestId,
        operation: Operation,
        asked: Time,
    ) {
        self.requests.insert(request, OpenRequest { operation, asked, started: at });
        self.told.push(Observation::RequestStarted { at, request, operation, asked });
    }

    /// A request ended.
    #[cold]
    pub fn request_ended(&mut self, at: Time, request: RequestId, outcome: Outcome) {
        if let Some(OpenRequest { operation, asked, started }) = self.requests.remove(&request) {
            let ended =
                Observation::RequestEnded { at, request, operation, asked, started, outcome };
            self.told.push(ended);
        }
    }

    /// Payload for `to` is at `key` from now on, until it has arrived everywhere. It may have to wait
    /// in the network; otherwise it arrives a trip after it has left.
    #[cold]
    pub fn payload(
        &mut self,
        key: PayloadKey,
        request: RequestId,
        from: Place,
        to: Vec<Place>,
        may_wait: bool,
    ) {
        let payload = OpenPayload {
            request,
            from,
            missing: to.clone(),
            to,
            sent: Course::default(),
            is_sent_told: false,
            arrives: may_wait.then(Course::default),
        };
        self.payload.insert(key, payload);
    }

    /// A part of the payload at `key` leaves its sender.
    #[cold]
    pub fn leaves(&mut self, key: PayloadKey, begin: Time, end: Time, size: Size) {
        if let Some(payload) = self.payload.get_mut(&key) {
            payload.sent.push(begin, end, size);
        }
    }

    /// A part of the payload at `key`, which may wait in the network, passes its receiver's port.
    #[cold]
    pub fn arrives(&mut self, key: PayloadKey, begin: Time, end: Time, size: Size) {
        let payload = self.payload.get_mut(&key);
        if let Some(course) = payload.and_then(|payload| payload.arrives.as_mut()) {
            course.push(begin, end, size);
        }
    }

    /// The last bit of the payload at `key` is at `to`, which takes it unless it is down. Gives the
    /// times at which it left its sender.
    #[cold]
    pub fn arrived(
        &mut self,
        key: PayloadKey,
        to: Place,
        trip: Span,
        is_up: bool,
    ) -> Option<(Time, Time)> {
        let payload = self.payload.get_mut(&key)?;
        let left = (payload.sent.begin(), payload.sent.end());
        self.told.extend(payload.tell_sent());
        if is_up {
            self.told.extend(payload.arrival(to, trip));
        }
        payload.missing.retain(|&place| place != to);
        if payload.missing.is_empty() {
            self.payload.remove(&key);
        }
        Some(left)
    }

    /// Where payload is on its way, from `first` on.
    pub fn keys_from(&self, first: PayloadKey) -> impl Iterator<Item = PayloadKey> {
        self.payload.range(first..).map(|(&key, _)| key)
    }

    /// The run ends: tells of all that is under way.
    pub fn end(&mut self, at: Time, trip: Span, is_up: impl Fn(Place) -> bool) {
        for mut payload in std::mem::take(&mut self.payload).into_values() {
            self.told.extend(payload.tell_sent());
            for &to in payload.missing.iter().filter(|&&to| is_up(to)) {
                self.told.extend(payload.arrival(to, trip));
            }
        }
        let requests: Vec<RequestId> = self.requests.keys().copied().collect();
        for request in requests {
            self.request_ended(at, request, Outcome::Unfinished);
        }
    }
}
