//! Visits all states that a small stripe can get into.
//!
//! The network is the set of all messages that were ever sent. Each of them may arrive at any time,
//! again and again, or never: so messages are lost, repeated and reordered in all ways at once. Faults
//! strike at any time, as often as the budget allows.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use slotcast_units::Time;
use stateright::{Checker, HasDiscoveries, Model, Property};

use super::cluster::{Cluster, EffectOf, Envelope, InputOf, Mode, Pending};
use super::history::Script;
use super::std::println;
use slotcast_stripe::{ClientId, Effect, Input, Peer, Timer};

/// A mode whose states can be visited.
pub(crate) trait Explorable: Mode {
    /// Whether a node takes no notice of this message, now or later. `over` says that it is a client
    /// that is through with its script.
    fn is_late(node: &Self::Node, over: bool, message: &Self::Message) -> bool;
}

/// A small stripe, what its clients do, and what may fail.
#[derive(Debug, Clone)]
pub(super) struct Explored<M: Mode> {
    pub(super) mode: M,
    pub(super) scripts: Vec<Script>,
    pub(super) faults: Faults,
    /// Whether writes are durable at once. Where nothing but the answer depends on when a write is
    /// durable, a slow disk is the same as a slow message, and prompt ones save many states.
    pub(super) prompt_disks: bool,
}

/// How often what may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Faults {
    /// Servers that lose their memory and restart.
    pub(super) restarts: u8,
    /// Servers that lose their disk, too, and are replaced.
    pub(super) losses: u8,
    /// Clients that die.
    pub(super) deaths: u8,
    /// Leases that end too early.
    pub(super) expiries: u8,
    /// Timers that fire though something else is still to happen. Otherwise they fire when nothing else
    /// would; for messages that were only slow, that is the same.
    pub(super) hurries: u8,
}

type Shared<M> = Arc<Envelope<<M as Mode>::Message>>;

#[derive(Debug, Clone)]
pub(super) struct State<M: Mode> {
    cluster: Cluster<M>,
    network: BTreeSet<Shared<M>>,
    faults: Faults,
}

impl<M: Mode> PartialEq for State<M> {
    fn eq(&self, other: &Self) -> bool {
        self.faults == other.faults
            && self.cluster.hosts == other.cluster.hosts
            && self.cluster.history == other.cluster.history
            && self.network == other.network
    }
}

impl<M: Mode> Hash for State<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.faults.hash(state);
        self.cluster.hosts.hash(state);
        self.cluster.history.hash(state);
        self.network.hash(state);
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action<T> {
    Deliver(Arc<Envelope<T>>),
    Stored(Peer),
    Wake(Peer, Timer),
    Restart(Peer),
    Lose(Peer),
    Die(Peer),
}

impl<M: Explorable> State<M> {
    /// Carries out what can only happen at once, or makes no difference when it happens.
    /// That it concerns `peer` is all that changed.
    fn settle(&mut self, peer: Peer, prompt_disks: bool, mut pending: Vec<Pending<M>>) {
        while let Some(next) = pending.pop() {
            match next {
                Pending::Send(envelope) => {
                    if !self.cluster.ignores(&envelope) {
                        self.network.insert(Arc::new(envelope));
                    }
                }
                Pending::Loaded(read) => self.cluster.loaded(read, Time::ZERO, &mut pending),
                Pending::Stored(peer) if prompt_disks => {
                    self.cluster.stored(peer, Time::ZERO, &mut pending);
                }
                // These are actions.
                Pending::Stored(_) | Pending::Wake(..) => {}
            }
        }
        let cluster = &self.cluster;
        self.network.retain(|envelope| envelope.to != peer || !cluster.ignores(envelope));
        // A timer that finds nothing to do may as well fire at once.
        self.cluster.retire_timer(peer);
    }
}

impl<M: Explorable> Model for Explored<M> {
    type State = State<M>;
    type Action = Action<M::Message>;

