use slotcast_engine::Agenda;
use slotcast_stripe::{ClientId, Effect, Load, Peer, Stamp};
use slotcast_units::Time;

use super::event::Happening;
use super::host::{Host, Pending, What, WriteSize};
use super::machines::{EffectOf, Machines};
use super::steps::{Step, Trail};

impl<M: Machines> Host<M> {
    /// Carries out what a machine wants, in its order. A content that the machine computed is paid for
    /// once, however many times it goes out; what comes after it waits for the calculation.
    pub(super) fn carry_out(
        &mut self,
        now: Time,
        machine: u32,
        trail: Trail,
        effects: &mut Vec<EffectOf<M>>,
        agenda: &mut Agenda<Happening>,
    ) {
        let mut ready = now.max(self.machines[machine as usize].busy_until);
        let mut paid = None;
        for effect in effects.drain(..) {
            match effect {
                Effect::Send { to, mut message } => {
                    let Some(target) = self.peer(machine, to) else { continue };
                    let has_content = match M::sent(&mut message) {
                        Some(block) => {
                            let passes = block.take_passes();
                            if passes > 0 && paid != Some(block.bytes) {
                                paid = Some(block.bytes);
                                ready = ready.max(self.compute(now, machine, passes));
                            }
                            true
                        }
                        None => false,
                    };
                    let trail = self.own_trail(now, machine, to, trail);
                    let what = What::Message { to: target, to_peer: to, message, has_content };
                    self.emit(now, ready, Pending { machine, trail, what }, agenda);
                }
                Effect::Store { mark, mut write } => {
                    let size = match M::written(&mut write) {
                        Some(block) => {
                            let passes = block.take_passes();
                            if passes > 0 && paid != Some(block.bytes) {
                                paid = Some(block.bytes);
                                ready = ready.max(self.compute(now, machine, passes));
                            }
                            WriteSize::Unit
                        }
                        None if mark == slotcast_stripe::Mark::Discard => WriteSize::Later,
                        None => WriteSize::Small,
                    };
                    let what = What::Store { mark, write, size };
                    self.emit(now, ready, Pending { machine, trail, what }, agenda);
                }
                Effect::Load(load) => {
                    let record = M::read(&self.machines[machine as usize].disk, &load);
                    let at = self.in_memory(now, machine, &load);
                    let what = What::Loaded { load, record };
                    let slot = self.keep(Pending { machine, trail, what });
                    agenda.at(at, Happening::Disk { slot });
                }
                Effect::Prefetch(stamp) => self.prefetch(now, machine, stamp),
                Effect::Wake { at, timer } => {
                    agenda.at(at, Happening::Wake { machine, timer });
                }
                Effect::Done { request, outcome } => {
                    let ClientId(client) = request.client;
                    self.done(now, &trail, client, &outcome, agenda);
                }
                Effect::Lost => self.recorder.lost(),
            }
        }
        self.machines[machine as usize].busy_until = ready;
    }

    /// When a calculation of `machine` ends.
    fn compute(&mut self, now: Time, machine: u32, passes: u32) -> Time {
        let node = self.machines[machine as usize].node;
        self.servers.compute(now, node, passes)
    }

    /// How an answer to `to` came about. If it was another client's write that set it free, the client
    /// has waited since its own message came.
    fn own_trail(&mut self, now: Time, machine: u32, to: Peer, trail: Trail) -> Trail {
        let Peer::Client(ClientId(client)) = to else { return trail };
        let parked = &mut self.machines[machine as usize].parked;
        let place = parked.iter().position(|(other, _)| *other == client);
        let own = place.map(|place| parked.swap_remove(place).1);
        match own {
            Some(own) if trail.client != client => own.then(Step::Others, now),
            _ => trail,
        }
    }

    /// Lets an effect take place when it is `ready`.
    fn emit(
        &mut self,
        now: Time,
        ready: Time,
        mut pending: Pending<M>,
        agenda: &mut Agenda<Happening>,
    ) {
        pending.trail = pending.trail.then(Step::Parity, ready);
        let slot = self.keep(pending);
        if ready > now {
            agenda.at(ready, Happening::Leave { slot });
        } else {
            self.leave(now, slot, agenda);
        }
    }

    /// An effect takes place.
    pub(super) fn leave(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Happening>) {
        let machine = self.kept(slot).machine;
        let from = self.machines[machine as usize].node;
        match self.kept(slot).what {
            What::Message { to, has_content: true, .. } => {
                let to = self.machines[to as usize].node;
                let size = self.scenario.stripes.unit;
                self.links.begin(now, from, to, size, slot);
                self.watch_links(agenda);
            }
            What::Message { .. } => {
                agenda.after(self.scenario.network.message, Happening::Arrive { slot });
            }
            What::Store { size, .. } => {
                let at = match size {
                    WriteSize::Unit => self.servers.write_unit(now, from),
                    small => self.servers.write_small(now, from, small == WriteSize::Small),
                };
                agenda.at(at, Happening::Disk { slot });
            }
            What::Loaded { .. } => agenda.at(now, Happening::Disk { slot }),
        }
    }

    /// When what a machine wants to read is in memory.
    fn in_memory(&mut self, now: Time, machine: u32, load: &Load) -> Time {
        let host = &mut self.machines[machine as usize];
        if let (Load::Base(stamp), Some((fetched, at))) = (load, host.prefetched.take())
            && *stamp == fetched
        {
            return at.max(now);
        }
        let (node, is_parity) = (host.node, matches!(host.peer, Peer::Parity(_)));
        self.servers.read_unit(now, node, is_parity)
    }

    fn prefetch(&mut self, now: Time, machine: u32, stamp: Stamp) {
        let Some((fetched, _)) = self.machines[machine as usize].prefetched else {
            let node = self.machines[machine as usize].node;
            let at = self.servers.read_unit(now, node, false);
            self.machines[machine as usize].prefetched = Some((stamp, at));
            return;
        };
        if fetched != stamp {
            self.machines[machine as usize].prefetched = None;
            self.prefetch(now, machine, stamp);
        }
    }
}
