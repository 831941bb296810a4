//! Hosts one target of this node: the machine, and its disk.

use std::path::PathBuf;

use slotcast_protocol::{ChunkId, InitiatorId, Message, RequestId, TargetConfig, TargetId};
use slotcast_store::{Content, OpId, Standing, Statistics, StoringEffect, StoringTarget};
use slotcast_units::Time;

use crate::disk::{Disk, DiskResult};

/// What a target wants of the node around it.
#[derive(Debug)]
pub(crate) enum TargetWish {
    /// Send a message.
    Send(InitiatorId, Message),
    /// Send a chunk to the initiator of the request, from this time on.
    Transfer { request: RequestId, content: Content, start: Time },
}

/// What became of a chunk that a target holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetNews {
    /// It is open and takes requests.
    Opened,
    /// It cannot be opened.
    NotOpened(slotcast_store::DiskError),
    /// A stored chunk turned out to be unreadable.
    Lost(ChunkId),
}

/// One target of this node.
pub(crate) struct TargetHost {
    pub(crate) id: TargetId,
    pub(crate) path: PathBuf,
    machine: StoringTarget,
    disk: Disk,
    effects: Vec<StoringEffect>,
}

impl TargetHost {
    /// Begins to open the store; the news say when it is open.
    pub(crate) fn new(
        now: Time,
        id: TargetId,
        path: PathBuf,
        config: TargetConfig,
        store: slotcast_store::Config,
        disk: Disk,
    ) -> TargetHost {
        let mut effects = Vec::new();
        let machine = StoringTarget::open(now, config, store, &mut effects);
        let mut host = TargetHost { id, path, machine, disk, effects };
        host.carry_out(&mut Vec::new(), &mut Vec::new());
        host
    }

    pub(crate) fn standing(&self) -> Standing {
        self.machine.standing()
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.machine.statistics()
    }

    pub(crate) fn holds(&self, chunk: &ChunkId) -> bool {
        self.machine.holds(chunk)
    }

    /// A message came.
    pub(crate) fn message(
        &mut self,
        now: Time,
        message: &Message,
        wishes: &mut Vec<TargetWish>,
        news: &mut Vec<TargetNews>,
    ) {
        self.machine.message(now, message, &mut self.effects);
        self.carry_out(wishes, news);
    }

    /// A chunk came, whole and right.
    pub(crate) fn received(
        &mut self,
        now: Time,
        request: RequestId,
        content: Content,
        wishes: &mut Vec<TargetWish>,
        news: &mut Vec<TargetNews>,
    ) {
        self.machine.received(now, request, content, &mut self.effects);
        self.carry_out(wishes, news);
    }

    /// A chunk came that is not what it is said to be, or not all of it.
    pub(crate) fn damaged(
        &mut self,
        now: Time,
        request: RequestId,
        chunk: ChunkId,
        wishes: &mut Vec<TargetWish>,
        news: &mut Vec<TargetNews>,
    ) {
        self.machine.damaged(now, request, chunk, &mut self.effects);
        self.carry_out(wishes, news);
    }

    /// A chunk has left.
    pub(crate) fn sent(&mut self, now: Time, request: RequestId) {
        self.machine.sent(now, request);
    }

    /// The disk has done something.
    pub(crate) fn disk(
        &mut self,
        now: Time,
        op: OpId,
        result: DiskResult,
        wishes: &mut Vec<TargetWish>,
        news: &mut Vec<TargetNews>,
    ) {
        self.machine.disk(now, op, result, &mut self.effects);
        self.carry_out(wishes, news);
    }

    fn carry_out(&mut self, wishes: &mut Vec<TargetWish>, news: &mut Vec<TargetNews>) {
        for effect in self.effects.drain(..) {
            match effect {
                StoringEffect::Disk(id, op) => self.disk.ask(id, op),
                StoringEffect::Send(to, message) => wishes.push(TargetWish::Send(to, message)),
                StoringEffect::Transfer { request, content, start } => {
                    wishes.push(TargetWish::Transfer { request, content, start });
                }
                StoringEffect::Opened => news.push(TargetNews::Opened),
                StoringEffect::NotOpened(error) => news.push(TargetNews::NotOpened(error)),
                StoringEffect::Lost(chunk) => news.push(TargetNews::Lost(chunk)),
                // Nobody asks yet.
                StoringEffect::Fetched(..) => {}
            }
        }
    }
}
