//! Whether replicas beyond the wanted number are removed when nothing happens any more.

use slotcast_engine::Agenda;
use slotcast_member::StorageTarget;
use slotcast_protocol::{ChunkId, GroupId, Members, TargetId, keepers};
use slotcast_store::StoreStatus;
use slotcast_units::{Span, Time};

use super::catalogue::Known;
use super::cluster::Cluster;
use super::event::Event;
use super::node::Leaving;

/// How long users ask for what is there while surplus replicas are removed.
const LASTS: Span = Span::from_ms(30);

/// And how often for anything.
const ASKS: usize = 40;

/// How often a chunk is put that is being removed, of the times that its node does anything.
const COINCIDENCE: f64 = 0.1;

impl Cluster {
    /// Somebody starts a node of each group anew, without need: its members look at what they hold. Without a reason
    /// they would do so in a week, and what was put on too many targets by a late acknowledgement is none.
    pub(super) fn look_for_surplus(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        for group in (0..self.groups.groups()).map(GroupId) {
            let mut members = self.groups.members(group).iter();
            let stays = |target: &&TargetId| {
                let host = self.nodes.get(self.node_of(**target));
                host.is_some_and(|host| host.member.is_some() && host.leaving == Leaving::No)
            };
            let Some(target) = members.find(stays) else { continue };
            let node = u32::try_from(self.node_of(*target)).expect("small");
            self.stop(now, node, agenda);
            self.start(now, node, agenda);
        }
    }

    /// Users ask for this and that, and put what is there again, while surplus replicas are removed and the network is
    /// as bad as ever.
    pub(super) fn use_meanwhile(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        self.network.weather = self.plan.weather;
        self.used_until = now + LASTS;
        let all: Vec<_> = self.catalogue.acknowledged().collect();
        let puts = all.iter().map(|(chunk, _)| Event::PutAgain { chunk: *chunk, on_most: false });
        for event in puts.chain([Event::Ask; ASKS]) {
            let after = Span::from_ns(self.chance.below(LASTS.as_ns()));
            agenda.at(now + after, event);
        }
        agenda.at(self.used_until, Event::Fair);
    }

    /// Users cannot know what is being removed as surplus; but whatever they do, some do at that moment.
    pub(super) fn put_what_is_released(
        &mut self,
        now: Time,
        node: u32,
        agenda: &mut Agenda<Event>,
    ) {
        let member = self.nodes[node as usize].member.as_ref();
        let mut targets = member.into_iter().flat_map(|member| member.targets());
        let released = targets.find_map(StorageTarget::released);
        let chunk = released.and_then(|chunk| self.catalogue.index_of(&chunk));
        if let Some(chunk) = chunk.filter(|_| self.chance.chance(COINCIDENCE)) {
            let after = Span::from_ns(self.chance.below(100_000));
            agenda.at(now + after, Event::PutAgain { chunk, on_most: true });
        }
    }

    /// The targets of a group by their positions, if all that take puts do so.
    fn members_at_work(&self, group: GroupId) -> Option<Vec<(u8, &StorageTarget)>> {
        let takers = self.groups.members_for_puts(group);
        let members = (0..).zip(self.groups.members(group));
        let takers = members.filter(|(position, _)| takers.contains(*position));
        let at_work = |(position, target): (u8, &TargetId)| {
            let target = self.nodes.get(self.node_of(*target))?.target(*target)?;
            let is_at_work = matches!(target.status(), StoreStatus::Open | StoreStatus::Full);
            is_at_work.then_some((position, target))
        };
        takers.map(at_work).collect()
    }

    fn groups_at_work(&self) -> impl Iterator<Item = Vec<(u8, &StorageTarget)>> {
        let groups = (0..self.groups.groups()).map(GroupId);
        groups.filter_map(|group| self.members_at_work(group))
    }

    /// Whether no target knows of a surplus replica that it could remove, and none is being removed.
    pub(super) fn has_removed_surplus(&self) -> bool {
        let is_done = |(_, target): &(u8, &StorageTarget)| {
            target.repair_statistics().surplus == 0 && target.released().is_none()
        };
        self.groups_at_work().all(|members| members.iter().all(is_done))
    }

    /// Some chunk that a target holds of which it is not a keeper.
    pub(super) fn surplus(&self) -> Option<String> {
        self.groups_at_work().find_map(|members| self.surplus_of(&members))
    }

    /// No target holds a chunk of which it is not a keeper.
    pub(super) fn check_surplus(&mut self) {
        if let Some(found) = self.surplus() {
            self.report.violated(found);
        }
    }

    fn surplus_of(&self, members: &[(u8, &StorageTarget)]) -> Option<String> {
        members.iter().find_map(|(position, target)| {
            let mut held = target.chunks();
            let chunk = held.find(|chunk| self.is_surplus(chunk, *position, members))?;
            let states = self.states_of(&chunk);
            Some(format!("target {} holds {chunk}, which is surplus: {states}", target.id().0))
        })
    }

    fn is_surplus(&self, chunk: &ChunkId, own: u8, members: &[(u8, &StorageTarget)]) -> bool {
        // What nothing names is removed by another rule.
        if self.collects() && self.catalogue.known(chunk) != Known::Acknowledged {
            return false;
        }
        let here = members.iter().find(|(position, _)| *position == own);
        let Some(wanted) = here.and_then(|(_, target)| target.wanted(chunk)) else { return false };
        let mut holders = Members::NONE;
        let holds = |(_, target): &&(u8, &StorageTarget)| {
            target.wanted(chunk).is_some_and(|held| held.covers(wanted))
        };
        members.iter().filter(holds).for_each(|(position, _)| holders.insert(*position));
        let group = self.groups.group_of(chunk);
        let kept = keepers(&self.groups, group, (chunk, wanted.replicas), holders);
        kept.is_some_and(|kept| holders.contains(own) && !kept.contains(own))
    }
}
