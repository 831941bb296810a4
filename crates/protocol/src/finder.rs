//! The finder: asks a group which of its members hold a chunk, and gathers what all of them say.
//!
//! A get needs one holder and takes a window of it; a finder wants to know them all, and takes nothing.
//! Whoever has not answered is asked again, each time after twice the wait, until all have answered or
//! [`PATIENCE`] is over; then it counts as silent, which says nothing of what it holds.

use alloc::vec::Vec;

use slotcast_units::{Size, Span, Time};

use crate::group::{GroupMap, Members};
use crate::ids::{ChunkId, GroupId, InitiatorId, RequestId};
use crate::message::{FindAnswer, FindReply, FindRequest, Message};

/// How long answers are waited for at least, all askings together; at most little more than twice as long.
const PATIENCE: Span = Span::from_ms(300);

/// What a host tells the finder.
#[derive(Debug, Clone, Copy)]
pub enum FinderInput<'a> {
    /// An answer came.
    Reply(&'a FindReply),
    /// The time that the finder asked to be woken at has come.
    Wake,
}

/// What the finder wants of its host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FinderEffect {
    /// Send a message to members of a group.
    Multicast {
        /// The group.
        group: GroupId,
        /// The members that it concerns; reaching others as well is harmless.
        to: Members,
        /// What.
        message: Message,
    },
    /// All that will be known of a chunk.
    Found {
        /// For which request.
        request: RequestId,
        /// Its group.
        group: GroupId,
        /// Members that hold it.
        holders: Members,
        /// Members that did not answer.
        silent: Members,
        /// Its size, if anybody holds it.
        size: Option<Size>,
        /// Targets that are to hold it, if anybody does: the highest number of all holders.
        replicas: Option<u8>,
    },
    /// Say [`FinderInput::Wake`] at this time. Replaces an earlier wish.
    WakeAt(Time),
}

/// One chunk that is asked for.
#[derive(Debug, Clone)]
struct Find {
    request: RequestId,
    group: GroupId,
    chunk: ChunkId,
    holders: Members,
    silent: Members,
    size: Option<Size>,
    replicas: Option<u8>,
    began: Time,
    wait: Span,
    due: Time,
}

/// One finder, with any number of questions under way.
#[derive(Debug, Clone)]
pub struct Finder {
    id: InitiatorId,
    /// How long it waits for answers before it asks again for the first time.
    answer_timeout: Span,
    next_serial: u32,
    finds: Vec<Find>,
    alarm: Time,
}

impl Finder {
    /// A finder with nothing to do. Its requests carry the name `id`, and are counted apart from those of
    /// the initiator of that name, from `serial` on; a host that starts anew takes another one than before.
    pub fn new(id: InitiatorId, answer_timeout: Span, serial: u32) -> Finder {
        assert!(answer_timeout > Span::ZERO, "answers take time");
        Finder { id, answer_timeout, next_serial: serial, finds: Vec::new(), alarm: Time::NEVER }
    }

    /// Asks who holds `chunk`.
    pub fn find(
        &mut self,
        now: Time,
        chunk: ChunkId,
        groups: &GroupMap,
        effects: &mut Vec<FinderEffect>,
    ) -> RequestId {
        let request = RequestId { initiator: self.id, serial: self.next_serial };
        self.next_serial = self.next_serial.wrapping_add(1);
        let group = groups.group_of(&chunk);
        let silent = groups.members_for_gets(group);
        let (wait, holders) = (self.answer_timeout, Members::NONE);
        let mut find = Find {
            request,
            group,
            chunk,
            holders,
            silent,
            size: None,
            replicas: None,
            began: now,
            wait,
            due: now,
        };
        find.ask(now, effects);
        self.finds.push(find);
        self.set_alarm(effects);
        request
    }

    /// Takes `input` at `now` and appends what is to be done to `effects`.
    pub fn handle(&mut self, now: Time, input: FinderInput<'_>, effects: &mut Vec<FinderEffect>) {
        match input {
            FinderInput::Reply(reply) => {
                let Some(at) = self.finds.iter().position(|find| find.request == reply.request)
                else {
                    return;
                };
                self.finds[at].heard(reply);
                if self.finds[at].silent.is_empty() {
                    effects.push(self.finds.swap_remove(at).found());
                }
            }
            FinderInput::Wake => {
                if self.alarm <= now {
                    self.alarm = Time::NEVER;
                }
                self.finds.retain_mut(|find| {
                    if find.due > now {
                        return true;
                    }
                    if now.saturating_since(find.began) >= PATIENCE {
                        effects.push(find.found());
                        return false;
                    }
                    find.ask(now, effects);
                    true
                });
            }
        }
        self.set_alarm(effects);
    }

    fn set_alarm(&mut self, effects: &mut Vec<FinderEffect>) {
        let due = self.finds.iter().map(|find| find.due).min();
        if let Some(due) = due.filter(|&due| due < self.alarm) {
            self.alarm = due;
            effects.push(FinderEffect::WakeAt(due));
        }
    }
}

