//! A small cluster around the real machines: one negotiating group or more, messages with faults,
//! perfect clocks. Time passes from one due action to the next.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

mod disk;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use slotcast_protocol::{
    Backpressure, Bid, BidAnswer, CalendarRules, Choosy, ChunkId, Delivery, DiskForecast, Failure,
    GetRequest, GetRules, GroupId, GroupMap, IdleExtension, Initiator, InitiatorConfig,
    InitiatorEffect, InitiatorId, InitiatorInput, LateRules, Members, Message, Offer, OfferAnswer,
    OfferRule, Proxy, ProxyChoice, ProxyConfig, ProxyEffect, ProxyInput, PutRequest, PutRules,
    RequestId, State, Target, TargetConfig, TargetEffect, TargetId, TargetInput, Timing, Wanted,
    Window, WindowRule,
    selection::{SequenceRule, Ties},
};
use slotcast_units::{Rate, Size, Span, Time};

pub use disk::Disk;

pub const CHUNK_SIZE: Size = Size::from_kib(128);
const ACK_TIMEOUT: Span = Span::from_ms(10);
pub const ANSWER_TIMEOUT: Span = Span::from_us(200);

pub fn chunk(n: u64) -> ChunkId {
    let mut name = [0; 32];
    name[..8].copy_from_slice(&n.to_le_bytes());
    ChunkId(name)
}

/// What goes wrong, as small numbers that proptest can shrink: the fate of the n-th thing that can
/// fail is the n-th entry, and everything is well after the last.
#[derive(Debug, Clone, Default)]
pub struct Fate {
    pub messages: Vec<MessageFate>,
    pub transfers: Vec<bool>,
    pub disks: Vec<bool>,
}

#[derive(Debug, Clone, Copy)]
pub enum MessageFate {
    Arrives,
    Lost,
    Twice,
    /// Once at its time, and again so many ns later.
    TwiceAfter(u32),
    Late(u32),
}

pub fn any_fate() -> impl Strategy<Value = Fate> {
    let message = prop_oneof![
        6 => Just(MessageFate::Arrives),
        1 => Just(MessageFate::Lost),
        1 => Just(MessageFate::Twice),
        1 => (0u32..2_000_000).prop_map(MessageFate::Late),
    ];
    (
        prop::collection::vec(message, 0..150),
        prop::collection::vec(prop::bool::weighted(0.8), 0..20),
        prop::collection::vec(prop::bool::weighted(0.8), 0..20),
    )
        .prop_map(|(messages, transfers, disks)| Fate { messages, transfers, disks })
}

