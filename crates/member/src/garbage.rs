//! The collection of garbage, as one node takes part in it; see [`slotcast_object::garbage`].

mod conductor;
mod effect;
mod generations;
mod uploads;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use bytes::Bytes;
use slotcast_object::garbage::{
    Chunks, GarbageMessage, LostList, Mark, Root, Swept, Walk, WalkKind, WaveId,
};
use slotcast_object::{Collection, NameFailure, Roots, Rosters};
use slotcast_protocol::{ChunkId, TargetId};
use slotcast_units::{Span, Time};

use crate::config::CollectionRules;
use crate::mistake::Mistake;
use crate::status::{CollectionEnd, CollectionStatus};
use conductor::{Conductor, Ends};
pub(crate) use effect::GarbageEffect;
use effect::carry;
use generations::Generations;
use uploads::Uploads;

/// What a walk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// A task of names, which began when this round had begun.
    Names(u64, u64),
    /// The uploads under way.
    Uploads,
    /// What the voters name.
    Marks,
}

/// A sweep of what is stored here.
#[derive(Debug)]
pub(crate) struct Sweep {
    pub(crate) mark: Mark,
    /// Where it goes on.
    pub(crate) at: (TargetId, ChunkId),
    pub(crate) swept: Swept,
    pub(crate) due: Time,
}

/// What is around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around<'a> {
    /// All nodes of the cluster map.
    pub(crate) nodes: &'a BTreeSet<u32>,
    pub(crate) rosters: &'a Rosters,
}

/// A node's part in the collection.
#[derive(Debug)]
pub(crate) struct Garbage {
    node: u32,
    /// Another one for each incarnation.
    salt: u64,
    rules: CollectionRules,
    patience: Span,
    generations: Generations,
    conductor: Option<Conductor>,
    walks: BTreeMap<u64, (Walk, Purpose)>,
    walked: u64,
    /// Content on its way, and not named yet.
    uploads: Uploads,
    sweep: Option<Sweep>,
    /// When this node begins a round, unless another one has.
    next_round: Time,
    is_wanted: bool,
    /// How many rounds were begun here.
    begun: u64,
    /// How often voters were asked.
    asked: u64,
    ended: Option<CollectionEnd>,
    swept: Swept,
    to_do: Vec<GarbageEffect>,
    mistake: Option<Mistake>,
}

impl Garbage {
    pub(crate) fn new(
        now: Time,
        node: u32,
        (rules, patience): (CollectionRules, Span),
        salt: u64,
        mistake: Option<Mistake>,
    ) -> Garbage {
        let mut garbage = Garbage {
            node,
            salt,
            rules,
            patience,
            generations: Generations::new(),
            conductor: None,
            walks: BTreeMap::new(),
            walked: 0,
            uploads: Uploads::default(),
            sweep: None,
            next_round: Time::NEVER,
            is_wanted: false,
            begun: 0,
            asked: 0,
            ended: None,
            swept: Swept::default(),
            to_do: Vec::new(),
            mistake,
        };
        garbage.put_off(now, 0);
        garbage
    }

    /// How it stands, for people.
    pub(crate) fn status(&self, round: u64) -> CollectionStatus {
        CollectionStatus {
            round,
            stage: self.conductor.as_ref().map(Conductor::stage),
            awaited: self.conductor.as_ref().map(Conductor::awaited).unwrap_or_default(),
            removed_chunks: self.swept.removed,
            removed_bytes: self.swept.bytes,
            uploads: self.uploads.len() as u64,
            last: self.ended.clone(),
        }
    }

    pub(crate) fn take_effects(&mut self) -> Vec<GarbageEffect> {
        core::mem::take(&mut self.to_do)
    }

    pub(crate) fn sweep(&mut self) -> Option<&mut Sweep> {
        self.sweep.as_mut()
    }

    pub(crate) fn rules(&self) -> CollectionRules {
        self.rules
    }

    pub(crate) fn is_garbage(&self, chunk: &ChunkId) -> bool {
        self.generations.is_garbage(chunk)
    }

    pub(crate) fn wakes_at(&self) -> Time {
        let walks = self.walks.values().map(|(walk, _)| walk.wakes_at()).min();
        let conductor = self.conductor.as_ref().map_or(self.next_round, |conductor| {
            conductor.wakes_at().min(conductor.heard + self.rules.limit)
        });
        let sweep = self.sweep.as_ref().filter(|sweep| !sweep.swept.is_done);
        let sweep = sweep.map_or(Time::NEVER, |sweep| sweep.due);
        walks.unwrap_or(Time::NEVER).min(conductor).min(sweep)
    }

