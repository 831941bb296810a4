//! Rates by rule.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use slotcast_units::{Span, Time};

use crate::request::{ClassId, Direction, Request};
use crate::scheduler::Scheduler;

/// To whom a bucket of tokens belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketBy {
    /// Every client has its own.
    Client,
    /// Every class (job, user, tenant) has its own.
    Class,
    /// Reads have one, and writes.
    Direction,
}

/// Whom a rule is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    /// Everybody.
    All,
    /// Clients with these numbers.
    Clients(RangeInclusive<u32>),
    /// A class.
    Class(ClassId),
    /// Reads or writes.
    Direction(Direction),
}

impl Whom {
    fn holds_for(&self, request: &Request) -> bool {
        match self {
            Whom::All => true,
            Whom::Clients(range) => range.contains(&request.client.0),
            Whom::Class(class) => *class == request.class,
            Whom::Direction(direction) => *direction == request.direction,
        }
    }
}

/// A rate for some of the buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Whom it is for.
    pub whom: Whom,
    /// Requests per second for each bucket, at least 1.
    pub rate: u32,
}

impl Rule {
    /// What holds where no rule does: 10 000 requests per second, as Lustre's default rule.
    pub const DEFAULT: Rule = Rule { whom: Whom::All, rate: 10_000 };

    fn interval(&self) -> Span {
        Span::from_ns(1_000_000_000u64.div_ceil(u64::from(self.rate.max(1))))
    }
}

/// A bucket that fills at a rate, seen as the time at which it would be full again: it holds a token
/// whenever that time is less than its depth away (the virtual scheduling of ITU-T I.371).
#[derive(Debug)]
struct Bucket {
    interval: Span,
    full_at: Time,
    queue: VecDeque<Request>,
}

impl Bucket {
    /// When the next token is there.
    fn next(&self, depth: u32) -> Time {
        let ahead = self.interval.as_ns().saturating_mul(u64::from(depth - 1));
        self.full_at.saturating_sub(Span::from_ns(ahead))
    }
}

/// TBF of Lustre: requests wait, in order of arrival, at the bucket of their client, class or direction
/// until it holds a token. A bucket follows the newest rule that holds for the request that opened it.
/// Among buckets with a token the one that has had it longest comes first.
///
/// The server idles rather than exceed a rate: see [`Scheduler::wake_at`].
///
/// Add and take O(log buckets); remove O(requests of the bucket); a new rule O(buckets).
#[derive(Debug)]
pub struct TokenBuckets {
    by: BucketBy,
    /// Tokens that a bucket holds at most.
    depth: u32,
    /// Newest first.
    rules: Vec<Rule>,
    buckets: BTreeMap<u64, Bucket>,
    /// Buckets with requests, by the time of their next token.
    waiting: BTreeSet<(Time, u64)>,
    queued: usize,
}

impl TokenBuckets {
    /// Lustre's depth.
    pub const DEPTH: u32 = 3;

    /// Full buckets of `depth` tokens (zero counts as one) under `rules`, the newest first.
    pub fn new(by: BucketBy, depth: u32, rules: Vec<Rule>) -> TokenBuckets {
        TokenBuckets {
            by,
            depth: depth.max(1),
            rules,
            buckets: BTreeMap::new(),
            waiting: BTreeSet::new(),
            queued: 0,
        }
    }

    /// From now on `rule` comes before all others; buckets with requests take it up at once, keeping
    /// the tokens that they are owed in time.
    pub fn start(&mut self, rule: Rule) {
        self.rules.insert(0, rule);
        let TokenBuckets { rules, buckets, waiting, depth, .. } = self;
        // A bucket that nobody waits at is opened again by its next request, full or not.
        waiting.clear();
        for (name, bucket) in buckets {
            if let Some(first) = bucket.queue.front() {
                bucket.interval = rule_for(rules, first).interval();
                waiting.insert((bucket.next(*depth), *name));
            }
        }
    }

    fn bucket_of(&self, request: &Request) -> u64 {
        match self.by {
            BucketBy::Client => u64::from(request.client.0),
            BucketBy::Class => u64::from(request.class.0),
            BucketBy::Direction => u64::from(request.direction == Direction::Write),
        }
    }

    /// The bucket has changed: where does it stand now?
    fn line_up(&mut self, name: u64) {
        if let Some(bucket) = self.buckets.get(&name)
            && !bucket.queue.is_empty()
        {
            self.waiting.insert((bucket.next(self.depth), name));
        }
    }
}