#[derive(Debug, Clone, Copy)]
enum Due {
    ToTarget(u32, Message),
    ToInitiator(u32, Message),
    Received(u32, RequestId, ChunkId, Window),
    Reached(u32, RequestId),
    Written(u32, RequestId, (ChunkId, Option<Wanted>), u32),
    Read(u32, RequestId),
    Sent(u32, RequestId),
    Delivered(RequestId),
    Wake(u32),
    WakeProxy(u32),
    Down(u32),
    Up(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Put { rounds: u8 },
    Got { rounds: u8 },
    Failed(Failure),
}

pub struct TestCluster {
    pub now: Time,
    pub groups: GroupMap,
    pub initiators: Vec<Initiator>,
    pub targets: Vec<Target>,
    /// One on each target's node, if the cluster has proxies.
    pub proxies: Vec<Proxy>,
    pub disks: Vec<Disk>,
    pub dead: BTreeSet<u32>,
    pub ended: Vec<(RequestId, Ended)>,
    /// When the last request ended.
    pub last_end: Time,
    /// Transfers in flight per target, to see that none overlap.
    pub receiving: Vec<Vec<Window>>,
    /// Transfers of different initiators that overlapped.
    pub meetings: usize,
    pub messages_sent: usize,
    /// What was asked for, and what was sent, in order.
    pub requests: Vec<PutRequest>,
    pub transfers: Vec<Window>,
    pub wakes: usize,
    /// Targets that damage what they receive, until when.
    pub damaging: Option<(std::ops::Range<u32>, Time)>,
    /// All members that get nothing in this round die with its end.
    pub die_after_round: Option<u8>,
    /// Targets that were made to read, in order.
    pub reads: Vec<u32>,
    /// With proxies: whether chunks of different initiators may be sent to a target at the same time,
    /// as long as it takes in only one: what is left of a promise when the message that tells of it is
    /// lost.
    pub sends_may_meet: bool,
    /// So many acknowledgements are lost.
    pub lost_acks: u32,
    /// So many acceptances of gets are lost.
    pub lost_accepts: u32,
    /// Transfers per target that it had a reservation for, to see that none overlap.
    taken: Vec<Vec<Window>>,
    /// Counts restarts of the targets.
    incarnations: Vec<u32>,
    /// Deliveries on their way to each initiator, to see that none overlap.
    delivering: Vec<Vec<Window>>,
    put_rules: PutRules,
    refuse_after: Option<Span>,
    late: Option<LateRules>,
    disk_rate: Rate,
    fate: Fate,
    due: BTreeMap<(Time, u64), Due>,
    sequence: u64,
    counts: (usize, usize, usize),
}

/// An initiator of the test cluster.
fn initiator(
    id: u32,
    put: PutRules,
    (refuse_after, late): (Option<Span>, Option<LateRules>),
) -> Initiator {
    Initiator::new(InitiatorConfig {
        id: InitiatorId(id),
        timing: Timing::published(),
        put,
        get: GetRules { window_rule: WindowRule::published(Delivery::Unicast) },
        answer_timeout: ANSWER_TIMEOUT,
        ack_timeout: ACK_TIMEOUT,
        late,
        max_rounds: 40,
        refuse_after,
        horizon: Span::from_secs(10),
    })
}

const CALENDAR: CalendarRules = CalendarRules {
    offer: OfferRule::FirstFit,
    gap: Span::ZERO,
    grace: ACK_TIMEOUT,
    expected: Span::from_us(1),
    hold: Span::from_ms(1),
    horizon: Span::from_secs(10),
    capacity: 64,
};

fn disk(rate: Rate) -> DiskForecast {
    DiskForecast::new(rate, Size::from_kib(256), Backpressure::KeepRoom)
}

/// A target of the test cluster.
fn target(
    t: u32,
    groups: &GroupMap,
    window_rule: WindowRule,
    offer: OfferRule,
    disk_rate: Rate,
) -> Target {
    let (group, position) = groups.seat(TargetId(t));
    Target::new(TargetConfig {
        group,
        position,
        timing: Timing::published(),
        window_rule,
        idle_extension: IdleExtension::TwoTransfers,
        calendar: CalendarRules { offer, ..CALENDAR },
        disk: disk(disk_rate),
    })
}

/// What a host answers for a member that is not heard.
fn unavailable(message: &Message, position: u8) -> Option<Message> {
    match *message {
        Message::PutRequest(PutRequest { request, round, .. }) => {
            let answer = BidAnswer::Unavailable;
            Some(Message::Bid(Bid { request, round, position, answer }))
        }
        Message::GetRequest(GetRequest { request, round, .. }) => {
            let answer = OfferAnswer::Unavailable;
            Some(Message::Offer(Offer { request, round, position, answer }))
        }
        _ => None,
    }
}

impl TestCluster {
    /// With one initiator.
    pub fn new(delivery: Delivery, targets: u32, domain: u32, fate: Fate) -> TestCluster {
        let groups = GroupMap::new(targets, 9.min(targets), domain).unwrap();
        let window_rule = WindowRule::published(delivery);
        let disk_rate = Rate::from_bytes_per_s(400 << 20);
        let put_rules = PutRules {
            replicas: 3,
            window_rule,
            ties: Ties::ByName,
            sequence: SequenceRule::published(&Timing::published(), false),
            consecutive_only: false,
            abandon_without_window: false,
            choosy: None,
            double_booking: false,
            proxied: false,
        };
        TestCluster {
            now: Time::ZERO,
            initiators: vec![initiator(0, put_rules, (None, None))],
            proxies: Vec::new(),
            targets: (0..targets)
                .map(|t| target(t, &groups, window_rule, OfferRule::FirstFit, disk_rate))
                .collect(),
            disks: (0..targets).map(|_| Disk::default()).collect(),
            dead: BTreeSet::new(),
            ended: Vec::new(),
            last_end: Time::ZERO,
            receiving: vec![Vec::new(); targets as usize],
            meetings: 0,
            messages_sent: 0,
            requests: Vec::new(),
            transfers: Vec::new(),
            wakes: 0,
            damaging: None,
            die_after_round: None,
            reads: Vec::new(),
            sends_may_meet: false,
            lost_acks: 0,
            lost_accepts: 0,
            taken: vec![Vec::new(); targets as usize],
            incarnations: vec![0; targets as usize],
            delivering: vec![Vec::new()],
            put_rules,
            refuse_after: None,
            late: None,
            disk_rate,
            fate,
            due: BTreeMap::new(),
            sequence: 0,
            counts: (0, 0, 0),
            groups,
        }
    }

