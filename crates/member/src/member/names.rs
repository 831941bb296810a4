//! Names: who asks, who answers, and who votes.

use alloc::collections::BTreeSet;

use slotcast_object::{
    Guard, Key, Message, NameAnswer, NameFailure, NameRequest, NamesMistake, RosterChange, Rosters,
    RowsError, RowsOpId, RowsOutput, VoterQuestion, Voters,
};
use slotcast_protocol::{Claim, Failure, GroupId, TargetId};
use slotcast_store::Content;
use slotcast_units::Time;

use super::Member;
use crate::config::NamesConfig;
use crate::effect::{Answer, Effect};
use crate::garbage::Garbage;
use crate::input::{ChangeRequest, RequestNumber};
use crate::map::ClusterMap;
use crate::mistake::Mistake;
use crate::naming::{Choice, Naming, NamingEffect};

impl Member {
    /// It keeps names.
    pub(super) fn begin_names(&mut self, now: Time, names: NamesConfig, first_serial: u32) {
        let targets = self.targets.keys().copied();
        let times = (now, now + self.times.disk);
        let mut naming = Naming::new(times, self.node, &names, first_serial, targets, &self.groups);
        naming.believes_old_rounds = self.errs(Mistake::BelievesOldRounds);
        let mistake = match self.mistake {
            Some(Mistake::ReadsGuardsBeforePromises) => Some(NamesMistake::ReadBeforePromises),
            Some(Mistake::ReadsGuardsOnce) => Some(NamesMistake::ReadOnce),
            Some(Mistake::ListsWithoutPromises) => Some(NamesMistake::ListedWithoutPromises),
            Some(Mistake::KeepsDeletedNames) => Some(NamesMistake::KeepsDeleted),
            Some(Mistake::ForgetsWhatOneHolds) => Some(NamesMistake::ForgetsWhatOneHolds),
            _ => None,
        };
        mistake.into_iter().for_each(|mistake| naming.plant(mistake));
        self.naming = Some(naming);
        let rules = (names.collection, names.times.patience);
        self.garbage = Some(Garbage::new(now, self.node, rules, names.salt, self.mistake));
        match self.map {
            Some(_) => self.learn_voters(now),
            None => self.learn_rosters(now, names.rosters),
        }
    }

    /// Lets its naming do something, and carries out what that wants.
    pub(super) fn with_names(&mut self, now: Time, act: impl FnOnce(&mut Naming, &Member)) {
        let Some(mut naming) = self.naming.take() else { return };
        act(&mut naming, self);
        self.naming = Some(naming);
        self.carry_out_names(now);
    }

    fn carry_out_names(&mut self, now: Time) {
        let to_do = self.naming.as_mut().map(|naming| naming.take_effects()).unwrap_or_default();
        for effect in to_do {
            match effect {
                NamingEffect::Rows(target, id, op) => {
                    self.outbox.effects.push(Effect::Rows(target, id, op));
                }
                NamingEffect::Ask(question) => self.ask_voter(now, question),
                NamingEffect::Say(node, message) => self.write_letter(now, node, &message),
                NamingEffect::Answer(number, answer) => {
                    self.name_of_put_ended(number);
                    self.reply(number, Answer::Names(answer));
                }
                NamingEffect::Own(number, answer) => self.voter_said(now, number, answer),
                NamingEffect::Touch(task, root) => self.touch_for(now, task, root),
            }
        }
    }

    fn ask_voter(&mut self, now: Time, question: VoterQuestion) {
        let Some(node) = self.node_of(question.to.target) else { return };
        self.write_letter(now, node, &Message::Question(question));
    }

    pub(super) fn write_letter(&mut self, now: Time, node: u32, message: &Message) {
        if let Some(link) = &mut self.outbox.link {
            link.write_letter(now, node, message, &mut self.outbox.effects);
        }
    }

    /// The node of a target.
    pub(super) fn node_of(&self, target: TargetId) -> Option<u32> {
        let (group, position) = self.groups.find(target)?;
        self.link()?.seats().node(group, position)
    }

    /// A client wants something of names.
    pub(super) fn ask_names(&mut self, now: Time, number: RequestNumber, request: NameRequest) {
        if self.naming.is_none() {
            let answer = NameAnswer::Failed(NameFailure::Unavailable);
            return self.reply(number, Answer::Names(answer));
        }
        self.with_names(now, |naming, member| naming.request(now, number, request, &member.groups));
    }

    /// A client wants a chunk stored, and then a name changed.
    pub(super) fn put_named(
        &mut self,
        now: Time,
        number: RequestNumber,
        (content, replicas): (Content, Option<u8>),
        change: (Key, ChangeRequest, Option<Guard>),
    ) {
        if self.naming.is_none() {
            let answer = NameAnswer::Failed(NameFailure::Unavailable);
            return self.reply(number, Answer::Names(answer));
        }
        self.named.insert(number);
        if let Some(garbage) = &mut self.garbage {
            garbage.uploads().put(number, content.chunk());
        }
        self.with_names(now, |naming, member| naming.prepare(now, number, change, &member.groups));
        if self.errs(Mistake::NamesBeforeStored) {
            self.with_names(now, |naming, member| {
                naming.chunk_ended(now, number, true, &member.groups);
            });
        }
        self.put(now, number, content, (replicas, Claim::Names));
    }

