//! Whoever conducts a round of the collection of garbage; see [`slotcast_object::garbage`].

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::mem;

use slotcast_object::garbage::{GarbageMessage, Mark, Swept, Walk, WaveId};
use slotcast_object::{Collection, Roots, RootsRequest, Rosters};
use slotcast_protocol::GroupId;
use slotcast_units::{Span, Time};

use super::GarbageEffect;

/// How far it is.
#[derive(Debug)]
enum Stage {
    /// Some have not opened the round, or have not touched their uploads.
    Opening(BTreeSet<u32>),
    /// The cluster map is to say that it has begun.
    Proposing,
    /// Some have not heard that it has begun.
    Beginning(BTreeSet<u32>),
    Marking(Marking),
    /// Some have not looked at all that they hold.
    Sweeping(BTreeSet<u32>),
}

#[derive(Debug)]
struct Marking {
    /// Who votes, as the map said when this began.
    rosters: Rosters,
    /// Groups whose voters have not said all that their registers name; those of the first one are being asked.
    groups: VecDeque<GroupId>,
    /// A mistake: the first voter is believed.
    believes_one: bool,
    from: Vec<u8>,
    is_asking: bool,
    /// When those are asked again who could not be; never, if there are none.
    again: Time,
}

/// One round, until it is over.
#[derive(Debug)]
pub(super) struct Conductor {
    pub(super) collection: Collection,
    stage: Stage,
    /// Which nodes had opened it, with the incarnations that did.
    opened: BTreeMap<u32, u64>,
    swept: BTreeMap<u32, Swept>,
    patience: Span,
    /// When those are asked again who have not answered.
    due: Time,
    /// When something went on.
    pub(super) heard: Time,
}

/// What becomes of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// It goes on.
    Not,
    /// It is over: so much was removed.
    Done(Swept),
    /// Nothing comes of it.
    Aborted,
}

impl Conductor {
    pub(super) fn new(
        now: Time,
        collection: Collection,
        nodes: &BTreeSet<u32>,
        patience: Span,
    ) -> Conductor {
        Conductor {
            collection,
            stage: Stage::Opening(nodes.clone()),
            opened: BTreeMap::new(),
            swept: BTreeMap::new(),
            patience,
            due: now,
            heard: now,
        }
    }

