//! The proxy of a negotiating group: one member that grants windows in the name of all.
//!
//! ```text
//! initiator                 proxy (a member)               the other members
//!     |-- ProxyRequest ------->|                               |  |  |
//!     | <-- ProxyReply --------|---- ProxyNotice (multicast) ->|  |  |
//!     |== chunk, inside the window, multicast ================>|  |  |
//!     |                        | <------ ProxyReport ----------+--+--+   received; disk done at ...
//!     | <---------------------------- ReplicaAck --------------+--+--+   written
//! ```
//!
//! It keeps a calendar for every member, so nothing is tentative and nothing is cancelled. Its work
//! takes time, so it answers one request after another.
//!
//! Any member can be the proxy. An initiator that finds one silent asks the next member, and that
//! member takes over ([`Term`]): it asks all members what they have promised, and grants nothing in
//! the name of those that have not answered. Two proxies at a time are no danger: each member's own
//! calendar refuses what does not fit, and the older proxy learns from the refusal that it has been
//! replaced.
//!
//! Source: the group proxy of SURGE (model "ma", the lost text "The Better Protocol"). Take-over and
//! repetition are our own.

mod choose;
mod member;
#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use slotcast_units::{Size, Span, Time};

pub use choose::ProxyChoice;

use choose::{Scratch, Wanted, choose};
use member::Member;

use crate::calendar::CalendarRules;
use crate::group::Members;
use crate::ids::{GroupId, InitiatorId, RequestId, Term};
use crate::message::{
    MAX_REPLICAS, Message, ProxyAnswer, ProxyNotice, ProxyQuery, ProxyReply, ProxyReport,
    ProxyRequest,
};
use crate::target::DiskForecast;
use crate::timing::Timing;
use crate::window::Window;

/// What a proxy must know. Every member of a group has the same but for its position.
#[derive(Debug, Clone)]
pub struct ProxyConfig {
    /// The group.
    pub group: GroupId,
    /// The position of this member.
    pub position: u8,
    /// The failure domain of each member, in order of position: at most [`Members::CAPACITY`].
    pub domains: Vec<u32>,
    /// Times shared with initiators and members.
    pub timing: Timing,
    /// How members are chosen.
    pub choice: ProxyChoice,
    /// How long one request occupies the proxy: the time of its messages, and of its own work.
    pub service: Span,
    /// Pauses and bounds of the members' calendars; how windows are found and kept is the proxy's.
    pub calendar: CalendarRules,
    /// What is expected of a member's disk until it reports.
    pub disk: DiskForecast,
    /// How long to wait for what members report.
    pub answer_timeout: Span,
}

/// What a host tells the proxy.
#[derive(Debug, Clone, Copy)]
pub enum ProxyInput<'a> {
    /// A message arrived: a request, a report, or another member's query.
    Message(&'a Message),
    /// The time that the proxy asked to be woken at has come.
    Wake,
}

/// What the proxy wants of its host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ProxyEffect {
    /// Send a message to an initiator.
    Answer {
        /// To whom.
        to: InitiatorId,
        /// What.
        message: Message,
    },
    /// Send a message to members of the group. If this member is among them, its own target hears it
    /// at once.
    Notify {
        /// To whom.
        to: Members,
        /// What.
        message: Message,
    },
    /// Say [`ProxyInput::Wake`] at this time. Replaces an earlier wish.
    WakeAt(Time),
}

/// What this member is to its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Another member is the proxy, or nobody has asked yet.
    Idle,
    /// It waits for what the members have promised.
    TakingOver { until: Time },
    /// It is the proxy.
    Serving,
}

/// The most requests that wait; whoever comes then is told to come again.
const QUEUE: usize = 1024;

/// The proxy of one group, on one of its members.
#[derive(Debug, Clone)]
pub struct Proxy {
    config: ProxyConfig,
    role: Role,
    /// The latest term that this member knows of.
    term: Term,
    members: Vec<Member>,
    queue: VecDeque<ProxyRequest>,
    /// When it has done what it has.
    free_at: Time,
    next_query: Time,
    alarm: Time,
    scratch: Scratch,
    rejected: u64,
}

impl Proxy {
    /// A member that is no proxy so far. It becomes one when it is asked.
    pub fn new(config: ProxyConfig) -> Proxy {
        assert!(
            usize::from(config.position) < config.domains.len()
                && config.domains.len() <= Members::CAPACITY,
            "member {} of {}",
            config.position,
            config.domains.len()
        );
        Proxy {
            config,
            role: Role::Idle,
            term: Term::NONE,
            members: Vec::new(),
            queue: VecDeque::new(),
            free_at: Time::ZERO,
            next_query: Time::ZERO,
            alarm: Time::NEVER,
            scratch: Scratch::default(),
            rejected: 0,
        }
    }

    /// Whether this member grants windows, or is about to.
    pub fn is_active(&self) -> bool {
        self.role != Role::Idle
    }

