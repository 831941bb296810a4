//! Hosts machines of one stripe: carries out what they want, except that whoever uses it decides when
//! messages arrive, writes end and timers fire.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use slotcast_units::Time;

use super::history::{History, Script, Unit};
use slotcast_stripe::{ClientId, Effect, Input, Load, Mark, Peer, Timer};

/// The machines of one mode.
pub(crate) trait Mode: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    type Message: Clone + Debug + Ord + Hash + Send + Sync;
    type Write: Clone + Debug + Eq + Hash + Send + Sync;
    type Record: Clone + Debug + Send + Sync;
    type Disk: Clone + Debug + Eq + Hash + Send + Sync;
    type Node: Clone + Debug + Eq + Hash + Send + Sync;

    /// All servers.
    fn servers(&self) -> Vec<Peer>;

    /// A node of a stripe that has just been created, and its disk.
    fn created(&self, peer: Peer) -> (Self::Node, Self::Disk);

    /// A server after a crash, with what is left on its disk.
    fn restarted(
        &self,
        now: Time,
        peer: Peer,
        incarnation: u32,
        disk: &Self::Disk,
        effects: &mut Vec<EffectOf<Self>>,
    ) -> Self::Node;

    fn empty_disk(&self) -> Self::Disk;
    fn handle(
        node: &mut Self::Node,
        now: Time,
        input: InputOf<Self>,
        effects: &mut Vec<EffectOf<Self>>,
    );
    fn write(disk: &mut Self::Disk, write: Self::Write);
    fn read(disk: &Self::Disk, load: &Load) -> Option<Self::Record>;

    /// Whether a node has nothing to finish.
    fn is_quiet(node: &Self::Node) -> bool;

    /// What is wrong with the stripe, whatever it is doing.
    fn problem(&self, cluster: &Cluster<Self>) -> Option<String>;

    /// What is wrong with the stripe now that nothing is going on.
    fn quiet_problem(&self, cluster: &Cluster<Self>) -> Option<String>;
}

pub(super) type EffectOf<M> = Effect<<M as Mode>::Message, <M as Mode>::Write, Unit>;
pub(super) type InputOf<M> = Input<<M as Mode>::Message, <M as Mode>::Record, Unit>;

/// A message on its way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Envelope<T> {
    pub(super) from: Peer,
    pub(super) to: Peer,
    pub(super) message: T,
}

/// What somebody else must see to.
#[derive(Debug, Clone)]
pub(super) enum Pending<M: Mode> {
    Send(Envelope<M::Message>),
    Stored(Peer),
    Loaded(Loaded<M>),
    Wake(Peer, Time, Timer),
}

/// A read that was carried out, and is to be answered.
#[derive(Debug, Clone)]
pub(super) struct Loaded<M: Mode> {
    peer: Peer,
    incarnation: u32,
    load: Load,
    record: Option<M::Record>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Host<M: Mode> {
    pub(super) peer: Peer,
    pub(super) node: M::Node,
    pub(super) disk: M::Disk,
    /// Writes that are asked for and not yet durable, the first first.
    pub(super) storing: VecDeque<(Mark, M::Write)>,
    pub(super) timers: BTreeSet<Timer>,
    pub(super) incarnation: u32,
    /// False for a client that is dead.
    pub(super) alive: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Cluster<M: Mode> {
    pub(super) mode: M,
    pub(super) hosts: Vec<Arc<Host<M>>>,
    pub(super) history: Arc<History>,
}

impl<M: Mode> Cluster<M> {
    /// A stripe that has just been created, whose clients begin.
    pub(super) fn new(mode: M, scripts: &[Script], pending: &mut Vec<Pending<M>>) -> Cluster<M> {
        let clients = (0..scripts.len() as u32).map(|id| Peer::Client(ClientId(id)));
        let hosts = clients
            .chain(mode.servers())
            .map(|peer| {
                let (node, disk) = mode.created(peer);
                Arc::new(Host {
                    peer,
                    node,
                    disk,
                    storing: VecDeque::new(),
                    timers: BTreeSet::new(),
                    incarnation: 0,
                    alive: true,
                })
            })
            .collect();
        let mut cluster = Cluster { mode, hosts, history: Arc::new(History::new(scripts)) };
        for id in 0..scripts.len() as u32 {
            cluster.start(ClientId(id), Time::ZERO, pending);
        }
        cluster
    }

    pub(super) fn host(&self, peer: Peer) -> &Host<M> {
        self.hosts.iter().find(|host| host.peer == peer).expect("a peer of this stripe")
    }