    /// Requests are given up when too few members were available for so long, and dead members are answered
    /// for by the host, which knows that they are not heard.
    pub fn refusing(mut self, refuse_after: Span) -> TestCluster {
        self.refuse_after = Some(refuse_after);
        let n = self.initiators.len() as u32;
        self.initiators(n)
    }

    /// Initiators ask what became of transfers, and are told when chunks have come to targets.
    pub fn asking(mut self, late: LateRules) -> TestCluster {
        self.late = Some(late);
        let n = self.initiators.len() as u32;
        self.initiators(n)
    }

    /// All disks are as slow, and their targets know that.
    pub fn with_disks_of(mut self, rate: Rate) -> TestCluster {
        self.disk_rate = rate;
        let (groups, rule) = (&self.groups, self.put_rules.window_rule);
        let count = self.targets.len() as u32;
        let again = |t| target(t, groups, rule, OfferRule::FirstFit, rate);
        self.targets = (0..count).map(again).collect();
        self
    }

    /// Target `t` stops now, with what is on its disk, and the initiators hear of it.
    pub fn lose(&mut self, t: u32) {
        self.step(Due::Down(t));
        let (group, position) = self.groups.seat(TargetId(t));
        let members = Members::only(position);
        for i in 0..self.initiators.len() as u32 {
            self.tell_initiator(i, InitiatorInput::Unavailable { group, members });
        }
    }

    /// Target `t` starts anew with an empty disk, before anybody has missed it, and the initiators hear of it.
    pub fn replace(&mut self, t: u32) {
        self.step(Due::Down(t));
        self.disks[t as usize] = Disk::default();
        self.step(Due::Up(t));
        let (group, position) = self.groups.seat(TargetId(t));
        let members = Members::only(position);
        for i in 0..self.initiators.len() as u32 {
            self.tell_initiator(i, InitiatorInput::Restarted { group, members });
        }
    }

    /// With `n` initiators.
    pub fn initiators(mut self, n: u32) -> TestCluster {
        self.initiators = (0..n)
            .map(|id| initiator(id, self.put_rules, (self.refuse_after, self.late)))
            .collect();
        self.delivering = vec![Vec::new(); n as usize];
        self
    }

    /// Gives every group a proxy, which `initiators` initiators ask.
    pub fn proxied(mut self, initiators: u32, choice: ProxyChoice) -> TestCluster {
        self.put_rules.proxied = true;
        let disk_rate = self.disk_rate;
        let proxy = |t: u32| {
            let (group, position) = self.groups.seat(TargetId(t));
            let members = self.groups.members(group).iter();
            let timing = Timing::published();
            Proxy::new(ProxyConfig {
                group,
                position,
                domains: members.map(|&t| self.groups.domain(t)).collect(),
                timing,
                choice,
                service: timing.control * 4,
                calendar: CALENDAR,
                disk: disk(disk_rate),
                answer_timeout: ANSWER_TIMEOUT,
            })
        };
        self.proxies = (0..self.groups.targets()).map(proxy).collect();
        self.initiators(initiators)
    }

    /// Makes the initiators choosy.
    pub fn choosy(mut self, first_patience: Span) -> TestCluster {
        self.put_rules.choosy = Some(Choosy { first_patience, overlaps: false });
        let n = self.initiators.len() as u32;
        self.initiators(n)
    }