    /// In a word, for people.
    pub(super) fn stage(&self) -> &'static str {
        match self.stage {
            Stage::Opening(_) => "opening",
            Stage::Proposing => "proposing",
            Stage::Beginning(_) => "beginning",
            Stage::Marking(_) => "marking",
            Stage::Sweeping(_) => "sweeping",
        }
    }

    /// Who has not answered yet.
    pub(super) fn awaited(&self) -> Vec<u32> {
        match &self.stage {
            Stage::Opening(nodes) | Stage::Beginning(nodes) | Stage::Sweeping(nodes) => {
                nodes.iter().copied().collect()
            }
            Stage::Proposing | Stage::Marking(_) => Vec::new(),
        }
    }

    pub(super) fn wakes_at(&self) -> Time {
        match &self.stage {
            Stage::Marking(marking) => marking.again.min(self.due),
            Stage::Proposing => Time::NEVER,
            _ => self.due,
        }
    }

    /// What the cluster map is to say, if it is time, and all nodes that it names have opened the round.
    pub(super) fn proposal(&self, nodes: &BTreeSet<u32>) -> Option<Collection> {
        let is_time = matches!(self.stage, Stage::Proposing);
        let all_have = nodes.iter().all(|node| self.opened.contains_key(node));
        (is_time && all_have).then_some(self.collection)
    }

    /// Asks whoever has not answered, and tells all others that the round goes on: they begin none meanwhile.
    pub(super) fn ask(&mut self, now: Time, walk: Option<&Walk>, effects: &mut Vec<GarbageEffect>) {
        let Collection { round, by } = self.collection;
        let message = |node: &u32| match &self.stage {
            Stage::Opening(_) => Some(GarbageMessage::Open(round)),
            Stage::Beginning(_) => {
                Some(GarbageMessage::Began(self.collection, *self.opened.get(node)?))
            }
            Stage::Sweeping(_) => {
                let wave = WaveId { walk: walk?.id(), wave: walk?.told(*node) };
                Some(GarbageMessage::Sweep(Mark { round, by, wave }))
            }
            Stage::Proposing | Stage::Marking(_) => None,
        };
        let awaited = self.awaited();
        if matches!(self.stage, Stage::Beginning(_) | Stage::Marking(_) | Stage::Sweeping(_)) {
            let others = self.opened.iter().filter(|(node, _)| !awaited.contains(node));
            let goes_on = |incarnation| GarbageMessage::Began(self.collection, incarnation);
            effects.extend(others.map(|(node, inc)| GarbageEffect::Say(*node, goes_on(*inc))));
        }
        let say = |node| Some(GarbageEffect::Say(node, message(&node)?));
        effects.extend(awaited.into_iter().filter_map(say));
        self.due = now + self.patience;
    }

    /// A node has opened a round, in this incarnation. Whether this one is over: there is a later one.
    pub(super) fn opened(&mut self, now: Time, node: u32, round: u64, incarnation: u64) -> Ends {
        if round > self.collection.round {
            return Ends::Aborted;
        }
        if let Stage::Opening(awaited) = &mut self.stage
            && round == self.collection.round
            && awaited.remove(&node)
        {
            self.opened.insert(node, incarnation);
            self.heard = now;
            if awaited.is_empty() {
                self.stage = Stage::Proposing;
            }
        }
        Ends::Not
    }

    /// A node has heard that the round has begun.
    pub(super) fn begun(&mut self, now: Time, node: u32, round: u64, rosters: &Rosters) {
        if let Stage::Beginning(awaited) = &mut self.stage
            && round == self.collection.round
            && awaited.remove(&node)
        {
            self.heard = now;
            if awaited.is_empty() {
                self.mark(rosters);
            }
        }
    }

    /// The cluster map says this. Another round, or other voters than are being asked, end this one.
    pub(super) fn learn(&mut self, now: Time, nodes: &BTreeSet<u32>, rosters: &Rosters) -> Ends {
        let said = rosters.collection;
        if self.awaited().iter().any(|node| !nodes.contains(node)) {
            return Ends::Aborted;
        }
        match &mut self.stage {
            Stage::Opening(_) | Stage::Proposing if said.round + 1 == self.collection.round => {
                let missing: BTreeSet<u32> =
                    nodes.iter().filter(|node| !self.opened.contains_key(node)).copied().collect();
                if !missing.is_empty() {
                    self.stage = Stage::Opening(missing);
                    self.due = now;
                }
            }
            Stage::Opening(_) | Stage::Proposing if said == self.collection => {
                self.heard = now;
                self.due = now;
                self.stage = Stage::Beginning(self.opened.keys().copied().collect());
            }
            Stage::Marking(marking) if marking.rosters.groups != rosters.groups => {
                return Ends::Aborted;
            }
            _ if said == self.collection => {}
            _ => return Ends::Aborted,
        }
        Ends::Not
    }

    fn mark(&mut self, rosters: &Rosters) {
        self.stage = Stage::Marking(Marking {
            rosters: rosters.clone(),
            groups: rosters.groups.keys().copied().collect(),
            believes_one: false,
            from: Vec::new(),
            is_asking: false,
            again: Time::NEVER,
        });
    }

    /// The time has come to ask again.
    pub(super) fn wake(&mut self, now: Time) {
        if let Stage::Marking(marking) = &mut self.stage
            && marking.again <= now
        {
            marking.again = Time::NEVER;
        }
    }

    /// What a voter is to be asked next, when the walk has little left to do.
    pub(super) fn next_question(&mut self, now: Time) -> Option<RootsRequest> {
        let Stage::Marking(marking) = &mut self.stage else { return None };
        let waits = marking.again != Time::NEVER && now < marking.again;
        if marking.is_asking || waits {
            return None;
        }
        let group = *marking.groups.front()?;
        let voters = marking.rosters.of(group)?.clone();
        marking.is_asking = true;
        let (began, from) = (marking.rosters.epoch, marking.from.clone());
        let believes_one = marking.believes_one;
        Some(RootsRequest { group, voters, began, from, believes_one })
    }

    /// The voters have answered, or could not.
    pub(super) fn named(&mut self, now: Time, page: Option<Roots>, walk: &mut Walk) {
        let Stage::Marking(marking) = &mut self.stage else { return };
        // Another question was given up, and this is its answer.
        if !mem::take(&mut marking.is_asking) {
            return;
        }
        let Some(page) = page else {
            marking.again = now + self.patience;
            return;
        };
        self.heard = now;
        page.roots.into_iter().for_each(|(root, key)| walk.add_named(root, Some(key)));
        match page.next {
            Some(next) => marking.from = next,
            None => {
                marking.from.clear();
                marking.groups.pop_front();
            }
        }
    }

    /// A mistake: nobody is asked.
    pub(super) fn forget_voters(&mut self) {
        if let Stage::Marking(marking) = &mut self.stage {
            marking.groups.clear();
        }
    }

    /// A mistake: one voter of each group is.
    pub(super) fn believe_one(&mut self) {
        if let Stage::Marking(marking) = &mut self.stage {
            marking.believes_one = true;
        }
    }

    /// Whether all voters have said what is named, and all of it was marked: then it is swept.
    pub(super) fn is_marked(&mut self, now: Time, walk: &Walk) -> bool {
        let Stage::Marking(marking) = &self.stage else { return false };
        let is_marked = marking.groups.is_empty() && walk.is_done();
        if is_marked {
            self.stage = Stage::Sweeping(self.opened.keys().copied().collect());
            (self.heard, self.due) = (now, now);
        }
        is_marked
    }

    /// A node says how far it is.
    pub(super) fn swept(&mut self, now: Time, node: u32, round: u64, swept: Swept) -> Ends {
        let Stage::Sweeping(awaited) = &mut self.stage else { return Ends::Not };
        if round != self.collection.round || !awaited.contains(&node) {
            return Ends::Not;
        }
        if self.swept.insert(node, swept) != Some(swept) {
            self.heard = now;
        }
        if swept.is_done || swept.sits_out {
            awaited.remove(&node);
        }
        if !awaited.is_empty() {
            return Ends::Not;
        }
        let mut all = Swept { is_done: true, ..Swept::default() };
        for swept in mem::take(&mut self.swept).into_values() {
            all.removed += swept.removed;
            all.bytes += swept.bytes;
            all.sits_out |= swept.sits_out;
        }
        Ends::Done(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Span = Span::from_ms(100);

    /// Who is told in which stage, while one of three nodes is slow.
    #[test]
    fn whoever_has_nothing_to_do_hears_that_the_round_goes_on() {
        let (nodes, now) = (BTreeSet::from([0, 1, 2]), Time::ZERO + PATIENCE);
        let collection = Collection { round: 7, by: 9 };
        let mut conductor = Conductor::new(now, collection, &nodes, PATIENCE);
        for node in &nodes {
            conductor.opened(now, *node, 7, u64::from(*node));
        }
        assert_eq!(conductor.proposal(&nodes), Some(collection));
        let rosters = Rosters { collection, ..Rosters::default() };
        conductor.learn(now, &nodes, &rosters);
        let begin = |node| GarbageEffect::Say(node, GarbageMessage::Began(collection, node.into()));
        let told = |conductor: &mut Conductor, walk: Option<&Walk>| {
            let mut effects = Vec::new();
            conductor.ask(now, walk, &mut effects);
            assert_eq!(conductor.wakes_at(), now + PATIENCE, "and again");
            effects.iter().map(|effect| alloc::format!("{effect:?}")).collect::<BTreeSet<_>>()
        };
        let all: BTreeSet<_> = nodes.iter().map(|n| alloc::format!("{:?}", begin(*n))).collect();
        conductor.begun(now, 0, 7, &rosters);
        assert_eq!(told(&mut conductor, None), all, "it begins");
        conductor.begun(now, 1, 7, &rosters);
        conductor.begun(now, 2, 7, &rosters);
        assert_eq!(conductor.stage(), "marking");
        assert_eq!(told(&mut conductor, None), all, "it marks");

        let walk = Walk::new(1, slotcast_object::garbage::WalkKind::Mark(7, 9), PATIENCE);
        assert!(conductor.is_marked(now, &walk));
        conductor.swept(now, 1, 7, Swept { is_done: true, ..Swept::default() });
        let sweeping = told(&mut conductor, Some(&walk));
        assert_eq!(sweeping.len(), 3, "{sweeping:?}");
        assert!(sweeping.contains(&alloc::format!("{:?}", begin(1))), "{sweeping:?}");
    }
}
