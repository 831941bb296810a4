//! Puts and gets: who begins them, and what is concluded from how they end.

use slotcast_engine::Agenda;
use slotcast_member::{Input, Request, RequestNumber};
use slotcast_protocol::{ChunkId, Claim, Failure, GroupId, Wanted};
use slotcast_store::Content;
use slotcast_units::Time;

use super::catalogue::Known;
use super::cluster::Cluster;
use super::event::Event;
use super::node::{Kind, Leaving, Purpose, Running};

impl Cluster {
    /// Asks a node that is up, any of them.
    fn begin(
        &mut self,
        now: Time,
        running: Running,
        content: Option<Content>,
        agenda: &mut Agenda<Event>,
    ) {
        let is_up = |node: &u32| self.nodes[*node as usize].member.is_some();
        let up: Vec<u32> = (0..).take(self.nodes.len()).filter(is_up).collect();
        let which = self.chance.below(up.len().max(1) as u64);
        let Some(&node) = up.get(usize::try_from(which).expect("an index")) else {
            self.checks -= usize::from(running.purpose == Purpose::Check);
            return;
        };
        self.asked += 1;
        let number = RequestNumber(self.asked);
        let request = match content {
            Some(content) => Request::Put(content, Some(running.replicas), Claim::Bare),
            None => Request::Get(running.chunk),
        };
        self.nodes[node as usize].running.insert(number, running);
        self.tell(now, node, Input::Request(number, request), agenda);
    }

    pub(super) fn put(
        &mut self,
        now: Time,
        content: Content,
        purpose: Purpose,
        agenda: &mut Agenda<Event>,
    ) {
        // Nobody asks for more than there can be.
        let possible = self.possible(self.groups.group_of(&content.chunk()));
        let replicas = self.plan.wanted(&mut self.numbers).min(possible);
        self.put_on(now, (content, replicas), purpose, agenda);
    }

    /// On how many targets a chunk of `group` can be, at least 1.
    pub(super) fn possible(&self, group: GroupId) -> u8 {
        let mut there = self.groups.members_for_puts(group);
        for (position, target) in (0..).zip(self.groups.members(group)) {
            let host = self.nodes.get(self.node_of(*target));
            if host.is_none_or(|host| host.leaving != Leaving::No) {
                there.remove(position);
            }
        }
        u8::try_from(self.groups.domains_of(group, there)).unwrap_or(u8::MAX).max(1)
    }

    /// What is there is put again, on as many targets as any user wants, or on some number.
    pub(super) fn put_again(
        &mut self,
        now: Time,
        (number, on_most): (u32, bool),
        agenda: &mut Agenda<Event>,
    ) {
        let content = self.catalogue.get(number).clone();
        match on_most {
            true => {
                let group = self.groups.group_of(&content.chunk());
                let replicas = self.plan.max_wanted().min(self.possible(group));
                self.put_on(now, (content, replicas), Purpose::User, agenda);
            }
            false => self.put(now, content, Purpose::User, agenda),
        }
    }

    fn put_on(
        &mut self,
        now: Time,
        (content, replicas): (Content, u8),
        purpose: Purpose,
        agenda: &mut Agenda<Event>,
    ) {
        let (chunk, kind) = (content.chunk(), Kind::Put);
        let running = Running { chunk, replicas, purpose, kind };
        self.begin(now, running, Some(content), agenda);
    }

    pub(super) fn get(
        &mut self,
        now: Time,
        number: u32,
        purpose: Purpose,
        agenda: &mut Agenda<Event>,
    ) {
        let chunk = self.catalogue.get(number).chunk();
        self.get_chunk(now, chunk, purpose, agenda);
    }

    fn get_chunk(
        &mut self,
        now: Time,
        chunk: ChunkId,
        purpose: Purpose,
        agenda: &mut Agenda<Event>,
    ) {
        // Those who are asked may answer before a put under way has brought back what may be lost.
        let must_be_there =
            self.catalogue.known(&chunk) == Known::Acknowledged && !self.may_be_lost(&chunk);
        let kind = Kind::Get { must_be_there };
        let replicas = self.plan.replicas;
        self.begin(now, Running { chunk, replicas, purpose, kind }, None, agenda);
    }

