//! What a node has to do with names: the acceptors of its targets, and the requests of its clients.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use slotcast_object::{
    Acceptor, AcceptorEffect, Key, MAX_VOTERS, Message, NameAnswer, NameRequest, Names,
    NamesEffect, Rosters, RowsError, RowsOp, RowsOpId, RowsOutput, Store, Voter, VoterQuestion,
};
use slotcast_protocol::{GroupId, GroupMap, TargetId};
use slotcast_units::{Span, Time};

use crate::config::NamesConfig;
use crate::input::{ChangeRequest, RequestNumber};

/// What the naming of a node wants of the member around it.
#[derive(Debug)]
pub(crate) enum NamingEffect {
    /// Carry this out.
    Rows(TargetId, RowsOpId, RowsOp),
    /// Ask a voter at another node.
    Ask(VoterQuestion),
    /// Say this to another node.
    Say(u32, Message),
    /// Answer a request.
    Answer(RequestNumber, NameAnswer),
}

/// The acceptors of a node, and its requests.
#[derive(Debug)]
pub(crate) struct Naming {
    node: u32,
    names: Names,
    acceptors: BTreeMap<TargetId, Acceptor>,
    /// The stores of targets at other nodes, as those have said.
    stores: BTreeMap<TargetId, u64>,
    next_look: Time,
    /// Until when it is waited for stores that do not open.
    waits_until: Time,
    /// From one look to the next.
    looks_every: Span,
    to_do: Vec<NamingEffect>,
}

impl Naming {
    /// Opens the acceptors of these targets. Requests are numbered from `first` on.
    pub(crate) fn new(
        (now, waits_until): (Time, Time),
        node: u32,
        config: &NamesConfig,
        first: u32,
        targets: impl Iterator<Item = TargetId>,
        groups: &GroupMap,
    ) -> Naming {
        let first = u64::from(first) << 32;
        let mut naming = Naming {
            node,
            names: Names::new(config.times, config.salt, first),
            acceptors: BTreeMap::new(),
            stores: BTreeMap::new(),
            next_look: Time::ZERO,
            waits_until,
            looks_every: config.times.stores,
            to_do: Vec::new(),
        };
        for target in targets {
            let mut effects = Vec::new();
            let acceptor = Acceptor::open(target, &mut effects);
            naming.acceptors.insert(target, acceptor);
            naming.carry_out(now, target, effects, groups);
        }
        naming
    }

    pub(crate) fn rosters(&self) -> &Rosters {
        self.names.rosters()
    }

    pub(crate) fn wakes_at(&self) -> Time {
        let opened = if self.is_opening() { self.waits_until } else { Time::NEVER };
        self.names.wakes_at().min(self.next_look).min(opened)
    }

    /// Whether some store for names is neither open nor known not to open, and may still be waited for.
    pub(crate) fn is_opening(&self) -> bool {
        self.waits_until > Time::ZERO && self.acceptors.values().any(Acceptor::is_opening)
    }

    pub(crate) fn take_effects(&mut self) -> Vec<NamingEffect> {
        core::mem::take(&mut self.to_do)
    }

    /// Does what is due.
    pub(crate) fn wake(&mut self, now: Time, groups: &GroupMap) {
        if now >= self.waits_until {
            self.waits_until = Time::ZERO;
        }
        let mut effects = Vec::new();
        self.names.wake(now, groups, &mut effects);
        self.ask(now, effects, groups);
    }

    /// A client wants something.
    pub(crate) fn request(
        &mut self,
        now: Time,
        number: RequestNumber,
        request: NameRequest,
        groups: &GroupMap,
    ) {
        let mut effects = Vec::new();
        self.names.begin(now, number.0, request, groups, &mut effects);
        self.ask(now, effects, groups);
    }

