//! The collection of garbage: uploads of many chunks, copies, and what must be there or gone.

use std::collections::{BTreeMap, BTreeSet};

use slotcast_engine::Agenda;
use slotcast_member::{Input, Request, RequestNumber, StorageTarget};
use slotcast_object::garbage::{Root, is_deleted, roots_of};
use slotcast_object::list::{self, Part};
use slotcast_object::{Address, Body, NameRequest, Operation, Voters};
use slotcast_protocol::{ChunkId, Failure, TargetId};
use slotcast_store::Content;
use slotcast_units::{Span, Time};

use super::check::APART;
use super::cluster::Cluster;
use super::event::Event;
use super::names::{NameClients, Wanted};

/// A chunk, and on how many targets it is wanted.
pub(super) type ToPut = (Content, u8);

/// Chunks of an upload, at most, beside its list.
const MAX_PARTS: u64 = 3;

/// From one part to the next.
const PAUSE: Span = Span::from_ms(6);

/// What clients know of content that names may have.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    /// What lists list.
    lists: BTreeMap<ChunkId, Vec<ChunkId>>,
    /// Content that somebody wanted to name.
    bodies: Vec<Body>,
    /// Puts of parts, each with its request.
    running: BTreeMap<RequestNumber, usize>,
    /// Requests whose next part is about to be put.
    pausing: BTreeSet<usize>,
}

impl Uploads {
    pub(super) fn is_quiet(&self) -> bool {
        self.running.is_empty() && self.pausing.is_empty()
    }

    /// A list, and what it lists.
    fn chunks_of(&self, list: ChunkId) -> impl Iterator<Item = ChunkId> {
        [list].into_iter().chain(self.lists.get(&list).into_iter().flatten().copied())
    }

    /// The puts under way of some requests are lost.
    pub(super) fn lose(&mut self, is_lost: impl Fn(usize) -> bool) -> Vec<usize> {
        let running = std::mem::take(&mut self.running);
        let (lost, kept) = running.into_iter().partition(|(_, ask)| is_lost(*ask));
        self.running = kept;
        let lost: BTreeMap<RequestNumber, usize> = lost;
        let paused = self.pausing.extract_if(.., |ask| is_lost(*ask));
        lost.into_values().chain(paused).collect()
    }
}

impl Cluster {
    pub(super) fn collects(&self) -> bool {
        self.plan.collect_every.is_some() && self.plan.names.is_some()
    }

    /// Content of a new object: a chunk, perhaps one that is or was another's; the content of another object, which is not
    /// sent; or several chunks, which are to be put before it is named.
    pub(super) fn content_to_name(&mut self) -> (Body, Option<ToPut>, Vec<ToPut>) {
        let of_old = self.names.chance.below(self.names.uploads.bodies.len().max(1) as u64);
        let old = self.names.uploads.bodies.get(usize::try_from(of_old).expect("few")).cloned();
        let what = match (self.names.chance.below(4), old) {
            (0, Some(body)) => (body, None, Vec::new()),
            (1, _) => {
                let count = 1 + self.names.chance.below(MAX_PARTS);
                let parts: Vec<_> = (0..count).map(|_| self.chunk_to_name()).collect();
                let content = self.list_of(parts.iter().map(|(content, _)| content));
                let chunk = content.chunk();
                let replicas = self.replicas_of(&chunk);
                (Body::List(chunk), None, parts.into_iter().chain([(content, replicas)]).collect())
            }
            _ => {
                let (content, replicas) = self.chunk_to_name();
                (Body::Chunk(content.chunk()), Some((content, replicas)), Vec::new())
            }
        };
        self.names.uploads.bodies.push(what.0.clone());
        what
    }

