use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::content::Content;
use crate::lineage::{Birth, RequestId};
use crate::machine::Peer;

use super::update::Update;
use super::*;

/// A data server that has its content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Serving<C> {
    /// The newest version that is known to be committed.
    current: Lineage,
    update: Option<Update<C>>,
    /// Writes that wait for the update.
    waiting: VecDeque<Waiting<C>>,
    /// The newest life of each parity server's content that is known.
    born: Vec<Birth>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Waiting<C> {
    request: RequestId,
    base: u64,
    content: C,
}

/// Most writes that wait; others are dropped, and their clients ask again.
const MAX_WAITING: usize = 16;

impl<C: Content> Serving<C> {
    pub(super) fn new(config: &DataConfig, current: Lineage) -> Serving<C> {
        let born = config.code.per_parity(Birth::default());
        Serving { current, update: None, waiting: VecDeque::new(), born }
    }

    /// A server that does not know whether all parity servers have its newest version.
    ///
    /// Without an older version the newest one is committed: it was rebuilt, or is the first. With an
    /// older one it may be an update that was under way.
    pub(super) fn in_doubt(
        config: &DataConfig,
        older: Option<Lineage>,
        newest: Lineage,
    ) -> Serving<C> {
        let from = older.as_ref().map(|lineage| lineage.stamp);
        let update = Update::in_doubt(from, newest.clone());
        let current = older.unwrap_or(newest);
        Serving { update: Some(update), ..Serving::new(config, current) }
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.update.is_none()
    }

    /// What the update under way ends at; the first content without one.
    pub(super) fn under_way_to(&self) -> Stamp {
        self.update.as_ref().map_or(Stamp::default(), |update| update.to.stamp)
    }

    /// The version that may be shown: not one after which a newer one may have been shown already.
    pub(super) fn readable(&self) -> Option<&Lineage> {
        let hidden = self.update.as_ref().is_some_and(|update| update.hides(&self.current));
        (!hidden).then_some(&self.current)
    }

    /// The update under way, if it is the one to `to`.
    fn update_to(&mut self, to: Stamp) -> Option<&mut Update<C>> {
        self.update.as_mut().filter(|update| update.to.stamp == to)
    }

    pub(super) fn handle(
        &mut self,
        config: &DataConfig,
        input: Input<C>,
        effects: &mut Vec<Effect<C>>,
    ) {
        match input {
            Input::Message { from, message } => self.message(config, from, message, effects),
            Input::Stored(Mark::Slot(stamp)) => {
                if let Some(update) = self.update_to(stamp) {
                    update.durable = true;
                    self.try_commit(config, effects);
                }
            }
            Input::Loaded { load, record: Some(Record::Slot(slot)) } => match load {
                Load::Read { request, .. } => {
                    let version = slot.lineage.stamp.version;
                    let message = Message::Content { request, version, content: slot.content };
                    send(effects, Peer::Client(request.client), message);
                }
                Load::Copy { stamp, to, newest } => {
                    let want = newest.map_or(Want::Exactly(stamp), Want::Newest);
                    let session = config.incarnation;
                    let settled = slot.lineage.stamp.version <= self.current.stamp.version;
                    send(effects, to, Message::Copy { want, session, settled, slot });
                }
                Load::Base(_) | Load::Update(_) => {
                    if let Some(update) = &mut self.update {
                        update.loaded(slot);
                        update.exchange(config, effects);
                    }
                }
                Load::Merge | Load::Whole { .. } => {}
            },
            _ => {}
        }
    }

    fn message(
        &mut self,
        config: &DataConfig,
        from: Peer,
        message: Message<C>,
        effects: &mut Vec<Effect<C>>,
    ) {
        match (from, message) {
            (_, Message::Ask { request }) => self.ask(config, request, effects),
            (_, Message::Write { request, base, content }) => {
                self.write(config, Waiting { request, base, content }, effects);
            }
            (_, Message::Read { request }) => {
                if let Some(lineage) = self.readable() {
                    effects.push(Effect::Load(Load::Read { stamp: lineage.stamp, request }));
                }
            }
            (Peer::Parity(parity), Message::Prepared { to, session, born }) => {
                if self.hear(config, parity, session, born)
                    && let Some(update) = self.update_to(to)
                {
                    update.prepared |= 1 << parity;
                    self.try_commit(config, effects);
                }
            }
            (Peer::Parity(parity), Message::Missing { to, session, born }) => {
                if self.hear(config, parity, session, born)
                    && let Some(update) = self.update_to(to)
                {
                    update.lacking |= 1 << parity;
                    update.exchange(config, effects);
                }
            }
            (Peer::Parity(_), Message::Inquire { to }) => self.inquire(config, from, to, effects),
            (_, Message::Fetch { want: Want::Exactly(stamp) }) => {
                effects.push(Effect::Load(Load::Copy { stamp, to: from, newest: None }));
            }
            (Peer::Parity(parity), Message::Fetch { want: Want::Newest(born) }) => {
                self.fetch(parity, born, effects);
            }
            _ => {}
        }
    }

