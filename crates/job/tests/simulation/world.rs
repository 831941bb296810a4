//! Workers, registers and names, on a network that loses, delays and repeats, with clocks that disagree.

use std::collections::{BTreeMap, BTreeSet};

use slotcast_job::{
    Answer, Ask, Effect, Input, Item, JobId, Make, Mistake, Note, Order, Page, Range, Rules,
    Source, Stage, StateRecord, Status, TaskId, UnitRecord, Worker, WorkerId, output, page,
};
use slotcast_object::{
    Condition, Decision, Entry, NameRecord, Object, Operation, Outcome, Permit, Request,
    RequestKey, VersionId, Versioning,
};
use slotcast_random::{Stream, Streams};
use slotcast_units::{Span, Time};

use crate::check;
use crate::plan::{Plan, Poison, name};

pub(crate) const JOB: JobId = JobId(7);

/// Why a page is refused.
pub(crate) const LOST: &str = "there is no such bucket";

/// After which a job counts as one that does not end.
const LONGEST: Span = Span::from_secs(3600);

#[derive(Debug)]
enum Event {
    Wake(usize, u64),
    /// A question takes effect; the second number is when it is answered, if it is.
    Happen(usize, u64, TaskId, Box<Ask>, Fate),
    Tell(usize, u64, Box<Input>),
    Crash(usize),
    Start(usize),
    Order(Order),
    ChangeSource(u64),
    ChangeOutput(u64),
    LoseSources,
}

/// What becomes of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Told,
    /// It is not known what became of the question.
    Unknown,
}

struct Host {
    worker: Option<Worker>,
    incarnation: u64,
    /// Its clock goes at so many percent, and began at this.
    rate: u64,
    offset: u64,
}

/// Everything outside of the workers, and what must hold of it.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) now: Time,
    mistake: Option<Mistake>,
    random: Stream,
    queue: BTreeMap<(Time, u64), Event>,
    next: u64,
    hosts: Vec<Host>,
    pub(crate) state: (VersionId, StateRecord),
    pub(crate) units: BTreeMap<u32, (VersionId, UnitRecord)>,
    pub(crate) sources: BTreeMap<String, NameRecord>,
    pub(crate) outputs: BTreeMap<String, NameRecord>,
    /// How often the job has changed a name for a source version.
    pub(crate) effects: BTreeMap<(String, VersionId), u32>,
    /// Versions that a worker has seen before it replaced them.
    seen: BTreeSet<VersionId>,
    refused: BTreeMap<String, u32>,
    /// The bucket of the sources is not there any more.
    pub(crate) has_lost_sources: bool,
    pub(crate) fenced: u64,
    /// When the job was paused or aborted.
    stopped: Option<Time>,
    pub(crate) problems: Vec<String>,
}

fn object(size: u64) -> Entry {
    Entry::Object(Object { size, ..Object::default() })
}

/// Carries out a request on a name; what became of it, and whether that changed it.
fn apply(
    names: &mut BTreeMap<String, NameRecord>,
    name: &str,
    (key, operation, condition): (RequestKey, Operation<Entry>, Condition),
) -> (Outcome, bool) {
    let (versioning, permit) = (Versioning::Off, Permit::default());
    let request = Request { key, operation, condition, versioning, permit };
    match request.decide(names.get(name)) {
        Decision::Write(record, outcome) => {
            names.insert(name.to_owned(), record);
            (outcome, true)
        }
        Decision::Answer(outcome) => (outcome, false),
    }
}

impl World {
    pub(crate) fn new(seed: u64, plan: Plan, mistake: Option<Mistake>) -> World {
        let random = Streams::new(seed).stream("world", 0);
        let version = VersionId { change: 1, salt: 0 };
        let mut world = World {
            now: Time::ZERO,
            mistake,
            random,
            queue: BTreeMap::new(),
            next: 1,
            hosts: Vec::new(),
            state: (version, StateRecord::new()),
            units: BTreeMap::from([(0, (version, UnitRecord::new(Range::Plan)))]),
            sources: BTreeMap::new(),
            outputs: BTreeMap::new(),
            effects: BTreeMap::new(),
            seen: BTreeSet::new(),
            refused: BTreeMap::new(),
            has_lost_sources: false,
            fenced: 0,
            stopped: None,
            problems: Vec::new(),
            plan,
        };
        for n in 0..world.plan.names {
            world.put_source(&name(n));
            if world.plan.has_outputs && n % 3 == 0 {
                world.put_output(n);
            }
        }
        for index in 0..world.plan.workers as usize {
            // Clocks that differ by more than a third take units from those who work on them, which harms nothing.
            let (least, more) = if world.plan.is_calm { (90, 20) } else { (50, 150) };
            let (rate, offset) = (least + world.random.below(more), world.random.below(1 << 40));
            world.hosts.push(Host { worker: None, incarnation: 0, rate, offset });
            world.start(index);
        }
        world.schedule();
        world
    }

