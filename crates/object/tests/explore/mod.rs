//! Visits all states that a register can get into.
//!
//! The network is the set of all questions that were sent and still make a difference. Each may arrive at any time, again
//! and again ([`Faults::repeats`]), or never; its answer is heard at once, or lost, or later ([`Faults::late`]). What
//! clients are told must be what a name that is kept in one place could have told them.
//!
//! A voter answers when what changed is on stable storage. A crash loses what was not, and that is a question
//! which never arrived: so crashes make a difference only with a mistake.

mod clients;
mod history;
mod host;
mod models;
mod symmetry;
mod tests;

extern crate std;

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use stateright::semantics::ConsistencyTester;
use stateright::{Model, Property};

use crate::register::mistake::Mistake;
use crate::{
    Ask, Fenced, Forget, ForgetStep, Proposer, Question, Record, Reply, Sync, SyncStep, Tag, Voter,
    Voters,
};
use clients::{Client, Heard};
use history::{Act, History, Name};
use host::Host;

/// What is named: a letter.
type Named = Record<char>;

/// A register, what clients do with it, and what may happen to its voters.
#[derive(Debug, Clone)]
struct Explored {
    /// What each client does, one after another.
    scripts: Vec<Vec<Act>>,
    /// The voters, and after each change of them those of then.
    voters: Vec<Vec<Voter>>,
    faults: Faults,
    mistake: Option<Mistake>,
}

/// How often what may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Faults {
    /// Voters that crash and start again.
    crashes: u8,
    /// Voters whose disk is wiped, so that others take their place.
    wipes: u8,
    /// Clients that ask again, and attempts of each beyond the first.
    impatient: u8,
    retries: u8,
    /// Epochs of the map in which nothing changes for the register.
    epochs: u8,
    /// Attempts to forget the tombstone of a deletion.
    forgets: u8,
    /// Whether questions come again.
    repeats: bool,
    /// Whether answers may be late.
    late: bool,
}

/// Who asks: a client with one of its requests, the synchronisation of an epoch, or an attempt to forget, by those that are
/// left. Answers to others are not its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Asker {
    Client(u8, u8),
    Sync(u64),
    Forget(u8),
}

/// A question on its way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Sent(Asker, Question<Named>);

/// An answer on its way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Answer(Asker, Voter, Tag, Reply<Named>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    epoch: u64,
    voters: Voters,
    /// Changes of the voters that have begun.
    changes: usize,
    hosts: Vec<Host>,
    clients: Vec<Client>,
    sync: Option<Sync<Named>>,
    is_synced: bool,
    forget: Option<Forget>,
    is_forgotten: bool,
    network: BTreeSet<Sent>,
    answers: BTreeSet<Answer>,
    faults: Faults,
    history: History,
    is_linearizable: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Action {
    /// A question arrives; whether its answer is heard at once.
    Deliver(Sent, bool),
    Hear(Answer),
    /// A client does what is next, with the map that it knows, or the latest.
    Begin(u8, bool),
    Retry(u8),
    Learn(Voter),
    Crash(Voter),
    Wipe(Voter),
    /// The map goes on to the next epoch, in which voters change, or not.
    Epoch(bool),
    BeginSync,
    BeginForget,
    GoOnForgetting,
}

