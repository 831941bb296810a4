//! Who is the proxy, and what it must hear before it grants.

use alloc::vec::Vec;

use slotcast_units::Time;

use super::member::Member;
use super::{Proxy, ProxyEffect, Role};
use crate::group::Members;
use crate::ids::{RequestId, Term};
use crate::message::{Message, ProxyAnswer, ProxyQuery, ProxyReport};

impl Proxy {
    /// Members whose promises are not known are asked now and then.
    pub(super) fn ask_the_silent(
        &mut self,
        now: Time,
        request: RequestId,
        effects: &mut Vec<ProxyEffect>,
    ) {
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
        self.occupy_port(now);
        self.next_query = now + self.config.answer_timeout;
        let message =
            Message::ProxyQuery(ProxyQuery { request, group: self.config.group, term: self.term });
        effects.push(ProxyEffect::Notify { to, message });
    }

    pub(super) fn report(&mut self, now: Time, m: &ProxyReport, effects: &mut Vec<ProxyEffect>) {
        if m.group != self.config.group || usize::from(m.position) >= self.config.domains.len() {
            self.rejected += 1;
        } else if m.term > self.term {
            self.replaced(now, m.term, m.request, effects);
        } else if let Some(member) = self.members.get_mut(usize::from(m.position)) {
            member.reported(now, m, self.term, self.config.calendar.horizon);
        }
    }

    /// Becomes the proxy after `last`, as `request` demands.
    pub(super) fn take_over(
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
    pub(super) fn replaced(
        &mut self,
        now: Time,
        term: Term,
        request: RequestId,
        effects: &mut Vec<ProxyEffect>,
    ) {
        if term.position != self.config.position {
            self.step_down(now, term, effects);
        } else if self.is_active() {
            // It was this member, before a restart.
            self.take_over(now, term, request, effects);
        }
    }

    /// Another member is the proxy. Whoever waits here is sent there.
    fn step_down(&mut self, now: Time, term: Term, effects: &mut Vec<ProxyEffect>) {
        self.term = term;
        self.role = Role::Idle;
        self.members.clear();
        let mut queue = core::mem::take(&mut self.queue);
        for request in queue.drain(..) {
            self.answer(now, &request, ProxyAnswer::Moved, effects);
        }
        self.queue = queue;
    }
}