    fn init_states(&self) -> Vec<State<M>> {
        let mut pending = Vec::new();
        let cluster = Cluster::new(self.mode.clone(), &self.scripts, &mut pending);
        let mut state = State { cluster, network: BTreeSet::new(), faults: self.faults };
        state.settle(Peer::Client(ClientId(0)), self.prompt_disks, pending);
        alloc::vec![state]
    }

    fn actions(&self, state: &State<M>, actions: &mut Vec<Self::Action>) {
        let faults = state.faults;
        actions.extend(state.moves());
        let stuck = actions.is_empty();
        actions.extend(state.timers().filter(|action| match action {
            _ if stuck => true,
            Action::Wake(_, Timer::Lease(_)) => faults.expiries > 0,
            _ => faults.hurries > 0,
        }));
        for host in &state.cluster.hosts {
            let peer = host.peer;
            let client = matches!(peer, Peer::Client(_));
            if client && host.alive && faults.deaths > 0 {
                actions.push(Action::Die(peer));
            }
            if !client && faults.restarts > 0 {
                actions.push(Action::Restart(peer));
            }
            if !client && faults.losses > 0 && peer != Peer::Lock {
                actions.push(Action::Lose(peer));
            }
        }
    }

    fn next_state(&self, last: &State<M>, action: Self::Action) -> Option<State<M>> {
        let mut state = last.clone();
        let mut pending = Vec::new();
        let peer = match action {
            Action::Deliver(envelope) => {
                let Envelope { from, to, message } = Envelope::clone(&envelope);
                let input = Input::Message { from, message };
                state.cluster.input(to, Time::ZERO, input, &mut pending);
                to
            }
            Action::Stored(peer) => {
                state.cluster.stored(peer, Time::ZERO, &mut pending);
                peer
            }
            Action::Wake(peer, timer) => {
                let budget = match timer {
                    Timer::Lease(_) => &mut state.faults.expiries,
                    _ => &mut state.faults.hurries,
                };
                *budget = budget.saturating_sub(1);
                state.cluster.input(peer, Time::ZERO, Input::Wake(timer), &mut pending);
                peer
            }
            Action::Restart(peer) => {
                state.faults.restarts -= 1;
                state.cluster.crash(peer, false, Time::ZERO, &mut pending);
                peer
            }
            Action::Lose(peer) => {
                state.faults.losses -= 1;
                state.cluster.crash(peer, true, Time::ZERO, &mut pending);
                peer
            }
            Action::Die(peer) => {
                state.faults.deaths -= 1;
                // Its lease, if it has one, ends at some time.
                state.faults.expiries += 1;
                state.cluster.crash(peer, false, Time::ZERO, &mut pending);
                peer
            }
        };
        state.settle(peer, self.prompt_disks, pending);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        alloc::vec![
            Property::always("the stripe is right", |_, state: &State<M>| {
                state.cluster.problem().is_none()
            }),
            Property::always("nothing is stuck", |_, state: &State<M>| {
                state.is_finished()
                    || state.moves().next().is_some()
                    || state.timers().next().is_some()
            }),
            Property::sometimes("everything ends", |_, state: &State<M>| state.is_finished()),
        ]
    }
}

impl<M: Explorable> State<M> {
    /// Whether all operations have ended and nothing is going on.
    fn is_finished(&self) -> bool {
        self.cluster.history.is_over() && self.cluster.is_quiet()
    }
}

impl<M: Explorable> State<M> {
    /// What messages and disks can change.
    fn moves(&self) -> impl Iterator<Item = Action<M::Message>> {
        let messages = self.network.iter().cloned().map(Action::Deliver);
        let storing = self.cluster.hosts.iter().filter(|host| !host.storing.is_empty());
        let stored = storing.map(|host| Action::Stored(host.peer));
        messages.chain(stored).filter(|action| self.changes(action))
    }

    /// The timers that are set and would change anything.
    fn timers(&self) -> impl Iterator<Item = Action<M::Message>> {
        let timers = self
            .cluster
            .hosts
            .iter()
            .flat_map(|host| host.timers.iter().map(|timer| Action::Wake(host.peer, *timer)));
        timers.filter(|action| self.changes(action))
    }