    fn end(&mut self, node: u32, number: RequestNumber) -> Option<Running> {
        let Some(running) = self.nodes[node as usize].running.remove(&number) else {
            self.report.violated(format!("node {node} answers request {} once more", number.0));
            return None;
        };
        self.checks -= usize::from(running.purpose == Purpose::Check);
        Some(running)
    }

    pub(super) fn put_ended(
        &mut self,
        now: Time,
        node: u32,
        number: RequestNumber,
        result: Result<(), Failure>,
    ) {
        let Some(Running { chunk, replicas, purpose, .. }) = self.end(node, number) else { return };
        match result {
            Ok(()) => {
                self.report.acknowledged += 1;
                self.check_acknowledged(now, node, (&chunk, replicas));
                self.catalogue.acknowledge(&chunk, Wanted::bare(replicas));
                self.stored_anew(&chunk);
            }
            Err(_) if purpose == Purpose::User => self.report.given_up += 1,
            Err(reason) => {
                let what = format!(
                    "at {now} node {node}: {chunk} cannot be put in a calm on {replicas}: {reason:?}"
                );
                self.report.violated(what);
            }
        }
    }

    pub(super) fn get_ended(
        &mut self,
        now: Time,
        node: u32,
        number: RequestNumber,
        result: Result<Content, Failure>,
    ) {
        let Some(Running { chunk, purpose, kind, .. }) = self.end(node, number) else { return };
        let reason = match result {
            Ok(content) if content.bytes() == self.catalogue.content(&chunk).bytes() => {
                self.report.fetched += 1;
                return;
            }
            Ok(_) => {
                let what = format!("at {now} node {node}: {chunk} has wrong content");
                return self.report.violated(what);
            }
            Err(reason) => reason,
        };
        let must_be_there = kind == (Kind::Get { must_be_there: true })
            && self.catalogue.known(&chunk) == Known::Acknowledged
            && !self.may_be_lost(&chunk);
        if must_be_there && (purpose == Purpose::Check || reason == Failure::NotFound) {
            let what =
                format!("at {now} node {node}: acknowledged {chunk} cannot be read: {reason:?}");
            self.report.violated(what);
        }
        self.report.given_up += u64::from(purpose == Purpose::User);
    }

    /// A user puts something new, puts something again, or fetches something.
    pub(super) fn ask(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        let known = self.catalogue.any();
        let is_get = self.chance.chance(self.plan.get_share);
        let again = self.chance.chance(0.15);
        // Several users may have the same content at the same time.
        let is_shared = self.chance.chance(0.15);
        let content = match known {
            Some(content) if is_get => {
                return self.get_chunk(now, content.chunk(), Purpose::User, agenda);
            }
            Some(content) if again => content,
            _ => self.catalogue.add(self.plan.longest),
        };
        if is_shared {
            self.put(now, content.clone(), Purpose::User, agenda);
        }
        self.put(now, content, Purpose::User, agenda);
    }

    /// A chunk is removed from all targets that are up, as far as they hear of it.
    pub(super) fn retire(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        let Some(content) = self.catalogue.any() else { return };
        let chunk = content.chunk();
        if self.collects() && self.names.chunks.contains_key(&chunk) {
            return;
        }
        self.remove_chunk(now, chunk, agenda);
    }

    /// The same of one that nobody names.
    pub(super) fn remove_chunk(&mut self, now: Time, chunk: ChunkId, agenda: &mut Agenda<Event>) {
        self.catalogue.retire(&chunk);
        for target in self.groups.members(self.groups.group_of(&chunk)).to_vec() {
            let node = self.node_of(target);
            let Some(host) = self.nodes.get(node) else { continue };
            if host.target(target).is_some_and(|target| target.wanted(&chunk).is_some()) {
                let node = u32::try_from(node).expect("small");
                self.tell(now, node, Input::Remove(target, chunk), agenda);
            }
        }
    }
}
