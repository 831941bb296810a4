//! Who can vote about names, seen from outside: who must be answered in a calm, and where voters must have come to be.

use slotcast_object::{Key, MAX_VOTERS, Voter, Voters};
use slotcast_protocol::{GroupId, TargetId};
use slotcast_transport::Versions;

use super::cluster::Cluster;
use super::node::NodeHost;

impl NodeHost {
    /// Whether it is up and keeps names, and believes the others as they believe it. Older programs keep none.
    pub(super) fn keeps_names(&self) -> bool {
        self.member.is_some()
            && self.versions == Versions::ALL
            && self.right_map.is_none()
            && !self.is_gone()
    }
}

impl Cluster {
    /// The nodes that answer requests about names.
    pub(super) fn nodes_with_names(&self) -> Vec<u32> {
        (0..).zip(&self.nodes).filter(|(_, host)| host.keeps_names()).map(|(n, _)| n).collect()
    }

    /// Whether a target can vote at present.
    fn can_vote(&self, target: TargetId) -> bool {
        let host = self.nodes.get(self.node_of(target)).filter(|host| host.keeps_names());
        let disk = host.and_then(|host| host.disks.get(&target));
        disk.is_some_and(|disk| !disk.is_dead && !disk.rows.has_failed && disk.instead.is_none())
    }

    /// Whether a voter can be asked: one whose store was wiped is silent for good.
    pub(super) fn is_voting(&self, voter: Voter) -> bool {
        self.groups.find(voter.target).is_some()
            && self.can_vote(voter.target)
            && self.disk(voter.target).rows.rows.identity() == Some(voter.store)
    }

    /// Whether enough of those who keep a name can be asked.
    pub(super) fn has_majority(&self, key: &Key) -> bool {
        let voters = self.map.voters.get(&key.slot.group(&self.groups));
        voters.is_some_and(|voters| voters.is_quorum(|voter| self.is_voting(voter)))
    }

    /// Whether other voters are to take over the names of a group, and can.
    fn is_to_change(&self, group: GroupId, voters: &Voters) -> bool {
        if !voters.is_quorum(|voter| self.is_voting(voter)) {
            return false;
        }
        let members = self.groups.members_for_puts(group);
        let leaves = |voter: &Voter| {
            let seat = self.groups.find(voter.target);
            seat.is_none_or(|(_, position)| !members.contains(position))
        };
        // Nobody has seen yet that a disk is dead whose rows nobody has asked for.
        let is_unseen = |voter: &Voter| {
            let disk = self.disk(voter.target);
            disk.is_dead && !disk.rows.has_failed
        };
        let stays = |voter: &Voter| !leaves(voter) && (self.is_voting(*voter) || is_unseen(voter));
        let all = voters.all();
        let is_other = |target: &TargetId| !all.iter().any(|v| v.target == *target && stays(v));
        let targets = members.iter().map(|at| self.groups.members(group)[usize::from(at)]);
        let others = targets.filter(|target| is_other(target) && self.can_vote(*target)).count();
        let kept = all.iter().filter(|voter| stays(voter)).count();
        voters.is_joint() || kept < all.len() && others > 0 || kept >= 3 && all.iter().any(leaves)
    }

    /// Whether a node votes in a group in which nobody can do so in its place.
    pub(super) fn has_to_vote(&self, node: u32) -> bool {
        let is_its = |voter: &Voter| self.node_of(voter.target) == node as usize;
        self.map.voters.iter().any(|(group, voters)| {
            voters.all().iter().any(|v| is_its(v) && self.can_vote(v.target)) && !self.lacks(*group)
        })
    }

    /// Those who keep a name: whether each can be asked, since when its node is up, and which epoch that follows.
    pub(super) fn voters_of(&self, key: &Key) -> String {
        self.tell_voters(key.slot.group(&self.groups))
    }

    fn tell_voters(&self, group: GroupId) -> String {
        let voters = self.map.voters.get(&group);
        let state = |voter: Voter| {
            let node = self.node_of(voter.target);
            let host = self.nodes.get(node);
            let status = host.and_then(|host| host.member.as_ref()?.membership_status());
            let epoch = status.map(|status| status.epoch);
            let since = host.map(|host| host.started_at);
            format!("{} of {node}: {} {epoch:?} {since:?}", voter.target.0, self.is_voting(voter))
        };
        let tell = |set: &[Voter]| set.iter().copied().map(state).collect::<Vec<_>>().join(", ");
        let sets = voters.map(Voters::sets).map(|(old, new)| (tell(old), tell(new)));
        let (old, new) = sets.unwrap_or_default();
        format!("group {} in epoch {}: {old}; then {new}", group.0, self.map.epoch)
    }

    /// The same of all groups.
    pub(super) fn tell_all_voters(&self) -> String {
        let all = (0..self.groups.groups()).map(|n| self.tell_voters(GroupId(n)));
        all.collect::<Vec<_>>().join("\n")
    }

    /// Whether nobody votes in a group in which enough members could, or somebody else is to vote than does.
    pub(super) fn lacks_voters(&self) -> bool {
        self.plan.names.is_some() && (0..self.groups.groups()).any(|n| self.lacks(GroupId(n)))
    }

    fn lacks(&self, group: GroupId) -> bool {
        if let Some(voters) = self.map.voters.get(&group) {
            return self.is_to_change(group, voters);
        }
        let members = self.groups.members_for_puts(group);
        let count = match self.groups.domains_of(group, members) {
            MAX_VOTERS.. => MAX_VOTERS,
            _ => 3.min(members.iter().count()),
        };
        let targets = self.groups.members(group);
        let able = members.iter().filter(|n| self.can_vote(targets[usize::from(*n)])).count();
        able >= count
    }
}
