//! Requests about names that a node has under way: changes, reads, listings.
//!
//! [`Names`] takes a request, asks the voters of its register until there is an answer, and says it. What is asked and
//! how often, when somebody else was faster, and when to give up is decided here; who the voters are is said by
//! the cluster map ([`Rosters`]).

mod forgetting;
mod guard;
mod listing;
mod machine;
mod moving;
mod request;
mod roots;
mod task;
mod touching;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use slotcast_protocol::{GroupId, GroupMap};
use slotcast_units::{Span, Time};

use crate::garbage::Root;
use crate::key::{BucketId, Key, SlotId};
use crate::message::{Asker, VoterAnswer, VoterQuestion};
use crate::object::Entry;
use crate::register::ballot::Proposer;
use crate::register::record::{Operation, Request};
use crate::register::voters::Voters;
use crate::roster::Rosters;
pub use guard::{Guard, NamesMistake};
pub use listing::{ListRequest, Listed, ListedName};
use machine::{Machine, Next};
pub use request::{NameAnswer, NameFailure, NameRequest, NameTimes};
pub use roots::{Roots, RootsRequest};
use task::{Task, Upload};

/// What the requests of a node want of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamesEffect {
    /// Ask a voter, wherever it is.
    Ask(VoterQuestion),
    /// Answer the request of this number.
    Answer(u64, NameAnswer),
    /// All registers of this group have been brought to the new one of the two sets that vote since this epoch.
    Moved(GroupId, u64),
    /// Touch this content, and all that it lists, and then go on with [`Names::touched`] about this task.
    Touch(u64, Root),
}

/// All requests about names that a node has under way: each asks the voters of its register until there is an answer.
#[derive(Debug)]
pub struct Names {
    times: NameTimes,
    rosters: Rosters,
    /// Tells the proposers of this incarnation from all others.
    salt: u64,
    tasks: BTreeMap<u64, Task>,
    next: u64,
    due: BTreeSet<(Time, u64)>,
    /// Changes of one name of this node come one after another: they would only be in each other's way.
    queues: BTreeMap<Key, VecDeque<u64>>,
    /// Held changes by the number of their request.
    held: BTreeMap<u64, u64>,
    /// A mistake that was planted.
    mistake: Option<NamesMistake>,
}

impl Names {
    /// Nothing is under way. `salt` is another one for each incarnation of each node, as 64 random bits are, and questions
    /// are counted from `first` on, so that an answer to an earlier incarnation is not taken for one to this.
    pub fn new(times: NameTimes, salt: u64, first: u64) -> Names {
        Names {
            times,
            rosters: Rosters::default(),
            salt,
            tasks: BTreeMap::new(),
            next: first,
            due: BTreeSet::new(),
            queues: BTreeMap::new(),
            held: BTreeMap::new(),
            mistake: None,
        }
    }

    /// Plants a mistake.
    #[doc(hidden)]
    pub fn plant(&mut self, mistake: NamesMistake) {
        self.mistake = Some(mistake);
    }

    /// Who votes, as far as is known.
    pub fn rosters(&self) -> &Rosters {
        &self.rosters
    }

    /// How many requests are under way.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// When [`Names::wake`] has something to do.
    pub fn wakes_at(&self) -> Time {
        self.due.first().map_or(Time::NEVER, |(time, _)| *time)
    }

    /// Somebody wants something. The answer has the same number.
    pub fn begin(
        &mut self,
        now: Time,
        number: u64,
        request: NameRequest,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        self.start(now, (number, None), request, false, groups, effects);
    }

    /// The same for a change that may not take effect yet: voters promise, and nothing is proposed before
    /// [`Names::release`]. So it does not have to wait for them when its chunk is stored.
    pub fn prepare(
        &mut self,
        now: Time,
        number: u64,
        (key, request, guard): (Key, Request<Entry>, Option<Guard>),
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        let request = NameRequest::Update(key, request, guard);
        self.start(now, (number, None), request, true, groups, effects);
    }

    /// A change that was held may take effect.
    pub fn release(
        &mut self,
        now: Time,
        number: u64,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        let Some(id) = self.held.remove(&number) else { return };
        let Some(task) = self.tasks.get_mut(&id) else { return };
        // Its chunk may have taken long.
        (task.began, task.heard) = (now, now);
        let next = task.machine.release();
        if let Upload::Coming(_, round) = task.upload {
            return self.touch_again(id, round, effects);
        }
        let is_queued = |key: &Key| self.queues.get(key).is_some_and(|queue| queue.contains(&id));
        match task.machine.key().filter(|key| !is_queued(key)).cloned() {
            Some(key) => self.enqueue(now, id, key, groups, effects),
            None => {
                // While it was held it was not to be given up.
                let due = task.due;
                self.wake_at(due, id);
                self.go_on(now, id, next, groups, effects);
            }
        }
    }

    /// A change that was held is not made. Nobody is told, and it does not take effect. False if it was answered already:
    /// its condition did not hold.
    pub fn withdraw(
        &mut self,
        now: Time,
        number: u64,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) -> bool {
        let held = self.held.remove(&number);
        held.is_some_and(|id| self.end(now, id, groups, effects).is_some())
    }

