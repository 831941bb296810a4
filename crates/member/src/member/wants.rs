//! What the machines of a node want of each other, and what other nodes tell them.

use slotcast_protocol::{BidAnswer, GroupId, Members, Message, TargetId};
use slotcast_transport::SurveyAbout;
use slotcast_units::Time;

use super::Member;
use super::surveys::Purpose;
use crate::mistake::Mistake;
use crate::outbox::{Mail, Outbox, Want};
use crate::target::TargetInput;
use crate::timers::Timer;

impl Member {
    pub(super) fn take_events(&mut self, now: Time) {
        if self.events.is_empty() {
            return;
        }
        let mut events = core::mem::take(&mut self.events);
        for event in events.drain(..) {
            self.link_event(now, event);
        }
        if self.events.is_empty() {
            self.events = events;
        }
    }

    pub(super) fn take_wants(&mut self, now: Time) {
        if self.outbox.wants.is_empty() {
            return;
        }
        let mut wants = core::mem::take(&mut self.outbox.wants);
        for (target, want) in wants.drain(..) {
            self.want(now, target, want);
        }
        if self.outbox.wants.is_empty() {
            self.outbox.wants = wants;
        }
    }

    /// A message is for a target here.
    pub(super) fn deliver(&mut self, now: Time, target: TargetId, message: &Message) {
        if let Message::PutRequest(asked) = message {
            self.touch_put(target, asked);
        }
        self.overhear(now, target, message);
        self.tell_target(now, target, TargetInput::Message(message));
    }

    /// Says something to members of a group, wherever they are.
    pub(super) fn multicast(&mut self, now: Time, group: GroupId, to: Members, message: Message) {
        let Outbox { link, mail, effects, .. } = &mut self.outbox;
        let counts_silent = self.mistake == Some(Mistake::CountsSilent);
        let to = match link {
            Some(link) if counts_silent => {
                let before = mail.len();
                let to = link.tell_group(now, (group, to), &message, mail, effects);
                mail.iter_mut().skip(before).for_each(counting_silent);
                to
            }
            Some(link) => link.tell_group(now, (group, to), &message, mail, effects),
            None => to,
        };
        for position in to.iter() {
            let target = self.groups.members(group)[usize::from(position)];
            self.outbox.mail.push_back(Mail::ToTarget(target, message));
        }
    }

    /// A target wants something.
    fn want(&mut self, now: Time, target: TargetId, want: Want) {
        match want {
            Want::Transfer { request, content, start } => {
                self.send_get(now, target, request, content, start);
            }
            Want::Compare(bits, first, count) => {
                let about = SurveyAbout::Ranges { bits, first, count };
                self.survey(now, target, Purpose::Compare, about);
            }
            Want::Survey(number, chunks) => {
                let about = SurveyAbout::Chunks(chunks);
                self.survey(now, target, Purpose::Scan(number), about);
            }
            Want::Release(chunks) => {
                self.survey(now, target, Purpose::Release, SurveyAbout::Chunks(chunks));
            }
            Want::Check(chunk, size, wanted) => self.check(now, target, (chunk, size), wanted),
            Want::PutAgain(content, wanted) => self.put_again(now, target, content, wanted),
            Want::Recover(chunk, wanted) => self.recover(now, target, chunk, wanted),
            Want::WakeRepair(time) => self.timers.at(time, Timer::Repair(target)),
            Want::Opened => {
                self.opening -= 1;
                self.target_changed(now, target);
                if self.opening == 0 {
                    self.join(now);
                }
            }
            Want::LookAtDisk(time) => self.timers.at(time, Timer::Disk(target)),
            Want::Failed(has_failed) => {
                self.target_changed(now, target);
                self.tell_failure(now, target, has_failed);
            }
        }
    }
}

/// A mistake: who is down is taken for one that has the chunk.
fn counting_silent(mail: &mut Mail) {
    if let Mail::ToInitiator(Message::Bid(bid)) = mail {
        bid.answer = BidAnswer::AlreadyStored;
    }
}