    /// A client wants a change that may take effect when its chunk is stored.
    pub(crate) fn prepare(
        &mut self,
        now: Time,
        number: RequestNumber,
        change: (Key, ChangeRequest),
        groups: &GroupMap,
    ) {
        let mut effects = Vec::new();
        self.names.prepare(now, number.0, change, groups, &mut effects);
        self.ask(now, effects, groups);
    }

    /// The chunk of a change is stored, or will not be. False if the change was answered before that.
    pub(crate) fn chunk_ended(
        &mut self,
        now: Time,
        number: RequestNumber,
        is_stored: bool,
        groups: &GroupMap,
    ) -> bool {
        let mut effects = Vec::new();
        let is_open = match is_stored {
            true => {
                self.names.release(now, number.0, groups, &mut effects);
                true
            }
            false => self.names.withdraw(now, number.0, groups, &mut effects),
        };
        self.ask(now, effects, groups);
        is_open
    }

    /// An operation on rows has ended.
    pub(crate) fn rows(
        &mut self,
        now: Time,
        target: TargetId,
        (op, result): (RowsOpId, Result<RowsOutput, RowsError>),
        groups: &GroupMap,
    ) {
        let Some(acceptor) = self.acceptors.get_mut(&target) else { return };
        let mut effects = Vec::new();
        acceptor.ended(op, result, &mut effects);
        self.carry_out(now, target, effects, groups);
    }

    /// The cluster map says who votes.
    pub(crate) fn learn(&mut self, now: Time, rosters: Rosters, groups: &GroupMap) {
        let mut effects = Vec::new();
        self.names.learn(now, rosters, groups, &mut effects);
        self.next_look = self.next_look.min(now);
        // Those here know it before they are asked.
        for target in self.acceptors.keys().copied().collect::<Vec<_>>() {
            self.teach(now, target, groups);
        }
        self.ask(now, effects, groups);
    }

    fn teach(&mut self, now: Time, target: TargetId, groups: &GroupMap) {
        let Some((group, _)) = groups.find(target) else { return };
        let rosters = self.names.rosters();
        let Some(voters) = rosters.of(group) else { return };
        let Some(acceptor) = self.acceptors.get_mut(&target) else { return };
        let mut effects = Vec::new();
        acceptor.learn(rosters.epoch, voters, &mut effects);
        self.carry_out(now, target, effects, groups);
    }

    /// Another node says something. `is_its` tells which targets are its own: it speaks for no others.
    pub(crate) fn heard(
        &mut self,
        now: Time,
        node: u32,
        message: Message,
        is_its: impl Fn(TargetId) -> bool,
        groups: &GroupMap,
    ) {
        match message {
            Message::Question(question) => {
                let target = question.to.target;
                let Some(acceptor) = self.acceptors.get_mut(&target) else { return };
                let mut effects = Vec::new();
                acceptor.ask(node, question, &mut effects);
                self.carry_out(now, target, effects, groups);
            }
            Message::Answer(answer) if is_its(answer.from.target) => {
                let mut effects = Vec::new();
                self.names.answered(now, answer, groups, &mut effects);
                self.ask(now, effects, groups);
            }
            Message::WhichStores => {
                let stores = Message::Stores(self.own_stores());
                self.to_do.push(NamingEffect::Say(node, stores));
            }
            Message::Stores(stores) => {
                let its = stores.into_iter().filter(|store| is_its(store.target));
                self.stores.extend(its.map(|Store { target, store }| (target, store)));
            }
            Message::Answer(_) => {}
        }
    }

    /// Whether it is to look again for groups that nobody votes in.
    pub(crate) fn is_to_look(&self, now: Time) -> bool {
        now >= self.next_look
    }

