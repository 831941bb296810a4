//! What clients do.

use slotcast_engine::Agenda;
use slotcast_schedulers::{ClassId, ClientId, Direction, ObjectId, Request, RequestId, TargetId};
use slotcast_units::{Span, Time};

use super::{Kind, LustreModel, Rpc};
use crate::client::{Client, Rules, Then};
use crate::event::LustreEvent;
use crate::job::Work;
use crate::striping::Extent;

impl LustreModel {
    /// A client begins its job, by opening its file if files are opened, or reads what all have written.
    pub(super) fn begin_job(&mut self, now: Time, client: u32, agenda: &mut Agenda<LustreEvent>) {
        let is_new = self.clients[client as usize].sent == 0;
        if is_new && self.scenario.mdt.opens {
            self.measured.opens(now);
            self.clients[client as usize].began = now;
            let way = (client, self.node_of_mdt());
            self.tell(Kind::Open, client, way, agenda);
        } else {
            self.begin(now, client, agenda);
        }
    }

    /// A client begins to write or to read.
    pub(super) fn begin(&mut self, now: Time, client: u32, agenda: &mut Agenda<LustreEvent>) {
        let state = &mut self.clients[client as usize];
        let job = &self.scenario.jobs[state.job as usize];
        let direction = match (state.sent, job.work) {
            (0, _) => Client::first(job),
            _ => Direction::Read,
        };
        let asked = if state.sent == 0 && self.scenario.mdt.opens { state.began } else { now };
        state.begin(now, direction, job);
        self.measured.began(asked, state.job, direction);
        self.send(now, client, None, agenda);
    }

    /// Sends what the client can send, and sees whether it is done.
    pub(super) fn send(
        &mut self,
        now: Time,
        client: u32,
        object: Option<u64>,
        agenda: &mut Agenda<LustreEvent>,
    ) {
        let mut extents = std::mem::take(&mut self.extents);
        let state = &mut self.clients[client as usize];
        let job = &self.scenario.jobs[state.job as usize];
        let is_first = state.sent == 0;
        let rules = Rules { job, settings: &self.scenario.client, striping: &self.striping };
        state.send(now, rules, object, &mut self.random, &mut extents);
        let stands = state.stands(job);
        for (nth, extent) in extents.drain(..).enumerate() {
            self.send_rpc(now, client, extent, is_first && nth == 0, agenda);
        }
        self.extents = extents;
        if stands == Then::Done {
            self.done(now, client, agenda);
        }
    }

    pub(super) fn send_rpc(
        &mut self,
        now: Time,
        client: u32,
        extent: Extent,
        is_first: bool,
        agenda: &mut Agenda<LustreEvent>,
    ) {
        let state = &self.clients[client as usize];
        let job = &self.scenario.jobs[state.job as usize];
        let ost = self.ost_of(state.first_ost, extent.object);
        let request = Request {
            id: RequestId(0),
            client: ClientId(client),
            class: ClassId(job.class),
            target: TargetId(ost),
            object: ObjectId(state.file),
            direction: state.direction,
            offset: extent.offset,
            length: extent.length,
            arrived: now,
            within: (job.within > Span::ZERO).then_some(job.within),
        };
        let rpc = self.rpcs.insert(
            Rpc {
                client,
                ost,
                object: extent.object,
                request,
                sent: now,
                deadline: self.patience.deadline(now, state.estimate),
                early_replies: 0,
                is_first,
                mapped: 0,
                piece: (0, 0),
                pieces: 0,
            },
            1,
        );
        self.rpcs.get_mut(rpc).request.id = RequestId(u64::from(rpc));
        self.tell(Kind::Request, rpc, (client, self.node_of_ost(ost)), agenda);
    }

    /// A client has its answer.
    pub(super) fn answered(&mut self, now: Time, number: u32, agenda: &mut Agenda<LustreEvent>) {
        let rpc = *self.rpcs.get(number);
        self.rpcs.release(number);
        let Rpc { client, object, sent, deadline, early_replies, is_first, .. } = rpc;
        let state = &mut self.clients[client as usize];
        state.answered(now, object, rpc.request.length.as_bytes());
        self.measured.answered(now, state.job, &rpc.request, now - sent);
        if deadline < Time::NEVER {
            self.measured.punctuality.answered(now, sent, deadline, is_first, early_replies);
        }
        let job = &self.scenario.jobs[state.job as usize];
        match state.stands(job) {
            Then::Pauses => {
                let pause =
                    job.interval + Span::from_ns(self.random.below(job.interval.as_ns() / 20 + 1));
                agenda.after(pause, LustreEvent::Resume { client });
            }
            Then::GoesOn => self.send(now, client, Some(object), agenda),
            Then::Done => self.done(now, client, agenda),
        }
    }

    /// A client has read or written all that it was to.
    pub(super) fn done(&mut self, now: Time, client: u32, agenda: &mut Agenda<LustreEvent>) {
        let state = &self.clients[client as usize];
        let (index, direction) = (state.job as usize, state.direction);
        self.measured.client_done(state);
        self.busy[index] -= 1;
        let job = &self.scenario.jobs[index];
        if self.busy[index] > 0 || job.work != Work::WriteRead || direction == Direction::Read {
            return;
        }
        // All have written: all read.
        self.busy[index] = job.clients;
        let first = self.scenario.jobs[..index].iter().map(|job| job.clients).sum::<u32>();
        let spread = self.scenario.client.start_spread;
        for client in first..first + job.clients {
            let wait = self.random.below(spread.as_ns() + 1);
            agenda.at(now + Span::from_ns(wait), LustreEvent::Begin { client });
        }
    }
}
