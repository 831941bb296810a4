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
mod serve;
mod term;
#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use slotcast_units::{Size, Span, Time};

pub use choose::ProxyChoice;

use choose::Scratch;
use member::Member;

use crate::calendar::CalendarRules;
use crate::group::Members;
use crate::ids::{GroupId, InitiatorId, RequestId, Term};
use crate::message::{MAX_REPLICAS, Message, ProxyAnswer, ProxyRequest};
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
    /// How long to wait for what members report; and how long initiators wait for an answer.
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
    /// When its messages have left.
    port_free: Time,
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
            port_free: Time::ZERO,
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
        self.port_free = Time::ZERO;
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
                self.answer(now, m, ProxyAnswer::Moved, effects);
                return;
            }
            self.take_over(now, m.over, m.request, effects);
        }
        let granted = self.granted(m.request);
        if let Some((round, window, members)) = granted {
            if round == m.round {
                self.answer_beside(now, m, ProxyAnswer::Granted { window, members }, effects);
                return;
            }
            if round > m.round {
                return;
            }
        }
        if let Some(queued) = self.queue.iter_mut().find(|queued| queued.request == m.request) {
            if queued.round < m.round {
                *queued = *m;
            } else if queued.round == m.round {
                // Somebody is getting impatient.
                let retry_after = self.wait(now);
                self.answer_beside(now, m, ProxyAnswer::NotNow { retry_after }, effects);
            }
        } else if granted.is_some() {
            // Somebody who has waited already, and holds windows that it will not use.
            self.queue.push_front(*m);
        } else if self.queue.len() < QUEUE {
            self.queue.push_back(*m);
            let retry_after = self.wait(now);
            if self.role == Role::Serving && retry_after > self.config.answer_timeout {
                // Before it asks again, and takes more of the proxy's time.
                self.answer(now, m, ProxyAnswer::NotNow { retry_after }, effects);
            }
        } else {
            let retry_after = self.wait(now);
            self.answer_beside(now, m, ProxyAnswer::NotNow { retry_after }, effects);
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
