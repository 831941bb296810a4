//! Changes that name content: what they name is touched before, so that it is not collected meanwhile.
//!
//! A put of one chunk began after the round of collection that it says: its targets have touched it. All else, which may
//! have been stored long ago, is touched anew: copies, uploads in parts, content of many chunks.

use alloc::vec::Vec;

use slotcast_protocol::GroupMap;
use slotcast_units::Time;

use super::machine::Machine;
use super::task::Upload;
use super::{NameAnswer, NameFailure, NameRequest, Names, NamesEffect, Operation};
use crate::garbage::Root;

impl Names {
    pub(super) fn upload_of(&self, request: &NameRequest, is_held: bool) -> Upload {
        let NameRequest::Update(_, request, _) = request else { return Upload::Nothing };
        let Operation::Put(entry) = &request.operation else { return Upload::Nothing };
        match Root::of(entry) {
            None => Upload::Nothing,
            Some(root) if is_held => Upload::Since(root, self.rosters.collection.round),
            Some(root) => Upload::Touches(root, 0),
        }
    }

    /// Whether the task has to wait until what it names is touched.
    pub(super) fn touch_first(
        &mut self,
        id: u64,
        upload: Upload,
        effects: &mut Vec<NamesEffect>,
    ) -> bool {
        let Some(task) = self.tasks.get_mut(&id) else { return false };
        task.upload = upload;
        let Upload::Touches(root, _) = upload else { return false };
        effects.push(NamesEffect::Touch(id, root));
        true
    }

    /// A voter knows of a round in which its content may have been removed. It is touched when this node knows of the round
    /// before, at least. What is on its way is nowhere yet, and is touched when it is stored.
    pub(super) fn touch_again(&mut self, id: u64, round: u64, effects: &mut Vec<NamesEffect>) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let (Upload::Since(root, _) | Upload::Touches(root, _) | Upload::Coming(root, _)) =
            task.upload
        else {
            return;
        };
        if task.machine.is_held() {
            task.upload = Upload::Coming(root, round);
            return self.wake_at(Time::NEVER, id);
        }
        let needed = round.saturating_sub(1);
        match self.rosters.collection.round >= needed {
            true => {
                task.upload = Upload::Touches(root, needed);
                effects.push(NamesEffect::Touch(id, root));
            }
            false => {
                task.upload = Upload::Deferred(root, needed);
                self.wake_at(Time::NEVER, id);
            }
        }
    }

    /// The map says what some have waited for.
    pub(super) fn touch_deferred(&mut self, effects: &mut Vec<NamesEffect>) {
        for (id, task) in &mut self.tasks {
            if let Upload::Deferred(root, needed) = task.upload
                && self.rosters.collection.round >= needed
            {
                task.upload = Upload::Touches(root, needed);
                effects.push(NamesEffect::Touch(*id, root));
            }
        }
    }

    /// All content that a task names was touched when this round had begun, and is stored; or not all of it is.
    pub fn touched(
        &mut self,
        now: Time,
        id: u64,
        round: Result<u64, NameFailure>,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let Upload::Touches(root, _) = task.upload else { return };
        let round = match (round, &task.machine) {
            (Ok(round), _) => Ok(round),
            (Err(failure), machine) => Err(match machine.failure() {
                // Nothing was proposed: what is missing is the whole truth.
                NameFailure::Unavailable => failure,
                of_machine => of_machine,
            }),
        };
        let Ok(round) = round else {
            let failure = round.err().unwrap_or(NameFailure::Unavailable);
            return self.finish(now, id, NameAnswer::Failed(failure), groups, effects);
        };
        task.upload = Upload::Since(root, round);
        (task.began, task.heard) = (now, now);
        match &mut task.machine {
            Machine::Waiting(NameRequest::Update(key, ..), _) => {
                let key = key.clone();
                self.enqueue(now, id, key, groups, effects);
            }
            Machine::Update { update, .. } => {
                let next = update.touched(round).into();
                self.go_on(now, id, next, groups, effects);
            }
            _ => {}
        }
    }
}
