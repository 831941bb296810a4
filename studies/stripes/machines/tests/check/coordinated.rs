//! The coordinated mode, for the checks.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use slotcast_random::Stream;
use slotcast_units::{Span, Time};

use super::cluster::{Cluster, Mode};
use super::faults::{FaultPlan, Simulated};
use super::history::{Unit, ZERO, content_of};
#[cfg(test)]
use crate::mistake::Mistake;
use slotcast_stripe::Lineage;
use slotcast_stripe::coordinated::{
    Client, ClientConfig, DataConfig, DataServer, Disk, Effect, Input, Message, ParityConfig,
    ParityServer, Record, Write,
};
use slotcast_stripe::{Code, Load, Peer};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Coordinated {
    pub(super) code: Code,
    pub(super) retry: Span,
    pub(super) rebuild_after: Option<u32>,
    /// What the machines do wrong, on purpose.
    #[cfg(test)]
    pub(super) mistake: Mistake,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Client(Client<Unit>),
    Data(DataServer<Unit>),
    Parity(ParityServer<Unit>),
}

impl Coordinated {
    fn data(&self, unit: u8, incarnation: u32) -> DataConfig {
        DataConfig {
            code: self.code,
            unit,
            unit_len: ZERO.len(),
            incarnation,
            retry: self.retry,
            prefetch: false,
            #[cfg(test)]
            mistake: self.mistake,
        }
    }

    fn parity(&self, parity: u8, incarnation: u32) -> ParityConfig {
        ParityConfig {
            code: self.code,
            parity,
            unit_len: ZERO.len(),
            incarnation,
            retry: self.retry,
            hold: self.retry * 8,
            #[cfg(test)]
            mistake: self.mistake,
        }
    }
}

impl Mode for Coordinated {
    type Message = Message<Unit>;
    type Write = Write<Unit>;
    type Record = Record<Unit>;
    type Disk = Disk<Unit>;
    type Node = Node;

    fn servers(&self) -> Vec<Peer> {
        let data = (0..self.code.data()).map(Peer::Data);
        data.chain((0..self.code.parity()).map(Peer::Parity)).collect()
    }

    fn created(&self, peer: Peer) -> (Node, Disk<Unit>) {
        match peer {
            Peer::Client(id) => {
                let config = ClientConfig {
                    id,
                    code: self.code,
                    unit_len: ZERO.len(),
                    retry: self.retry,
                    max_retries: None,
                    rebuild_after: self.rebuild_after,
                };
                (Node::Client(Client::new(config)), Disk::empty())
            }
            Peer::Data(unit) => {
                (Node::Data(DataServer::created(self.data(unit, 0))), Disk::created_data(ZERO))
            }
            Peer::Parity(parity) => (
                Node::Parity(ParityServer::created(self.parity(parity, 0))),
                Disk::created_parity(self.code.data(), ZERO),
            ),
            Peer::Lock => unreachable!("this mode has no locks"),
        }
    }

    fn restarted(
        &self,
        now: Time,
        peer: Peer,
        incarnation: u32,
        disk: &Disk<Unit>,
        effects: &mut Vec<Effect<Unit>>,
    ) -> Node {
        match peer {
            Peer::Data(unit) => {
                let config = self.data(unit, incarnation);
                Node::Data(DataServer::restarted(now, config, disk, effects))
            }
            Peer::Parity(parity) => {
                let config = self.parity(parity, incarnation);
                Node::Parity(ParityServer::restarted(now, config, disk, effects))
            }
            Peer::Client(_) | Peer::Lock => unreachable!("only servers restart"),
        }
    }

    fn empty_disk(&self) -> Disk<Unit> {
        Disk::empty()
    }

    fn handle(node: &mut Node, now: Time, input: Input<Unit>, effects: &mut Vec<Effect<Unit>>) {
        match node {
            Node::Client(client) => client.handle(now, input, effects),
            Node::Data(server) => server.handle(now, input, effects),
            Node::Parity(server) => server.handle(now, input, effects),
        }
    }

