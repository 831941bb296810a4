//! Messages that wait for one webhook, in memory: as many as there is room for, the oldest first. All are in the durable queues of
//! their buckets, too.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use slotcast_object::notification::Happened;

use super::Place;
use super::announcing::Written;

/// Messages that wait in memory for one webhook; what is more waits in the durable queues.
const MAX_WAITING: usize = 1024;

/// The first pause after a failure, and the longest.
const PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// How long is waited after so many failures.
pub(super) fn pause(failures: u32) -> Duration {
    PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(MAX_PAUSE)
}

/// One message.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) written: Written,
    pub(super) happened: Happened,
    /// The rule that it is sent by.
    pub(super) rule: String,
    pub(super) failures: u32,
    not_before: Option<Instant>,
    is_under_way: bool,
}

impl Message {
    pub(super) fn new(written: Written, happened: Happened, rule: String) -> Message {
        let (failures, not_before, is_under_way) = (0, None, false);
        Message { written, happened, rule, failures, not_before, is_under_way }
    }
}

/// The messages of one webhook.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: BTreeMap<Place, Message>,
    /// Some wait in the durable queues only, and are older than what comes.
    pub(super) is_over: bool,
}

/// What is to be sent next.
#[derive(Debug)]
pub(super) enum Next {
    Message(Box<Message>),
    At(Instant),
    Nothing,
}

impl Queue {
    /// Whether there is room again for many.
    pub(super) fn is_half_empty(&self) -> bool {
        self.waiting.len() <= MAX_WAITING / 2
    }

    /// When the oldest was announced, in milliseconds since 1970.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.waiting.values().map(|message| message.written.announcement.at).min()
    }

    /// Takes a message, if there is room.
    pub(super) fn push(&mut self, message: Message) -> bool {
        if self.waiting.len() >= MAX_WAITING {
            self.is_over = true;
            return false;
        }
        self.waiting.insert(message.written.place.clone(), message);
        true
    }

    /// The oldest message that may be sent: of one object one after another.
    pub(super) fn next(&mut self, now: Instant) -> Next {
        let mut before = BTreeSet::new();
        let mut soonest: Option<Instant> = None;
        let mut found = None;
        for (place, message) in &self.waiting {
            let object = (place.bucket, &message.written.announcement.name);
            if !before.insert(object) || message.is_under_way {
                continue;
            }
            match message.not_before.filter(|at| *at > now) {
                None => {
                    found = Some(place.clone());
                    break;
                }
                Some(at) => soonest = Some(soonest.map_or(at, |soonest| soonest.min(at))),
            }
        }
        match (found.and_then(|place| self.waiting.get_mut(&place)), soonest) {
            (Some(message), _) => {
                message.is_under_way = true;
                Next::Message(Box::new(message.clone()))
            }
            (None, Some(at)) => Next::At(at),
            (None, None) => Next::Nothing,
        }
    }

    /// A message need not be sent any more.
    pub(super) fn done(&mut self, place: &Place) {
        self.waiting.remove(place);
    }

    /// A message could not be sent.
    pub(super) fn failed(&mut self, written: Written, now: Instant) {
        if let Some(message) = self.waiting.get_mut(&written.place) {
            message.written = written;
            message.is_under_way = false;
            message.failures += 1;
            message.not_before = Some(now + pause(message.failures));
        }
    }
}

#[cfg(test)]
mod tests {
    use slotcast_object::client::FoundBucket;
    use slotcast_object::notification::{Announcement, EventKind, Writer};
    use slotcast_object::{Bucket, BucketId, Name, RequestKey, VersionId};

    use super::*;

    fn message(number: u64, object: &str) -> Message {
        let name = |text: &str| Name::new(text).expect("a name");
        let announcement = Announcement {
            name: name(object),
            key: RequestKey(number.into()),
            version: None,
            kind: EventKind::CreatedPut,
            at: number,
            recipients: BTreeMap::new(),
            writer: Writer { node: 0, start: 1 },
            user: String::new(),
            address: String::new(),
            request: String::new(),
            became: None,
        };
        let place = Place { name: name(&format!("{number:05}")), bucket: BucketId(1) };
        let bucket =
            FoundBucket::new(name("b"), VersionId { change: 1, salt: 1 }, Bucket::ROOT.clone());
        let happened =
            Happened { kind: EventKind::CreatedPut, change: number, version: None, content: None };
        Message::new(Written { place, bucket, announcement }, happened, "r".into())
    }

    fn next(queue: &mut Queue, now: Instant) -> Option<Message> {
        match queue.next(now) {
            Next::Message(message) => Some(*message),
            Next::At(_) | Next::Nothing => None,
        }
    }

    #[test]
    fn of_one_object_one_message_is_sent_after_another() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        for (number, object) in [(3, "a"), (1, "a"), (2, "b")] {
            assert!(queue.push(message(number, object)));
        }
        let first = next(&mut queue, now).expect("one");
        assert_eq!(first.happened.change, 1);
        assert_eq!(next(&mut queue, now).expect("of another object").happened.change, 2);
        assert!(next(&mut queue, now).is_none());
        // What has failed is the next of its object still, a second later.
        queue.failed(first.written.clone(), now);
        assert!(matches!(queue.next(now), Next::At(at) if at == now + PAUSE));
        let again = next(&mut queue, now + PAUSE).expect("the same");
        assert_eq!((again.happened.change, again.failures), (1, 1));
        queue.done(&first.written.place);
        assert_eq!(next(&mut queue, now).expect("the next").happened.change, 3);
    }

    #[test]
    fn memory_is_bounded_and_pauses_are() {
        let mut queue = Queue::default();
        for number in 0..MAX_WAITING as u64 {
            assert!(queue.push(message(number, "a")) && !queue.is_over);
        }
        assert!(!queue.push(message(9999, "a")) && queue.is_over);
        assert_eq!(queue.oldest(), Some(0));
        assert_eq!([1, 2, 3, 7, 1000].map(|n| pause(n).as_secs()), [1, 2, 4, 60, 60]);
    }
}
