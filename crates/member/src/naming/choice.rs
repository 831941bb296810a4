//! Who is to vote in each group.
//!
//! A voter is replaced when it cannot vote any more (its store was wiped or has failed, its node is gone) and another can
//! in its place, and when it is to leave. Each node says so of its own stores, and all of whom they miss: what they propose
//! takes effect in the cluster map once. Then both sets vote, some node brings the registers to the new one, and
//! proposes that it votes alone.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use slotcast_object::{Acceptor, MAX_VOTERS, RosterChange, Voter, Voters};
use slotcast_protocol::{GroupId, GroupMap, TargetId};
use slotcast_units::Time;

use super::Naming;

/// As many voters outlive one of them.
const ENOUGH: usize = 3;

/// What is to be done about who votes.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    /// Changes that can be proposed.
    pub(crate) changes: BTreeMap<GroupId, RosterChange>,
    /// Targets of which it is to be known which store they have.
    pub(crate) unknown: BTreeSet<TargetId>,
    /// Groups whose registers this node is to bring to new voters.
    pub(crate) to_move: Vec<GroupId>,
}

/// How a voter does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fitness {
    Fit,
    /// It does not vote any more.
    Lost,
    /// It votes, and is to go.
    Leaving,
}

impl Naming {
    /// Looks who votes, and who should. `is_gone` tells of whose node nothing is expected any more.
    pub(crate) fn look(
        &mut self,
        now: Time,
        groups: &GroupMap,
        is_gone: impl Fn(TargetId) -> bool,
    ) -> Choice {
        let mut choice = Choice::default();
        let mut is_replacing = false;
        for group in (0..groups.groups()).map(GroupId) {
            match self.rosters().of(group) {
                None => match self.best(group, groups, &[], &is_gone) {
                    Ok(voters) => {
                        choice.changes.insert(group, RosterChange::First(voters));
                    }
                    Err(unknown) => choice.unknown.extend(unknown),
                },
                Some(voters) if voters.is_joint() => {
                    if self.moved.get(&group) == Some(&voters.epoch()) {
                        choice.changes.insert(group, RosterChange::Settle(voters.epoch()));
                    } else if self.is_to_move(voters, groups, &is_gone) {
                        choice.to_move.push(group);
                    } else {
                        let (_, new) = voters.sets();
                        choice.unknown.extend(new.iter().map(|voter| voter.target));
                    }
                }
                Some(voters) => {
                    let Some((kept, leaves)) = self.kept(group, voters, groups, &is_gone) else {
                        continue;
                    };
                    is_replacing = true;
                    let set = match self.best(group, groups, &kept, &is_gone) {
                        Ok(set) => Some(set),
                        Err(unknown) => {
                            choice.unknown.extend(unknown);
                            // Who leaves is not kept for somebody who may never come.
                            (leaves && kept.len() >= ENOUGH).then_some(kept)
                        }
                    };
                    if let Some(set) = set.filter(|_| self.is_choosing) {
                        let change = RosterChange::Replace(voters.epoch(), set);
                        choice.changes.insert(group, change);
                    }
                }
            }
        }
        if is_replacing && !self.is_choosing {
            // What is known of other stores may be old.
            self.stores.clear();
            choice.unknown.extend(self.others(groups));
        }
        self.is_choosing = is_replacing;
        let is_well = |group: &GroupId| {
            let voters = self.rosters().of(*group).filter(|voters| !voters.is_joint());
            let is_fit = |v: &Voter| self.fitness(*group, v, groups, &is_gone) == Fitness::Fit;
            voters.is_some_and(|voters| voters.all().iter().all(is_fit))
        };
        let unwell = (0..groups.groups()).map(GroupId).filter(|group| !is_well(group));
        let unwell: Vec<GroupId> = unwell.collect();
        // Who could not vote may be able to now.
        let have_failed = unwell.iter().flat_map(|group| groups.members(*group));
        let have_failed = have_failed.filter(|target| self.stores.get(target) == Some(&None));
        choice.unknown.extend(have_failed);
        let waits = is_replacing || !unwell.is_empty();
        self.next_look = if waits { now + self.looks_every } else { Time::NEVER };
        choice
    }

    /// Targets at other nodes.
    fn others(&self, groups: &GroupMap) -> Vec<TargetId> {
        let all = (0..groups.groups()).flat_map(|group| groups.members(GroupId(group)));
        all.copied().filter(|target| !self.acceptors.contains_key(target)).collect()
    }

    /// The store of a target, as far as is known.
    fn store(&self, target: TargetId) -> Option<u64> {
        match self.acceptors.get(&target) {
            Some(acceptor) => acceptor.store(),
            None => self.stores.get(&target).copied().flatten(),
        }
    }

    fn fitness(
        &self,
        group: GroupId,
        voter: &Voter,
        groups: &GroupMap,
        is_gone: impl Fn(TargetId) -> bool,
    ) -> Fitness {
        let stays = groups.find(voter.target).is_some_and(|(of, position)| {
            of == group && groups.members_for_puts(group).contains(position)
        });
        let is_lost = match self.acceptors.get(&voter.target) {
            Some(acceptor) if acceptor.is_opening() => false,
            Some(acceptor) => acceptor.store() != Some(voter.store),
            None => {
                let told = self.stores.get(&voter.target);
                is_gone(voter.target) || told.is_some_and(|told| *told != Some(voter.store))
            }
        };
        match (is_lost, stays) {
            (_, false) => Fitness::Leaving,
            (true, true) => Fitness::Lost,
            (false, true) => Fitness::Fit,
        }
    }