    fn start(
        &mut self,
        now: Time,
        (number, parent): (u64, Option<u64>),
        request: NameRequest,
        is_held: bool,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        let key = match &request {
            NameRequest::Update(key, ..) => Some(key.clone()),
            NameRequest::Read(_)
            | NameRequest::Fence(_)
            | NameRequest::Agree(_)
            | NameRequest::List(_)
            | NameRequest::Roots(_) => None,
        };
        let upload = self.upload_of(&request, is_held);
        let id = self.add(now, (number, parent), Machine::Waiting(request, is_held));
        if self.touch_first(id, upload, effects) {
            return;
        }
        if is_held {
            self.held.insert(number, id);
        }
        match key {
            // It is in nobody's way before it is released.
            Some(key) if is_held && self.queues.contains_key(&key) => {}
            Some(key) => self.enqueue(now, id, key, groups, effects),
            None => self.begin_machine(now, id, groups, effects),
        }
    }

    fn enqueue(
        &mut self,
        now: Time,
        id: u64,
        key: Key,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        let queue = self.queues.entry(key).or_default();
        queue.push_back(id);
        match queue.len() {
            1 => self.begin_machine(now, id, groups, effects),
            // The one before it wakes it. It does not wait for longer than a request may.
            _ => self.wake_at(now + self.times.most, id),
        }
    }

    /// A further task. Gives its number.
    fn add(&mut self, now: Time, (number, parent): (u64, Option<u64>), machine: Machine) -> u64 {
        let id = self.next;
        self.next += 1;
        self.tasks.insert(id, Task::new(now, (number, parent), machine, self.times));
        id
    }

    /// Begins to ask, if it is known whom.
    fn begin_machine(
        &mut self,
        now: Time,
        id: u64,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        let proposer = self.proposer(id);
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let upload = task.upload.since();
        let by = (proposer, upload, self.mistake);
        let next = task.machine.begin(&self.rosters, groups, by);
        self.go_on(now, id, next, groups, effects);
    }

    /// No two have the same: 64 bits of a hash of what tells them apart.
    fn proposer(&self, id: u64) -> Proposer {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.salt.to_le_bytes()).update(&id.to_le_bytes());
        let hash = hasher.finalize();
        let first = hash.as_bytes().first_chunk::<8>();
        Proposer(first.map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    /// The cluster map says who votes.
    pub fn learn(
        &mut self,
        now: Time,
        rosters: Rosters,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        if rosters.epoch < self.rosters.epoch {
            return;
        }
        self.rosters = rosters;
        self.follow_moving();
        self.touch_deferred(effects);
        let waiting: Vec<u64> =
            self.tasks.iter().filter(|(_, task)| task.waits_for_map).map(|(id, _)| *id).collect();
        for id in waiting {
            self.renew(now, id, groups, effects);
        }
    }

    fn renew(&mut self, now: Time, id: u64, groups: &GroupMap, effects: &mut Vec<NamesEffect>) {
        let proposer = self.proposer(id);
        let Some(task) = self.tasks.get_mut(&id) else { return };
        task.waits_for_map = false;
        // The voters were not silent while it did not know whom to ask.
        task.heard = now;
        let upload = task.upload.since();
        let by = (proposer, upload, self.mistake);
        let next = task.machine.renew(&self.rosters, groups, by);
        self.go_on(now, id, next, groups, effects);
    }

    /// A voter has answered.
    pub fn answered(
        &mut self,
        now: Time,
        answer: VoterAnswer,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        let VoterAnswer { from, asker: Asker { id, tag }, says } = answer;
        let Some(task) = self.tasks.get_mut(&id) else { return };
        task.heard = now;
        let next = task.machine.answered(from, tag, says);
        if matches!(next, Next::Asks) {
            task.has_come_on(self.times);
        }
        self.go_on(now, id, next, groups, effects);
    }

    /// Does what is due.
    pub fn wake(&mut self, now: Time, groups: &GroupMap, effects: &mut Vec<NamesEffect>) {
        while let Some((_, id)) = self.due.first().copied().filter(|(time, _)| *time <= now) {
            self.due.pop_first();
            let Some(task) = self.tasks.get_mut(&id) else { continue };
            task.due = Time::NEVER;
            // The read of its guard comes to an end.
            if task.machine.is_checking() {
                continue;
            }
            if matches!(task.machine, Machine::Forget(_)) {
                self.wake_forgetting(now, id, groups, effects);
                continue;
            }
            let is_outdated = task.machine.is_outdated(&self.rosters, groups);
            if is_outdated && !task.waits_for_map && now < task.began + self.times.most {
                task.is_backing_off = false;
                self.renew(now, id, groups, effects);
                continue;
            }
            if now >= task.gives_up(self.times) {
                let failure = task.machine.failure();
                self.finish(now, id, NameAnswer::Failed(failure), groups, effects);
                continue;
            }
            let next = if core::mem::take(&mut task.is_backing_off) {
                task.machine.retry()
            } else {
                task.machine.ask_again()
            };
            self.go_on(now, id, next, groups, effects);
        }
    }

    fn wake_at(&mut self, time: Time, id: u64) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let time = time.min(task.gives_up(self.times));
        self.due.remove(&(task.due, id));
        task.due = time;
        self.due.insert((time, id));
    }

