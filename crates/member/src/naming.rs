//! What a node has to do with names: the acceptors of its targets, and the requests of its clients.

mod choice;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use slotcast_object::garbage::Root;
use slotcast_object::{
    Acceptor, AcceptorEffect, Guard, Key, Message, NameAnswer, NameFailure, NameRequest, Names,
    NamesEffect, NamesMistake, Rosters, RowsError, RowsOp, RowsOpId, RowsOutput, Store,
    VoterQuestion,
};
use slotcast_protocol::{GroupId, GroupMap, TargetId};
use slotcast_units::{Span, Time};

pub(crate) use choice::Choice;

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
    /// The answer to one of this node itself.
    Own(u64, NameAnswer),
    /// Touch this content for a task; see [`Naming::touched`].
    Touch(u64, Root),
}

/// Requests of the node itself have numbers from here on.
const OWN: u64 = 1 << 63;

/// The acceptors of a node, and its requests.
#[derive(Debug)]
pub(crate) struct Naming {
    node: u32,
    names: Names,
    acceptors: BTreeMap<TargetId, Acceptor>,
    /// The stores of targets at other nodes, as those have said; none of those that have failed.
    stores: BTreeMap<TargetId, Option<u64>>,
    /// All registers of these groups have been brought to new voters, where those vote together with others since this
    /// epoch.
    moved: BTreeMap<GroupId, u64>,
    /// Somebody is to vote in another's place, and what stores there are was asked for that.
    is_choosing: bool,
    next_look: Time,
    /// Until when it is waited for stores that do not open.
    waits_until: Time,
    /// From one look to the next.
    looks_every: Span,
    to_do: Vec<NamingEffect>,
    /// The latest round of collection after which deleted names were looked for.
    forgotten: u64,
    /// A mistake: voters do not learn of rounds of collection.
    pub(crate) believes_old_rounds: bool,
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
            moved: BTreeMap::new(),
            is_choosing: false,
            next_look: Time::ZERO,
            waits_until,
            looks_every: config.times.stores,
            to_do: Vec::new(),
            forgotten: 0,
            believes_old_rounds: false,
        };
        for target in targets {
            let mut effects = Vec::new();
            let acceptor = Acceptor::open(target, &mut effects);
            naming.acceptors.insert(target, acceptor);
            naming.carry_out(now, target, effects, groups);
        }
        naming
    }

    /// Plants a mistake.
    pub(crate) fn plant(&mut self, mistake: NamesMistake) {
        self.names.plant(mistake);
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

    /// The node itself wants something.
    pub(crate) fn ask_for_itself(
        &mut self,
        now: Time,
        number: u64,
        request: NameRequest,
        groups: &GroupMap,
    ) {
        self.request(now, RequestNumber(OWN | number), request, groups);
    }

    /// What a task names was touched when this round had begun; or it is not all stored.
    pub(crate) fn touched(
        &mut self,
        now: Time,
        task: u64,
        round: Result<u64, NameFailure>,
        groups: &GroupMap,
    ) {
        let mut effects = Vec::new();
        self.names.touched(now, task, round, groups, &mut effects);
        self.ask(now, effects, groups);
    }

    /// A client wants a change that may take effect when its chunk is stored.
    pub(crate) fn prepare(
        &mut self,
        now: Time,
        number: RequestNumber,
        change: (Key, ChangeRequest, Option<Guard>),
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
        self.forget_deleted(now, groups);
    }

    /// In each round of collection the node of one voter looks for names of its group that were deleted, and of the next
    /// voter in the next round.
    fn forget_deleted(&mut self, now: Time, groups: &GroupMap) {
        let rosters = self.names.rosters();
        let round = rosters.collection.round;
        if round <= self.forgotten {
            return;
        }
        self.forgotten = round;
        let turn = |(target, acceptor): (&TargetId, &Acceptor)| {
            let (group, _) = groups.find(*target)?;
            let (voters, _) = rosters.of(group)?.sets();
            let count = u64::try_from(voters.len()).ok().filter(|count| *count > 0)?;
            let voter = voters.get(usize::try_from(round % count).ok()?)?;
            let is_it = (Some(voter.store), voter.target) == (acceptor.store(), *target);
            is_it.then_some((group, *target))
        };
        let turns: Vec<(GroupId, TargetId)> = self.acceptors.iter().filter_map(turn).collect();
        let mut effects = Vec::new();
        for turn in turns {
            self.names.forget_deleted(now, turn, groups, &mut effects);
        }
        self.ask(now, effects, groups);
    }

    fn teach(&mut self, now: Time, target: TargetId, groups: &GroupMap) {
        let Some((group, _)) = groups.find(target) else { return };
        let rosters = self.names.rosters();
        let Some(voters) = rosters.of(group) else { return };
        let Some(acceptor) = self.acceptors.get_mut(&target) else { return };
        let mut effects = Vec::new();
        let round = if self.believes_old_rounds { 0 } else { rosters.collection.round };
        let learnt = (rosters.epoch, round);
        acceptor.learn(learnt, voters, &mut effects);
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
            Message::Answer(_) | Message::Garbage(_) => {}
        }
    }

    /// Whether it is to look again who votes, and who should.
    pub(crate) fn is_to_look(&self, now: Time) -> bool {
        now >= self.next_look
    }

    /// Somebody may have to vote in another's place.
    pub(crate) fn look_soon(&mut self, now: Time) {
        self.next_look = self.next_look.min(now);
    }

    fn own_stores(&self) -> Vec<Store> {
        let known = self.acceptors.iter().filter(|(_, acceptor)| !acceptor.is_opening());
        known.map(|(target, acceptor)| Store { target: *target, store: acceptor.store() }).collect()
    }

    /// Asks the voters of what is wanted, here and elsewhere.
    fn ask(&mut self, now: Time, effects: Vec<NamesEffect>, groups: &GroupMap) {
        for effect in effects {
            match effect {
                NamesEffect::Answer(number, answer) if number >= OWN => {
                    self.to_do.push(NamingEffect::Own(number - OWN, answer));
                }
                NamesEffect::Touch(task, root) => self.to_do.push(NamingEffect::Touch(task, root)),
                NamesEffect::Answer(number, answer) => {
                    self.to_do.push(NamingEffect::Answer(RequestNumber(number), answer));
                }
                NamesEffect::Moved(group, since) => {
                    self.moved.insert(group, since);
                    self.next_look = self.next_look.min(now);
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
