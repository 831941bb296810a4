//! Hosts the proxies: a proxy shares the node of a target, and its port for control messages.

use slotcast_engine::Agenda;
use slotcast_protocol::{Members, Message, Proxy, ProxyEffect, ProxyInput, TargetEffect, TargetId};
use slotcast_scenario::Place;
use slotcast_units::Time;

use super::{Event, ReplicastModel};

/// What the host keeps for the proxy on one target's node.
#[derive(Debug)]
pub(super) struct ProxyHost {
    machine: Proxy,
    /// Until when the node's port is busy with control messages that leave it.
    control_until: Time,
}

impl ProxyHost {
    pub(super) fn new(machine: Proxy) -> ProxyHost {
        ProxyHost { machine, control_until: Time::ZERO }
    }

    /// The node restarts.
    pub(super) fn restart(&mut self) {
        self.machine.restart();
    }
}

impl ReplicastModel {
    /// When a control message that the node of `target` sends `now` has left it. Where there are
    /// proxies, one leaves after the other; elsewhere a node never has several at once to speak of.
    #[inline]
    pub(super) fn control_leaves(&mut self, now: Time, target: u32) -> Time {
        match &mut self.targets[target as usize].proxy {
            None => now + self.timing.control,
            Some(node) => {
                node.control_until = node.control_until.max(now) + self.timing.control;
                node.control_until
            }
        }
    }

    /// The node of `target` sends `message` to members of its group: once, or not at all if it is the
    /// only one.
    pub(super) fn send_to_members(
        &mut self,
        now: Time,
        target: u32,
        to: Members,
        message: Message,
        agenda: &mut Agenda<Event>,
    ) {
        let (group, own) = self.groups.seat(TargetId(target));
        let mut own_only = Members::NONE;
        own_only.insert(own);
        let arrival = match to.without(own_only).is_empty() {
            true => now,
            false => self.control_leaves(now, target) + self.timing.trip,
        };
        // The sender keeps one share until all copies are on their way: all may be lost.
        let slot = self.messages.insert(message, 1);
        for position in to.iter() {
            // A message from the network may name any position.
            let Some(&TargetId(member)) = self.groups.members(group).get(usize::from(position))
            else {
                continue;
            };
            if position == own {
                self.deliver(now, member, slot, agenda);
                continue;
            }
            let copies = self.faults.copies();
            self.recorder.counts.messages_lost += u64::from(copies.is_empty());
            if let Some(watch) = &mut self.watch {
                let ends = (Place::Target(target), Place::Target(member));
                watch.message(self.messages.get(slot), ends, now, arrival, copies);
            }
            for delay in copies.delays() {
                self.deliver(arrival + delay, member, slot, agenda);
            }
        }
        self.messages.release(slot);
    }

    /// Schedules the arrival of a message at the machines of `target`'s node that hear it.
    fn deliver(&mut self, at: Time, target: u32, slot: u32, agenda: &mut Agenda<Event>) {
        let message = self.messages.get(slot);
        let (for_target, for_proxy) = (message.is_for_target(), message.is_for_proxy());
        if for_target {
            self.messages.share(slot);
            agenda.at(at, Event::ToTarget { target, message: slot });
        }
        if for_proxy {
            self.messages.share(slot);
            agenda.at(at, Event::ToProxy { target, message: slot });
        }
    }

    /// Tells the proxy on the node of `target`, and carries out what it wants.
    pub(super) fn tell_proxy(
        &mut self,
        now: Time,
        target: u32,
        input: ProxyInput<'_>,
        agenda: &mut Agenda<Event>,
    ) {
        let mut effects = std::mem::take(&mut self.proxy_effects);
        let host = &mut self.targets[target as usize];
        if let Some(node) = host.proxy.as_mut().filter(|_| host.up) {
            node.machine.handle(now, input, &mut effects);
        }
        for effect in effects.drain(..) {
            match effect {
                ProxyEffect::Answer { to, message } => {
                    // As whatever the node says to an initiator.
                    self.target_effects.push(TargetEffect::Send { to, message });
                    self.carry_out_target(now, target, agenda);
                }
                ProxyEffect::Notify { to, message } => {
                    self.send_to_members(now, target, to, message, agenda);
                }
                ProxyEffect::WakeAt(time) => {
                    agenda.at(time.max(now), Event::ProxyWake { target });
                }
            }
        }
        self.proxy_effects = effects;
    }
}