    fn schedule(&mut self) {
        let plan = self.plan.clone();
        let at =
            |random: &mut Stream, longest: u64| Time::from_ns(random.below(longest * 1_000_000));
        for _ in 0..plan.crashes {
            let (time, index) =
                (at(&mut self.random, 15_000), self.random.below(u64::from(plan.workers)));
            let back = time.saturating_add(Span::from_ms(self.random.below(20_000)));
            self.push(time, Event::Crash(index as usize));
            self.push(back, Event::Start(index as usize));
        }
        for _ in 0..plan.blackouts {
            let time = at(&mut self.random, 10_000);
            for index in 0..plan.workers as usize {
                self.push(time, Event::Crash(index));
                let back = time.saturating_add(Span::from_ms(self.random.below(3_000)));
                self.push(back, Event::Start(index));
            }
        }
        if plan.orders {
            let time = at(&mut self.random, 1_000);
            let again = time.saturating_add(Span::from_secs(200));
            self.push(time, Event::Order(Order::Pause));
            self.push(again, Event::Order(Order::Resume));
        }
        if let Some(after) = plan.loses_sources {
            self.push(Time::ZERO.saturating_add(after), Event::LoseSources);
        }
        if plan.aborts {
            let time = at(&mut self.random, 2_000);
            self.push(time, Event::Order(Order::Abort));
        }
        for n in 0..plan.names {
            if plan.changes_sources && self.random.chance(0.1) {
                let time = at(&mut self.random, 8_000);
                self.push(time, Event::ChangeSource(n));
            }
            if plan.changes_outputs && self.random.chance(0.1) {
                let time = at(&mut self.random, 8_000);
                self.push(time, Event::ChangeOutput(n));
            }
        }
    }

    fn push(&mut self, at: Time, event: Event) {
        self.queue.insert((at, self.next), event);
        self.next += 1;
    }

    fn version(&mut self) -> VersionId {
        self.next += 1;
        VersionId { change: self.next, salt: 0 }
    }

    fn key(&mut self) -> RequestKey {
        self.next += 1;
        RequestKey(u128::from(self.next))
    }

    fn put_source(&mut self, name: &str) {
        let put = (self.key(), Operation::Put(object(1 + self.next % 50)), Condition::Always);
        apply(&mut self.sources, name, put);
    }

    fn put_output(&mut self, n: u64) {
        let Some(name) = self.plan.text.output(&name(n)) else { return };
        let put = (self.key(), Operation::Put(object(3)), Condition::Always);
        apply(&mut self.outputs, &name, put);
    }

    fn start(&mut self, index: usize) {
        let rules = Rules {
            attempts: 4,
            processes: 6,
            items: 12,
            page: 16,
            first_unit: 8,
            transforms: true,
            ..Rules::default()
        };
        self.next += 1;
        let (incarnation, mistake) = (self.next, self.mistake);
        let host = &mut self.hosts[index];
        if host.worker.is_some() {
            return;
        }
        let me = WorkerId { node: index as u32, incarnation };
        host.incarnation = incarnation;
        host.worker = Some(Worker::new(me, rules).with_mistake(mistake));
        self.push(self.now, Event::Wake(index, incarnation));
    }

    /// Runs until the job is over; whether it is.
    pub(crate) fn run(&mut self) -> bool {
        while let Some(((at, _), event)) = self.queue.pop_first() {
            self.now = at;
            if at > Time::ZERO.saturating_add(LONGEST) {
                return false;
            }
            self.step(event);
            if self.state.1.is_over(true) || !self.problems.is_empty() {
                return true;
            }
        }
        false
    }