    fn write(disk: &mut Disk<Unit>, write: Write<Unit>) {
        disk.write(write);
    }

    fn read(disk: &Disk<Unit>, load: &Load) -> Option<Record<Unit>> {
        disk.read(load)
    }

    fn is_quiet(node: &Node) -> bool {
        match node {
            Node::Client(client) => !client.is_busy(),
            Node::Data(server) => server.is_quiet(),
            Node::Parity(server) => server.is_quiet(),
        }
    }

    fn problem(&self, cluster: &Cluster<Self>) -> Option<String> {
        let problem = |peer: Peer| {
            let disk = &cluster.host(peer).disk;
            let slots = disk.slots.iter().find_map(|slot| {
                let wrong = slot.content != content_of(&slot.lineage);
                wrong.then(|| format!("{slot:?}"))
            });
            if let (Peer::Data(unit), Some(newest)) = (peer, disk.slots.last()) {
                return slots.or_else(|| cluster.history.lineage_problem(unit, &newest.lineage));
            }
            let (_, image) = disk.image.as_ref()?;
            let Peer::Parity(parity) = peer else { return None };
            let data: Vec<Unit> = image.vector.iter().map(content_of).collect();
            if self.code.encode(parity, &data) != Some(image.content) {
                return Some(format!("{image:?} is not the sum of {data:?}"));
            }
            (0..).zip(&image.vector).find_map(|(unit, merged)| {
                let logged = disk.log.iter().filter(|entry| entry.unit == unit);
                let newest: &Lineage = logged
                    .map(|entry| &entry.to)
                    .chain([merged])
                    .max_by_key(|lineage| lineage.stamp)
                    .expect("the content includes one");
                cluster.history.lineage_problem(unit, newest)
            })
        };
        self.servers()
            .into_iter()
            .find_map(|peer| problem(peer).map(|problem| format!("{peer:?}: {problem}")))
    }

    fn quiet_problem(&self, cluster: &Cluster<Self>) -> Option<String> {
        let newest = |unit| cluster.host(Peer::Data(unit)).disk.slots.last();
        (0..self.code.parity()).find_map(|parity| {
            let disk = &cluster.host(Peer::Parity(parity)).disk;
            let Some((_, image)) = &disk.image else {
                return Some(format!("P{parity} is quiet without content"));
            };
            (0..).zip(&image.vector).find_map(|(unit, merged)| {
                let data = newest(unit).map(|slot| slot.lineage.stamp);
                let right = data == Some(merged.stamp) && disk.log.is_empty();
                (!right).then(|| format!("D{unit} is at {data:?}, and P{parity} has {disk:?}"))
            })
        })
    }
}

impl Simulated for Coordinated {
    const NAME: &'static str = "coordinated";

    fn drawn(random: &mut Stream) -> (Coordinated, FaultPlan) {
        let plan = FaultPlan::drawn(random);
        let rebuild_after = random.chance(0.5).then_some(1);
        let retry = Span::from_us(500 + random.below(10_000));
        let code = drawn_code(random);
        let mode = Coordinated {
            code,
            retry,
            rebuild_after,
            #[cfg(test)]
            mistake: Mistake::None,
        };
        (mode, plan)
    }

    fn is_whole(cluster: &Cluster<Self>, peer: Peer) -> bool {
        let host = cluster.host(peer);
        match &host.node {
            Node::Client(_) => true,
            Node::Data(_) => !host.disk.slots.is_empty(),
            Node::Parity(server) => server.is_ready() && host.disk.image.is_some(),
        }
    }

    fn parity(&self) -> u8 {
        self.code.parity()
    }

    fn data(&self) -> u8 {
        self.code.data()
    }
}

/// One of the codes that are simulated with faults.
pub(super) fn drawn_code(random: &mut Stream) -> Code {
    let (data, parity) = [(2, 1), (8, 1), (4, 2), (2, 2), (8, 3)][random.below(5) as usize];
    Code::new(data, parity).expect("a code")
}