    /// What lists these parts: it is to be named.
    pub(super) fn list_of<'a>(
        &mut self,
        parts: impl Iterator<Item = &'a Content> + Clone,
    ) -> Content {
        let part = |content: &Content| Part {
            address: Address::Chunk(content.chunk()),
            length: content.bytes().len() as u64,
        };
        let list = Content::of(list::encode(&parts.clone().map(part).collect::<Vec<_>>()));
        self.catalogue.know(&list);
        self.names.uploads.lists.insert(list.chunk(), parts.map(Content::chunk).collect());
        list
    }

    fn replicas_of(&mut self, chunk: &ChunkId) -> u8 {
        let most = self.possible(self.groups.group_of(chunk));
        let replicas = self.plan.wanted(&mut self.names.chance).min(most);
        let known = self.names.chunks.entry(*chunk).or_insert(replicas);
        // Of puts of the same chunk on other numbers some may fail.
        *known = replicas.min(*known);
        replicas
    }

    fn chunk_to_name(&mut self) -> (Content, u8) {
        let known: Vec<ChunkId> = self.names.chunks.keys().copied().collect();
        let which = usize::try_from(self.names.chance.below(known.len().max(1) as u64));
        let old = known.get(which.expect("few")).filter(|_| self.names.chance.chance(0.3));
        let content = match old {
            Some(chunk) => self.catalogue.content(chunk).clone(),
            None => self.catalogue.add(self.plan.longest),
        };
        let replicas = self.replicas_of(&content.chunk());
        (content, replicas)
    }

    /// Puts the next chunk of an upload; names it when all are there.
    pub(super) fn go_on_uploading(&mut self, now: Time, ask: usize, agenda: &mut Agenda<Event>) {
        let of = &mut self.names.asks[ask];
        let node = of.node;
        let key = self.names.histories[of.name].key.clone();
        self.asked += 1;
        let number = RequestNumber(self.asked);
        let request = match (of.parts.get(of.part), &of.wanted) {
            (Some((content, replicas)), _) => {
                of.part += 1;
                self.names.uploads.running.insert(number, ask);
                Request::Upload(ask as u64, content.clone(), Some(*replicas))
            }
            (None, Wanted::Change(change, _)) => {
                self.names.running.insert(number, ask);
                Request::Names(NameRequest::Update(key, (**change).clone(), None))
            }
            (None, _) => return,
        };
        self.tell(now, node, Input::Request(number, request), agenda);
    }

    /// Unless its node has lost it meanwhile.
    pub(super) fn upload_goes_on(&mut self, now: Time, ask: usize, agenda: &mut Agenda<Event>) {
        if self.names.uploads.pausing.remove(&ask) {
            self.go_on_uploading(now, ask, agenda);
        }
    }

    /// A chunk of an upload was put, or could not be. False if it was of none.
    pub(super) fn part_ended(
        &mut self,
        now: Time,
        (node, number): (u32, RequestNumber),
        result: Result<(), Failure>,
        agenda: &mut Agenda<Event>,
    ) -> bool {
        let Some(ask) = self.names.uploads.running.remove(&number) else { return false };
        match result {
            Ok(()) => {
                let of = &self.names.asks[ask];
                if let Some((content, _)) = of.part.checked_sub(1).and_then(|n| of.parts.get(n)) {
                    self.catalogue.stored_again(&content.chunk());
                }
                let pause = self.names.chance.exponential(PAUSE);
                let ask = u32::try_from(ask).expect("few");
                self.names.uploads.pausing.insert(ask as usize);
                agenda.at(now + pause, Event::UploadGoesOn { ask });
            }
            Err(why) => {
                self.name_failed(now, node, ask, why);
                self.end_upload(now, ask, agenda);
            }
        }
        true
    }

    /// It is named, or will not be.
    pub(super) fn end_upload(&mut self, now: Time, ask: usize, agenda: &mut Agenda<Event>) {
        let of = &self.names.asks[ask];
        if !of.parts.is_empty() {
            let node = of.node;
            self.tell(now, node, Input::UploadEnded(ask as u64), agenda);
        }
    }

    /// Somebody has put a chunk without a name. If what had been put for names was collected before, that is all that there
    /// is, and a copy by reference is on as many targets, and no more.
    pub(super) fn stored_anew(&mut self, chunk: &ChunkId) {
        let mut most = 0;
        for (target, disk) in self.nodes.iter().flat_map(|host| &host.disks) {
            match self.nodes[self.node_of(*target)].target(*target) {
                Some(here) if here.is_open() || here.has_failed() => {
                    most = most.max(here.wanted(chunk).map_or(0, |here| here.replicas));
                }
                _ if disk.held.contains(chunk) => return,
                _ => {}
            }
        }
        if let Some(known) = self.names.chunks.get_mut(chunk) {
            *known = most.max(1).min(*known);
        }
    }

    /// Once names are changed again, what they said may be collected.
    pub(super) fn release_named(&mut self) {
        if self.collects() {
            let named: Vec<ChunkId> = self.names.chunks.keys().copied().collect();
            named.iter().for_each(|chunk| self.catalogue.release(chunk));
        }
    }

    /// All that names say in a calm must be there until they are changed again.
    pub(super) fn check_named_content(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        if !self.collects() {
            return;
        }
        let records = self.names.histories.iter().filter_map(|history| history.calm.clone()?);
        let versions = records.flat_map(|record| record.versions).filter_map(|of| of.object);
        let bodies: Vec<Body> =
            versions.filter_map(|entry| entry.object().map(|object| object.body.clone())).collect();
        self.check_content_of(now, bodies, agenda);
        self.survey_buckets(now, agenda);
    }

    /// All content of names is there, and can be read.
    pub(super) fn check_content_of(
        &mut self,
        now: Time,
        bodies: Vec<Body>,
        agenda: &mut Agenda<Event>,
    ) {
        let mut all: Vec<ChunkId> = Vec::new();
        for body in bodies {
            match body {
                Body::Inline(..) => {}
                Body::Chunk(chunk) => all.push(chunk),
                Body::List(list) => all.extend(self.names.uploads.chunks_of(list)),
            }
        }
        all.sort_unstable();
        all.dedup();
        let mut at = now;
        for chunk in all {
            let replicas = self.names.chunks.get(&chunk).copied().unwrap_or(1);
            self.catalogue.hold(&chunk, replicas);
            if let Some(chunk) = self.catalogue.index_of(&chunk) {
                at += APART;
                agenda.at(at, Event::Check { chunk });
                self.checks += 1;
            }
        }
    }

    /// Whether garbage can be collected: every node is there, and is no older program, and all who vote do.
    pub(super) fn can_collect(&self) -> bool {
        let can = |node: &slotcast_member::MapNode| {
            let host = self.nodes.get(node.number as usize);
            host.is_some_and(|host| host.keeps_names() && host.right_map.is_none())
        };
        let votes = |voters: &Voters| voters.all().into_iter().all(|voter| self.is_voting(voter));
        self.collects()
            && !self.map.voters.is_empty()
            && self.map.voters.values().all(votes)
            && self.map.nodes.iter().all(can)
    }

    /// Some chunk that was put for names, and that no voter names.
    pub(super) fn garbage(&self) -> Option<(TargetId, ChunkId)> {
        let voters = self.map.voters.values().flat_map(|voters| voters.all());
        let disks = voters.filter_map(|voter| {
            self.nodes.get(self.node_of(voter.target))?.disks.get(&voter.target)
        });
        let mut named = BTreeSet::new();
        for (key, value) in disks.flat_map(|disk| disk.rows.rows.all()) {
            for root in roots_of(key, value).unwrap_or_default() {
                named.extend(self.names.uploads.chunks_of(root.chunk));
            }
        }
        let targets = || self.nodes.iter().flat_map(|host| &host.member).flat_map(|m| m.targets());
        // Nobody knows what a list listed that is lost.
        let is_lost = |list: &&ChunkId| !targets().any(|target| target.has(list));
        if self.names.uploads.lists.keys().filter(|list| named.contains(*list)).any(|l| is_lost(&l))
        {
            return None;
        }
        // A target that cannot write removes nothing before it is started anew.
        let can_remove = |target: &&StorageTarget| target.is_open() && !target.has_failed();
        let mut held = targets().filter(can_remove).flat_map(|target| {
            let is_garbage = |chunk: &ChunkId| target.is_for_names(chunk) && !named.contains(chunk);
            target.chunks().filter(is_garbage).map(|chunk| (target.id(), chunk)).collect::<Vec<_>>()
        });
        held.next()
    }

    /// A row of a voter that says nothing any more, or has only promised something, where such are forgotten.
    pub(super) fn deleted(&self) -> Option<(TargetId, Vec<u8>)> {
        if !self.plan.forgets() {
            return None;
        }
        let voters = self.map.voters.values().flat_map(|voters| voters.all());
        let mut disks = voters.filter_map(|voter| {
            let disk = self.nodes.get(self.node_of(voter.target))?.disks.get(&voter.target)?;
            Some((voter.target, disk))
        });
        disks.find_map(|(target, disk)| {
            let mut rows = disk.rows.rows.all();
            let row = rows.find(|(key, value)| is_deleted(key, value))?;
            Some((target, row.0.to_vec()))
        })
    }

    pub(super) fn tell_garbage(&mut self, now: Time) {
        let members = self.nodes.iter().filter_map(|host| host.member.as_ref());
        let states: Vec<_> =
            members.map(|member| (member.node(), member.collection_status())).collect();
        let (garbage, deleted) = (self.garbage(), self.deleted());
        self.report.violated(format!(
            "at {now} garbage remains that nobody names: {garbage:?}, deleted names: {deleted:?}; in epoch {} {:?}; {}; {states:?}",
            self.map.epoch, self.map.collection, self.tell_all_voters()
        ));
    }
}

impl NameClients {
    /// Whether content is to be named that was put before, perhaps.
    pub(super) fn is_copying(&self, ask: usize) -> bool {
        let Wanted::Change(change, None) = &self.asks[ask].wanted else { return false };
        let Operation::Put(entry) = &change.operation else { return false };
        self.asks[ask].parts.is_empty() && Root::of(entry).is_some()
    }
}