    /// The next round is some time away. Those of higher numbers wait a little longer, so that one begins.
    fn put_off(&mut self, now: Time, rank: usize) {
        self.next_round = self.rules.every.map_or(Time::NEVER, |every| {
            now + every + self.rules.limit * u64::try_from(rank).unwrap_or(u64::MAX).min(64)
        });
    }

    /// Somebody wants a round now.
    pub(crate) fn collect(&mut self, now: Time) {
        self.is_wanted = true;
        self.next_round = now;
    }

    /// A chunk was put, or is held by one who says so: nobody removes it for a while.
    pub(crate) fn touch(&mut self, chunk: &ChunkId) {
        if self.mistake != Some(Mistake::ForgetsTouches) {
            self.generations.touch(chunk);
        }
    }

    /// A chunk of an upload is put.
    pub(crate) fn upload(&mut self, upload: u64, chunk: ChunkId) {
        if self.mistake != Some(Mistake::ForgetsUploads) {
            self.uploads.upload(upload, chunk);
        }
    }

    /// What is on its way.
    pub(crate) fn uploads(&mut self) -> &mut Uploads {
        &mut self.uploads
    }

    fn begin_walk(&mut self, kind: WalkKind, purpose: Purpose) -> &mut Walk {
        self.walked += 1;
        // An answer to an earlier incarnation is none to this one.
        let id = self.salt.wrapping_add(self.walked);
        let skips = self.mistake == Some(Mistake::SkipsLists);
        let walk = Walk::new(id, kind, self.patience).without_lists(skips);
        &mut self.walks.entry(id).or_insert((walk, purpose)).0
    }

    /// A task of names is about to name content.
    pub(crate) fn touch_for(&mut self, task: u64, root: Root, round: u64) {
        if self.mistake == Some(Mistake::CopiesUntouched) {
            return self.to_do.push(GarbageEffect::Touched(task, Ok(round)));
        }
        self.begin_walk(WalkKind::Touch, Purpose::Names(task, round)).add(root);
    }

    /// Goes on with all that can go on. `nodes_of` names the nodes that may hold a chunk.
    pub(crate) fn go_on(
        &mut self,
        now: Time,
        around: Around<'_>,
        nodes_of: impl Fn(&ChunkId) -> (BTreeSet<u32>, bool),
        is_down: impl Fn(u32) -> bool,
    ) {
        if now >= self.next_round && self.conductor.is_none() {
            self.begin_round(now, around);
        }
        let mut effects = Vec::new();
        let mut over = Vec::new();
        for (id, (walk, purpose)) in &mut self.walks {
            walk.wake(now, &mut effects);
            walk.go_on(now, &nodes_of, &is_down, &mut effects);
            if walk.has_failed() || walk.is_done() && *purpose != Purpose::Marks {
                over.push(*id);
            }
            carry(*id, &mut effects, &mut self.to_do);
        }
        for id in over {
            let Some((walk, purpose)) = self.walks.remove(&id) else { continue };
            match purpose {
                Purpose::Names(task, round) => {
                    let result = match (walk.has_failed(), walk.is_missing()) {
                        (false, _) => Ok(round),
                        (true, true) => Err(NameFailure::Missing),
                        (true, false) => Err(NameFailure::Unavailable),
                    };
                    self.to_do.push(GarbageEffect::Touched(task, result));
                }
                Purpose::Uploads => {}
                Purpose::Marks => {
                    let lost = walk.lost().cloned();
                    self.to_do.extend(lost.clone().map(GarbageEffect::Lost));
                    self.end_round(now, around, (None, lost));
                }
            }
        }
        self.conduct(now, around);
    }

    fn begin_round(&mut self, now: Time, around: Around<'_>) {
        let rank = around.nodes.range(..self.node).count();
        if self.rules.every.is_none() && !self.is_wanted || around.rosters.groups.is_empty() {
            return self.put_off(now, rank);
        }
        self.is_wanted = false;
        self.begun += 1;
        let by = ChunkId([0; 32]).mix(self.salt.wrapping_add(self.begun));
        let collection = Collection { round: around.rosters.collection.round + 1, by };
        self.conductor = Some(Conductor::new(now, collection, around.nodes, self.patience));
        self.put_off(now, rank);
    }

