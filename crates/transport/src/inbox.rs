//! All chunks that come in pieces to one node.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use slotcast_protocol::{ChunkId, GroupId, Members, Parts, RequestId};
use slotcast_units::{Span, Time};

use crate::datagram::{Data, Purpose, Report};
use crate::pieces::Pieces;
use crate::receiving::Receiving;

/// What an inbox may take up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxLimits {
    /// Bytes of one chunk.
    pub chunk: u32,
    /// Bytes of all chunks of one sender that are not whole.
    pub bytes: usize,
    /// Chunks of one sender that are not whole.
    pub chunks: usize,
}

/// Why a piece was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The chunk is longer than chunks may be.
    TooLong,
    /// There is no room for another chunk of this sender.
    Full,
}

/// A chunk that has come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// The node that sent it.
    pub sender: u32,
    /// What it is.
    pub purpose: Purpose,
    /// For which request.
    pub request: RequestId,
    /// The negotiating group.
    pub group: GroupId,
    /// The members that it is for; with a get, the one from which it comes.
    pub members: Members,
    /// The name that it is said to have.
    pub name: ChunkId,
    /// From its first piece to its last, whichever these were.
    pub took: Span,
    /// Its bytes and the values of its pieces; none if it was given up with some missing.
    pub chunk: Option<(Vec<u8>, Parts)>,
}

/// Ended transfers that are remembered, so that a late piece does not begin them anew.
const REMEMBERED: usize = 256;

type Transfer = (u32, u32);

#[derive(Debug, Clone)]
struct Coming {
    arrived: Arrived,
    receiving: Receiving,
    begun: Time,
}

/// Chunks that are not whole yet, of any number of senders.
#[derive(Debug, Clone)]
pub struct Inbox {
    limits: InboxLimits,
    coming: BTreeMap<Transfer, Coming>,
    ended: VecDeque<Ended>,
}

/// A transfer that is over.
#[derive(Debug, Clone)]
struct Ended {
    transfer: Transfer,
    /// How many pieces it had.
    count: u32,
    is_whole: bool,
}

impl Ended {
    /// What to say to a piece that comes late: nothing, but to a sender who asks what became of it.
    fn answer(&self, data: &Data<'_>) -> Option<Report> {
        let missing = Pieces::none(self.count);
        let report = Report { transfer: data.transfer, pass: data.pass, missing };
        (data.is_last && self.is_whole).then_some(report)
    }
}

impl Inbox {
    /// Nothing is on its way.
    pub fn new(limits: InboxLimits) -> Inbox {
        Inbox { limits, coming: BTreeMap::new(), ended: VecDeque::new() }
    }

    /// Takes a piece from `sender`; what is to be told goes to `reports` with the node that it is for, and a
    /// chunk that is whole by it is given.
    ///
    /// # Errors
    /// If the piece is not taken.
    pub fn piece(
        &mut self,
        now: Time,
        sender: u32,
        data: &Data<'_>,
        reports: &mut Vec<(u32, Report)>,
    ) -> Result<Option<Arrived>, Refusal> {
        let transfer = (sender, data.transfer);
        if !self.coming.contains_key(&transfer) {
            if let Some(ended) = self.ended.iter().rev().find(|ended| ended.transfer == transfer) {
                reports.extend(ended.answer(data).map(|report| (sender, report)));
                return Ok(None);
            }
            self.has_room(sender, data.length)?;
            self.coming.insert(transfer, Coming::new(now, sender, data));
        }
        let Some(coming) = self.coming.get_mut(&transfer) else { return Ok(None) };
        if !coming.is_of(data) {
            return Ok(None);
        }
        if coming.receiving.piece(now, data) {
            reports.push((sender, coming.receiving.report(data.transfer)));
        }
        if !coming.receiving.is_whole() {
            return Ok(None);
        }
        coming.arrived.took = now.saturating_since(coming.begun);
        Ok(self.end(transfer))
    }

    fn has_room(&self, sender: u32, length: u32) -> Result<(), Refusal> {
        if length > self.limits.chunk {
            return Err(Refusal::TooLong);
        }
        let of_sender = || self.coming.range((sender, 0)..=(sender, u32::MAX)).map(|(_, c)| c);
        let bytes: usize = of_sender().map(|coming| coming.receiving.length()).sum();
        let fits = bytes + length as usize <= self.limits.bytes;
        if fits && of_sender().count() < self.limits.chunks { Ok(()) } else { Err(Refusal::Full) }
    }

    fn end(&mut self, transfer: Transfer) -> Option<Arrived> {
        let Coming { mut arrived, receiving, .. } = self.coming.remove(&transfer)?;
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        let (count, is_whole) = (receiving.count(), receiving.is_whole());
        self.ended.push_back(Ended { transfer, count, is_whole });
        arrived.chunk = is_whole.then(|| receiving.into_chunk());
        Some(arrived)
    }

    /// When [`Inbox::wake`] has something to do. O(n) in the number of chunks on their way.
    pub fn due(&self) -> Time {
        self.coming.values().map(|c| c.receiving.due()).min().unwrap_or(Time::NEVER)
    }

    /// Reminds senders that have been silent, and gives up on those that stay so.
    pub fn wake(
        &mut self,
        now: Time,
        reports: &mut Vec<(u32, Report)>,
        given_up: &mut Vec<Arrived>,
    ) {
        let mut over = Vec::new();
        for (transfer, coming) in &mut self.coming {
            if coming.receiving.due() > now {
                continue;
            }
            if coming.receiving.wake(now) {
                reports.push((transfer.0, coming.receiving.report(transfer.1)));
            } else {
                over.push(*transfer);
            }
        }
        given_up.extend(over.into_iter().filter_map(|transfer| self.end(transfer)));
    }

    /// Forgets all of `sender`: it has started anew, and counts its transfers from the beginning.
    pub fn forget(&mut self, sender: u32) {
        self.coming.retain(|(of, _), _| *of != sender);
        self.ended.retain(|ended| ended.transfer.0 != sender);
    }

    /// Chunks that are not whole yet.
    pub fn len(&self) -> usize {
        self.coming.len()
    }

    /// Whether no chunk is on its way.
    pub fn is_empty(&self) -> bool {
        self.coming.is_empty()
    }
}

impl Coming {
    fn new(now: Time, sender: u32, data: &Data<'_>) -> Coming {
        let Data { purpose, request, group, members, name, .. } = *data;
        let (took, chunk) = (Span::ZERO, None);
        let arrived = Arrived { sender, purpose, request, group, members, name, took, chunk };
        Coming { arrived, receiving: Receiving::new(data), begun: now }
    }

    /// Whether `data` speaks of the same chunk for the same purpose.
    fn is_of(&self, data: &Data<'_>) -> bool {
        let Arrived { purpose, request, group, members, name, .. } = self.arrived;
        (data.purpose, data.request, data.group, data.members, data.name)
            == (purpose, request, group, members, name)
    }
}