    /// Lets the initiators take bids that begin together as `ties` says.
    pub fn ties(mut self, ties: Ties) -> TestCluster {
        self.put_rules.ties = ties;
        let n = self.initiators.len() as u32;
        self.initiators(n)
    }

    /// Lets the initiators ask for the next replicas one window ahead.
    pub fn revised_sequence(mut self) -> TestCluster {
        self.put_rules.sequence = SequenceRule::revised(&Timing::published());
        let n = self.initiators.len() as u32;
        self.initiators(n)
    }

    /// Lets the targets book windows twice, with disks that do not hold them back.
    pub fn double_booking(mut self) -> TestCluster {
        self.put_rules.double_booking = true;
        self.disk_rate = Rate::from_bytes_per_s(4000 << 20);
        let (groups, rule, rate) = (&self.groups, self.put_rules.window_rule, self.disk_rate);
        let count = self.targets.len() as u32;
        let again = |t| target(t, groups, rule, OfferRule::DoubleBooking, rate);
        self.targets = (0..count).map(again).collect();
        let n = self.initiators.len() as u32;
        self.initiators(n)
    }

    /// Target `t`, and the proxy there, stop at `from` and start again at `to`, with what is on the
    /// disk.
    pub fn crash(&mut self, t: u32, from: Time, to: Time) {
        self.at(from, Due::Down(t));
        self.at(to, Due::Up(t));
    }

    pub fn put(&mut self, n: u64) -> RequestId {
        self.put_by(0, n)
    }

    /// Initiator `i` stores chunk `n`.
    pub fn put_by(&mut self, i: u32, n: u64) -> RequestId {
        let mut effects = Vec::new();
        let machine = &mut self.initiators[i as usize];
        let request = machine.put(self.now, chunk(n), CHUNK_SIZE, &self.groups, &mut effects);
        self.carry_out(i, effects);
        request
    }

    /// The first initiator stores chunk `n` on so many targets.
    pub fn put_on(&mut self, replicas: u8, n: u64) -> RequestId {
        self.put_for(Wanted::bare(replicas), n)
    }

    /// The first initiator stores chunk `n` on so many targets, with this claim.
    pub fn put_for(&mut self, Wanted { replicas, claim }: Wanted, n: u64) -> RequestId {
        let mut effects = Vec::new();
        let (machine, what) = (&mut self.initiators[0], (chunk(n), CHUNK_SIZE));
        let request =
            machine.put_on(self.now, (Some(replicas), claim), what, &self.groups, &mut effects);
        self.carry_out(0, effects);
        request
    }

    /// The first initiator stores chunk `n` anew, which was on so many targets.
    pub fn put_again(&mut self, wanted: Wanted, n: u64) -> RequestId {
        let mut effects = Vec::new();
        let (machine, what) = (&mut self.initiators[0], (chunk(n), CHUNK_SIZE));
        let request = machine.put_again(self.now, wanted, what, &self.groups, &mut effects);
        self.carry_out(0, effects);
        request
    }

    /// The first initiator asks whether chunk `n` is on so many targets.
    pub fn check(&mut self, wanted: Wanted, n: u64) -> RequestId {
        let mut effects = Vec::new();
        let (machine, what) = (&mut self.initiators[0], (chunk(n), CHUNK_SIZE));
        let request = machine.check(self.now, wanted, what, &self.groups, &mut effects);
        self.carry_out(0, effects);
        request
    }

    /// What is wanted of chunk `n`, as each holder was told.
    pub fn wanted(&self, n: u64) -> Vec<Wanted> {
        self.disks.iter().filter_map(|disk| disk.wanted.get(&chunk(n)).copied()).collect()
    }

    pub fn get(&mut self, n: u64) -> RequestId {
        let mut effects = Vec::new();
        let request = self.initiators[0].get(self.now, chunk(n), &self.groups, &mut effects);
        self.carry_out(0, effects);
        request
    }

    /// How many targets hold chunk `n`.
    pub fn replicas(&self, n: u64) -> usize {
        self.disks.iter().filter(|d| d.chunks.contains_key(&chunk(n))).count()
    }

