use core::mem;

use crate::coordinated::disk::LogEntry;
use crate::coordinated::message::Image;
use crate::lineage::{RequestId, Vector};

use super::log::{Fit, Logged, UnitLog};
use super::*;

/// A parity server that has its content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Ready<C> {
    pub(super) logs: Vec<UnitLog<C>>,
    merging: Merging,
}

/// The critical section of the stripe: the content is read, changed and written. No message is waited
/// for in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Merging {
    Idle,
    Reading,
    /// With what the content will include.
    Writing(Vector),
}

/// A delta as it came.
pub(super) struct Delta<C> {
    pub(super) from: Stamp,
    pub(super) to: Stamp,
    pub(super) by: RequestId,
    pub(super) content: C,
}

/// Most updates of a unit in the log; further ones are not taken before some are merged.
const MAX_LOGGED: usize = 4;

impl<C: Content> Ready<C> {
    /// With a content that includes `vector`, which is not known to be committed for the units in
    /// `unsettled`.
    pub(super) fn new(vector: Vector, unsettled: &[u8]) -> Ready<C> {
        let mut logs: Vec<_> = vector.into_iter().map(UnitLog::new).collect();
        for unit in unsettled {
            if let Some(log) = logs.get_mut(usize::from(*unit)) {
                log.settled = false;
            }
        }
        Ready { logs, merging: Merging::Idle }
    }

    /// The data units whose version in the content is not known to be committed.
    fn unsettled(&self) -> Vec<u8> {
        (0..).zip(&self.logs).filter(|(_, log)| !log.settled).map(|(unit, _)| unit).collect()
    }

    /// Takes in the log that was on the disk.
    pub(super) fn restore(&mut self, mut log: Vec<LogEntry<C>>) {
        log.sort_by_key(|entry| entry.to.stamp);
        for entry in log {
            if let Some(unit) = self.logs.get_mut(usize::from(entry.unit)) {
                unit.restore(entry);
            }
        }
    }

    /// Whether every update is merged.
    pub(super) fn is_quiet(&self) -> bool {
        self.merging == Merging::Idle && self.logs.iter().all(UnitLog::is_quiet)
    }

    /// Takes a delta, and says how it fitted. Takes it only if `open`.
    pub(super) fn delta(
        &mut self,
        config: &ParityConfig,
        unit: u8,
        delta: Delta<C>,
        open: bool,
        effects: &mut Vec<Effect<C>>,
    ) -> Fit {
        let Delta { from, to, by, content } = delta;
        let log = &mut self.logs[usize::from(unit)];
        let fit = log.fit(Some(from), to);
        if fit != Fit::Next {
            return fit;
        }
        log.commit(from);
        let lineage = log.lineage(from).map(|lineage| lineage.next(to.epoch, by));
        if let Some(to) = lineage.filter(|lineage| lineage.stamp == to)
            && content.len() == config.unit_len
            && log.updates.len() < MAX_LOGGED
            && open
        {
            let content = content.scaled(config.code.coefficient(config.parity, unit));
            let entry = LogEntry { unit, from, to: to.clone(), content: content.clone() };
            let mark = Mark::Log { unit, to: to.stamp };
            effects.push(Effect::Store { mark, write: Write::Log(entry) });
            log.append(Logged { from, to, content, durable: false, committed: false });
        }
        self.merge(effects);
        fit
    }

    /// An update is durable. Says whether it is still wanted.
    pub(super) fn logged(&mut self, unit: u8, to: Stamp) -> bool {
        let updates = &mut self.logs[usize::from(unit)].updates;
        let update = updates.iter_mut().find(|update| update.to.stamp == to);
        update.map(|update| update.durable = true).is_some()
    }

    pub(super) fn commit(&mut self, unit: u8, to: Stamp, effects: &mut Vec<Effect<C>>) {
        self.logs[usize::from(unit)].commit(to);
        self.merge(effects);
    }

    pub(super) fn abort(&mut self, unit: u8, to: Stamp, effects: &mut Vec<Effect<C>>) {
        if self.logs[usize::from(unit)].abort(to) {
            let write = Write::Discard { unit, to };
            effects.push(Effect::Store { mark: Mark::Discard, write });
        }
    }

    /// Brings the unit to version `at`, as the new data server of session `session` wants it. Says
    /// whether that was possible.
    pub(super) fn settle(
        &mut self,
        unit: u8,
        session: u32,
        at: Stamp,
        effects: &mut Vec<Effect<C>>,
    ) -> bool {
        self.commit(unit, at, effects);
        // The new data server's own updates are not in question: this message may be an old one.
        let undecided = self.logs[usize::from(unit)].undecided().map(|update| update.to.stamp);
        if let Some(other) = undecided.filter(|other| other.epoch < u64::from(session)) {
            self.abort(unit, other, effects);
        }
        self.logs[usize::from(unit)].committed().stamp.version >= at.version
    }

    /// Starts to merge what is committed, unless that is going on.
    fn merge(&mut self, effects: &mut Vec<Effect<C>>) {
        let mut updates = self.logs.iter().flat_map(|log| &log.updates);
        if self.merging == Merging::Idle && updates.any(|update| update.committed) {
            self.merging = Merging::Reading;
            effects.push(Effect::Load(Load::Merge));
        }
    }

    /// Adds all committed updates to `image`, which was loaded for it, and writes it.
    pub(super) fn loaded(&mut self, born: Birth, image: Image<C>, effects: &mut Vec<Effect<C>>) {
        let merged = self.logs.iter().map(|log| log.merged.stamp);
        let current = image.vector.iter().map(|lineage| lineage.stamp).eq(merged);
        if self.merging != Merging::Reading || !current {
            return;
        }
        let Image { mut vector, mut content } = image;
        for (log, lineage) in self.logs.iter().zip(&mut vector) {
            for update in log.updates.iter().filter(|update| update.committed) {
                content.add_scaled(1, &update.content);
                *lineage = update.to.clone();
            }
        }
        self.merging = Merging::Writing(vector.clone());
        let (image, unsettled) = (Image { vector, content }, self.unsettled());
        let write = Write::Image { born, image, unsettled };
        effects.push(Effect::Store { mark: Mark::Image, write });
    }

    /// The content was written.
    pub(super) fn merged(&mut self, effects: &mut Vec<Effect<C>>) {
        if let Merging::Writing(vector) = mem::replace(&mut self.merging, Merging::Idle) {
            for (log, lineage) in self.logs.iter_mut().zip(vector) {
                log.merge(lineage);
            }
        }
        self.merge(effects);
    }
}