impl Model for Explored {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let voters = Voters::alone(1, &self.voters[0]).expect("a few");
        let mut all: Vec<Voter> = self.voters.concat();
        all.sort_unstable();
        all.dedup();
        alloc::vec![State {
            epoch: 1,
            hosts: all.into_iter().map(|voter| Host::new(voter, &voters)).collect(),
            clients: self.scripts.iter().map(|script| Client::new(script, &voters)).collect(),
            voters,
            changes: 0,
            sync: None,
            is_synced: false,
            forget: None,
            is_forgotten: false,
            network: BTreeSet::new(),
            answers: BTreeSet::new(),
            faults: self.faults,
            history: History::new(Name::default()),
            is_linearizable: true,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for sent in &state.network {
            let (is_change, is_heard) = self.matters(state, sent);
            let may_be_late = self.faults.late && is_heard;
            actions
                .extend((is_change || may_be_late).then(|| Action::Deliver(sent.clone(), false)));
            actions.extend(is_heard.then(|| Action::Deliver(sent.clone(), true)));
        }
        actions.extend(state.answers.iter().cloned().map(Action::Hear));
        for (n, client) in (0..).zip(&state.clients) {
            if client.next().is_some() {
                actions.push(Action::Begin(n, false));
                if client.epoch() < state.epoch {
                    actions.push(Action::Begin(n, true));
                }
            }
            let is_impatient = n < self.faults.impatient && client.attempts < self.faults.retries;
            if client.waits() && is_impatient {
                actions.push(Action::Retry(n));
            }
        }
        for host in &state.hosts {
            if host.fence.epoch < state.epoch {
                actions.push(Action::Learn(host.voter));
            }
            if state.faults.crashes > 0 {
                actions.push(Action::Crash(host.voter));
            }
            if state.faults.wipes > 0 {
                actions.push(Action::Wipe(host.voter));
            }
        }
        let is_settled = !state.voters.is_joint();
        let may_settle = state.is_synced || self.mistake == Some(Mistake::SettlesUnsynced);
        let is_to_change = is_settled && state.changes + 1 < self.voters.len();
        if is_to_change || !is_settled && may_settle {
            actions.push(Action::Epoch(true));
        }
        if state.faults.epochs > 0 && is_settled {
            actions.push(Action::Epoch(false));
        }
        if !is_settled && state.sync.is_none() {
            actions.push(Action::BeginSync);
        }
        let may_forget = state.forget.as_ref().is_none_or(Forget::is_over);
        if state.faults.forgets > 0 && may_forget && is_settled {
            actions.push(Action::BeginForget);
        }
        if state.forget.clone().is_some_and(|mut forget| forget.go_on(state.epoch)) {
            actions.push(Action::GoOnForgetting);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Deliver(sent, is_heard) => {
                if !self.faults.repeats {
                    state.network.remove(&sent);
                }
                let Sent(asker, Question { to, tag, stamp, ask }) = sent;
                let reply = state.host(to).answer(stamp, &ask, self.mistake_of(asker))?;
                if is_heard {
                    self.hear(&mut state, to, asker, tag, reply);
                } else if self.faults.late {
                    state.answers.insert(Answer(asker, to, tag, reply));
                }
            }
            Action::Hear(answer) => {
                state.answers.remove(&answer);
                let Answer(asker, voter, tag, reply) = answer;
                self.hear(&mut state, voter, asker, tag, reply);
            }
            Action::Begin(client, is_fresh) => state.begin(client, is_fresh, self.mistake),
            Action::Retry(client) => {
                let (voters, epoch) = (state.voters.clone(), state.epoch);
                state.clients[usize::from(client)].retry(voters, epoch, self.mistake);
                state.send_of(client);
            }
            Action::Learn(voter) => {
                let (epoch, voters) = (state.epoch, state.voters.clone());
                state.host(voter).learn(epoch, &voters, self.mistake);
            }
            Action::Crash(voter) => {
                state.faults.crashes -= 1;
                state.host(voter).crash(self.mistake);
            }
            Action::Wipe(voter) => {
                state.faults.wipes -= 1;
                let votes_on = self.mistake == Some(Mistake::VotesOnWhenWiped);
                state.host(voter).wipe(votes_on);
            }
            Action::Epoch(is_change) => self.next_epoch(&mut state, is_change),
            Action::BeginSync => {
                let epoch = state.epoch;
                state.sync = Some(Sync::new(state.voters.clone(), epoch, Proposer(100 + epoch)));
                state.send(Asker::Sync(state.voters.epoch()));
            }
            Action::BeginForget => {
                state.faults.forgets -= 1;
                state.forget = Some(Forget::new(state.voters.clone(), state.epoch));
                state.send(Asker::Forget(state.faults.forgets));
            }
            Action::GoOnForgetting => {
                let now = state.epoch;
                state.forget.as_mut()?.go_on(now);
                state.send(Asker::Forget(state.faults.forgets));
            }
        }
        self.drop_idle(&mut state);
        let state = self.canonical(state);
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Explored>> {
        alloc::vec![
            Property::<Explored>::always("linearizable", |_, state| state.is_linearizable),
            Property::<Explored>::sometimes("all are answered", |model, state| {
                let is_over = state.clients.iter().all(Client::is_over);
                is_over && state.changes + 1 == model.voters.len() && !state.voters.is_joint()
            }),
            Property::<Explored>::sometimes("it is forgotten", |model, state| {
                model.faults.forgets == 0 || state.is_forgotten
            }),
        ]
    }
}

impl Explored {
    fn next_epoch(&self, state: &mut State, is_change: bool) {
        state.epoch += 1;
        if !is_change {
            state.faults.epochs -= 1;
        } else if state.voters.is_joint() {
            state.voters = state.voters.settled(state.epoch);
            (state.sync, state.is_synced) = (None, false);
        } else if let Some(next) = self.voters.get(state.changes + 1) {
            state.voters = state.voters.joint(state.epoch, next).expect("a few");
            state.changes += 1;
        }
    }

    /// The mistake that a voter makes with what `asker` asks.
    fn mistake_of(&self, asker: Asker) -> Option<Mistake> {
        match (self.mistake, asker) {
            (Some(Mistake::SyncsOverLaterOnes), Asker::Sync(_)) => {
                Some(Mistake::AcceptsBelowItsPromise)
            }
            (mistake, _) => mistake,
        }
    }

    /// Whether a question changes the voter that it comes to, and whether its answer makes a difference.
    fn matters(&self, state: &State, Sent(asker, question): &Sent) -> (bool, bool) {
        let Question { to, tag, stamp, ask } = question;
        let Some(host) = state.hosts.iter().find(|host| host.is(*to)) else {
            return (false, false);
        };
        let mut after = host.clone();
        match after.answer(*stamp, ask, self.mistake_of(*asker)) {
            None | Some(Reply::Fenced(Fenced::Behind)) => (false, false),
            Some(_) => (after != *host, state.hears(*asker, *to, *tag, self.mistake)),
        }
    }

    /// Forgets what makes no difference any more.
    fn drop_idle(&self, state: &mut State) {
        // Where voters forget, with leave or by mistake, what was of no use may be so again.
        let is_kept = |ask: &Ask<Named>| {
            let forgets =
                self.faults.forgets > 0 || self.faults.wipes > 0 || self.mistake.is_some();
            forgets && matches!(ask, Ask::Prepare(_) | Ask::Accept(..))
        };
        let network = core::mem::take(&mut state.network);
        let matters = |sent: &Sent| {
            let host = state.hosts.iter().find(|host| host.is(sent.1.to));
            let is_behind =
                host.is_some_and(|host| host.fence.admit(sent.1.stamp) == Err(Fenced::Behind));
            is_behind || is_kept(&sent.1.ask) || self.matters(state, sent) != (false, false)
        };
        let network = network.into_iter().filter(matters).collect();
        state.network = network;
        let answers = core::mem::take(&mut state.answers).into_iter();
        let is_heard =
            |Answer(asker, voter, tag, _): &Answer| state.hears(*asker, *voter, *tag, self.mistake);
        state.answers = answers.filter(is_heard).collect();
    }

    fn hear(&self, state: &mut State, voter: Voter, asker: Asker, tag: Tag, reply: Reply<Named>) {
        match asker {
            Asker::Client(n, request) => {
                if state.clients[usize::from(n)].begun != request {
                    return;
                }
                match state.clients[usize::from(n)].hear(voter, tag, reply, self.mistake) {
                    Heard::Waits => {}
                    Heard::Asks => state.send(asker),
                    Heard::Told(told) => {
                        state.history.on_return(n, told).expect("it was asked");
                        state.is_linearizable = state.history.is_consistent();
                    }
                }
            }
            Asker::Sync(epoch) => {
                let is_it = epoch == state.voters.epoch();
                let Some(sync) = state.sync.as_mut().filter(|_| is_it) else { return };
                match sync.handle(voter, tag, reply) {
                    SyncStep::Done => state.is_synced = true,
                    SyncStep::Asks => state.send(asker),
                    SyncStep::Lost => {
                        sync.retry();
                        state.send(asker);
                    }
                    SyncStep::Waits | SyncStep::NeedsMap(_) => {}
                }
            }
            Asker::Forget(attempt) => {
                let is_it = attempt == state.faults.forgets;
                let Some(forget) = state.forget.as_mut().filter(|_| is_it) else { return };
                let step = forget.handle(voter, tag, &reply, Record::is_tombstone);
                state.is_forgotten |= step == ForgetStep::Done;
            }
        }
    }
}

impl State {
    fn host(&mut self, voter: Voter) -> &mut Host {
        self.hosts.iter_mut().find(|host| host.is(voter)).expect("a voter")
    }

    /// Puts all that somebody asks into the network.
    fn send(&mut self, asker: Asker) {
        let questions = match asker {
            Asker::Client(client, _) => self.clients[usize::from(client)].questions(),
            Asker::Sync(_) => self.sync.as_ref().map(Sync::questions).unwrap_or_default(),
            Asker::Forget(_) => self.forget.as_ref().map(Forget::questions).unwrap_or_default(),
        };
        self.network.extend(questions.into_iter().map(|question| Sent(asker, question)));
    }

    fn send_of(&mut self, client: u8) {
        let request = self.clients[usize::from(client)].begun;
        self.send(Asker::Client(client, request));
    }

    /// Begins what a client does next.
    fn begin(&mut self, client: u8, is_fresh: bool, mistake: Option<Mistake>) {
        let (voters, epoch) = (self.voters.clone(), self.epoch);
        let known = &mut self.clients[usize::from(client)];
        let Some(act) = known.next() else { return };
        if is_fresh {
            known.learn(voters, epoch);
        }
        known.begin(client, mistake);
        self.history.on_invoke(client, act).expect("one at a time");
        self.send_of(client);
    }

    /// Whether an answer of `voter` to this question makes a difference to whoever asked.
    fn hears(&self, asker: Asker, voter: Voter, tag: Tag, mistake: Option<Mistake>) -> bool {
        let mixes = mistake == Some(Mistake::MixesAttempts);
        let asks = |questions: Vec<Question<Named>>| {
            questions.iter().any(|question| question.to == voter && (mixes || question.tag == tag))
        };
        match asker {
            Asker::Client(client, request) => {
                let client = &self.clients[usize::from(client)];
                client.begun == request && asks(client.questions())
            }
            Asker::Sync(epoch) => {
                let is_it = !self.is_synced && epoch == self.voters.epoch();
                is_it && self.sync.as_ref().is_some_and(|sync| asks(sync.questions()))
            }
            Asker::Forget(attempt) => {
                let is_it = attempt == self.faults.forgets;
                is_it && self.forget.as_ref().is_some_and(|forget| asks(forget.questions()))
            }
        }
    }
}