    /// Requests that wait.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Messages that made no sense to this proxy and were dropped.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Forgets everything, as a restart does.
    pub fn restart(&mut self) {
        self.role = Role::Idle;
        self.term = Term::NONE;
        self.members.clear();
        self.queue.clear();
        self.free_at = Time::ZERO;
        self.alarm = Time::NEVER;
    }

    /// Takes `input` at `now` and appends what is to be done to `effects`.
    pub fn handle(&mut self, now: Time, input: ProxyInput<'_>, effects: &mut Vec<ProxyEffect>) {
        match input {
            ProxyInput::Message(Message::ProxyRequest(m)) => self.request(now, m, effects),
            ProxyInput::Message(Message::ProxyReport(m)) => self.report(now, m, effects),
            ProxyInput::Message(Message::ProxyQuery(m)) => {
                if m.group == self.config.group && m.term > self.term {
                    self.replaced(now, m.term, m.request, effects);
                }
            }
            ProxyInput::Message(_) => self.rejected += 1,
            // A wish that was replaced.
            ProxyInput::Wake if now < self.alarm => return,
            ProxyInput::Wake => self.alarm = Time::NEVER,
        }
        if let Role::TakingOver { until } = self.role
            && (until <= now || self.members.iter().all(|member| member.heard))
        {
            self.role = Role::Serving;
        }
        while self.role == Role::Serving
            && self.free_at <= now
            && let Some(request) = self.queue.pop_front()
        {
            self.free_at = now + self.config.service;
            self.serve(now, &request, effects);
        }
        self.set_alarm(effects);
    }

    fn request(&mut self, now: Time, m: &ProxyRequest, effects: &mut Vec<ProxyEffect>) {
        let replicas = 1..=MAX_REPLICAS;
        if m.group != self.config.group
            || m.size == Size::ZERO
            || !replicas.contains(&usize::from(m.replicas))
        {
            self.rejected += 1;
            return;
        }
        if self.role == Role::Idle {
            if self.term > m.over && self.term.position != self.config.position {
                self.answer(m, ProxyAnswer::Moved, effects);
                return;
            }
            self.take_over(now, m.over, m.request, effects);
        }
        if self.role == Role::Serving
            && let Some((round, window, members)) = self.granted(m.request)
        {
            if round == m.round {
                self.answer_beside(now, m, ProxyAnswer::Granted { window, members }, effects);
                return;
            }
            if round > m.round {
                return;
            }
        }
        let wait = self.wait(now);
        if let Some(queued) = self.queue.iter_mut().find(|queued| queued.request == m.request) {
            if queued.round < m.round {
                *queued = *m;
            } else if queued.round == m.round {
                // Somebody is getting impatient.
                self.answer_beside(now, m, ProxyAnswer::NotNow { retry_after: wait }, effects);
            }
        } else if self.queue.len() < QUEUE {
            self.queue.push_back(*m);
        } else {
            self.answer_beside(now, m, ProxyAnswer::NotNow { retry_after: wait }, effects);
        }
    }

    /// The latest window that was granted to `request`, as far as it has not been used.
    fn granted(&self, request: RequestId) -> Option<(u8, Window, Members)> {
        let mut found: Option<(u8, Window, Members)> = None;
        for (member, position) in self.members.iter().zip(0u8..) {
            let Some((round, window)) = member.window_of(request) else { continue };
            match &mut found {
                Some((latest, _, members)) if *latest == round => members.insert(position),
                Some((latest, ..)) if *latest > round => {}
                _ => {
                    let mut members = Members::NONE;
                    members.insert(position);
                    found = Some((round, window, members));
                }
            }
        }
        found
    }

    /// How long until all requests that wait are answered.
    fn wait(&self, now: Time) -> Span {
        let ready = match self.role {
            Role::TakingOver { until } => until.max(self.free_at),
            Role::Idle | Role::Serving => self.free_at,
        };
        ready.saturating_since(now) + self.config.service * self.queue.len() as u64
    }

    /// Finds a window and members for `m`, and tells everybody concerned.
    fn serve(&mut self, now: Time, m: &ProxyRequest, effects: &mut Vec<ProxyEffect>) {
        let Proxy { config, members, scratch, .. } = self;
        let timing = &config.timing;
        // Later rounds replace earlier ones, with those who still have a window from them.
        let mut concerned = Members::NONE;
        for (member, position) in members.iter_mut().zip(0u8..) {
            member.miss(now, timing, config.answer_timeout);
            if !m.skip.contains(position) && member.release(m.request) {
                concerned.insert(position);
            }
        }
        let transfer = timing.transfer(m.size);
        // The answer travels to the initiator; and the members' notice, which leaves after it, must be
        // there before the last bit of the chunk is.
        let lead = timing.one_way().max((timing.control * 2).saturating_sub(transfer));
        let wanted = Wanted {
            now,
            replicas: usize::from(m.replicas),
            skip: m.skip,
            chunk: m.chunk,
            size: m.size,
            from: m.not_before.max(now + lead),
            taken: m.taken,
            width: transfer + timing.frame_time(),
            horizon: config.calendar.horizon,
        };
        match choose(members, &wanted, timing, config.choice, scratch) {
            Some((window, chosen)) => {
                for position in chosen.iter() {
                    let member = &mut members[usize::from(position)];
                    member.grant(now, (m.request, m.round), window, m.size);
                }
                self.answer(m, ProxyAnswer::Granted { window, members: chosen }, effects);
                self.notify(concerned.union(chosen), m, window, chosen, effects);
            }
            None => {
                let retry_after = self.config.answer_timeout;
                self.answer(m, ProxyAnswer::NotNow { retry_after }, effects);
                if !concerned.is_empty() {
                    let nothing = Window::new(now, wanted.width);
                    self.notify(concerned, m, nothing, Members::NONE, effects);
                }
            }
        }
        self.ask_the_silent(now, m.request, effects);
    }

