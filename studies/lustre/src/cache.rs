//! A write-back cache between an OST and its disks.

use std::collections::{BTreeMap, VecDeque};

use super::scenario::CacheSettings;

/// Data that was acknowledged and is not on disk. It goes there in the order of its places, as far as it
/// has no gap, from where the last write ended on and begun again at the end of the disk.
#[derive(Debug)]
pub(crate) struct Cache {
    room: u64,
    /// Dirty data by place; neighbours are one entry.
    dirty: BTreeMap<u64, u64>,
    /// What is dirty or on its way to disk.
    used: u64,
    /// Writes that wait for room.
    waiting: VecDeque<Waiting>,
    /// Where the last write to disk ended.
    reached: u64,
    /// On its way to disk.
    leaving: Option<(u64, u64)>,
}

/// A write that waits for room.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) place: u64,
    pub(crate) length: u64,
    /// Whose it is.
    pub(crate) piece: u32,
}

impl Cache {
    /// None if there is no cache.
    pub(crate) fn new(settings: &CacheSettings) -> Option<Cache> {
        let room = settings.size.as_bytes();
        (room > 0).then(|| Cache {
            room,
            dirty: BTreeMap::new(),
            used: 0,
            waiting: VecDeque::new(),
            reached: 0,
            leaving: None,
        })
    }

    /// Takes data in; false if it waits for room. A write larger than the whole cache goes into an empty
    /// one.
    pub(crate) fn write(&mut self, write: Waiting) -> bool {
        let fits = self.used == 0 || self.used + write.length <= self.room;
        if !self.waiting.is_empty() || !fits {
            self.waiting.push_back(write);
            return false;
        }
        self.insert(write.place, write.length);
        true
    }

    /// A write that waited and has room now.
    pub(crate) fn admit(&mut self) -> Option<Waiting> {
        let first = self.waiting.front()?;
        if self.used > 0 && self.used + first.length > self.room {
            return None;
        }
        let first = self.waiting.pop_front()?;
        self.insert(first.place, first.length);
        Some(first)
    }

    /// Whether all of `place..place + length` is here.
    pub(crate) fn holds(&self, place: u64, length: u64) -> bool {
        let within = |(start, len): (u64, u64)| start <= place && place + length <= start + len;
        let before = self.dirty.range(..=place).next_back().map(|(start, len)| (*start, *len));
        before.is_some_and(within) || self.leaving.is_some_and(within)
    }

    /// What goes to disk next, at most `limit` bytes: its place and length. Nothing while something is on
    /// its way.
    pub(crate) fn leave(&mut self, limit: u64) -> Option<(u64, u64)> {
        if self.leaving.is_some() {
            return None;
        }
        let ahead = self.dirty.range(self.reached..).next();
        let (&place, &length) = ahead.or_else(|| self.dirty.first_key_value())?;
        let taken = length.min(limit);
        self.dirty.remove(&place);
        if taken < length {
            self.dirty.insert(place + taken, length - taken);
        }
        self.reached = place + taken;
        self.leaving = Some((place, taken));
        self.leaving
    }

    /// What left is on disk.
    pub(crate) fn left(&mut self) {
        let (_, length) = self.leaving.take().expect("something was on its way");
        self.used -= length;
    }

    fn insert(&mut self, place: u64, length: u64) {
        let (mut start, mut end) = (place, place + length);
        let touching = self.dirty.range(..=end).rev();
        let touched: Vec<(u64, u64)> = touching
            .map(|(at, len)| (*at, at + len))
            .take_while(|(_, at_end)| *at_end >= start)
            .collect();
        let mut before = 0;
        for (at, at_end) in touched {
            self.dirty.remove(&at);
            before += at_end - at;
            start = start.min(at);
            end = end.max(at_end);
        }
        self.dirty.insert(start, end - start);
        self.used += end - start - before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_units::{Rate, Size};

    fn cache(room: u64) -> Cache {
        let rate = Rate::from_bytes_per_s(1);
        Cache::new(&CacheSettings { size: Size::from_bytes(room), rate }).unwrap()
    }

    fn write(cache: &mut Cache, place: u64, length: u64) -> bool {
        cache.write(Waiting { place, length, piece: 0 })
    }

    #[test]
    fn neighbours_leave_together_and_in_one_direction() {
        let mut cache = cache(100);
        for place in [50, 10, 20, 0] {
            assert!(write(&mut cache, place, 10));
        }
        assert_eq!(cache.leave(25), Some((0, 25)));
        assert_eq!(cache.leave(25), None, "one at a time");
        assert!(cache.holds(26, 2) && cache.holds(3, 20) && !cache.holds(24, 4));
        cache.left();
        assert_eq!(cache.leave(25), Some((25, 5)));
        cache.left();
        assert!(write(&mut cache, 0, 10));
        assert_eq!(cache.leave(25), Some((50, 10)), "on from where it was");
        cache.left();
        assert_eq!(cache.leave(25), Some((0, 10)));
        cache.left();
        assert_eq!(cache.used, 0);
    }

    #[test]
    fn a_full_cache_makes_writes_wait_in_turn() {
        let mut cache = cache(25);
        assert!(write(&mut cache, 0, 10));
        assert!(write(&mut cache, 100, 10));
        assert!(!write(&mut cache, 200, 10));
        assert!(!write(&mut cache, 300, 5), "not past those that wait");
        assert!(cache.admit().is_none());
        cache.leave(100);
        cache.left();
        assert_eq!(cache.admit().map(|w| w.place), Some(200));
        assert_eq!(cache.admit().map(|w| w.place), Some(300));
        assert!(cache.admit().is_none());
    }

    #[test]
    fn what_is_written_twice_takes_room_once() {
        let mut cache = cache(100);
        write(&mut cache, 10, 20);
        write(&mut cache, 20, 20);
        assert_eq!(cache.used, 30);
        assert_eq!(cache.leave(100), Some((10, 30)));
    }
}
