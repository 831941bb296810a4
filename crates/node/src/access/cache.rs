//! What was read a moment ago: a bounded number of things, each for a short time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::LIFE;

/// Things by their names.
#[derive(Debug)]
pub(super) struct Cache<T> {
    limit: usize,
    kept: Mutex<Kept<T>>,
}

#[derive(Debug)]
struct Kept<T> {
    known: BTreeMap<String, (Instant, T)>,
    /// How often something was forgotten: what was read before that may be old.
    changes: u64,
}

/// When something began to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    at: Instant,
    changes: u64,
}

impl<T: Clone> Cache<T> {
    pub(super) fn new(limit: usize) -> Cache<T> {
        Cache { limit, kept: Mutex::new(Kept { known: BTreeMap::new(), changes: 0 }) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept<T>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known under this name, and not too old.
    pub(super) fn get(&self, name: &str) -> Option<T> {
        let kept = self.kept();
        let (since, value) = kept.known.get(name)?;
        (since.elapsed() < LIFE).then(|| value.clone())
    }

    /// Something is about to be read. What it says is as old as that.
    pub(super) fn begin(&self) -> Begun {
        Begun { at: Instant::now(), changes: self.kept().changes }
    }

    /// It was read, and says this.
    pub(super) fn put(&self, name: &str, value: T, begun: Begun) {
        let mut kept = self.kept();
        if kept.changes != begun.changes {
            return;
        }
        if kept.known.len() >= self.limit {
            kept.known.retain(|_, (since, _)| since.elapsed() < LIFE);
        }
        if kept.known.len() >= self.limit {
            kept.known.pop_first();
        }
        kept.known.insert(name.to_owned(), (begun.at, value));
    }

    pub(super) fn forget(&self, name: &str) {
        let mut kept = self.kept();
        kept.changes += 1;
        kept.known.remove(name);
    }

    pub(super) fn clear(&self) {
        let mut kept = self.kept();
        kept.changes += 1;
        kept.known.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_a_bound_and_keeps_nothing_that_was_read_before_a_change() {
        let cache = Cache::new(3);
        for name in ["a", "b", "c", "d"] {
            cache.put(name, name.len(), cache.begin());
        }
        assert_eq!(cache.kept().known.len(), 3);
        assert_eq!(cache.get("d"), Some(1));
        let begun = cache.begin();
        cache.forget("d");
        cache.put("d", 7, begun);
        assert_eq!(cache.get("d"), None);
        cache.put("d", 7, cache.begin());
        assert_eq!(cache.get("d"), Some(7));
        cache.clear();
        assert_eq!(cache.get("d"), None);
        let old = Begun { at: Instant::now() - LIFE, changes: cache.kept().changes };
        cache.put("old", 1, old);
        assert_eq!(cache.get("old"), None);
    }
}