    /// The chunk of a put is stored, or will not be. True if that is for a name, which is told.
    pub(super) fn chunk_of_name_ended(
        &mut self,
        now: Time,
        number: RequestNumber,
        failure: Option<Failure>,
    ) -> bool {
        if !self.named.remove(&number) {
            return false;
        }
        let is_stored = failure.is_none();
        let mut is_open = true;
        self.with_names(now, |naming, member| {
            is_open = naming.chunk_ended(now, number, is_stored, &member.groups);
        });
        // Nobody is told twice: the condition may not have held.
        if let Some(failure) = failure.filter(|_| is_open) {
            self.name_of_put_ended(number);
            self.reply(number, Answer::Put(Err(failure)));
        }
        true
    }

    /// The name of a put is decided, or never will be: rounds of collection need not touch its chunk any more.
    fn name_of_put_ended(&mut self, number: RequestNumber) {
        if let Some(garbage) = &mut self.garbage {
            garbage.uploads().put_ended(number);
        }
    }

    /// An operation on rows has ended.
    pub(super) fn rows(
        &mut self,
        now: Time,
        target: TargetId,
        ended: (RowsOpId, Result<RowsOutput, RowsError>),
    ) {
        self.with_names(now, |naming, member| naming.rows(now, target, ended, &member.groups));
    }

    /// Another node says something about names.
    pub(super) fn heard_names(&mut self, now: Time, node: u32, message: Message) {
        if let Message::Garbage(message) = message {
            return self.heard_garbage(now, node, message);
        }
        self.with_names(now, |naming, member| {
            let is_its = |target| member.node_of(target) == Some(node);
            naming.heard(now, node, message, is_its, &member.groups);
        });
    }

    /// Does what is due of names.
    pub(super) fn wake_names(&mut self, now: Time) {
        self.with_names(now, |naming, member| naming.wake(now, &member.groups));
        if self.naming.as_ref().is_some_and(|naming| naming.is_to_look(now)) {
            self.look_for_voters(now);
        }
    }

    /// Others may have to vote than do.
    pub(super) fn look_soon_for_voters(&mut self, now: Time) {
        if let Some(naming) = &mut self.naming {
            naming.look_soon(now);
        }
    }

    /// Who votes is chosen when it is known who can.
    pub(super) fn look_for_voters(&mut self, now: Time) {
        let Some(mut naming) = self.naming.take() else { return };
        let here = self.node;
        let of = |target: &TargetId| self.node_of(*target).filter(|node| *node != here);
        let is_gone = |target: TargetId| {
            let node = of(&target);
            node.is_some_and(|node| self.link().is_some_and(|l| l.suspicions.is_gone(now, node)))
        };
        let Choice { mut changes, unknown, to_move } = naming.look(now, &self.groups, is_gone);
        let to_ask: BTreeSet<u32> = unknown.iter().filter_map(of).collect();
        if self.errs(Mistake::SettlesUnmoved) {
            let since = |group| naming.rosters().of(group).map(Voters::epoch);
            let settle = |group: &GroupId| Some((*group, RosterChange::Settle(since(*group)?)));
            changes.extend(to_move.iter().filter_map(settle));
        }
        self.naming = Some(naming);
        for node in to_ask {
            self.write_letter(now, node, &Message::WhichStores);
        }
        for group in to_move {
            self.with_names(now, |naming, member| naming.move_group(now, group, &member.groups));
        }
        self.roster_changes = changes;
        if self.map.is_none() && !self.roster_changes.is_empty() {
            self.change_rosters();
        }
    }

    /// In one process nobody else has a say.
    fn change_rosters(&mut self) {
        let changes = core::mem::take(&mut self.roster_changes);
        let Some(naming) = &self.naming else { return };
        let rosters = naming.rosters();
        let epoch = rosters.epoch + 1;
        if let Some(changed) = rosters.changed(epoch, &changes) {
            self.outbox.effects.push(Effect::KeepRosters(changed));
        }
    }

    /// The rosters of the map that it follows.
    pub(super) fn learn_voters(&mut self, now: Time) {
        let Some(map) = &self.map else { return };
        let rosters = map.rosters();
        self.roster_changes.clear();
        self.learn_rosters(now, rosters);
    }

    pub(super) fn learn_rosters(&mut self, now: Time, rosters: Rosters) {
        self.with_names(now, |naming, member| naming.learn(now, rosters, &member.groups));
        self.learn_collection(now);
    }

    /// The map with other voters, if this node knows of a change.
    pub(super) fn map_with_voters(&self) -> Option<ClusterMap> {
        let map = self.map.as_deref()?;
        if self.roster_changes.is_empty() {
            return map.with_collection(self.collection_to_propose()?);
        }
        if !self.link()?.hears_most() {
            return None;
        }
        map.with_voters(&self.roster_changes)
    }
}