    /// Lets everything happen that is to happen.
    pub fn run(&mut self) {
        self.run_until(Time::NEVER);
    }

    /// Lets everything happen that is to happen until `end`.
    pub fn run_until(&mut self, end: Time) {
        let mut steps = 0;
        while self.due.first_key_value().is_some_and(|((time, _), _)| *time <= end) {
            let ((time, _), due) = self.due.pop_first().expect("there is a first");
            assert!(time >= self.now);
            self.now = time;
            self.step(due);
            steps += 1;
            assert!(steps < 200_000, "the cluster does not come to rest");
        }
        if end != Time::NEVER {
            self.now = self.now.max(end);
        }
    }

    /// Whether it is one of those that are to be lost.
    fn is_lost(&mut self, due: &Due) -> bool {
        let left = match due {
            Due::ToInitiator(_, Message::ReplicaAck(_)) => &mut self.lost_acks,
            Due::ToTarget(_, Message::GetAccept(accept)) if accept.grant.is_some() => {
                &mut self.lost_accepts
            }
            _ => return false,
        };
        let is_lost = *left > 0;
        *left = left.saturating_sub(1);
        is_lost
    }

    fn reached(&mut self, t: u32, request: RequestId) {
        let (_, position) = self.groups.seat(TargetId(t));
        let (members, InitiatorId(i)) = (Members::only(position), request.initiator);
        self.tell_initiator(i, InitiatorInput::Reached { request, members });
    }

    fn step(&mut self, due: Due) {
        match due {
            lost if self.is_lost(&lost) => {}
            Due::Reached(t, request) => self.reached(t, request),
            Due::ToTarget(t, message) => {
                if message.is_for_target() || self.proxies.is_empty() {
                    self.tell_target(t, TargetInput::Message(&message));
                }
                if message.is_for_proxy() && !self.proxies.is_empty() {
                    self.tell_proxy(t, ProxyInput::Message(&message));
                }
            }
            Due::ToInitiator(i, message) => {
                self.tell_initiator(i, InitiatorInput::Message(&message));
            }
            Due::Received(t, request, chunk, window) => {
                self.receiving[t as usize].retain(|&w| w != window);
                self.check_taken(t, request, window);
                if self.late.is_some() {
                    self.at(self.now + Timing::published().one_way(), Due::Reached(t, request));
                }
                let intact = self.next_fate(|fate, counts| {
                    counts.1 += 1;
                    fate.transfers.get(counts.1 - 1).copied().unwrap_or(true)
                });
                let damages = |(targets, until): &(std::ops::Range<u32>, Time)| {
                    targets.contains(&t) && self.now < *until
                };
                let intact = intact && !self.damaging.as_ref().is_some_and(damages);
                let input = TargetInput::Received { request, chunk, size: CHUNK_SIZE, intact };
                self.tell_target(t, input);
            }
            Due::Written(t, _, _, incarnation) if self.incarnations[t as usize] != incarnation => {}
            Due::Written(t, request, (chunk, wanted), _) => {
                let stable = self.next_fate(|fate, counts| {
                    counts.2 += 1;
                    fate.disks.get(counts.2 - 1).copied().unwrap_or(true)
                });
                if stable && !self.dead.contains(&t) {
                    let disk = &mut self.disks[t as usize];
                    disk.chunks.insert(chunk, CHUNK_SIZE);
                    disk.is_stored_for(chunk, wanted);
                }
                self.tell_target(t, TargetInput::Written { request, stable });
            }
            Due::Read(t, request) => {
                let intact = self.next_fate(|fate, counts| {
                    counts.2 += 1;
                    fate.disks.get(counts.2 - 1).copied().unwrap_or(true)
                });
                self.tell_target(t, TargetInput::Read { request, intact });
            }
            Due::Sent(t, request) => self.tell_target(t, TargetInput::Sent { request }),
            Due::Delivered(request) => {
                let intact = self.next_fate(|fate, counts| {
                    counts.1 += 1;
                    fate.transfers.get(counts.1 - 1).copied().unwrap_or(true)
                });
                let InitiatorId(i) = request.initiator;
                self.tell_initiator(i, InitiatorInput::Delivered { request, intact });
            }
            Due::Wake(i) => {
                self.wakes += 1;
                self.tell_initiator(i, InitiatorInput::Wake);
            }
            Due::WakeProxy(t) => self.tell_proxy(t, ProxyInput::Wake),
            Due::Down(t) => {
                self.dead.insert(t);
                self.incarnations[t as usize] += 1;
                self.targets[t as usize].restart(self.now);
                if let Some(proxy) = self.proxies.get_mut(t as usize) {
                    proxy.restart();
                }
            }
            Due::Up(t) => {
                self.dead.remove(&t);
            }
        }
    }