    fn ask(&mut self, config: &DataConfig, request: RequestId, effects: &mut Vec<Effect<C>>) {
        let client = Peer::Client(request.client);
        if self.readable().is_none() {
            return;
        }
        if let Some(version) = self.made(config, request) {
            send(effects, client, Message::Written { request, version });
        } else if !self.under_way(request) {
            if config.prefetch {
                effects.push(Effect::Prefetch(self.current.stamp));
            }
            let base = self.current.stamp.version;
            send(effects, client, Message::Ready { request, base });
        }
    }

    /// The version that `request` made, if it is committed.
    #[cfg_attr(not(test), expect(unused_variables, reason = "the mistakes are for tests"))]
    fn made(&self, config: &DataConfig, request: RequestId) -> Option<u64> {
        #[cfg(test)]
        if config.mistake == Mistake::ForgetRequests {
            return None;
        }
        self.current.version_of(request)
    }

    fn under_way(&self, request: RequestId) -> bool {
        let updated = self.update.as_ref().and_then(|update| update.to.version_of(request));
        updated.is_some() || self.waiting.iter().any(|waiting| waiting.request == request)
    }

    fn write(&mut self, config: &DataConfig, write: Waiting<C>, effects: &mut Vec<Effect<C>>) {
        let acceptable = self.readable().is_some() && write.content.len() == config.unit_len;
        if !acceptable || self.under_way(write.request) {
            return;
        }
        let request = write.request;
        if let Some(version) = self.made(config, request) {
            send(effects, Peer::Client(request.client), Message::Written { request, version });
        } else if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back(write);
            self.next(config, effects);
        }
    }

    /// Begins the update of the first write that waits, if nothing is under way.
    fn next(&mut self, config: &DataConfig, effects: &mut Vec<Effect<C>>) {
        while self.update.is_none()
            && let Some(Waiting { request, base, content }) = self.waiting.pop_front()
        {
            let client = Peer::Client(request.client);
            if !self.current.covers(base) {
                send(effects, client, Message::Forgotten { request });
            } else {
                let to = self.current.next(u64::from(config.incarnation), request);
                let all = config.code.all_parity();
                self.update = Some(Update::begin(&self.current, to, content, all, effects));
            }
        }
    }

    /// Commits the update if it is durable here and everywhere.
    fn try_commit(&mut self, config: &DataConfig, effects: &mut Vec<Effect<C>>) {
        let Some(update) = self.update.take_if(|update| update.is_complete(config)) else { return };
        self.current = update.to;
        let to = self.current.stamp;
        if let Some(request) = self.current.maker() {
            let message = Message::Written { request, version: to.version };
            send(effects, Peer::Client(request.client), message);
        }
        for parity in 0..config.code.parity() {
            send(effects, Peer::Parity(parity), Message::Commit { to });
        }
        self.next(config, effects);
    }

    /// Whether a parity server's answer counts: it answers this incarnation, and has not lost its
    /// content since.
    fn hear(&mut self, config: &DataConfig, parity: u8, session: u32, born: Birth) -> bool {
        let Some(known) = self.born.get_mut(usize::from(parity)) else { return false };
        let counts = session == config.incarnation && born >= *known;
        #[cfg(test)]
        let counts = counts || config.mistake == Mistake::HearTheDead;
        if counts {
            *known = born;
        }
        counts
    }

    fn inquire(&self, config: &DataConfig, from: Peer, to: Stamp, effects: &mut Vec<Effect<C>>) {
        if self.update.as_ref().is_some_and(|update| update.to.stamp == to) {
            return;
        }
        if to == self.current.stamp {
            send(effects, from, Message::Commit { to });
        } else if to.version <= self.current.stamp.version
            || to.epoch < u64::from(config.incarnation)
        {
            // An earlier incarnation made it, and did not get it onto its disk.
            let session = config.incarnation;
            send(effects, from, Message::Abort { session, to });
        }
    }

    /// Gives a parity server that has lost its content the newest content that somebody may have seen.
    /// From now on no update is committed that it does not know of.
    ///
    /// After a restart in an update that is the content after it: it may have been committed. An update
    /// of this incarnation was not, and comes as a delta once the parity server has its content. Its
    /// content must not be given: the parity server would show it before the others have it.
    fn fetch(&mut self, parity: u8, born: Birth, effects: &mut Vec<Effect<C>>) {
        let Some(known) = self.born.get_mut(usize::from(parity)) else { return };
        if born < *known {
            return;
        }
        let mut stamp = self.current.stamp;
        if let Some(update) = &mut self.update {
            if born > *known {
                update.prepared &= !(1 << parity);
            }
            if update.shown && update.prepared & 1 << parity == 0 {
                stamp = update.to.stamp;
            }
        }
        *known = born;
        let to = Peer::Parity(parity);
        effects.push(Effect::Load(Load::Copy { stamp, to, newest: Some(born) }));
    }

    pub(super) fn retry(&self, config: &DataConfig, effects: &mut Vec<Effect<C>>) {
        if let Some(update) = &self.update {
            update.query(config, effects);
        }
    }
}
