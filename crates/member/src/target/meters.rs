//! What a target measures of its disk and its link, so that its bids are true.

use alloc::collections::BTreeMap;

use slotcast_protocol::{DiskMeter, InitiatorId, TargetInput};
use slotcast_store::{Op, OpId};
use slotcast_units::{Rate, Size, Span, Time};

use super::incoming::IncomingRate;

/// How long a disk may need for what waits for it before initiators are asked to wait, if they are to wait by
/// what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueRule {
    /// In time, at the measured rate.
    pub time: Span,
    /// In bytes, however fast the disk is.
    pub most: Size,
}

/// The meters of one target.
#[derive(Debug)]
pub(super) struct Meters {
    disk: DiskMeter,
    /// Reads are apart: most come from memory, and none waits for a flush.
    reads: DiskMeter,
    /// Those of repair again: what it reads is seldom read, and comes from the disk.
    repair_reads: DiskMeter,
    link: IncomingRate,
    queue: QueueRule,
    /// Reads of chunks and writes under way.
    under_way: BTreeMap<OpId, Work>,
    /// What the negotiator was told last.
    told_disk: Rate,
    told_reads: Rate,
    told_link: Rate,
}

#[derive(Debug, Clone, Copy)]
enum Work {
    Write(Size),
    Read(Size),
    RepairRead(Size),
}

/// Rates that differ by less than a fiftieth are the same to a negotiator.
fn differs(told: Rate, measured: Rate) -> bool {
    told.as_bps().abs_diff(measured.as_bps()) > told.as_bps() / 50
}

impl Meters {
    /// Nothing is measured yet: the configured rates are believed.
    pub(super) fn new(disk: Rate, link: Rate, queue: QueueRule) -> Meters {
        Meters {
            disk: DiskMeter::new(disk),
            reads: DiskMeter::new(disk),
            repair_reads: DiskMeter::new(disk),
            link: IncomingRate::new(link),
            queue,
            under_way: BTreeMap::new(),
            told_disk: disk,
            told_reads: disk,
            told_link: link,
        }
    }

    /// What a negotiator is told at the beginning.
    pub(super) fn first(&self) -> TargetInput<'static> {
        let rate = self.told_disk;
        TargetInput::DiskRate { rate, queue_limit: self.queue_limit(rate) }
    }

    /// An operation begins; a read of a chunk is one of repair, or for an initiator.
    pub(super) fn begun(&mut self, now: Time, id: OpId, op: &Op, is_repair: bool) {
        let work = match op {
            Op::Write { parts, .. } => {
                let bytes = parts.iter().map(|part| part.len() as u64).sum();
                Work::Write(Size::from_bytes(bytes))
            }
            Op::ReadContent { length, .. } if is_repair => {
                Work::RepairRead(Size::from_bytes(*length))
            }
            Op::ReadContent { length, .. } => Work::Read(Size::from_bytes(*length)),
            _ => return,
        };
        self.under_way.insert(id, work);
        match work {
            Work::Read(_) => self.reads.begun(now),
            Work::RepairRead(_) => self.repair_reads.begun(now),
            Work::Write(_) => self.disk.begun(now),
        }
    }

    /// An operation has ended; gives what the negotiator is to be told of it.
    pub(super) fn ended(
        &mut self,
        now: Time,
        id: OpId,
        went_well: bool,
    ) -> Option<TargetInput<'static>> {
        let moved = |size| if went_well { size } else { Size::ZERO };
        match self.under_way.remove(&id)? {
            Work::Read(size) => {
                let is_new = self.reads.ended(now, moved(size));
                let rate = self.reads.rate();
                if is_new && differs(self.told_reads, rate) {
                    self.told_reads = rate;
                    return Some(TargetInput::ReadRate(rate));
                }
            }
            Work::RepairRead(size) => {
                self.repair_reads.ended(now, moved(size));
            }
            Work::Write(size) => {
                let is_new = self.disk.ended(now, moved(size));
                let rate = self.disk.rate();
                if is_new && differs(self.told_disk, rate) {
                    self.told_disk = rate;
                    return Some(self.first());
                }
            }
        }
        None
    }

    /// A chunk of `size` came from `sender` in `took`, from its first byte to its last.
    pub(super) fn came(
        &mut self,
        now: Time,
        sender: InitiatorId,
        (size, took): (Size, Span),
    ) -> Option<TargetInput<'static>> {
        self.link.came(now, sender, (size, took));
        let rate = self.link.rate();
        if !differs(self.told_link, rate) {
            return None;
        }
        self.told_link = rate;
        Some(TargetInput::LinkRate(rate))
    }

    /// How fast repair reads.
    pub(super) fn repair_rate(&self) -> Rate {
        self.repair_reads.rate()
    }

    /// The rates of the disk and the link, where they have been measured.
    pub(super) fn measured(&self) -> (Option<Rate>, Option<Rate>) {
        (self.disk.measured(), self.link.measured())
    }

    fn queue_limit(&self, rate: Rate) -> Size {
        Size::from_bytes(rate.bits_in(self.queue.time) / 8).min(self.queue.most)
    }
}
