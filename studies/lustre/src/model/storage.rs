//! How data gets to and from the disks.

use slotcast_engine::Agenda;
use slotcast_schedulers::{Direction, Request};
use slotcast_units::{Size, Time};

use super::{Kind, LustreModel, Rpc};
use crate::cache::Waiting;
use crate::disk::member;
use crate::elevator::{DiskRequest, Plug};
use crate::event::LustreEvent;
use crate::ost::Ost;

impl LustreModel {
    /// Looks up or allocates the blocks of the next piece.
    pub(super) fn map(&mut self, number: u32, agenda: &mut Agenda<LustreEvent>) {
        let rpc = self.rpcs.get_mut(number);
        let Request { object, offset, length, .. } = rpc.request;
        let (offset, left) = (offset + rpc.mapped, length.as_bytes() - rpc.mapped);
        let ost = &mut self.osts[rpc.ost as usize];
        let mapped = ost.map(object.0, offset, left);
        let span = ost.map_time(&self.scenario.ost, rpc.request.direction, mapped);
        rpc.mapped += mapped.length;
        rpc.piece = (mapped.place, mapped.length);
        rpc.pieces += 1;
        agenda.after(span, LustreEvent::Mapped { rpc: number });
    }

    /// The place of a piece is known: it goes to the cache or to the disks, and the next one is mapped.
    pub(super) fn submit(&mut self, number: u32, agenda: &mut Agenda<LustreEvent>) {
        let rpc = *self.rpcs.get(number);
        let (place, length) = rpc.piece;
        let is_write = rpc.request.direction == Direction::Write;
        let cache = &mut self.osts[rpc.ost as usize].cache;
        let is_kept = match cache {
            Some(cache) if is_write => cache.write(Waiting { place, length, piece: number }).into(),
            Some(cache) if cache.holds(place, length) => Some(true),
            _ => None,
        };
        match is_kept {
            Some(true) => self.cached(number, length, agenda),
            Some(false) => {}
            None => self.enter_elevators(rpc.ost, number, place, length, agenda),
        }
        self.destage(rpc.ost, agenda);
        if rpc.mapped < rpc.request.length.as_bytes() {
            self.map(number, agenda);
        }
    }

    pub(super) fn cached(&mut self, number: u32, length: u64, agenda: &mut Agenda<LustreEvent>) {
        let span = self.scenario.cache.rate.time_for(Size::from_bytes(length));
        agenda.after(span, LustreEvent::Cached { rpc: number });
    }

    /// Through the elevators of the members on which the piece lies.
    pub(super) fn enter_elevators(
        &mut self,
        ost: u32,
        number: u32,
        place: u64,
        length: u64,
        agenda: &mut Agenda<LustreEvent>,
    ) {
        let direction = self.rpcs.get(number).request.direction;
        let (mut place, mut left, mut parts) = (place, length, 0);
        while left > 0 {
            let (index, at, part) = member(&self.scenario.disk, place, left);
            let number_of_disk = ost * self.scenario.disk.members + index;
            let disk = &mut self.osts[ost as usize].disks[index as usize];
            match disk.elevator.add(direction, at, part, number) {
                Plug::Unchanged => {}
                Plug::Plugged => {
                    let delay = self.scenario.elevator.unplug_delay;
                    let event = LustreEvent::Unplug { disk: number_of_disk };
                    disk.plug = Some(agenda.timer_after(delay, event));
                }
                Plug::Full => self.unplug(number_of_disk, agenda),
            }
            place += part;
            left -= part;
            parts += 1;
        }
        self.rpcs.get_mut(number).pieces += parts - 1;
    }

    pub(super) fn unplug(&mut self, disk: u32, agenda: &mut Agenda<LustreEvent>) {
        let (ost, index) = self.disk_at(disk);
        let it = &mut self.osts[ost].disks[index];
        if let Some(timer) = it.plug.take() {
            agenda.cancel(timer);
        }
        it.unplug();
        self.work(disk, agenda);
    }

    pub(super) fn disk_at(&self, disk: u32) -> (usize, usize) {
        let members = self.scenario.disk.members;
        ((disk / members) as usize, (disk % members) as usize)
    }

    /// Lets a disk begin its next request.
    pub(super) fn work(&mut self, disk: u32, agenda: &mut Agenda<LustreEvent>) {
        let (ost, index) = self.disk_at(disk);
        let Ost { disks, random, .. } = &mut self.osts[ost];
        if let Some(span) = disks[index].begin(random) {
            agenda.after(span, LustreEvent::Disk { disk });
        }
    }

    /// A disk has finished a request.
    pub(super) fn disk_done(&mut self, now: Time, disk: u32, agenda: &mut Agenda<LustreEvent>) {
        let (ost, index) = self.disk_at(disk);
        let request = self.osts[ost].disks[index].finish();
        let number = u32::try_from(ost).expect("fewer OSTs than 2^32");
        if request.pieces.is_empty() {
            self.destaged(number, agenda);
        }
        for rpc in request.pieces {
            self.piece_done(now, rpc, agenda);
        }
        self.work(disk, agenda);
    }

    /// A piece is on disk, or has come from it.
    pub(super) fn piece_done(&mut self, now: Time, number: u32, agenda: &mut Agenda<LustreEvent>) {
        let rpc = self.rpcs.get_mut(number);
        rpc.pieces -= 1;
        if rpc.pieces > 0 || rpc.mapped < rpc.request.length.as_bytes() {
            return;
        }
        let Rpc { request, client, ost, .. } = *rpc;
        let way = (self.node_of_ost(ost), client);
        match request.direction {
            Direction::Read => self.tell(Kind::Put, number, way, agenda),
            Direction::Write => {
                self.executed(now, number, agenda);
                self.tell(Kind::Reply, number, way, agenda);
            }
        }
    }

    /// Sends dirty data to disk, one piece at a time; with several members, to that of its first byte.
    pub(super) fn destage(&mut self, ost: u32, agenda: &mut Agenda<LustreEvent>) {
        let limit = self.scenario.elevator.merge_limit.as_bytes();
        let Some(cache) = &mut self.osts[ost as usize].cache else { return };
        let Some((place, length)) = cache.leave(limit) else { return };
        let (index, at, _) = member(&self.scenario.disk, place, length);
        let direction = Direction::Write;
        let request = DiskRequest { direction, place: at, length, pieces: Vec::new() };
        self.osts[ost as usize].disks[index as usize].push(request);
        self.work(ost * self.scenario.disk.members + index, agenda);
    }

    pub(super) fn destaged(&mut self, ost: u32, agenda: &mut Agenda<LustreEvent>) {
        let cache = self.osts[ost as usize].cache.as_mut();
        cache.expect("destaged from a cache").left();
        let admit = |model: &mut LustreModel| {
            model.osts[ost as usize].cache.as_mut().and_then(|cache| cache.admit())
        };
        while let Some(write) = admit(self) {
            self.cached(write.piece, write.length, agenda);
        }
        self.destage(ost, agenda);
    }
}