    fn go_on(
        &mut self,
        now: Time,
        id: u64,
        next: Next,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        match next {
            Next::Waits => {}
            Next::Asks => {
                let questions = task.machine.questions(id);
                effects.extend(questions.into_iter().map(NamesEffect::Ask));
                let patience = task.patience(self.times);
                self.wake_at(now + patience, id);
            }
            Next::Lost => {
                task.is_backing_off = true;
                let pause = self.pause(id);
                self.wake_at(now + pause, id);
            }
            Next::NeedsMap(epoch) if self.rosters.epoch >= epoch && !task.has_needed(epoch) => {
                task.last_map = epoch;
                self.renew(now, id, groups, effects);
            }
            Next::NeedsMap(_) => {
                task.waits_for_map = true;
                self.wake_at(Time::NEVER, id);
            }
            Next::Rests => self.wake_at(now + self.times.deletions, id),
            Next::Ends => drop(self.end(now, id, groups, effects)),
            Next::Untouched(round) => self.touch_again(id, round, effects),
            Next::Checks(key) => self.read_for(now, id, NameRequest::Read(key), groups, effects),
            Next::Reads(keys) => {
                for request in keys.into_iter().map(NameRequest::Read) {
                    self.read_for(now, id, request, groups, effects);
                }
            }
            Next::Fences(keys) => {
                for request in keys.into_iter().map(NameRequest::Fence) {
                    self.read_for(now, id, request, groups, effects);
                }
            }
            Next::Agrees(keys) => {
                for request in keys.into_iter().map(NameRequest::Agree) {
                    self.read_for(now, id, request, groups, effects);
                }
            }
            Next::Brings(keys) => self.bring(now, id, keys, groups, effects),
            Next::Moved(group, since) => {
                self.end(now, id, groups, effects);
                effects.push(NamesEffect::Moved(group, since));
            }
            Next::Done(answer) => self.finish(now, id, answer, groups, effects),
        }
    }

    /// Reads a register for a task.
    fn read_for(
        &mut self,
        now: Time,
        id: u64,
        request: NameRequest,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        self.start(now, (0, Some(id)), request, false, groups, effects);
    }

    /// How long to wait before it is tried again what somebody else was faster with: drawn anew each time, and longer
    /// each time, so that of several that are in each other's way one is alone some time.
    fn pause(&mut self, id: u64) -> Span {
        let draw = self.proposer(id).0;
        let Some(task) = self.tasks.get_mut(&id) else { return Span::ZERO };
        task.lost += 1;
        let most = self.times.patience.as_ns() << task.lost.min(5);
        let mixed = (draw ^ u64::from(task.lost)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        Span::from_ns(mixed % most.max(1))
    }

    fn finish(
        &mut self,
        now: Time,
        id: u64,
        answer: NameAnswer,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        let Some((number, parent, key)) = self.end(now, id, groups, effects) else { return };
        self.held.remove(&number);
        match (parent, answer) {
            (None, answer) => effects.push(NamesEffect::Answer(number, answer)),
            (Some(parent), answer) => {
                let Some(task) = self.tasks.get_mut(&parent) else { return };
                task.heard = now;
                let Some(key) = key else { return };
                let next = task.machine.part_ended(&key, answer);
                if self.mistake == Some(NamesMistake::ReadOnce) {
                    task.machine.check_no_more();
                }
                self.go_on(now, parent, next, groups, effects);
            }
        }
    }

    /// It is over. The next change of the same name begins.
    fn end(
        &mut self,
        now: Time,
        id: u64,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) -> Option<(u64, Option<u64>, Option<Key>)> {
        let task = self.tasks.remove(&id)?;
        self.due.remove(&(task.due, id));
        let key = task.machine.key().cloned();
        if let Some(key) = key.as_ref().filter(|_| task.machine.is_update())
            && let Some(queue) = self.queues.get_mut(key)
        {
            let was_first = queue.front() == Some(&id);
            queue.retain(|other| *other != id);
            let next = queue.front().copied();
            if queue.is_empty() {
                self.queues.remove(key);
            }
            if let Some(next) = next.filter(|_| was_first) {
                if let Some(task) = self.tasks.get_mut(&next) {
                    task.heard = now;
                }
                self.begin_machine(now, next, groups, effects);
            }
        }
        Some((task.number, task.parent, key))
    }
}

/// The voters of a slot.
fn voters_of<'a>(rosters: &'a Rosters, groups: &GroupMap, slot: SlotId) -> Option<&'a Voters> {
    rosters.of(slot.group(groups))
}

/// All slots of a bucket.
fn slots_of(bucket: BucketId, slots: u32) -> impl Iterator<Item = SlotId> {
    (0..slots.max(1)).map(move |number| SlotId { bucket, number })
}
