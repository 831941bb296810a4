use crate::coordinated::message::Slot;
use crate::machine::Peer;

use super::*;

/// One update of the unit on its way to being committed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Update<C> {
    /// The content before; `None` if it is not on the disk any more.
    from: Option<Stamp>,
    /// The content after.
    pub(super) to: Lineage,
    /// Whether the content after is on the disk here.
    pub(super) durable: bool,
    /// Whether somebody else may already have seen it committed.
    pub(super) shown: bool,
    /// The parity servers that have it on their disks, a bit each.
    pub(super) prepared: u32,
    /// The parity servers that are to get the delta, a bit each.
    pub(super) lacking: u32,
    old: Option<C>,
    new: Option<C>,
    delta: Option<C>,
}

impl<C: Content> Update<C> {
    /// Begins the update from `current` to `to`: the new content goes to the disk, and the old one is
    /// fetched to tell the parity servers the difference.
    pub(super) fn begin(
        current: &Lineage,
        to: Lineage,
        content: C,
        all_parity: u32,
        effects: &mut Vec<Effect<C>>,
    ) -> Update<C> {
        let slot = Slot { lineage: to.clone(), content: content.clone() };
        effects.push(Effect::Load(Load::Base(current.stamp)));
        effects.push(Effect::Store { mark: Mark::Slot(to.stamp), write: Write::Slot(slot) });
        Update {
            lacking: all_parity,
            durable: false,
            shown: false,
            new: Some(content),
            ..Update::in_doubt(Some(current.stamp), to)
        }
    }

    /// The update to what is on the disk, of which nobody knows whether it was committed.
    pub(super) fn in_doubt(from: Option<Stamp>, to: Lineage) -> Update<C> {
        Update {
            from,
            to,
            durable: true,
            shown: true,
            prepared: 0,
            lacking: 0,
            old: None,
            new: None,
            delta: None,
        }
    }

    /// Whether `current` must not be shown: it may be older than what was shown before.
    pub(super) fn hides(&self, current: &Lineage) -> bool {
        self.shown && self.to.stamp != current.stamp
    }

    /// Takes a content that was loaded.
    pub(super) fn loaded(&mut self, slot: Slot<C>) {
        if Some(slot.lineage.stamp) == self.from {
            self.old = Some(slot.content);
        } else if slot.lineage.stamp == self.to.stamp {
            self.new = Some(slot.content);
        }
    }

    /// Sends the delta to the parity servers that lack it, or fetches what it is made of.
    pub(super) fn exchange(&mut self, config: &DataConfig, effects: &mut Vec<Effect<C>>) {
        let (Some(from), Some(by)) = (self.from, self.to.maker()) else { return };
        if self.lacking == 0 {
            return;
        }
        if self.delta.is_none() {
            match (self.old.take(), self.new.take()) {
                (Some(old), Some(new)) => self.delta = Some(new.plus(&old)),
                (None, None) => {
                    effects.push(Effect::Load(Load::Base(from)));
                    effects.push(Effect::Load(Load::Update(self.to.stamp)));
                }
                (old, new) => (self.old, self.new) = (old, new),
            }
        }
        let Some(delta) = &self.delta else { return };
        for parity in 0..config.code.parity() {
            if self.lacking & 1 << parity != 0 {
                let message = Message::Delta {
                    session: config.incarnation,
                    from,
                    to: self.to.stamp,
                    by,
                    content: delta.clone(),
                };
                send(effects, Peer::Parity(parity), message);
            }
        }
        self.lacking = 0;
    }

    /// Asks the parity servers that have not answered.
    pub(super) fn query(&self, config: &DataConfig, effects: &mut Vec<Effect<C>>) {
        for parity in 0..config.code.parity() {
            if self.prepared & 1 << parity == 0 {
                let (from, to) = (self.from, self.to.stamp);
                let message = Message::Query { session: config.incarnation, from, to };
                send(effects, Peer::Parity(parity), message);
            }
        }
    }

    /// Whether it is on stable storage here and everywhere.
    pub(super) fn is_complete(&self, config: &DataConfig) -> bool {
        #[cfg(test)]
        match config.mistake {
            Mistake::CommitBeforeDurable => return self.prepared == config.code.all_parity(),
            Mistake::CommitBeforePrepared => return self.durable,
            _ => {}
        }
        self.durable && self.prepared == config.code.all_parity()
    }
}