    fn host_mut(&mut self, peer: Peer) -> &mut Host<M> {
        let host = self.hosts.iter_mut().find(|host| host.peer == peer);
        Arc::make_mut(host.expect("a peer of this stripe"))
    }

    fn history_mut(&mut self) -> &mut History {
        Arc::make_mut(&mut self.history)
    }

    fn start(&mut self, client: ClientId, now: Time, pending: &mut Vec<Pending<M>>) {
        if let Some(operation) = self.history_mut().start(client) {
            self.input(Peer::Client(client), now, Input::Start(operation), pending);
        }
    }

    /// Gives `input` to a machine.
    pub(super) fn input(
        &mut self,
        peer: Peer,
        now: Time,
        input: InputOf<M>,
        pending: &mut Vec<Pending<M>>,
    ) {
        let host = self.host_mut(peer);
        if !host.alive {
            return;
        }
        if let Input::Wake(timer) = &input
            && !host.timers.remove(timer)
        {
            return;
        }
        let mut effects = Vec::new();
        M::handle(&mut host.node, now, input, &mut effects);
        self.carry_out(peer, now, effects, pending);
    }

    fn carry_out(
        &mut self,
        peer: Peer,
        now: Time,
        effects: Vec<EffectOf<M>>,
        pending: &mut Vec<Pending<M>>,
    ) {
        for effect in effects {
            match effect {
                Effect::Send { to, message } => {
                    pending.push(Pending::Send(Envelope { from: peer, to, message }));
                }
                Effect::Store { mark, write } => {
                    self.host_mut(peer).storing.push_back((mark, write));
                    pending.push(Pending::Stored(peer));
                }
                Effect::Load(load) => {
                    let host = self.host(peer);
                    let (record, incarnation) = (M::read(&host.disk, &load), host.incarnation);
                    pending.push(Pending::Loaded(Loaded { peer, incarnation, load, record }));
                }
                Effect::Prefetch(_) => {}
                Effect::Wake { at, timer } => {
                    let new = self.host_mut(peer).timers.insert(timer);
                    assert!(new, "{peer:?} asks for two wakes of one kind: {timer:?}");
                    pending.push(Pending::Wake(peer, at, timer));
                }
                Effect::Done { request, outcome } => {
                    self.history_mut().end(request, &outcome);
                    self.start(request.client, now, pending);
                }
                Effect::Lost => self.history_mut().fail("the stripe was given up".into()),
            }
        }
    }

    /// The first write of `peer` becomes durable.
    pub(super) fn stored(&mut self, peer: Peer, now: Time, pending: &mut Vec<Pending<M>>) {
        let host = self.host_mut(peer);
        if let Some((mark, write)) = host.storing.pop_front() {
            M::write(&mut host.disk, write);
            self.input(peer, now, Input::Stored(mark), pending);
        }
    }

    /// A read is answered, unless who asked has crashed since.
    pub(super) fn loaded(&mut self, read: Loaded<M>, now: Time, pending: &mut Vec<Pending<M>>) {
        let Loaded { peer, incarnation, load, record } = read;
        if self.host(peer).incarnation == incarnation {
            self.input(peer, now, Input::Loaded { load, record }, pending);
        }
    }

    /// A server loses its memory, and its disk if `lost`; it, or its replacement, starts again. A client
    /// is gone for good.
    pub(super) fn crash(
        &mut self,
        peer: Peer,
        lost: bool,
        now: Time,
        pending: &mut Vec<Pending<M>>,
    ) {
        let mode = self.mode.clone();
        if let Peer::Client(client) = peer {
            self.host_mut(peer).alive = false;
            self.history_mut().clients[client.0 as usize].script.clear();
            return;
        }
        let host = self.host_mut(peer);
        if lost {
            host.disk = mode.empty_disk();
        }
        host.storing.clear();
        host.timers.clear();
        host.incarnation += 1;
        let mut effects = Vec::new();
        host.node = mode.restarted(now, peer, host.incarnation, &host.disk, &mut effects);
        self.carry_out(peer, now, effects, pending);
    }

    /// Whether no server has anything to finish.
    pub(super) fn is_quiet(&self) -> bool {
        self.hosts.iter().all(|host| {
            matches!(host.peer, Peer::Client(_))
                || M::is_quiet(&host.node) && host.storing.is_empty()
        })
    }

    /// What is wrong.
    pub(super) fn problem(&self) -> Option<String> {
        let history = self.history.violation.clone();
        let problem = history.or_else(|| self.mode.problem(self));
        problem.or_else(|| self.is_quiet().then(|| self.mode.quiet_problem(self)).flatten())
    }
}
