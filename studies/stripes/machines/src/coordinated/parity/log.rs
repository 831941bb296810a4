use alloc::vec::Vec;

use crate::coordinated::disk::LogEntry;
use crate::coordinated::message::Surrender;
use crate::lineage::{Lineage, Stamp};

/// What a parity server knows of one data unit: what its content includes, and the updates after that.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct UnitLog<C> {
    /// What the content includes.
    pub(super) merged: Lineage,
    /// Whether that is known to be committed. It may not be after the content was built anew from a data
    /// server that had restarted in an update; then nobody may read it from here.
    pub(super) settled: bool,
    /// Updates that follow on it and on each other, the oldest first. All but the last are committed.
    pub(super) updates: Vec<Logged<C>>,
}

/// An update in the log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Logged<C> {
    pub(super) from: Stamp,
    pub(super) to: Lineage,
    /// The difference, times the unit's coefficient.
    pub(super) content: C,
    pub(super) durable: bool,
    pub(super) committed: bool,
}

/// What a parity server can do with an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It is there, durable or included.
    Held,
    /// It is there, and being written.
    Arriving,
    /// It can be appended, in place of an update of the same version that came to nothing if there is
    /// one.
    Next,
    /// It starts from a content that was never seen here.
    Ahead,
    /// It is old, or will come to nothing.
    Stale,
}

impl<C> UnitLog<C> {
    pub(super) fn new(merged: Lineage) -> UnitLog<C> {
        UnitLog { merged, settled: true, updates: Vec::new() }
    }

    /// Takes in what was on the disk. The host names entries of one unit in the order of their versions.
    pub(super) fn restore(&mut self, entry: LogEntry<C>) {
        let LogEntry { from, to, content, .. } = entry;
        self.commit(from);
        self.updates.push(Logged { from, to, content, durable: true, committed: false });
    }

    /// The lineage at `stamp`, if that is the content or in the log.
    pub(super) fn lineage(&self, stamp: Stamp) -> Option<&Lineage> {
        let logged = self.updates.iter().map(|update| &update.to);
        [&self.merged].into_iter().chain(logged).find(|lineage| lineage.stamp == stamp)
    }

    /// The newest version, committed or not.
    pub(super) fn tip(&self) -> &Lineage {
        self.updates.last().map_or(&self.merged, |update| &update.to)
    }

    /// The update that may or may not be committed.
    pub(super) fn undecided(&self) -> Option<&Logged<C>> {
        self.updates.last().filter(|update| !update.committed)
    }

    /// What its data server is to be asked about.
    pub(super) fn in_doubt(&self) -> Option<Stamp> {
        let logged = self.undecided().filter(|update| update.durable);
        let logged = logged.map(|update| update.to.stamp);
        logged.or((!self.settled).then_some(self.merged.stamp))
    }

    /// Whether every update is merged, and what is merged is committed.
    pub(super) fn is_quiet(&self) -> bool {
        self.settled && self.updates.is_empty()
    }

    /// The newest version that is known to be committed, or will be.
    pub(super) fn committed(&self) -> &Lineage {
        let mut committed = self.updates.iter().rev().filter(|update| update.committed);
        committed.next().map_or(&self.merged, |update| &update.to)
    }

    /// What can be done with an update that leads from `from` to `to`. Without `from` it can only be
    /// held.
    pub(super) fn fit(&self, from: Option<Stamp>, to: Stamp) -> Fit {
        if let Some(update) = self.updates.iter().find(|update| update.to.stamp == to) {
            return if update.durable { Fit::Held } else { Fit::Arriving };
        }
        if to == self.merged.stamp {
            return Fit::Held;
        }
        if to.version <= self.committed().stamp.version {
            return Fit::Stale;
        }
        let replaces =
            |from| self.undecided().is_some_and(|last| last.from == from && last.to.stamp < to);
        match from {
            Some(from) if from == self.tip().stamp || replaces(from) => Fit::Next,
            Some(from) if from.version < self.tip().stamp.version => Fit::Stale,
            _ => Fit::Ahead,
        }
    }

    /// Appends an update that is [`Next`](Fit::Next).
    pub(super) fn append(&mut self, update: Logged<C>) {
        self.commit(update.from);
        if self.undecided().is_some() {
            self.updates.pop();
        }
        self.updates.push(update);
    }

    /// The update to `stamp`, and all before it, are committed.
    pub(super) fn commit(&mut self, stamp: Stamp) {
        self.settled |= stamp == self.merged.stamp;
        if let Some(last) = self.updates.iter().position(|update| update.to.stamp == stamp) {
            self.settled = true;
            self.updates[..=last].iter_mut().for_each(|update| update.committed = true);
        }
    }

    /// Takes the undecided update out, if it is the one to `stamp`.
    pub(super) fn abort(&mut self, stamp: Stamp) -> bool {
        let undecided = self.undecided().is_some_and(|update| update.to.stamp == stamp);
        if undecided {
            self.updates.pop();
        }
        undecided
    }

    /// The content includes all up to `merged` now.
    pub(super) fn merge(&mut self, merged: Lineage) {
        self.updates.retain(|update| update.to.stamp.version > merged.stamp.version);
        self.merged = merged;
    }

    pub(super) fn surrender(&self) -> Surrender {
        Surrender {
            committed: self.committed().clone(),
            undecided: self.undecided().map(|update| update.to.clone()),
        }
    }
}
