//! The stripe-lock mode, for the checks.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use slotcast_random::Stream;
use slotcast_units::{Span, Time};

use super::cluster::{Cluster, Mode};
use super::coordinated::drawn_code;
use super::faults::{FaultPlan, Simulated};
use super::history::{Unit, ZERO, content_of};
#[cfg(test)]
use crate::mistake::Mistake;
use slotcast_stripe::locked::{
    Client, ClientConfig, Disk, Effect, Input, LockConfig, LockServer, Message, Record, UnitConfig,
    UnitServer, Write,
};
use slotcast_stripe::{Code, Load, Peer};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Locked {
    pub(super) code: Code,
    pub(super) retry: Span,
    pub(super) lease: Span,
    /// What the machines do wrong, on purpose.
    #[cfg(test)]
    pub(super) mistake: Mistake,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Client(Client<Unit>),
    Lock(LockServer<Unit>),
    Unit(UnitServer),
}

impl Locked {
    fn lock(&self, incarnation: u32) -> LockConfig {
        let Locked { code, retry, lease, .. } = *self;
        LockConfig {
            code,
            incarnation,
            lease,
            retry,
            #[cfg(test)]
            mistake: self.mistake,
        }
    }

    fn place(&self, peer: Peer) -> u8 {
        match peer {
            Peer::Data(unit) => unit,
            Peer::Parity(parity) => self.code.data() + parity,
            Peer::Client(_) | Peer::Lock => unreachable!("{peer:?} has no unit"),
        }
    }

    fn lineages(&self, peer: Peer) -> u8 {
        if matches!(peer, Peer::Data(_)) { 1 } else { self.code.data() }
    }

    fn unit(&self, peer: Peer, incarnation: u32) -> UnitConfig {
        UnitConfig {
            place: self.place(peer),
            lineages: self.lineages(peer),
            unit_len: ZERO.len(),
            incarnation,
            retry: self.retry,
            #[cfg(test)]
            mistake: self.mistake,
        }
    }
}

impl Mode for Locked {
    type Message = Message<Unit>;
    type Write = Write<Unit>;
    type Record = Record<Unit>;
    type Disk = Disk<Unit>;
    type Node = Node;

    fn servers(&self) -> Vec<Peer> {
        let data = (0..self.code.data()).map(Peer::Data);
        data.chain((0..self.code.parity()).map(Peer::Parity)).chain([Peer::Lock]).collect()
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
                    #[cfg(test)]
                    mistake: self.mistake,
                };
                (Node::Client(Client::new(config)), Disk::empty())
            }
            Peer::Lock => (Node::Lock(LockServer::created(self.lock(0))), Disk::empty()),
            Peer::Data(_) | Peer::Parity(_) => {
                let disk = Disk::created(self.lineages(peer), ZERO);
                let config = self.unit(peer, 0);
                let server = UnitServer::started(Time::ZERO, config, &disk, &mut Vec::new());
                (Node::Unit(server), disk)
            }
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
            Peer::Lock => Node::Lock(LockServer::restarted(now, self.lock(incarnation), effects)),
            Peer::Data(_) | Peer::Parity(_) => {
                let config = self.unit(peer, incarnation);
                Node::Unit(UnitServer::started(now, config, disk, effects))
            }
            Peer::Client(_) => unreachable!("only servers restart"),
        }
    }

    fn empty_disk(&self) -> Disk<Unit> {
        Disk::empty()
    }

    fn handle(node: &mut Node, now: Time, input: Input<Unit>, effects: &mut Vec<Effect<Unit>>) {
        match node {
            Node::Client(client) => client.handle(now, input, effects),
            Node::Lock(server) => server.handle(now, input, effects),
            Node::Unit(server) => server.handle(now, input, effects),
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
            Node::Lock(server) => server.is_quiet(),
            Node::Unit(server) => server.is_quiet(),
        }
    }

    fn problem(&self, cluster: &Cluster<Self>) -> Option<String> {
        let unit_problem = |peer: Peer| {
            let unit = cluster.host(peer).disk.unit.as_ref()?;
            let contents: Vec<Unit> = unit.header.iter().map(content_of).collect();
            let (expected, first) = match peer {
                Peer::Data(unit) => (contents[0], unit),
                Peer::Parity(parity) => (self.code.encode(parity, &contents)?, 0),
                Peer::Client(_) | Peer::Lock => return None,
            };
            if unit.content != expected {
                return Some(format!("{unit:?} is not made of {contents:?}"));
            }
            (first..)
                .zip(&unit.header)
                .find_map(|(unit, lineage)| cluster.history.lineage_problem(unit, lineage))
        };
        let wrong = self
            .servers()
            .into_iter()
            .find_map(|peer| unit_problem(peer).map(|problem| format!("{peer:?}: {problem}")));
        wrong.or_else(|| self.lock_problem(cluster))
    }

    fn quiet_problem(&self, cluster: &Cluster<Self>) -> Option<String> {
        let header = |peer| cluster.host(peer).disk.unit.as_ref().map(|unit| &unit.header);
        (0..self.code.parity()).find_map(|parity| {
            let Some(vector) = header(Peer::Parity(parity)) else {
                return Some(format!("P{parity} is quiet without content"));
            };
            (0..).zip(vector).find_map(|(unit, included)| {
                let data = header(Peer::Data(unit)).map(|header| header[0].stamp);
                let right = data == Some(included.stamp);
                (!right).then(|| format!("D{unit} is at {data:?}, and P{parity} has {included:?}"))
            })
        })
    }
}

impl Locked {
    /// What is wrong with the lock: two clients make use of one holding, or of holdings that servers
    /// still take writes of.
    fn lock_problem(&self, cluster: &Cluster<Self>) -> Option<String> {
        let tokens = cluster.hosts.iter().filter_map(|host| match &host.node {
            Node::Client(client) if host.alive => client.token(),
            _ => None,
        });
        let Node::Lock(server) = &cluster.host(Peer::Lock).node else {
            return Some("the lock server is something else".into());
        };
        let mut tokens: Vec<u64> = tokens.collect();
        tokens.sort_unstable();
        let shared = tokens.windows(2).any(|pair| pair[0] == pair[1]);
        let future = tokens.last() > server.token().as_ref() && server.token().is_some();
        (shared || future).then(|| format!("holdings {tokens:?}, granted {:?}", server.token()))
    }
}

impl Simulated for Locked {
    const NAME: &'static str = "stripe-lock";

    fn drawn(random: &mut Stream) -> (Locked, FaultPlan) {
        let mut plan = FaultPlan::drawn(random);
        let retry = Span::from_us(500 + random.below(10_000));
        let code = drawn_code(random);
        // A holding that is cut off in an update and a lost server are more than this mode survives.
        let lease = if random.chance(0.5) {
            (plan.deaths, plan.restarts) = (0, 0);
            Span::from_secs(1000)
        } else {
            plan.losses = 0;
            // Too short for some holdings, but not for all: else nothing would ever be written.
            let cycle = plan.message_delay * 4 + plan.disk_delay;
            cycle + Span::from_us(500 + random.below(200_000))
        };
        let mode = Locked {
            code,
            retry,
            lease,
            #[cfg(test)]
            mistake: Mistake::None,
        };
        (mode, plan)
    }

    fn is_whole(cluster: &Cluster<Self>, peer: Peer) -> bool {
        let host = cluster.host(peer);
        !matches!(host.node, Node::Unit(_)) || host.disk.unit.is_some()
    }

    fn parity(&self) -> u8 {
        self.code.parity()
    }

    fn data(&self) -> u8 {
        self.code.data()
    }
}
