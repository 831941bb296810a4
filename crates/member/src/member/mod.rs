//! Joins the machines of a node.

mod collecting;
mod finding;
mod membership;
mod names;
mod network;
mod repairing;
mod requests;
mod surveys;
mod wants;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use slotcast_object::RosterChange;
use slotcast_protocol::tape::{InitiatorEntry, TargetEntry};
use slotcast_protocol::{
    Claim, Finder, FinderInput, GroupId, GroupMap, Initiator, InitiatorEffect, InitiatorInput,
    Message, RepairInput, RequestId, TargetId,
};
use slotcast_store::Work;
use slotcast_units::{Size, Span, Time};

use crate::config::{MemberConfig, Times};
use crate::content_cache::CacheStatistics;
use crate::effect::{Answer, Effect};
use crate::garbage::Garbage;
use crate::input::{Input, Request, RequestNumber};
use crate::link::{Link, LinkEvent};
use crate::links::Links;
use crate::map::ClusterMap;
use crate::mistake::Mistake;
use crate::naming::Naming;
use crate::outbox::{Mail, Outbox};
use crate::status::{MembershipStatus, TargetStatus};
use crate::target::{Circumstances, StorageTarget, TargetInput, WindowEvent};
use crate::timers::{Timer, Timers};
use requests::Running;
use surveys::Surveying;

/// A whole node; see the [crate](crate).
///
/// `now` never goes backwards. To crash it, drop it; to start it anew, make another one of a later incarnation
/// over the same disks.
#[derive(Debug)]
pub struct Member {
    node: u32,
    times: Times,
    groups: GroupMap,
    targets: BTreeMap<TargetId, StorageTarget>,
    /// Targets that are neither open nor known not to open.
    opening: usize,
    initiator: Initiator,
    running: BTreeMap<RequestId, Running>,
    finder: Finder,
    finding: BTreeMap<RequestId, RequestNumber>,
    timers: Timers,
    outbox: Outbox,
    initiator_effects: Vec<InitiatorEffect>,
    events: Vec<LinkEvent>,
    /// Groups whose members here are about to scan what they hold.
    changing: BTreeSet<GroupId>,
    repairs: bool,
    /// What chunks travel over within this node, if that is not memory.
    links: Option<Links>,
    /// The map that it follows; none of a cluster in one process.
    map: Option<Box<ClusterMap>>,
    /// The epoch of the last one that said more than that a round of collection has begun.
    layout_epoch: u32,
    /// Why the map that was read last is not followed.
    map_problem: Option<alloc::string::String>,
    /// The latest epoch of a map that was read and is not followed.
    not_followed: Option<u32>,
    has_handed_over: bool,
    /// Surveys under way, by their numbers, and how many there were.
    surveying: BTreeMap<u32, Surveying>,
    surveyed: u32,
    /// Counts what has happened that may make an answer of a member void: it is down, or another incarnation, or has
    /// failed, or the map is another one.
    upsets: u64,
    /// How long their answers are awaited.
    survey_timeout: Span,
    /// The epoch of what is proposed.
    proposed: Option<u32>,
    /// What it has to do with names.
    naming: Option<Naming>,
    /// Its part in the collection of garbage.
    garbage: Option<Garbage>,
    /// The epoch in which the host is to keep that a round of collection has begun, and by whom, of a cluster in one process.
    keeping: (u64, u64),
    /// Puts of chunks that a name waits for.
    named: BTreeSet<RequestNumber>,
    /// What is to change of who votes.
    roster_changes: BTreeMap<GroupId, RosterChange>,
    mistake: Option<Mistake>,
    /// What the initiator heard and did, if somebody wants to know.
    tape: Option<Vec<InitiatorEntry>>,
}