    /// Those who go on voting in a group in which others are to vote beside them, and whether somebody is to leave; none if
    /// nobody is to be replaced.
    fn kept(
        &self,
        group: GroupId,
        voters: &Voters,
        groups: &GroupMap,
        is_gone: &impl Fn(TargetId) -> bool,
    ) -> Option<(Vec<Voter>, bool)> {
        let (all, _) = voters.sets();
        let fitness = |voter: &Voter| self.fitness(group, voter, groups, is_gone);
        let kept: Vec<Voter> =
            all.iter().filter(|voter| fitness(voter) == Fitness::Fit).copied().collect();
        let leaves = all.iter().any(|voter| fitness(voter) == Fitness::Leaving);
        let is_better = kept.len() < wanted(group, groups)
            && !self.able(group, groups, &kept, is_gone).is_empty();
        (is_better || leaves).then_some((kept, leaves))
    }

    /// Whether a target cannot vote, as far as is known.
    fn cannot_vote(&self, target: TargetId, is_gone: impl Fn(TargetId) -> bool) -> bool {
        match self.acceptors.get(&target) {
            Some(acceptor) => !acceptor.is_opening() && acceptor.store().is_none(),
            None => is_gone(target) || self.stores.get(&target) == Some(&None),
        }
    }

    /// Who could vote beside those who are kept, the best first: members of one domain come after one of each other.
    fn able(
        &self,
        group: GroupId,
        groups: &GroupMap,
        kept: &[Voter],
        is_gone: &impl Fn(TargetId) -> bool,
    ) -> Vec<TargetId> {
        let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
        for voter in kept {
            *seen.entry(groups.domain(voter.target)).or_default() += 1;
        }
        let targets = groups.members(group);
        let mut order = Vec::new();
        for target in groups.members_for_puts(group).iter().map(|at| targets[usize::from(at)]) {
            if kept.iter().any(|voter| voter.target == target) {
                continue;
            }
            let before = seen.entry(groups.domain(target)).or_default();
            order.push((*before, target));
            *before += 1;
        }
        order.sort_by_key(|(before, _)| *before);
        let all = order.into_iter().map(|(_, target)| target);
        all.filter(|target| !self.cannot_vote(*target, is_gone)).collect()
    }

    /// The best voters of a group, `kept` among them: five in different failure domains, or three where there are not so
    /// many domains. Or those members of which no store is known, if there are too few others.
    fn best(
        &self,
        group: GroupId,
        groups: &GroupMap,
        kept: &[Voter],
        is_gone: &impl Fn(TargetId) -> bool,
    ) -> Result<Vec<Voter>, BTreeSet<TargetId>> {
        let wanted = wanted(group, groups);
        let mut voters = kept.to_vec();
        voters.truncate(wanted);
        let able = self.able(group, groups, kept, is_gone);
        let known = able.iter().filter_map(|target| Some((*target, self.store(*target)?)));
        let further = known.map(|(target, store)| Voter { target, store, joined: 0 });
        voters.extend(further.take(wanted - voters.len()));
        let unknown: BTreeSet<TargetId> =
            able.into_iter().filter(|target| self.store(*target).is_none()).collect();
        // A further one is worth to be waited for, but not for ever where others vote already.
        let is_enough = if kept.is_empty() { wanted } else { wanted.min(kept.len() + 1) };
        if voters.len() >= is_enough && !voters.is_empty() { Ok(voters) } else { Err(unknown) }
    }

    /// Whether this node is to bring the registers of a group to the new set: the first of that which is there.
    fn is_to_move(
        &self,
        voters: &Voters,
        groups: &GroupMap,
        is_gone: &impl Fn(TargetId) -> bool,
    ) -> bool {
        let (_, new) = voters.sets();
        let is_there = |voter: &&Voter| {
            let is_gone = groups.find(voter.target).is_none() || is_gone(voter.target);
            !is_gone && self.store(voter.target) == Some(voter.store)
        };
        let first = new.iter().find(is_there);
        first.is_some_and(|voter| self.acceptors.contains_key(&voter.target))
    }

    /// Whether a store of this node votes.
    pub(crate) fn votes(&self) -> bool {
        let is_own = |voter: Voter| {
            self.acceptors.get(&voter.target).map(Acceptor::store) == Some(Some(voter.store))
        };
        self.rosters().groups.values().any(|voters| voters.all().into_iter().any(is_own))
    }

    /// Brings the registers of a group to its new voters.
    pub(crate) fn move_group(&mut self, now: Time, group: GroupId, groups: &GroupMap) {
        let mut effects = Vec::new();
        self.names.move_group(now, group, groups, &mut effects);
        self.ask(now, effects, groups);
    }
}

/// How many are to vote in a group.
fn wanted(group: GroupId, groups: &GroupMap) -> usize {
    let members = groups.members_for_puts(group);
    match groups.domains_of(group, members) {
        MAX_VOTERS.. => MAX_VOTERS,
        _ => ENOUGH.min(members.iter().count()),
    }
}