    fn next_fate<R>(&mut self, pick: impl FnOnce(&Fate, &mut (usize, usize, usize)) -> R) -> R {
        pick(&self.fate, &mut self.counts)
    }

    fn tell_target(&mut self, t: u32, input: TargetInput<'_>) {
        if self.dead.contains(&t) {
            return;
        }
        let mut effects = Vec::new();
        let shelf = &self.disks[t as usize];
        self.targets[t as usize].handle(self.now, input, &shelf, &mut effects);
        for effect in effects {
            match effect {
                TargetEffect::Send { to: InitiatorId(i), message } => {
                    let at = self.now + Timing::published().one_way();
                    self.send(at, Due::ToInitiator(i, message));
                }
                TargetEffect::Write { request, chunk, size, wanted, .. } => {
                    let done = self.use_disk(t, size);
                    let incarnation = self.incarnations[t as usize];
                    self.at(done, Due::Written(t, request, (chunk, wanted), incarnation));
                }
                TargetEffect::Raise { request, chunk, wanted } => {
                    let done = self.use_disk(t, CHUNK_SIZE);
                    let incarnation = self.incarnations[t as usize];
                    let what = (chunk, Some(wanted));
                    self.at(done, Due::Written(t, request, what, incarnation));
                }
                TargetEffect::Read { request, size, .. } => {
                    self.reads.push(t);
                    let done = self.use_disk(t, size);
                    self.at(done, Due::Read(t, request));
                }
                TargetEffect::Transfer { request, size, start, .. } => {
                    let sent = start + Timing::published().transfer(size);
                    self.check_delivery(t, request, Window { start, end: sent });
                    self.at(sent, Due::Sent(t, request));
                    self.at(sent + Timing::published().trip, Due::Delivered(request));
                }
                TargetEffect::Report { to, message } => {
                    let group = self.groups.seat(TargetId(t)).0;
                    let mut proxy = Members::NONE;
                    proxy.insert(to);
                    self.send_to_members(t, group, proxy, 1, message);
                }
            }
        }
        self.check_reservations(t);
    }

    /// Target `t` sends `message`, the `n`th at once, to members of its group; to itself without a
    /// network.
    fn send_to_members(&mut self, t: u32, group: GroupId, to: Members, n: u64, message: Message) {
        let timing = Timing::published();
        for position in to.iter() {
            let Some(&TargetId(member)) = self.groups.members(group).get(usize::from(position))
            else {
                continue;
            };
            let due = Due::ToTarget(member, message);
            if member == t {
                self.at(self.now, due);
            } else {
                self.send(self.now + timing.control * n + timing.trip, due);
            }
        }
    }

    fn tell_proxy(&mut self, t: u32, input: ProxyInput<'_>) {
        if self.dead.contains(&t) {
            return;
        }
        let mut effects = Vec::new();
        self.proxies[t as usize].handle(self.now, input, &mut effects);
        let timing = Timing::published();
        let group = self.groups.seat(TargetId(t)).0;
        let mut sent = 0;
        for effect in effects {
            match effect {
                ProxyEffect::Answer { to: InitiatorId(i), message } => {
                    sent += 1;
                    let at = self.now + timing.control * sent + timing.trip;
                    self.send(at, Due::ToInitiator(i, message));
                }
                ProxyEffect::Notify { to, message } => {
                    sent += 1;
                    self.send_to_members(t, group, to, sent, message);
                }
                ProxyEffect::WakeAt(at) => self.at(at.max(self.now), Due::WakeProxy(t)),
            }
        }
    }

