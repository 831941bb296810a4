//! The objects of a round: made from a seed, put, and compared with what is there afterwards.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use slotcast_node::http::NamesAnswer;
use slotcast_random::Streams;

use super::asker::{Ask, Asker};
use super::trouble::Trouble;
use crate::node::place::encoded;

/// Requests under way.
const AT_A_TIME: usize = 8;

/// How long an object may not be had before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most differences that are told one by one.
const MAX_TOLD: usize = 20;

/// What the objects of a round are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Objects {
    pub(super) seed: u64,
    pub(super) round: u32,
    pub(super) count: u32,
    /// Each has from 1 byte to so many.
    pub(super) max_bytes: u64,
}

impl Objects {
    /// The name of the object with this number.
    pub(super) fn name(n: u32) -> String {
        format!("object-{n:06}")
    }

    /// Its content, which no other object has.
    pub(super) fn content(&self, n: u32) -> Vec<u8> {
        let streams = Streams::new(self.seed);
        let mut random =
            streams.stream("drill objects", u64::from(self.round) << 32 | u64::from(n));
        let length = usize::try_from(1 + random.below(self.max_bytes)).unwrap_or(1);
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            bytes.extend_from_slice(&random.next_u64().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }

    /// Puts all of them into `bucket`; gives the sum of their bytes.
    ///
    /// # Errors
    /// If one is not acknowledged in time.
    pub(super) fn put(
        &self,
        asker: &Asker,
        bucket: &str,
        patience: Duration,
        done: impl Fn() + Sync,
    ) -> Result<u64, Trouble> {
        let sizes = self.for_each(|n| {
            let content = self.content(n);
            let length = content.len() as u64;
            let key = u128::from(self.seed) << 64 | u128::from(self.round) << 32 | u128::from(n);
            let name = Objects::name(n);
            let ask = Ask::put(format!("/v2/{bucket}/{name}"), content).with_key(key);
            let answer = asker.settled(&ask, patience)?;
            done();
            match answer.status {
                200..300 => Ok(length),
                _ => Err(Trouble::Stuck(format!("slot://{bucket}/{name}: {}", answer.said()))),
            }
        })?;
        Ok(sizes.iter().sum())
    }

    /// Deletes all of them from `bucket`.
    ///
    /// # Errors
    /// If one cannot be deleted in time.
    pub(super) fn remove(
        &self,
        asker: &Asker,
        bucket: &str,
        patience: Duration,
    ) -> Result<(), Trouble> {
        let remove = |n| {
            let place = format!("{bucket}/{}", Objects::name(n));
            let answer = asker.settled(&Ask::delete(format!("/v2/{place}")), patience)?;
            match answer.status {
                200..300 | 404 => Ok(()),
                _ => Err(Trouble::Stuck(format!("slot://{place}: {}", answer.said()))),
            }
        };
        self.for_each(remove).map(drop)
    }

    /// Does something with the number of each object, several at a time.
    fn for_each<T: Send>(
        &self,
        of: impl Fn(u32) -> Result<T, Trouble> + Sync,
    ) -> Result<Vec<T>, Trouble> {
        let next = AtomicU32::new(0);
        let results = Mutex::new(Ok(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..AT_A_TIME.min(self.count as usize) {
                scope.spawn(|| {
                    loop {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        if n >= self.count {
                            break;
                        }
                        let result = of(n);
                        let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                        match (result, results.as_mut()) {
                            (Ok(result), Ok(all)) => all.push(result),
                            (Err(trouble), Ok(_)) => *results = Err(trouble),
                            (_, Err(_)) => break,
                        }
                    }
                });
            }
        });
        results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares what `bucket` has with what was put: names, lengths and every byte, of objects that are read one by one at
    /// one node after another. Whether a job says that it is done plays no part.
    ///
    /// # Errors
    /// If the names cannot be had, or the drill is stopped.
    pub(super) fn compared(&self, asker: &Asker, bucket: &str) -> Result<Compared, Trouble> {
        let mut there = listed(asker, bucket, PATIENCE)?;
        let (count, bytes) = (there.len() as u64, there.values().sum());
        let mut compared = Compared { objects: count, bytes, ..Compared::default() };
        let found = self.for_each(|n| {
            let name = Objects::name(n);
            let path = format!("/v2/{bucket}/{name}");
            match asker.settled(&Ask::get(path), PATIENCE) {
                Ok(answer) => Ok((n, answer.status, Some(answer))),
                Err(Trouble::Stuck(_)) => Ok((n, 0, None)),
                Err(trouble) => Err(trouble),
            }
        })?;
        for (n, status, answer) in found {
            let name = Objects::name(n);
            let size = there.remove(&name);
            let content = self.content(n);
            let place = format!("slot://{bucket}/{name}");
            let wrong = match (size, &answer) {
                (None, _) => Some("is not listed".to_owned()),
                (Some(_), None) => Some("cannot be read".to_owned()),
                (Some(_), Some(answer)) if status >= 300 => {
                    Some(format!("cannot be read: {}", answer.said()))
                }
                (Some(size), Some(answer)) => difference(&content, size, &answer.body),
            };
            compared.wrong.extend(wrong.map(|wrong| format!("{place} {wrong}")));
        }
        let more = there.into_keys().map(|name| format!("slot://{bucket}/{name} is one too many"));
        compared.wrong.extend(more);
        compared.wrong.sort_unstable();
        Ok(compared)
    }
}

/// How what was read differs from what was put.
fn difference(content: &[u8], listed: u64, read: &[u8]) -> Option<String> {
    let length = content.len();
    if listed != length as u64 || read.len() != length {
        return Some(format!(
            "has {} bytes, {listed} in the listing, and not {length}",
            read.len()
        ));
    }
    let at = content.iter().zip(read).position(|(one, other)| one != other)?;
    Some(format!("has another content from byte {at} on"))
}

/// What was found in a bucket.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) objects: u64,
    pub(super) bytes: u64,
    /// What is missing, too many or different, an object each.
    pub(super) wrong: Vec<String>,
}

/// Differences as they are told, of which there may be many.
pub(super) fn told(wrong: &[String]) -> String {
    let mut lines: Vec<String> = wrong.iter().take(MAX_TOLD).cloned().collect();
    if wrong.len() > MAX_TOLD {
        lines.push(format!("and {} more", wrong.len() - MAX_TOLD));
    }
    lines.join("\n  ")
}

/// All names of a bucket, with the sizes of their objects.
///
/// # Errors
/// If they cannot be had in time, or the drill is stopped.
pub(super) fn listed(
    asker: &Asker,
    bucket: &str,
    patience: Duration,
) -> Result<BTreeMap<String, u64>, Trouble> {
    let mut all = BTreeMap::new();
    let mut from = String::new();
    loop {
        let ask = Ask::get(format!("/v2/{bucket}?limit=1000{from}"));
        let answer = asker.settled(&ask, patience)?;
        let page = answer.json::<NamesAnswer>();
        let page = page.map_err(|error| Trouble::Stuck(format!("slot://{bucket}: {error}")))?;
        all.extend(page.objects.into_iter().map(|object| (object.name, object.size)));
        let Some(next) = page.next else { return Ok(all) };
        from = format!("&from={}", encoded(&next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_follow_from_the_seed_and_differ() {
        let objects = Objects { seed: 7, round: 1, count: 50, max_bytes: 1000 };
        let all: std::collections::BTreeSet<Vec<u8>> =
            (0..50).map(|n| objects.content(n)).filter(|content| content.len() >= 8).collect();
        assert!(all.len() > 40, "{} of 50 differ", all.len());
        assert!(all.iter().all(|content| content.len() <= 1000));
        assert_eq!(objects.content(3), objects.content(3));
        let others = [Objects { seed: 8, ..objects }, Objects { round: 2, ..objects }];
        assert!(others.iter().all(|other| other.content(3) != objects.content(3)));
    }

    #[test]
    fn each_difference_is_told() {
        let told = |listed, read: &[u8]| difference(b"abcd", listed, read);
        assert_eq!(told(4, b"abcd"), None);
        assert_eq!(told(4, b"abxd").expect("told"), "has another content from byte 2 on");
        let shorter = told(4, b"abc").expect("told");
        assert_eq!(shorter, "has 3 bytes, 4 in the listing, and not 4");
        assert!(told(3, b"abcd").is_some());
    }
}
