//! The repair of this node's targets: what it puts and fetches, and when it scans.

use slotcast_protocol::{ChunkId, GroupId, Message, RepairInput, RepairOutcome, TargetId, Wanted};
use slotcast_store::Content;
use slotcast_units::{Size, Time};

use super::Member;
use super::requests::Running;
use crate::mistake::Mistake;
use crate::target::{StorageTarget, TargetInput};
use crate::timers::Timer;

impl Member {
    /// Whether a member of `group` does not answer at present, and may soon: its replicas are not to be
    /// replaced. When it does, or is gone, the group has changed, and a scan begins.
    fn may_return(&self, now: Time, group: GroupId) -> bool {
        let mut here = self.groups.members(group).iter().filter_map(|t| self.targets.get(t));
        here.any(StorageTarget::is_opening)
            || self.link().is_some_and(|link| link.may_return(now, group))
    }

    /// How many chunks have too few replicas, as far as the targets of this node know; none if one of them does not know.
    /// One that has not been told yet what has changed does not know.
    pub(super) fn short_here(&self) -> Option<u64> {
        let mut targets = self.targets.values();
        let sum = targets.try_fold(0, |sum: u64, target| Some(sum.saturating_add(target.short()?)));
        sum.filter(|_| self.repairs && self.changing.is_empty())
    }

    /// How many chunks of the cluster have too few replicas; none if a target of any node does not know, or is not heard.
    /// A chunk counts for each target that knows it to be short.
    pub fn under_replicated(&self, now: Time) -> Option<u64> {
        let here = self.short_here()?;
        match self.link() {
            Some(link) => link.short_of_all(now, here),
            None => Some(here),
        }
    }

    /// Whether the replicas of what `target` holds are not to be made now. A target that drains does not wait
    /// for others to return.
    pub(super) fn is_to_wait(&self, now: Time, target: TargetId) -> bool {
        let is_draining = self.targets.get(&target).is_some_and(StorageTarget::is_draining);
        let is_careless = is_draining || self.errs(Mistake::ReplacesTooSoon);
        !is_careless && self.may_return(now, self.groups.seat(target).0)
    }

    /// The repair of `target` asks whether there are enough replicas.
    pub(super) fn check(
        &mut self,
        now: Time,
        target: TargetId,
        (chunk, size): (ChunkId, Size),
        wanted: Wanted,
    ) {
        let passes_over = self.errs(Mistake::RepairForgets) && chunk.0[0].is_multiple_of(4);
        if passes_over || self.is_to_wait(now, target) {
            return self.repair_ended(now, target, chunk, RepairOutcome::Complete);
        }
        let wanted = self.to_repair(wanted);
        let request = self.start_check(now, (chunk, size), wanted);
        self.running.insert(request, Running::Check { target, chunk });
    }

    /// The repair of `target` puts again.
    pub(super) fn put_again(
        &mut self,
        now: Time,
        target: TargetId,
        content: Content,
        wanted: Wanted,
    ) {
        if self.is_to_wait(now, target) {
            return self.repair_ended(now, target, content.chunk(), RepairOutcome::Complete);
        }
        let request = self.start_put_again(now, &content, self.to_repair(wanted));
        self.running.insert(request, Running::PutAgain { target, content, made: false });
    }

    pub(super) fn to_repair(&self, wanted: Wanted) -> Wanted {
        match self.mistake {
            Some(Mistake::RepairKnowsOneNumber) => Wanted { replicas: 2, ..wanted },
            Some(Mistake::RepairForgetsClaims) => Wanted::named(wanted.replicas),
            _ => wanted,
        }
    }

    pub(super) fn recover(&mut self, now: Time, target: TargetId, chunk: ChunkId, wanted: Wanted) {
        let request = self.start_get(now, chunk);
        self.running.insert(request, Running::Recover { target, chunk, wanted, content: None });
    }

    pub(super) fn repair_ended(
        &mut self,
        now: Time,
        target: TargetId,
        chunk: ChunkId,
        outcome: RepairOutcome,
    ) {
        let input = RepairInput::Ended(chunk, outcome);
        self.tell_target(now, target, TargetInput::Repair(input));
    }

    /// A member of `group` is gone or back: soon, when others may be back as well, its members here scan what
    /// they hold.
    pub(super) fn expect_scan(&mut self, now: Time, group: GroupId) {
        if self.repairs && self.changing.insert(group) {
            self.timers.at(now + self.times.settling, Timer::GroupChanged(group));
        }
    }

    pub(super) fn group_changed(&mut self, now: Time, group: GroupId) {
        if self.may_return(now, group) && !self.errs(Mistake::ReplacesTooSoon) {
            return self.timers.at(now + self.times.settling, Timer::GroupChanged(group));
        }
        self.changing.remove(&group);
        for target in self.groups.members(group).to_vec() {
            self.tell_target(now, target, TargetInput::Repair(RepairInput::Changed));
        }
    }

    /// The repair of a target needs not put what somebody else puts; unless that may be the repair of a target that
    /// has failed, which may never end what it begins.
    pub(super) fn overhear(&mut self, now: Time, target: TargetId, message: &Message) {
        let Message::PutRequest(asked) = message else { return };
        // Without a scan it is not about to put anything again. Most puts end here.
        if !self.targets.get(&target).is_some_and(StorageTarget::is_scanning) {
            return;
        }
        let is_its_own = matches!(
            self.running.get(&asked.request),
            Some(Running::PutAgain { target: by, .. } | Running::Check { target: by, .. })
                if *by == target
        );
        let by = asked.request.initiator.0;
        let may_never_end = if by == self.node {
            let members = self.groups.members(asked.group).iter();
            members.filter_map(|member| self.targets.get(member)).any(StorageTarget::has_failed)
        } else {
            self.link().is_some_and(|link| link.has_failed(by, asked.group))
        };
        if !is_its_own && !may_never_end {
            let input = RepairInput::Heard(asked.chunk, asked.wanted());
            self.tell_target(now, target, TargetInput::Repair(input));
        }
    }
}
