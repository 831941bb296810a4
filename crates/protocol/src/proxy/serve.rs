//! One request: who takes the chunk, and who must be told.

use alloc::vec::Vec;

use slotcast_units::Time;

use super::choose::{Wanted, choose};
use super::{Proxy, ProxyEffect};
use crate::group::Members;
use crate::message::{Message, ProxyAnswer, ProxyNotice, ProxyReply, ProxyRequest};
use crate::window::Window;

impl Proxy {
    /// Finds a window and members for `m`, and tells everybody concerned.
    pub(super) fn serve(&mut self, now: Time, m: &ProxyRequest, effects: &mut Vec<ProxyEffect>) {
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
        // The answer must be at the initiator; and the members' notice, which leaves after it, must be
        // there before the last bit of the chunk is.
        let lead = timing.one_way().max((timing.control * 2).saturating_sub(transfer));
        let soonest = self.port_free.max(now) + lead;
        let wanted = Wanted {
            now,
            replicas: usize::from(m.replicas),
            skip: m.skip,
            chunk: m.chunk,
            size: m.size,
            from: m.not_before.max(soonest),
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
                self.answer(now, m, ProxyAnswer::Granted { window, members: chosen }, effects);
                self.notify(now, concerned.union(chosen), m, (window, chosen), effects);
            }
            None => {
                let retry_after = self.config.answer_timeout;
                self.answer(now, m, ProxyAnswer::NotNow { retry_after }, effects);
                if !concerned.is_empty() {
                    let nothing = Window::new(now, wanted.width);
                    self.notify(now, concerned, m, (nothing, Members::NONE), effects);
                }
            }
        }
        self.ask_the_silent(now, m.request, effects);
    }

    /// Tells members the whole truth about `m`: who has which window.
    fn notify(
        &mut self,
        now: Time,
        to: Members,
        m: &ProxyRequest,
        (window, members): (Window, Members),
        effects: &mut Vec<ProxyEffect>,
    ) {
        self.occupy_port(now);
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

    /// An answer that is not in the turn of its request; it takes the time of a message.
    pub(super) fn answer_beside(
        &mut self,
        now: Time,
        m: &ProxyRequest,
        answer: ProxyAnswer,
        effects: &mut Vec<ProxyEffect>,
    ) {
        self.free_at = self.free_at.max(now) + self.config.timing.control;
        self.answer(now, m, answer, effects);
    }

    pub(super) fn answer(
        &mut self,
        now: Time,
        m: &ProxyRequest,
        answer: ProxyAnswer,
        effects: &mut Vec<ProxyEffect>,
    ) {
        self.occupy_port(now);
        let reply = ProxyReply { request: m.request, round: m.round, term: self.term, answer };
        let message = Message::ProxyReply(reply);
        effects.push(ProxyEffect::Answer { to: m.request.initiator, message });
    }

    /// One more message leaves.
    pub(super) fn occupy_port(&mut self, now: Time) {
        self.port_free = self.port_free.max(now) + self.config.timing.control;
    }
}