    fn notify(
        &self,
        to: Members,
        m: &ProxyRequest,
        window: Window,
        members: Members,
        effects: &mut Vec<ProxyEffect>,
    ) {
        let message = Message::ProxyNotice(ProxyNotice {
            request: m.request,
            round: m.round,
            group: m.group,
            term: self.term,
            skip: m.skip,
            chunk: m.chunk,
            size: m.size,
            window,
            members,
        });
        effects.push(ProxyEffect::Notify { to, message });
    }

    /// Members whose promises are not known are asked now and then.
    fn ask_the_silent(&mut self, now: Time, request: RequestId, effects: &mut Vec<ProxyEffect>) {
        if now < self.next_query {
            return;
        }
        let mut silent = Members::NONE;
        for (_, position) in self.members.iter().zip(0u8..).filter(|(member, _)| !member.heard) {
            silent.insert(position);
        }
        if !silent.is_empty() {
            self.query(now, silent, request, effects);
        }
    }

    fn query(
        &mut self,
        now: Time,
        to: Members,
        request: RequestId,
        effects: &mut Vec<ProxyEffect>,
    ) {
        self.next_query = now + self.config.answer_timeout;
        let message =
            Message::ProxyQuery(ProxyQuery { request, group: self.config.group, term: self.term });
        effects.push(ProxyEffect::Notify { to, message });
    }

    fn report(&mut self, now: Time, m: &ProxyReport, effects: &mut Vec<ProxyEffect>) {
        if m.group != self.config.group || usize::from(m.position) >= self.config.domains.len() {
            self.rejected += 1;
        } else if m.term > self.term {
            self.replaced(now, m.term, m.request, effects);
        } else if let Some(member) = self.members.get_mut(usize::from(m.position)) {
            member.reported(now, m, self.config.calendar.horizon);
        }
    }

    /// Becomes the proxy after `last`, as `request` demands.
    fn take_over(
        &mut self,
        now: Time,
        last: Term,
        request: RequestId,
        effects: &mut Vec<ProxyEffect>,
    ) {
        self.term = self.term.max(last).next(self.config.position);
        self.members.clear();
        self.members.extend(self.config.domains.iter().map(|&d| Member::new(d, &self.config)));
        self.role = Role::TakingOver { until: now + self.config.answer_timeout };
        self.free_at = now;
        self.query(now, Members::first(self.members.len()), request, effects);
    }

    /// There has been a later proxy, as came out with `request`.
    fn replaced(
        &mut self,
        now: Time,
        term: Term,
        request: RequestId,
        effects: &mut Vec<ProxyEffect>,
    ) {
        if term.position != self.config.position {
            self.step_down(term, effects);
        } else if self.is_active() {
            // It was this member, before a restart.
            self.take_over(now, term, request, effects);
        }
    }

    /// Another member is the proxy. Whoever waits here is sent there.
    fn step_down(&mut self, term: Term, effects: &mut Vec<ProxyEffect>) {
        self.term = term;
        self.role = Role::Idle;
        self.members.clear();
        let mut queue = core::mem::take(&mut self.queue);
        for request in queue.drain(..) {
            self.answer(&request, ProxyAnswer::Moved, effects);
        }
        self.queue = queue;
    }

    /// An answer that is not in the turn of its request; it takes the time of a message.
    fn answer_beside(
        &mut self,
        now: Time,
        m: &ProxyRequest,
        answer: ProxyAnswer,
        effects: &mut Vec<ProxyEffect>,
    ) {
        self.free_at = self.free_at.max(now) + self.config.timing.control;
        self.answer(m, answer, effects);
    }

    fn answer(&self, m: &ProxyRequest, answer: ProxyAnswer, effects: &mut Vec<ProxyEffect>) {
        let reply =
            ProxyReply { request: m.request, round: m.round, term: self.term, answer };
        let message = Message::ProxyReply(reply);
        effects.push(ProxyEffect::Answer { to: m.request.initiator, message });
    }

    fn set_alarm(&mut self, effects: &mut Vec<ProxyEffect>) {
        let due = match self.role {
            Role::Idle => return,
            Role::TakingOver { until } => until,
            Role::Serving if self.queue.is_empty() => return,
            Role::Serving => self.free_at,
        };
        if due < self.alarm {
            self.alarm = due;
            effects.push(ProxyEffect::WakeAt(due));
        }
    }
}