fn rule_for<'a>(rules: &'a [Rule], request: &Request) -> &'a Rule {
    rules.iter().find(|rule| rule.whom.holds_for(request)).unwrap_or(&Rule::DEFAULT)
}

impl Scheduler for TokenBuckets {
    fn add(&mut self, now: Time, request: Request) {
        let name = self.bucket_of(&request);
        // Full buckets without requests are as good as new ones.
        if self.buckets.len() > 2 * self.waiting.len() + 64 {
            self.buckets.retain(|_, bucket| !bucket.queue.is_empty() || bucket.full_at > now);
        }
        let interval = rule_for(&self.rules, &request).interval();
        let bucket = self.buckets.entry(name).or_insert_with(|| Bucket {
            interval,
            full_at: now,
            queue: VecDeque::new(),
        });
        let was_empty = bucket.queue.is_empty();
        bucket.queue.push_back(request);
        self.queued += 1;
        if was_empty {
            bucket.interval = interval;
            self.line_up(name);
        }
    }

    fn take(&mut self, now: Time) -> Option<Request> {
        let &(next, name) = self.waiting.first().filter(|(next, _)| *next <= now)?;
        self.waiting.remove(&(next, name));
        let bucket = self.buckets.get_mut(&name).expect("who waits has a bucket");
        let request = bucket.queue.pop_front().expect("who waits has a request");
        bucket.full_at = bucket.full_at.max(now).saturating_add(bucket.interval);
        self.queued -= 1;
        self.line_up(name);
        Some(request)
    }

    fn remove(&mut self, request: &Request) -> bool {
        let name = self.bucket_of(request);
        let depth = self.depth;
        let Some(bucket) = self.buckets.get_mut(&name) else { return false };
        let Some(place) = bucket.queue.iter().position(|queued| queued.id == request.id) else {
            return false;
        };
        self.waiting.remove(&(bucket.next(depth), name));
        bucket.queue.remove(place);
        self.queued -= 1;
        self.line_up(name);
        true
    }

    fn wake_at(&self, now: Time) -> Option<Time> {
        self.waiting.first().map(|(next, _)| *next).filter(|next| *next > now)
    }

    fn len(&self) -> usize {
        self.queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::write;
    use alloc::vec;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// Takes whatever there is, waking as told, and says what came when, in ms.
    fn served(tbf: &mut TokenBuckets, mut now: Time) -> Vec<(u64, u64)> {
        let mut served = Vec::new();
        loop {
            match (tbf.take(now), tbf.wake_at(now)) {
                (Some(request), _) => served.push((now.as_ns() / 1_000_000, request.id.0)),
                (None, Some(wake)) => now = wake,
                (None, None) => return served,
            }
        }
    }

    #[test]
    fn a_full_bucket_lets_its_depth_through_and_then_its_rate() {
        let rule = Rule { whom: Whom::All, rate: 100 };
        let mut tbf = TokenBuckets::new(BucketBy::Client, TokenBuckets::DEPTH, vec![rule]);
        for id in 1..=5 {
            tbf.add(at(0), write(id, 1, 0));
        }
        assert_eq!(served(&mut tbf, at(0)), [(0, 1), (0, 2), (0, 3), (10, 4), (20, 5)]);
    }

    #[test]
    fn the_newest_rule_that_holds_counts() {
        let slow = Rule { whom: Whom::Clients(1..=9), rate: 10 };
        let mut tbf = TokenBuckets::new(BucketBy::Client, 1, vec![slow]);
        for id in 1..=2 {
            tbf.add(at(0), write(id, 1, 0));
            tbf.add(at(0), write(10 + id, 20, 0));
        }
        assert_eq!(served(&mut tbf, at(0)), [(0, 1), (0, 11), (0, 12), (100, 2)]);

        tbf.add(at(200), write(3, 1, 0));
        tbf.add(at(200), write(4, 1, 0));
        tbf.start(Rule { whom: Whom::Clients(1..=1), rate: 1000 });
        assert_eq!(served(&mut tbf, at(200)), [(200, 3), (201, 4)]);
    }

    #[test]
    fn idle_clients_are_forgotten() {
        let mut tbf = TokenBuckets::new(BucketBy::Client, 3, Vec::new());
        for client in 0..10_000 {
            tbf.add(at(client), write(client, client, 0));
            assert!(tbf.take(at(client)).is_some());
        }
        assert!(tbf.buckets.len() < 100, "{}", tbf.buckets.len());
    }
}