impl Find {
    fn ask(&mut self, now: Time, effects: &mut Vec<FinderEffect>) {
        self.due = now + self.wait;
        self.wait = self.wait * 2;
        let Find { request, group, chunk, .. } = *self;
        let message = Message::FindRequest(FindRequest { request, group, chunk });
        effects.push(FinderEffect::Multicast { group, to: self.silent, message });
    }

    fn heard(&mut self, reply: &FindReply) {
        if self.silent.remove(reply.position)
            && let FindAnswer::Held { size, replicas } = reply.answer
        {
            self.holders.insert(reply.position);
            self.size = Some(size);
            self.replicas = self.replicas.max(Some(replicas));
        }
    }

    fn found(&self) -> FinderEffect {
        let Find { request, group, holders, silent, size, replicas, .. } = *self;
        FinderEffect::Found { request, group, holders, silent, size, replicas }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const CHUNK: ChunkId = ChunkId([7; 32]);
    const WAIT: Span = Span::from_ms(3);
    const SIZE: Size = Size::from_kib(4);

    fn groups() -> GroupMap {
        GroupMap::new(4, 4, 1).expect("a group")
    }

    fn finder() -> (Finder, RequestId, Vec<FinderEffect>) {
        let mut finder = Finder::new(InitiatorId(9), WAIT, 100);
        let mut effects = vec![];
        let request = finder.find(Time::ZERO, CHUNK, &groups(), &mut effects);
        (finder, request, effects)
    }

    fn hear(
        finder: &mut Finder,
        request: RequestId,
        position: u8,
        held: bool,
    ) -> Vec<FinderEffect> {
        let answer = match held {
            true => FindAnswer::Held { size: SIZE, replicas: position + 1 },
            false => FindAnswer::NotHeld,
        };
        let mut effects = vec![];
        let reply = FindReply { request, position, answer };
        finder.handle(Time::from_ns(1), FinderInput::Reply(&reply), &mut effects);
        effects
    }

    #[test]
    fn it_asks_everybody_and_ends_with_the_last_answer() {
        let (mut finder, request, effects) = finder();
        assert_eq!(request, RequestId { initiator: InitiatorId(9), serial: 100 });
        let message =
            Message::FindRequest(FindRequest { request, group: GroupId(0), chunk: CHUNK });
        let asked = FinderEffect::Multicast { group: GroupId(0), to: Members::first(4), message };
        assert_eq!(effects, [asked, FinderEffect::WakeAt(Time::ZERO + WAIT)]);
        assert_eq!(hear(&mut finder, request, 2, true), []);
        // A repeated answer, one of nobody, and one to somebody else's question.
        assert_eq!(hear(&mut finder, request, 2, false), []);
        assert_eq!(hear(&mut finder, request, 40, true), []);
        let other = RequestId { serial: 99, ..request };
        assert_eq!(hear(&mut finder, other, 0, true), []);
        assert_eq!(hear(&mut finder, request, 0, true), []);
        assert_eq!(hear(&mut finder, request, 1, false), []);
        let found = FinderEffect::Found {
            request,
            group: GroupId(0),
            holders: Members::from_bits(0b101),
            silent: Members::NONE,
            size: Some(SIZE),
            replicas: Some(3),
        };
        assert_eq!(hear(&mut finder, request, 3, false), [found]);
        assert_eq!(hear(&mut finder, request, 3, false), [], "it is over");
    }

    #[test]
    fn whoever_is_silent_is_asked_again_and_named_in_the_end() {
        let (mut finder, request, mut effects) = finder();
        hear(&mut finder, request, 1, true);
        let (mut asked, mut wakes) = (0, 0);
        let found = loop {
            let Some(FinderEffect::WakeAt(due)) = effects.last().copied() else {
                break effects.last().copied();
            };
            wakes += 1;
            assert!(wakes < 20, "it must end");
            effects.clear();
            // A wake that comes too early changes nothing.
            let early = due.saturating_sub(Span::from_ns(1));
            finder.handle(early, FinderInput::Wake, &mut effects);
            assert_eq!(effects, []);
            finder.handle(due, FinderInput::Wake, &mut effects);
            let to = |effect: &FinderEffect| match effect {
                FinderEffect::Multicast { to, .. } => Some(*to),
                _ => None,
            };
            for to in effects.iter().filter_map(to) {
                assert_eq!(to, Members::from_bits(0b1101), "only those that are silent");
                asked += 1;
            }
        };
        assert_eq!(asked, 6, "after 3, 9, 21, 45, 93 and 189 ms");
        let silent = Members::from_bits(0b1101);
        let (group, holders) = (GroupId(0), Members::from_bits(0b10));
        let (size, replicas) = (Some(SIZE), Some(2));
        let expected = FinderEffect::Found { request, group, holders, silent, size, replicas };
        assert_eq!(found, Some(expected));
    }
}