    fn conduct(&mut self, now: Time, around: Around<'_>) {
        let Some(conductor) = &mut self.conductor else { return };
        if now >= conductor.heard + self.rules.limit {
            return self.abort(now, around);
        }
        conductor.wake(now);
        let marks = self.walks.iter_mut().find(|(_, (_, purpose))| *purpose == Purpose::Marks);
        if let Some((_, (walk, _))) = marks {
            if walk.is_hungry()
                && let Some(request) = conductor.next_question(now)
            {
                self.asked += 1;
                self.to_do.push(GarbageEffect::Roots(self.asked, request));
            }
            conductor.is_marked(now, walk);
            if now >= conductor.wakes_at() {
                conductor.ask(now, Some(walk), &mut self.to_do);
            }
        } else if now >= conductor.wakes_at() {
            conductor.ask(now, None, &mut self.to_do);
        }
    }

    fn abort(&mut self, now: Time, around: Around<'_>) {
        self.end_round(now, around, (None, None));
    }

    fn end_round(
        &mut self,
        now: Time,
        around: Around<'_>,
        (swept, lost): (Option<Swept>, Option<LostList>),
    ) {
        if let Some(conductor) = self.conductor.take() {
            let round = conductor.collection.round;
            self.ended = Some(CollectionEnd { round, swept, lost });
        }
        self.walks.retain(|_, (_, purpose)| *purpose != Purpose::Marks);
        self.put_off(now, around.nodes.range(..self.node).count());
    }

    /// The cluster map says what it says.
    pub(crate) fn learn(&mut self, now: Time, around: Around<'_>) {
        for (walk, _) in self.walks.values_mut() {
            walk.retain(|node| around.nodes.contains(&node));
        }
        let Some(conductor) = &mut self.conductor else { return };
        if conductor.learn(now, around.nodes, around.rosters) == Ends::Aborted {
            self.abort(now, around);
        }
    }

    /// The round that the cluster map is to name.
    pub(crate) fn proposal(&self, nodes: &BTreeSet<u32>) -> Option<Collection> {
        self.conductor.as_ref()?.proposal(nodes)
    }

    /// A list was fetched for a walk, or cannot be.
    pub(crate) fn fetched(&mut self, walk: u64, list: ChunkId, content: Option<Bytes>) {
        let mut effects = Vec::new();
        if let Some((of, _)) = self.walks.get_mut(&walk) {
            of.fetched(list, content, &mut effects);
        }
        carry(walk, &mut effects, &mut self.to_do);
    }

    /// A voter has said what its registers name, or could not be asked.
    pub(crate) fn named(&mut self, now: Time, number: u64, page: Option<Roots>) {
        let Some(conductor) = self.conductor.as_mut().filter(|_| number == self.asked) else {
            return;
        };
        let marks = self.walks.values_mut().find(|(_, purpose)| *purpose == Purpose::Marks);
        if let Some((walk, _)) = marks {
            conductor.named(now, page, walk);
        }
    }

    /// A chunk was put again for a walk, or could not be.
    pub(crate) fn restored(&mut self, walk: u64, chunk: ChunkId, is_stored: bool) {
        if let Some((of, _)) = self.walks.get_mut(&walk) {
            of.restored(chunk, is_stored);
        }
    }