    /// Goes on for a while after the job is over.
    pub(crate) fn run_on(&mut self) {
        let end = self.now.saturating_add(Span::from_secs(150));
        while let Some(((at, _), event)) = self.queue.pop_first() {
            if at > end {
                return;
            }
            self.now = at;
            self.step(event);
        }
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Wake(index, of) => self.handle(index, of, Input::Wake),
            Event::Tell(index, of, input) => self.handle(index, of, *input),
            Event::Happen(index, of, task, ask, fate) => {
                let answer = self.carry_out(index, &ask);
                let answer = match fate {
                    Fate::Told => answer,
                    Fate::Unknown => Answer::Failed("nothing was heard".into()),
                };
                let delay = self.delay();
                let at = self.now.saturating_add(delay);
                self.push(at, Event::Tell(index, of, Box::new(Input::Answer(task, answer))));
            }
            Event::Crash(index) => self.hosts[index].worker = None,
            Event::Start(index) => self.start(index),
            Event::Order(order) => self.order(order),
            Event::ChangeSource(n) => {
                if self.state.1.stage == Stage::Work && self.state.1.status == Status::Running {
                    match n % 3 {
                        0 => self.put_source(&format!("in/{n:05}x")),
                        1 => {
                            let delete = (self.key(), Operation::Delete(0), Condition::Always);
                            apply(&mut self.sources, &name(n), delete);
                        }
                        _ => self.put_source(&name(n)),
                    }
                }
            }
            Event::ChangeOutput(n) => self.put_output(n),
            Event::LoseSources => self.has_lost_sources = true,
        }
    }

    fn order(&mut self, order: Order) {
        if let Ok(Some(state)) = self.state.1.ordered(order, true) {
            self.state = (self.version(), state);
            self.stopped = (order != Order::Resume).then_some(self.now);
        }
    }

    fn delay(&mut self) -> Span {
        match !self.plan.is_calm && self.random.chance(0.002) {
            true => Span::from_ms(self.random.below(8_000)),
            false => Span::from_us(200 + self.random.below(10_000)),
        }
    }

    fn handle(&mut self, index: usize, of: u64, input: Input) {
        let (now, mut effects) = (self.now, Vec::new());
        // Nobody waits for the answer to what was late.
        let Some(host) = self.hosts.get_mut(index) else { return };
        let Some(worker) = host.worker.as_mut().filter(|_| host.incarnation == of) else { return };
        let local = Time::from_ns(host.offset + now.as_ns() / 100 * host.rate);
        worker.handle(local, input, &mut effects);
        let (rate, offset) = (host.rate, host.offset);
        for effect in effects {
            match effect {
                Effect::WakeAt(Time::NEVER) => {}
                Effect::WakeAt(at) => {
                    let at = Time::from_ns(at.as_ns().saturating_sub(offset) / rate * 100 + 100);
                    let at = at.max(now.saturating_add(Span::from_us(10)));
                    self.push(at, Event::Wake(index, of));
                }
                Effect::Note(Note::Fenced(..)) => self.fenced += 1,
                Effect::Note(_) => {}
                Effect::Ask(task, ask) => self.asked((index, of), task, ask),
            }
        }
    }

    fn asked(&mut self, (index, of): (usize, u64), task: TaskId, ask: Ask) {
        let bound = Span::from_secs(30);
        let is_make = matches!(ask, Ask::Make(..));
        if is_make && self.stopped.is_some_and(|at| self.now > at.saturating_add(bound)) {
            self.problems.push("work goes on though the job was stopped".into());
        }
        let mut delay = self.delay();
        if is_make {
            delay = Span::from_us(self.random.below(self.plan.slowest.as_ns() / 1000).max(1));
        }
        let at = self.now.saturating_add(delay);
        let ask = Box::new(ask);
        if self.plan.is_calm || !self.random.chance(0.02) {
            return self.push(at, Event::Happen(index, of, task, ask, Fate::Told));
        }
        match self.random.below(3) {
            // It never takes effect.
            0 => {
                let answer = Input::Answer(task, Answer::Failed("lost".into()));
                self.push(at, Event::Tell(index, of, Box::new(answer)));
            }
            1 => self.push(at, Event::Happen(index, of, task, ask, Fate::Unknown)),
            // It takes effect long after its asker has given up.
            _ => {
                let late = at.saturating_add(Span::from_ms(self.random.below(15_000)));
                let answer = Input::Answer(task, Answer::Failed("late".into()));
                self.push(at, Event::Tell(index, of, Box::new(answer)));
                self.push(late, Event::Happen(usize::MAX, of, task, ask, Fate::Unknown));
            }
        }
    }

    fn carry_out(&mut self, index: usize, ask: &Ask) -> Answer {
        match ask {
            Ask::Jobs => Answer::Jobs(vec![JOB]),
            Ask::Text(_) => Answer::Text(Some(self.plan.text.clone())),
            Ask::State(_) => Answer::State(Some(self.state.clone())),
            Ask::Unit(_, unit) => Answer::Unit(self.units.get(unit).cloned()),
            Ask::SwapState(_, expected, state) => {
                if *expected != Some(self.state.0) {
                    return Answer::Lost;
                }
                check::next_state(self, state);
                self.state = (self.version(), state.clone());
                Answer::Swapped(self.state.0)
            }
            Ask::SwapUnit(_, unit, expected, record) => {
                let before = self.units.get(unit).map(|(version, _)| *version);
                if before != *expected {
                    return Answer::Lost;
                }
                check::next_unit(self, *unit, record);
                let version = self.version();
                self.units.insert(*unit, (version, record.clone()));
                Answer::Swapped(version)
            }
            Ask::Page(..) | Ask::Find(..) if self.has_lost_sources => Answer::Refused(LOST.into()),
            Ask::Page(_, range, cursor, limit) => Answer::Page(self.page(range, cursor, *limit)),
            Ask::Find(_, names) => {
                let items = names.iter().map(|name| self.item(name)).collect();
                Answer::Page(Page { items, cursor: slotcast_job::Cursor::End })
            }
            Ask::Look(_, name, key) => {
                let names = if self.plan.text.to.is_some() { &self.outputs } else { &self.sources };
                let seen = output::Seen::of(names.get(name), *key);
                self.seen.extend(seen.latest);
                Answer::Looked(seen)
            }
            Ask::Make(_, item, make) => self.make(index, item, make),
        }
    }

    fn item(&self, name: &str) -> Item {
        let head = self.sources.get(name).and_then(|record| record.head());
        let source = head.map(|head| {
            let size = head.object.as_ref().and_then(Entry::object).map_or(0, |object| object.size);
            Source { version: head.id, size }
        });
        Item { name: name.to_owned(), source }
    }

    fn page(&self, range: &Range, cursor: &slotcast_job::Cursor, limit: u32) -> Page {
        let text = &self.plan.text;
        if let Range::Numbers { from, end } = range {
            let (numbers, cursor) = page::of_numbers(cursor, end - from, u64::from(limit));
            let items = numbers.map(|n| self.item(&name(from + n))).collect();
            return Page { items, cursor };
        }
        let after = page::begins_after(range, cursor).unwrap_or("").to_owned();
        let names =
            self.sources.iter().filter(|(name, record)| **name > after && record.head().is_some());
        let mut listed: Vec<Item> =
            names.take(limit as usize + 1).map(|(name, _)| self.item(name)).collect();
        let has_more = listed.len() > limit as usize;
        listed.truncate(limit as usize);
        page::of_listing(text, range, listed, has_more)
    }

    fn make(&mut self, index: usize, item: &Item, make: &Make) -> Answer {
        let Some(source) = item.source else { return Answer::Refused("nothing".into()) };
        let refused = *self.refused.get(&item.name).unwrap_or(&0);
        let is_refused = match self.plan.poison.get(&item.name) {
            Some(Poison::Always) => true,
            Some(Poison::Times(times)) => refused < *times,
            Some(Poison::Node(node)) => *node as usize == index,
            None => false,
        };
        if is_refused {
            *self.refused.entry(item.name.clone()).or_default() += 1;
            return Answer::Refused("it is poison".into());
        }
        let is_there = self.item(&item.name).source == Some(source);
        let deletes = self.plan.text.to.is_none();
        if !self.plan.text.kind.has_outputs() && self.plan.text.kind.name() == "verify" {
            return if is_there { Answer::Made(source.size) } else { Answer::Gone };
        }
        if !deletes && !is_there {
            return Answer::Gone;
        }
        let names = if deletes { &mut self.sources } else { &mut self.outputs };
        let before = names.get(&make.name).and_then(|record| record.head()).map(|head| head.id);
        let operation = match deletes {
            true => Operation::Delete(0),
            false => Operation::Put(object(source.size)),
        };
        let (outcome, changed) = apply(names, &make.name, (make.key, operation, make.condition));
        if changed {
            *self.effects.entry((make.name.clone(), source.version)).or_default() += 1;
            check::effect(self, (&make.name, source.version), before, deletes);
        }
        match outcome {
            Outcome::Stored(_) | Outcome::Deleted(_) | Outcome::NothingToDelete => {
                Answer::Made(source.size)
            }
            _ => Answer::ConditionFailed,
        }
    }

    pub(crate) fn was_seen(&self, version: VersionId) -> bool {
        self.seen.contains(&version)
    }
}