    fn use_disk(&mut self, t: u32, size: Size) -> Time {
        let disk = &mut self.disks[t as usize];
        disk.free_at = disk.free_at.max(self.now) + self.disk_rate.time_for(size);
        disk.free_at
    }

    /// The initiator hears `message`, wherever it comes from.
    pub fn hear(&mut self, message: Message) {
        let InitiatorId(i) = message.request().initiator;
        self.tell_initiator(i, InitiatorInput::Message(&message));
    }

    fn tell_initiator(&mut self, i: u32, input: InitiatorInput<'_>) {
        let mut effects = Vec::new();
        let machine = &mut self.initiators[i as usize];
        machine.handle(self.now, input, &self.groups, &mut effects);
        self.carry_out(i, effects);
    }

    fn carry_out(&mut self, i: u32, effects: Vec<InitiatorEffect>) {
        for effect in effects {
            match effect {
                InitiatorEffect::Multicast { group, to, message } => {
                    if let Message::PutRequest(request) = &message {
                        self.requests.push(*request);
                    }
                    if let Message::PutAccept(accept) = &message
                        && self.die_after_round == Some(accept.round)
                    {
                        let chosen = accept.grants.members();
                        let members = self.groups.members(group).iter().enumerate();
                        let unchosen = members.filter(|(p, _)| !chosen.contains(*p as u8));
                        self.dead.extend(unchosen.map(|(_, t)| t.0));
                    }
                    for position in to.iter() {
                        let TargetId(t) = self.groups.members(group)[usize::from(position)];
                        let at = self.now + Timing::published().one_way();
                        match unavailable(&message, position) {
                            Some(answer)
                                if self.refuse_after.is_some() && self.dead.contains(&t) =>
                            {
                                self.at(self.now, Due::ToInitiator(i, answer));
                            }
                            _ => self.send(at, Due::ToTarget(t, message)),
                        }
                    }
                }
                InitiatorEffect::Transfer { request, chunk, size, group, to, start } => {
                    assert!(start >= self.now, "a transfer in the past");
                    let asked = self.requests.iter().rfind(|asked| asked.request == request);
                    let replicas = asked.map_or(3, |asked| usize::from(asked.replicas));
                    assert!(to.len() <= replicas, "a transfer to more than are wanted");
                    let sent = Window::new(start, Timing::published().transfer(size));
                    self.transfers.push(sent);
                    for position in to.iter() {
                        let TargetId(t) = self.groups.members(group)[usize::from(position)];
                        self.check_no_overlap(t, sent);
                        let at = sent.end + Timing::published().trip;
                        self.at(at, Due::Received(t, request, chunk, sent));
                    }
                }
                InitiatorEffect::PutDone { request, rounds } => {
                    self.end(request, Ended::Put { rounds });
                }
                InitiatorEffect::GetDone { request, rounds } => {
                    self.end(request, Ended::Got { rounds });
                }
                InitiatorEffect::Failed { request, reason, .. } => {
                    self.end(request, Ended::Failed(reason));
                }
                InitiatorEffect::WakeAt(at) => self.at(at.max(self.now), Due::Wake(i)),
            }
        }
    }

    fn end(&mut self, request: RequestId, how: Ended) {
        self.ended.push((request, how));
        self.last_end = self.now;
    }

    /// What reservations are for: no target receives two chunks at a time, unless messages of
    /// different initiators were lost or late. Then it is counted.
    fn check_no_overlap(&mut self, t: u32, sent: Window) {
        let others = &mut self.receiving[t as usize];
        let met = others.iter().filter(|w| w.overlaps(&sent)).count();
        // One initiator meets nobody, whatever happens to messages, nor do those that a proxy serves.
        let may_meet =
            self.initiators.len() > 1 && (self.proxies.is_empty() || self.sends_may_meet);
        // Who has restarted knows nothing of what it promised before.
        let forgot = self.incarnations[t as usize] > 0;
        assert!(met == 0 || may_meet || forgot, "t{t}: {sent} meets {others:?}");
        self.meetings += met;
        others.push(sent);
    }