impl Member {
    /// A node that begins at `now`, and opens its stores. It speaks with the other nodes when they are open, so
    /// that those are not told of a node that does not know yet what it holds, and replace it.
    ///
    /// # Panics
    /// If the configuration is out of its ranges.
    pub fn new(now: Time, config: MemberConfig, effects: &mut Vec<Effect>) -> Member {
        let MemberConfig { node, began, groups, initiator, first_serial, times, .. } = config;
        let reuses = config.mistake == Some(Mistake::ReusesNumbers);
        let first_serial = if reuses { 0 } else { first_serial };
        let link = config.network.as_ref();
        let link = link.map(|network| {
            let mut link = Link::new(now, (node, began), network, &groups, times);
            link.mistake = config.mistake;
            link
        });
        let survey_timeout = initiator.answer_timeout;
        let finder = Finder::new(initiator.id, initiator.answer_timeout, first_serial);
        let names = config.names;
        let records = config.targets.iter().any(|setup| setup.records);
        let mut member = Member {
            node,
            times,
            groups,
            targets: BTreeMap::new(),
            opening: config.targets.len(),
            initiator: Initiator::new(initiator).counting_from(first_serial),
            running: BTreeMap::new(),
            finder,
            finding: BTreeMap::new(),
            timers: Timers::default(),
            outbox: Outbox::new(link, config.cache_memory),
            initiator_effects: Vec::new(),
            events: Vec::new(),
            changing: BTreeSet::new(),
            repairs: config.repairs,
            links: config.links,
            layout_epoch: config.network.as_ref().map_or(0, |network| network.map.epoch),
            map: config.network.map(|network| Box::new(network.map)),
            map_problem: None,
            not_followed: None,
            has_handed_over: false,
            surveying: BTreeMap::new(),
            surveyed: first_serial,
            upsets: 0,
            survey_timeout,
            proposed: None,
            naming: None,
            garbage: None,
            keeping: (0, 0),
            named: BTreeSet::new(),
            roster_changes: BTreeMap::new(),
            mistake: config.mistake,
            tape: records.then(Vec::new),
        };
        member.timers.at(now + times.opened_within, Timer::Join);
        member.expect_peers(now);
        let membership = member.membership();
        for setup in config.targets {
            let id = setup.id;
            let circumstances = Circumstances {
                members: member.groups.members(setup.target.group).len(),
                membership,
                patience: times.disk,
                room_pause: times.room,
                mistake: config.mistake,
            };
            let target = StorageTarget::open(now, setup, circumstances, &mut member.outbox);
            member.targets.insert(id, target);
        }
        if let Some(names) = names {
            member.begin_names(now, names, first_serial);
        }
        member.settle(now);
        effects.append(&mut member.outbox.effects);
        member
    }

    /// Takes `input` at `now`; appends what is to be done to `effects`. What is due by then is done with
    /// [`Input::Wake`], so that many inputs can be given before it is looked for.
    pub fn handle(&mut self, now: Time, input: Input<'_>, effects: &mut Vec<Effect>) {
        match input {
            Input::Request(number, Request::Put(content, replicas, claim)) => {
                self.put(now, number, content, (replicas, claim));
            }
            Input::Request(number, Request::Upload(upload, content, replicas)) => {
                if let Some(garbage) = &mut self.garbage {
                    garbage.upload(upload, content.chunk());
                }
                self.put(now, number, content, (replicas, Claim::Names));
            }
            Input::Request(number, Request::Get(chunk)) => self.get(now, number, chunk),
            Input::Request(number, Request::Holders(chunk)) => self.find(now, number, chunk),
            Input::Request(number, Request::Names(request)) => {
                self.ask_names(now, number, request);
            }
            Input::Request(number, Request::PutNamed(content, replicas, change)) => {
                self.put_named(now, number, (content, replicas), *change);
            }
            Input::Datagram { from, via, datagram } => {
                if let Some(link) = &mut self.outbox.link {
                    let effects = &mut self.outbox.effects;
                    link.datagram(now, (from, via), &datagram, effects, &mut self.events);
                }
            }
            Input::Left(transfer) => {
                if let Some(link) = &mut self.outbox.link {
                    link.left(now, transfer, &mut self.outbox.effects, &mut self.events);
                }
            }
            Input::Disk(target, op, result) => {
                self.tell_target(now, target, TargetInput::Disk(op, result));
            }
            Input::Worked(target, worked) => {
                self.tell_target(now, target, TargetInput::Worked(worked));
            }
            Input::Rows(target, op, result) => self.rows(now, target, (op, result)),
            Input::Rosters(rosters) => self.learn_rosters(now, rosters),
            Input::DiskGone(target) => self.tell_target(now, target, TargetInput::DiskGone),
            Input::Remove(target, chunk) => {
                self.tell_target(now, target, TargetInput::Remove(chunk));
            }
            Input::UploadEnded(upload) => {
                if let Some(garbage) = &mut self.garbage {
                    garbage.uploads().upload_ended(upload);
                }
            }
            Input::Collect => self.collect(now),
            Input::Map(map) => self.take_map(now, *map),
            Input::Wake => self.run_due(now),
        }
        self.settle(now);
        effects.append(&mut self.outbox.effects);
    }

