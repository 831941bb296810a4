//! The repair of this node's targets: what it puts and fetches, and when it walks.

use slotcast_protocol::{ChunkId, GroupId, Message, RepairInput, RepairOutcome, TargetId};
use slotcast_store::{Content, Standing};
use slotcast_units::{Size, Span, Time};

use super::{Due, Reactor, Running};
use crate::target::TargetHost;

/// From the opening of a target to the beginning of its repair: the others open, too.
const OPENING: Span = Span::from_ms(500);

impl Reactor {
    /// Whether a member of `group` does not answer at present, and may soon: its replicas are not to be
    /// replaced. When it does, or is gone, the group has changed, and a walk begins.
    fn may_return(&self, now: Time, group: GroupId) -> bool {
        let mut here = self.groups.members(group).iter().filter_map(|t| self.targets.get(t));
        here.any(|host| host.standing() == Standing::Opening)
            || self.remote.as_ref().is_some_and(|remote| remote.may_return(now, group))
    }

    /// Whether the replicas of what `target` holds are not to be made now.
    fn is_to_wait(&self, now: Time, target: TargetId) -> bool {
        // Whoever leaves is not there to wait for others.
        let leaves = self.targets.get(&target).is_some_and(TargetHost::leaves);
        !leaves && self.may_return(now, self.groups.seat(target).0)
    }

    /// The repair of `target` asks.
    pub(super) fn check(
        &mut self,
        now: Time,
        target: TargetId,
        (chunk, size): (ChunkId, Size),
        replicas: u8,
    ) {
        if self.is_to_wait(now, target) {
            let input = RepairInput::Ended(chunk, RepairOutcome::Complete);
            return self.tell_repair(now, target, input);
        }
        let request = self.start_check(now, (chunk, size), replicas);
        self.running.insert(request, Running::Check { target, chunk });
    }

    /// The repair of `target` puts again.
    pub(super) fn put_again(
        &mut self,
        now: Time,
        target: TargetId,
        content: Content,
        replicas: u8,
    ) {
        if self.is_to_wait(now, target) {
            let input = RepairInput::Ended(content.chunk(), RepairOutcome::Complete);
            return self.tell_repair(now, target, input);
        }
        let request = self.start_put_again(now, &content, replicas);
        self.running.insert(request, Running::PutAgain { target, content, made: false });
    }

    pub(super) fn recover(&mut self, now: Time, target: TargetId, chunk: ChunkId, replicas: u8) {
        let request = self.start_get(now, chunk);
        self.running.insert(request, Running::Recover { target, chunk, replicas, content: None });
    }

    pub(super) fn tell_repair(&mut self, now: Time, target: TargetId, input: RepairInput) {
        if let Some(host) = self.targets.get_mut(&target) {
            host.repair(now, input, &mut self.wishes, &mut self.news);
            self.heed(now, target);
        }
    }

    /// A member of `group` is gone or back: soon, when others may be back as well, its members here walk
    /// over their chunks.
    pub(super) fn expect_walk(&mut self, now: Time, group: GroupId) {
        if self.repairs && self.changing.insert(group) {
            self.at(now + OPENING, Due::Changed(group));
        }
    }

    pub(super) fn group_changed(&mut self, now: Time, group: GroupId) {
        if self.may_return(now, group) {
            return self.at(now + OPENING, Due::Changed(group));
        }
        self.changing.remove(&group);
        for target in self.groups.members(group).to_vec() {
            self.tell_repair(now, target, RepairInput::Changed);
        }
    }

    pub(super) fn node_changed(&mut self, now: Time, node: u32) {
        let members = self.remote.as_ref().map(|remote| remote.members_of(node));
        for (group, _) in members.unwrap_or_default() {
            self.expect_walk(now, group);
        }
    }

    /// The repair of a target needs not put what somebody else puts.
    pub(super) fn overhear(&mut self, now: Time, target: TargetId, message: &Message) {
        let Message::PutRequest(asked) = message else { return };
        let is_its_own = matches!(
            self.running.get(&asked.request),
            Some(Running::PutAgain { target: by, .. } | Running::Check { target: by, .. })
                if *by == target
        );
        if !is_its_own {
            self.tell_repair(now, target, RepairInput::Heard(asked.chunk, asked.replicas));
        }
    }
}