    /// Accepted windows of a target never overlap.
    fn check_reservations(&self, t: u32) {
        let all = self.targets[t as usize].incoming().reservations().iter();
        let accepted: Vec<Window> =
            all.filter(|r| r.state == State::Accepted).map(|r| r.window).collect();
        assert!(accepted.windows(2).all(|pair| pair[0].end <= pair[1].start), "t{t}: {accepted:?}");
    }

    /// Of transfers that meet, a target has a reservation for one at most. `sent` is complete.
    fn check_taken(&mut self, t: u32, request: RequestId, sent: Window) {
        if self.dead.contains(&t) {
            return;
        }
        let mut reservations = self.targets[t as usize].incoming().reservations().iter();
        let is_it = |r: &&slotcast_protocol::Reservation| {
            r.request == request && r.state == State::Accepted
        };
        let Some(reserved) = reservations.find(is_it) else { return };
        if !reserved.window.contains(&sent) {
            // A proxy may have granted a later round while the chunk of an earlier one was on its way.
            assert!(!self.proxies.is_empty(), "{sent} is outside of {}", reserved.window);
            return;
        }
        let others = &mut self.taken[t as usize];
        assert!(others.iter().all(|w| !w.overlaps(&sent)), "t{t} takes {sent} and {others:?}");
        others.push(sent);
    }

    /// A get is sent in the window that both sides agreed on, and meets no other at the initiator.
    fn check_delivery(&mut self, t: u32, request: RequestId, sent: Window) {
        let mut agreed = self.targets[t as usize].outgoing().reservations().iter();
        let inside = |r: &slotcast_protocol::Reservation| {
            r.request == request && r.state == State::Accepted && r.window.contains(&sent)
        };
        assert!(agreed.any(inside), "t{t} sends {request} outside of its window: {sent}");
        let others = &mut self.delivering[request.initiator.0 as usize];
        others.retain(|w| w.end > self.now);
        assert!(others.iter().all(|w| !w.overlaps(&sent)), "{sent} meets {others:?}");
        others.push(sent);
    }

    fn send(&mut self, at: Time, due: Due) {
        self.messages_sent += 1;
        let fate = self.next_fate(|fate, counts| {
            counts.0 += 1;
            fate.messages.get(counts.0 - 1).copied().unwrap_or(MessageFate::Arrives)
        });
        match fate {
            MessageFate::Arrives => self.at(at, due),
            MessageFate::Lost => {}
            MessageFate::Twice => {
                self.at(at, due);
                self.at(at + Span::from_us(3), due);
            }
            MessageFate::TwiceAfter(ns) => {
                self.at(at, due);
                self.at(at + Span::from_ns(u64::from(ns)), due);
            }
            MessageFate::Late(ns) => self.at(at + Span::from_ns(u64::from(ns)), due),
        }
    }

    fn at(&mut self, at: Time, due: Due) {
        self.due.insert((at, self.sequence), due);
        self.sequence += 1;
    }

    /// In how many failure domains chunk `n` is.
    pub fn domains(&self, n: u64) -> usize {
        let holders = (0..).map(TargetId).zip(&self.disks);
        let holders = holders.filter(|(_, disk)| disk.chunks.contains_key(&chunk(n)));
        holders.map(|(t, _)| self.groups.domain(t)).collect::<BTreeSet<u32>>().len()
    }

    /// Reservations that are neither cancelled nor past.
    pub fn live_reservations(&self) -> usize {
        self.reservations(|state| state != State::Cancelled)
    }

    /// Accepted reservations that are not past. After faults tentative ones may be left by messages
    /// that came after the end of their request; those are not kept open for long.
    pub fn accepted_reservations(&self) -> usize {
        self.reservations(|state| state == State::Accepted)
    }

    fn reservations(&self, counts: impl Fn(State) -> bool) -> usize {
        let of = |t: &Target| {
            let all = t.incoming().reservations().iter().chain(t.outgoing().reservations());
            let all = all.chain(t.incoming().second_bookings());
            all.filter(|r| counts(r.state) && r.window.end > self.now).count()
        };
        self.targets.iter().map(of).sum()
    }
}