    /// A node says something. `held` tells in how many failure domains a chunk is stored here, and on how many targets it
    /// is wanted.
    pub(crate) fn heard(
        &mut self,
        now: Time,
        node: u32,
        message: GarbageMessage,
        around: Around<'_>,
        held: impl Fn(&ChunkId) -> [u8; 2],
    ) {
        let say = |message| GarbageEffect::Say(node, message);
        // Whoever conducts goes on.
        let goes_on = matches!(
            message,
            GarbageMessage::Began(..) | GarbageMessage::Mark(..) | GarbageMessage::Sweep(_)
        );
        if goes_on {
            self.put_off(now, around.nodes.range(..self.node).count());
        }
        match message {
            GarbageMessage::Open(round) => self.open(now, node, round, around),
            GarbageMessage::Opened(round, incarnation) => {
                let conductor = self.conductor.as_mut();
                let ends = conductor.map(|c| c.opened(now, node, round, incarnation));
                if ends == Some(Ends::Aborted) {
                    self.abort(now, around);
                } else if ends.is_some() {
                    // Somebody may have joined.
                    self.learn(now, around);
                }
            }
            GarbageMessage::Began(collection, incarnation) => {
                let Collection { round, by } = collection;
                if incarnation == self.salt {
                    self.generations.began(round, by);
                }
                self.to_do.push(say(GarbageMessage::Begun(round)));
            }
            GarbageMessage::Begun(round) => self.begun(now, node, round, around),
            GarbageMessage::Touch(wave, Chunks(chunks)) => {
                chunks.iter().for_each(|chunk| self.touch(chunk));
                let held = chunks.iter().flat_map(held).collect();
                self.to_do.push(say(GarbageMessage::Touched(wave, held)));
            }
            GarbageMessage::Touched(wave, held) => self.told(now, node, wave, &held),
            GarbageMessage::Mark(mark, Chunks(chunks)) => {
                self.generations.mark(mark, &chunks);
                self.to_do.push(say(GarbageMessage::Marked(mark.wave)));
            }
            GarbageMessage::Marked(wave) => self.told(now, node, wave, &[]),
            GarbageMessage::Sweep(mark) => {
                let swept = self.begin_sweep(now, mark);
                self.to_do.push(say(GarbageMessage::Swept(mark.round, swept)));
            }
            GarbageMessage::Swept(round, swept) => {
                let conductor = self.conductor.as_mut();
                let ends = conductor.map(|c| c.swept(now, node, round, swept));
                if let Some(Ends::Done(swept)) = ends {
                    self.end_round(now, around, (Some(swept), None));
                }
            }
        }
    }

    /// A round is opened here; whoever conducts it is told when all uploads under way have been touched.
    fn open(&mut self, now: Time, node: u32, round: u64, around: Around<'_>) {
        if round > self.generations.latest() {
            if self.mistake == Some(Mistake::SweepsWithoutLog) {
                self.generations.pretend(round);
            }
            self.generations.open(round);
            self.sweep = None;
            self.put_off(now, around.nodes.range(..self.node).count());
            let chunks = self.uploads.chunks();
            if !chunks.is_empty() {
                let walk = self.begin_walk(WalkKind::TouchAgain, Purpose::Uploads);
                chunks.into_iter().for_each(|chunk| walk.add(Root { chunk, is_list: false }));
            }
        }
        if !self.walks.values().any(|(_, purpose)| *purpose == Purpose::Uploads) {
            let opened = GarbageMessage::Opened(self.generations.latest(), self.salt);
            self.to_do.push(GarbageEffect::Say(node, opened));
        }
    }

    fn begun(&mut self, now: Time, node: u32, round: u64, around: Around<'_>) {
        let Some(conductor) = &mut self.conductor else { return };
        let before = conductor.stage();
        conductor.begun(now, node, round, around.rosters);
        if before != conductor.stage() {
            match self.mistake {
                Some(Mistake::MarksByMajority) => conductor.believe_one(),
                Some(Mistake::SweepsUnmarked) => conductor.forget_voters(),
                _ => {}
            }
            let Collection { round, by } = conductor.collection;
            self.begin_walk(WalkKind::Mark(round, by), Purpose::Marks);
        }
    }

    fn told(&mut self, now: Time, node: u32, wave: WaveId, held: &[u8]) {
        if let Some((walk, purpose)) = self.walks.get_mut(&wave.walk) {
            walk.answered(node, wave, held);
            if let Some(conductor) = &mut self.conductor
                && *purpose == Purpose::Marks
            {
                conductor.heard = now;
            }
        }
    }

    /// All that is named was marked: whatever is not goes, if this node may say so.
    fn begin_sweep(&mut self, now: Time, mark: Mark) -> Swept {
        let is_same = |sweep: &&mut Sweep| sweep.mark == mark;
        if let Some(sweep) = self.sweep.as_mut().filter(is_same) {
            return sweep.swept;
        }
        if !self.generations.may_sweep(mark) {
            return Swept { sits_out: true, ..Swept::default() };
        }
        let at = (TargetId(0), ChunkId([0; 32]));
        self.sweep = Some(Sweep { mark, at, swept: Swept::default(), due: now });
        Swept::default()
    }

    /// So many bytes were removed here.
    pub(crate) fn removed(&mut self, bytes: u64) {
        self.swept.removed += 1;
        self.swept.bytes += bytes;
        if let Some(sweep) = &mut self.sweep {
            sweep.swept.removed += 1;
            sweep.swept.bytes += bytes;
        }
    }
}
