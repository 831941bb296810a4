//! A target whose group has a proxy: it keeps to what the proxy accepts in its name, and reports.
//!
//! The target's own calendar has the last word. Whatever a proxy may believe, and however many
//! members take themselves for one, a window that overlaps a promised one is refused.

use alloc::vec::Vec;

use slotcast_units::{Size, Span, Time};

use super::{Holdings, Target, TargetEffect};
use crate::calendar::NotBooked;
use crate::ids::{RequestId, Term};
use crate::message::{AckOutcome, Message, Occasion, ProxyNotice, ProxyQuery, ProxyReport};

impl Target {
    pub(super) fn proxy_notice(
        &mut self,
        now: Time,
        m: &ProxyNotice,
        holdings: &impl Holdings,
        effects: &mut Vec<TargetEffect>,
    ) {
        if m.group != self.config.group || m.size == Size::ZERO {
            self.rejected += 1;
            return;
        }
        let named = m.members.contains(self.config.position);
        if m.term < self.term {
            // Of a proxy that has been replaced, and may not know it.
            if named {
                self.acknowledge(m.request, AckOutcome::NoReservation, effects);
            }
            self.report(now, m.request, Occasion::Asked, m.term, effects);
            return;
        }
        self.term = m.term;
        if m.skip.contains(self.config.position) {
            return;
        }
        // A repeated notice may come when the chunk is here already.
        if !named || self.is_writing(m.request) {
            self.incoming.give_up_before(m.request, m.round);
            return;
        }
        if holdings.size_of(&m.chunk).is_some() {
            self.incoming.give_up_before(m.request, m.round);
            self.acknowledge(m.request, AckOutcome::Stored, effects);
            self.report(now, m.request, Occasion::Received, m.term, effects);
            return;
        }
        match self.incoming.book(now, (m.request, m.round), m.window, m.size) {
            Ok(()) | Err(NotBooked::Overtaken) => {}
            Err(NotBooked::Unavailable) => {
                self.acknowledge(m.request, AckOutcome::NoReservation, effects);
                self.report(now, m.request, Occasion::Asked, m.term, effects);
            }
        }
    }

    pub(super) fn proxy_query(
        &mut self,
        now: Time,
        m: &ProxyQuery,
        effects: &mut Vec<TargetEffect>,
    ) {
        if m.group != self.config.group {
            self.rejected += 1;
            return;
        }
        self.term = self.term.max(m.term);
        self.report(now, m.request, Occasion::Asked, m.term, effects);
    }

    /// Tells the proxy of `term` what this target has before it.
    pub(super) fn report(
        &self,
        now: Time,
        request: RequestId,
        occasion: Occasion,
        term: Term,
        effects: &mut Vec<TargetEffect>,
    ) {
        let disk = &self.config.disk;
        let promised = match occasion {
            Occasion::Received => Span::ZERO,
            Occasion::Asked => {
                self.incoming.expected(now).map(|slot| disk.service(slot.payload)).sum()
            }
        };
        let message = Message::ProxyReport(ProxyReport {
            request,
            group: self.config.group,
            position: self.config.position,
            term: self.term,
            occasion,
            free_from: now + self.incoming.busy_for(now),
            disk_done: now + disk.level(now, promised),
            disk_rate: disk.rate(),
        });
        effects.push(TargetEffect::Report { to: term.position, message });
    }
}