    /// When it wants to be told [`Input::Wake`]; it may be now. O(chunks on their way).
    pub fn wakes_at(&self) -> Time {
        let link = self.outbox.link.as_ref().map_or(Time::NEVER, Link::wakes_at);
        let names = self.naming.as_ref().map_or(Time::NEVER, Naming::wakes_at);
        let garbage = self.garbage.as_ref().map_or(Time::NEVER, Garbage::wakes_at);
        self.timers.next().min(link).min(names).min(garbage)
    }

    /// Whether all that can be asked of it now is known: each of its targets is open or known not to open, or its disk
    /// does not answer. One that answers later opens later.
    pub fn is_open(&self) -> bool {
        let names = self.naming.as_ref().is_some_and(Naming::is_opening);
        !names && !self.targets.values().any(StorageTarget::is_opening)
    }

    /// Whether some of its targets are about to scan what they hold.
    pub fn expects_scan(&self) -> bool {
        !self.changing.is_empty() || self.targets().any(StorageTarget::scans_again)
    }

    /// The work of a target that [`Effect::Work`] was about.
    pub fn take_work(&mut self, target: TargetId) -> Option<Work> {
        self.targets.get_mut(&target)?.take_work()
    }

    /// How often gets were answered from memory.
    pub fn cache_statistics(&self) -> CacheStatistics {
        self.outbox.cache.statistics()
    }

    /// Its targets.
    pub fn targets(&self) -> impl Iterator<Item = &StorageTarget> {
        self.targets.values()
    }

    /// One of its targets.
    pub fn target(&self, id: TargetId) -> Option<&StorageTarget> {
        self.targets.get(&id)
    }

    /// The same, to plant a mistake.
    #[doc(hidden)]
    pub fn target_mut(&mut self, id: TargetId) -> Option<&mut StorageTarget> {
        self.targets.get_mut(&id)
    }

    /// The negotiating groups, as in the map that it follows.
    pub fn groups(&self) -> &GroupMap {
        &self.groups
    }

    /// Its link to the other nodes; none of a cluster in one process.
    pub fn link(&self) -> Option<&Link> {
        self.outbox.link.as_ref()
    }

    /// Its number.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// How its targets are, for people.
    pub fn target_status(&self, now: Time) -> Vec<TargetStatus> {
        self.targets.values().map(|target| TargetStatus::of(now, target)).collect()
    }

    /// How it stands to the cluster map, for people; none of a cluster in one process.
    pub fn membership_status(&self) -> Option<MembershipStatus> {
        self.map.as_ref().map(|map| MembershipStatus {
            epoch: map.epoch,
            membership: self.membership(),
            has_handed_over: self.has_handed_over,
            problem: self.map_problem.clone(),
        })
    }

    /// What its machines heard and did since this was last asked, if it records.
    pub fn take_tapes(&mut self) -> (Vec<Vec<TargetEntry>>, Vec<InitiatorEntry>) {
        let targets = self.targets.values_mut().map(StorageTarget::take_tape).collect();
        (targets, self.tape.as_mut().map(core::mem::take).unwrap_or_default())
    }

    /// The cluster map that it follows; none of a cluster in one process.
    pub fn map(&self) -> Option<&ClusterMap> {
        self.map.as_deref()
    }

    /// How many targets it has.
    pub fn target_count(&self) -> usize {
        self.targets.len()
    }

    /// Keeps the latest `capacity` events of the windows of each target from now on; with 0 none. What it decides does not
    /// depend on it.
    pub fn watch_windows(&mut self, capacity: usize) {
        self.targets.values_mut().for_each(|target| target.watch_windows(capacity));
    }

