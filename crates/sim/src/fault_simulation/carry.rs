//! Carries out what nodes want, through a network that may do anything to it.

use std::net::SocketAddr;
use std::rc::Rc;

use slotcast_engine::Agenda;
use slotcast_member::{Answer, Effect, Input, Pass};
use slotcast_protocol::GroupId;
use slotcast_transport::Datagram;
use slotcast_units::{Span, Time};

use super::cluster::Cluster;
use super::event::Event;
use super::network::departures;
use super::parcel::{Parcel, Piece};
use super::plan::{address, place};

impl Cluster {
    pub(super) fn effect(
        &mut self,
        now: Time,
        node: u32,
        effect: Effect,
        agenda: &mut Agenda<Event>,
    ) {
        let incarnation = self.nodes[node as usize].incarnation;
        match effect {
            Effect::Disk(target, op, what) => {
                let mean = self.plan.disk_delay * self.disk(target).slowness;
                let delay = Span::from_us(2) + self.disk_times.exponential(mean);
                if let Some(disk) = self.disk_mut(target).in_use() {
                    disk.ask(op, what);
                }
                agenda.at(now + delay, Event::Disk { node, target, incarnation, op });
            }
            Effect::Work(target) => {
                let delay = self.disk_times.exponential(self.plan.disk_delay);
                agenda.at(now + delay, Event::Worked { node, target, incarnation });
            }
            Effect::Send(to, mut datagram) => {
                datagram.header.sequence = self.number(node);
                let datagram = Rc::new(datagram);
                let parcel = |via| {
                    let (from, datagram) = (address(node), datagram.clone());
                    Parcel::Datagram { from, via, datagram }
                };
                self.send(now, node, to, parcel, agenda);
            }
            Effect::SendPieces(pass) => {
                self.check_pass(now, node, &pass);
                self.send_pieces(now, node, *pass, agenda);
            }
            Effect::Answer(number, answer) if self.buckets.clients.has(number) => {
                self.client_answered(now, (number, answer), agenda);
            }
            Effect::Answer(number, Answer::Put(result)) => {
                let is_named = self.part_ended(now, (node, number), result, agenda)
                    || result.is_err_and(|why| self.chunk_of_name_failed(now, (node, number), why));
                if !is_named {
                    self.put_ended(now, node, number, result);
                }
            }
            Effect::Answer(number, Answer::Get(result)) => {
                self.get_ended(now, node, number, result);
            }
            Effect::Answer(number, Answer::Names(answer)) => {
                self.name_answered(now, (node, number), answer, agenda);
            }
            Effect::Rows(target, op, what) => {
                self.ask_rows(now, (node, target), (op, what), agenda);
            }
            // The others are of nodes in one process.
            Effect::Answer(_, Answer::Holders(_)) | Effect::KeepRosters(_) => {}
            Effect::KeepMap(map) => self.nodes[node as usize].map = *map,
            Effect::Propose(map) => {
                let delay = self.chance.exponential(self.plan.map_delay);
                let parcel = self.parcels.send(Parcel::Map(Rc::new(*map)));
                agenda.at(now + delay, Event::Propose { parcel });
            }
            Effect::Note(note) => self.noted(now, node, &note),
        }
    }

    fn number(&mut self, node: u32) -> u64 {
        let host = &mut self.nodes[node as usize];
        host.sequence += 1;
        host.sequence
    }

    /// Sends something to a node, or to all that listen to the multicast of a group.
    fn send(
        &mut self,
        now: Time,
        from: u32,
        to: SocketAddr,
        parcel: impl Fn(Option<GroupId>) -> Parcel,
        agenda: &mut Agenda<Event>,
    ) {
        match place(to) {
            Ok(node) => self.send_to(now, (from, node), &parcel(None), None, agenda),
            Err(group) => {
                for node in 0..self.nodes.len() {
                    let of_node = self.nodes[node].disks.keys();
                    let mut groups = of_node.filter_map(|target| self.groups.find(*target));
                    if groups.any(|(of, _)| of == group) {
                        let to = (from, u32::try_from(node).expect("small"));
                        self.send_to(now, to, &parcel(Some(group)), Some(group), agenda);
                    }
                }
            }
        }
    }

    fn send_to(
        &mut self,
        now: Time,
        (from, node): (u32, u32),
        parcel: &Parcel,
        via: Option<GroupId>,
        agenda: &mut Agenda<Event>,
    ) {
        if node as usize >= self.nodes.len() {
            return;
        }
        for delay in self.network.send(from, node, via, &mut self.report.injected) {
            let Some(delay) = delay else { continue };
            let parcel = self.parcels.send(parcel.clone());
            agenda.at(now + delay, Event::Datagram { node, parcel });
        }
    }

    fn send_pieces(&mut self, now: Time, node: u32, pass: Pass, agenda: &mut Agenda<Event>) {
        let clock = self.nodes[node as usize].clock;
        let (count, to) = (pass.pieces.len(), pass.to);
        let pass = Rc::new(pass);
        let mut left = now;
        let departures = departures(pass.start, pass.piece_time);
        for (n, local) in (0..count).zip(departures) {
            left = clock.global(local).max(now);
            let sent_at = clock.local(left);
            let (sequence, value) = (self.number(node), pass.value(n));
            let piece = Piece { pass: pass.clone(), n, sequence, sent_at, value };
            let parcel = |via| {
                let (from, piece) = (address(node), piece.clone());
                Parcel::Piece { from, via, piece }
            };
            self.send(left, node, to, parcel, agenda);
        }
        let incarnation = self.nodes[node as usize].incarnation;
        let transfer = pass.transfer;
        agenda.at(left, Event::Left { node, incarnation, transfer });
    }

    /// A datagram is at a node. If it was damaged on its way, the bytes say so.
    pub(super) fn arrives(
        &mut self,
        now: Time,
        node: u32,
        parcel: Parcel,
        agenda: &mut Agenda<Event>,
    ) {
        match parcel {
            Parcel::Datagram { from, via, datagram } => {
                if self.is_whole(&datagram) {
                    let refused = self.refused(node);
                    let is_of_another = self.is_of_another_layout(node, &datagram);
                    let input = Input::Datagram { from, via, datagram: (*datagram).clone() };
                    self.tell(now, node, input, agenda);
                    if is_of_another {
                        self.check_layout(now, (node, refused), datagram.header.sender);
                    }
                    if self.refused(node) == refused {
                        self.check_cancelled(now, node, &datagram);
                    }
                }
            }
            Parcel::Piece { from, via, piece } => {
                let datagram = piece.datagram();
                if self.is_whole(&datagram) {
                    let (refused, sender) = (self.refused(node), datagram.header.sender);
                    let is_of_another = self.is_of_another_layout(node, &datagram);
                    self.tell(now, node, Input::Datagram { from, via, datagram }, agenda);
                    if is_of_another {
                        self.check_layout(now, (node, refused), sender);
                    }
                }
            }
            Parcel::Map(_) => {}
        }
    }

    /// Whether a datagram is believed that may have been damaged: what was is found out by its seal.
    fn is_whole(&mut self, datagram: &Datagram<'_>) -> bool {
        if self.network.is_fair() {
            return true;
        }
        let mut bytes = Vec::new();
        let injected = &mut self.report.injected;
        let length = slotcast_transport::HEADER_LEN;
        let Some(bit) = self.network.damages(length, injected) else { return true };
        datagram.encode(&self.key, &mut bytes);
        bytes[bit / 8] ^= 1 << (bit % 8);
        Datagram::decode(&self.key, &bytes).is_ok()
    }
}