    /// Who could vote in groups in which nobody does, where enough stores are known. Gives the targets of which
    /// nothing is known, too.
    pub(crate) fn look(
        &mut self,
        now: Time,
        groups: &GroupMap,
    ) -> (BTreeMap<GroupId, Vec<Voter>>, BTreeSet<TargetId>) {
        let (mut found, mut unknown) = (BTreeMap::new(), BTreeSet::new());
        let without = |group: &GroupId| self.rosters().of(*group).is_none();
        for group in (0..groups.groups()).map(GroupId).filter(without) {
            match self.first_voters(group, groups) {
                Ok(voters) => drop(found.insert(group, voters)),
                Err(targets) => unknown.extend(targets),
            }
        }
        let is_over = found.is_empty() && unknown.is_empty();
        self.next_look = if is_over { Time::NEVER } else { now + self.looks_every };
        (found, unknown)
    }

    /// The first voters of a group: five in different failure domains, or three where there are not so many domains. Or
    /// those members of which no store is known, if there are too few others.
    fn first_voters(
        &self,
        group: GroupId,
        groups: &GroupMap,
    ) -> Result<Vec<Voter>, BTreeSet<TargetId>> {
        let members = groups.members_for_puts(group);
        let count = match groups.domains_of(group, members) {
            MAX_VOTERS.. => MAX_VOTERS,
            _ => 3.min(members.iter().count()),
        };
        let targets = groups.members(group);
        let mut all: Vec<TargetId> =
            members.iter().map(|position| targets[usize::from(position)]).collect();
        // Members of one domain come after one of each other.
        let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
        let mut order = Vec::new();
        for target in all.drain(..) {
            let before = seen.entry(groups.domain(target)).or_default();
            order.push((*before, target));
            *before += 1;
        }
        order.sort_by_key(|(before, _)| *before);
        let store = |target: TargetId| match self.acceptors.get(&target) {
            Some(acceptor) => acceptor.store(),
            None => self.stores.get(&target).copied(),
        };
        let known = order.iter().filter_map(|(_, target)| Some((*target, store(*target)?)));
        let voters: Vec<Voter> =
            known.take(count).map(|(target, store)| Voter { target, store, joined: 0 }).collect();
        if voters.len() == count && count > 0 {
            return Ok(voters);
        }
        Err(order.into_iter().map(|(_, t)| t).filter(|t| store(*t).is_none()).collect())
    }

    fn own_stores(&self) -> Vec<Store> {
        let store = |(target, acceptor): (&TargetId, &Acceptor)| {
            acceptor.store().map(|store| Store { target: *target, store })
        };
        self.acceptors.iter().filter_map(store).collect()
    }

    /// Asks the voters of what is wanted, here and elsewhere.
    fn ask(&mut self, now: Time, effects: Vec<NamesEffect>, groups: &GroupMap) {
        for effect in effects {
            match effect {
                NamesEffect::Answer(number, answer) => {
                    self.to_do.push(NamingEffect::Answer(RequestNumber(number), answer));
                }
                NamesEffect::Ask(question) => {
                    let target = question.to.target;
                    let Some(acceptor) = self.acceptors.get_mut(&target) else {
                        self.to_do.push(NamingEffect::Ask(question));
                        continue;
                    };
                    let mut effects = Vec::new();
                    acceptor.ask(self.node, question, &mut effects);
                    self.carry_out(now, target, effects, groups);
                }
            }
        }
    }

    /// Carries out what an acceptor here wants.
    fn carry_out(
        &mut self,
        now: Time,
        target: TargetId,
        effects: Vec<AcceptorEffect>,
        groups: &GroupMap,
    ) {
        for effect in effects {
            match effect {
                AcceptorEffect::Rows(id, op) => {
                    self.to_do.push(NamingEffect::Rows(target, id, op));
                }
                AcceptorEffect::Answer(node, answer) if node == self.node => {
                    let mut effects = Vec::new();
                    self.names.answered(now, answer, groups, &mut effects);
                    self.ask(now, effects, groups);
                }
                AcceptorEffect::Answer(node, answer) => {
                    self.to_do.push(NamingEffect::Say(node, Message::Answer(answer)));
                }
                AcceptorEffect::Changed => {
                    self.next_look = self.next_look.min(now);
                    self.teach(now, target, groups);
                }
            }
        }
    }
}