    /// Gives what has become of the windows of its targets since this was last asked, and counts what was left out because it was
    /// too much; of each target in order of time.
    pub fn take_windows(&mut self) -> (Vec<WindowEvent>, u64) {
        let mut events = Vec::new();
        let left_out =
            self.targets.values_mut().map(|target| target.take_windows(&mut events)).sum();
        (events, left_out)
    }

    /// Whether this mistake is planted.
    fn errs(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// Does what is due by now.
    fn run_due(&mut self, now: Time) {
        loop {
            while let Some((time, timer)) = self.timers.due(now) {
                self.timer(now, time, timer);
                self.settle(now);
            }
            if self.link().is_none_or(|link| link.wakes_at() > now) {
                break;
            }
            let short = self.short_here();
            let Some(link) = &mut self.outbox.link else { break };
            link.set_short(short);
            link.wake(now, &mut self.outbox.effects, &mut self.events);
            self.settle(now);
        }
        if self.naming.as_ref().is_some_and(|naming| naming.wakes_at() <= now) {
            self.wake_names(now);
            self.settle(now);
        }
        if self.garbage.as_ref().is_some_and(|garbage| garbage.wakes_at() <= now) {
            self.wake_garbage(now);
            self.settle(now);
        }
        self.see_membership();
    }

    fn timer(&mut self, now: Time, time: Time, timer: Timer) {
        match timer {
            Timer::Initiator => self.tell_initiator(now, InitiatorInput::Wake),
            Timer::Finder => self.tell_finder(now, FinderInput::Wake),
            Timer::Repair(target) => {
                self.tell_target(now, target, TargetInput::Repair(RepairInput::Wake));
            }
            Timer::Disk(target) => self.tell_target(now, target, TargetInput::LookAtDisk),
            Timer::Transfer(request, group, to) => self.leave(now, time, request, (group, to)),
            Timer::Arrival(request, target, left) => {
                self.arrive(now, request, target, Some(left));
            }
            Timer::Leaving(target, request, content) => {
                let size = Size::from_bytes(content.bytes().len() as u64);
                let links = self.links.as_mut();
                let arrival = links.map_or(now, |links| links.get(time, size, target));
                self.timers.at(arrival, Timer::Delivery(target, request, content));
            }
            Timer::Delivery(target, request, content) => {
                self.tell_target(now, target, TargetInput::Sent(request));
                self.delivered(now, request, Some(content));
            }
            Timer::Survey(number) => self.ask_again(now, number),
            Timer::GroupChanged(group) => self.group_changed(now, group),
            Timer::PeerGone(node) => self.peer_may_be_gone(now, node),
            Timer::Join => self.join(now),
        }
    }

    fn tell_target(&mut self, now: Time, target: TargetId, input: TargetInput<'_>) {
        if let Some(host) = self.targets.get_mut(&target) {
            host.handle(now, input, &mut self.outbox);
        }
    }

    /// Carries out what the machines want of each other, until none wants anything.
    fn settle(&mut self, now: Time) {
        loop {
            self.carry_out_initiator(now);
            self.take_events(now);
            self.take_wants(now);
            let is_settled = self.initiator_effects.is_empty()
                && self.events.is_empty()
                && self.outbox.wants.is_empty();
            if !is_settled {
                continue;
            }
            match self.outbox.mail.pop_front() {
                Some(Mail::ToTarget(target, message)) => self.deliver(now, target, &message),
                Some(Mail::ToInitiator(Message::FindReply(reply))) => {
                    self.tell_finder(now, FinderInput::Reply(&reply));
                }
                Some(Mail::ToInitiator(message)) => {
                    self.tell_initiator(now, InitiatorInput::Message(&message));
                }
                None => return,
            }
        }
    }

    /// A target is open, for itself to look; or it has failed, or is back, for the others.
    fn target_changed(&mut self, now: Time, target: TargetId) {
        let (group, _) = self.groups.seat(target);
        self.expect_scan(now, group);
    }

    fn reply(&mut self, number: RequestNumber, answer: Answer) {
        let is_wrong =
            u64::from(self.errs(Mistake::AnswersWrongRequest) && number.0.is_multiple_of(8));
        let number = RequestNumber(number.0 - is_wrong);
        self.outbox.effects.push(Effect::Answer(number, answer));
    }
}