    /// Whether `action` makes a difference.
    fn changes(&self, action: &Action<M::Message>) -> bool {
        let (peer, input) = match action {
            Action::Deliver(envelope) => {
                let Envelope { from, to, message } = Envelope::clone(envelope);
                (to, Input::Message { from, message })
            }
            Action::Wake(peer, timer) => (*peer, Input::Wake(*timer)),
            _ => return true,
        };
        let (changed, effects) = self.cluster.tried(peer, input);
        changed
            || effects.into_iter().any(|effect| match effect {
                Effect::Send { to, message } => {
                    let envelope = Envelope { from: peer, to, message };
                    !self.cluster.ignores(&envelope) && !self.network.contains(&envelope)
                }
                Effect::Wake { .. } => false,
                _ => true,
            })
    }
}

impl<M: Explorable> Cluster<M> {
    /// What a machine would do with `input`: whether it would change, and its effects.
    fn tried(&self, peer: Peer, input: InputOf<M>) -> (bool, Vec<EffectOf<M>>) {
        let host = self.host(peer);
        let (mut node, mut effects) = (host.node.clone(), Vec::new());
        if host.alive {
            M::handle(&mut node, Time::ZERO, input, &mut effects);
        }
        (node != host.node, effects)
    }

    /// Whether it makes no difference, now and later, when this message arrives.
    fn ignores(&self, envelope: &Envelope<M::Message>) -> bool {
        let over = match envelope.to {
            Peer::Client(ClientId(id)) => self.history.clients[id as usize].script.is_empty(),
            _ => false,
        };
        let host = self.host(envelope.to);
        !host.alive || M::is_late(&host.node, over, &envelope.message)
    }

    /// Lets the timer of `peer` fire if that changes nothing but that it can be set again.
    fn retire_timer(&mut self, peer: Peer) {
        if self.host(peer).timers.contains(&Timer::Retry)
            && self.tried(peer, Input::Wake(Timer::Retry)).1.is_empty()
        {
            self.input(peer, Time::ZERO, Input::Wake(Timer::Retry), &mut Vec::new());
        }
    }
}

impl<M: Explorable> Explored<M> {
    /// Visits all states, and returns how many there are and what was found to be wrong.
    pub(super) fn visit(self) -> Visit {
        self.visit_up_to(MAX_STATES)
    }

    /// Visits states until `most` have been come to, repeated ones counted.
    pub(super) fn visit_up_to(self, most: usize) -> Visit {
        let checker = self
            .checker()
            .finish_when(HasDiscoveries::AnyFailures)
            .target_state_count(most)
            .spawn_bfs()
            .join();
        let violation = checker.discoveries().into_iter().find_map(|(name, path)| {
            let last = path.last_state().cluster.problem();
            let actions = path.into_actions();
            let ended = name == "everything ends";
            (!ended).then(|| alloc::format!("{name}: {last:?}\n{actions:#?}"))
        });
        let ends = checker.discovery("everything ends").is_some();
        let complete = checker.state_count() < most;
        Visit { states: checker.unique_state_count(), violation, ends, complete }
    }
}

/// A visit stops here: no check that is meant to end needs as many, repeated ones counted.
const MAX_STATES: usize = 30_000_000;

/// What came out of a visit.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) states: usize,
    pub(super) violation: Option<String>,
    pub(super) ends: bool,
    pub(super) complete: bool,
}

impl Visit {
    /// Demands that nothing was wrong, and prints the number of states for the record.
    pub(super) fn assert_no_violation(&self, name: &str) {
        println!("{name}: {} states", self.states);
        if let Some(violation) = &self.violation {
            panic!("{name}: {violation}");
        }
    }

    /// Demands that nothing was wrong in any state that there is.
    pub(super) fn assert_right(&self, name: &str) {
        self.assert_no_violation(name);
        assert!(self.complete, "{name}: more than {MAX_STATES} states");
        assert!(self.ends, "{name}: no history comes to its end");
    }
}
