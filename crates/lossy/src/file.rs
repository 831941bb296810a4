//! The content of one file, in sectors: what readers see, and what a power failure may leave.

use std::collections::BTreeMap;
use std::sync::Arc;

use slotcast_random::Stream;

/// Bytes that a disk writes as a whole.
pub(crate) const SECTOR: usize = 512;

/// One sector; none where there are zeros.
type Sector = Option<Arc<[u8; SECTOR]>>;

/// A length in bytes and the sectors that are not zeros.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Image {
    length: u64,
    sectors: BTreeMap<u64, Arc<[u8; SECTOR]>>,
}

impl Image {
    fn get(&self, number: u64) -> Sector {
        self.sectors.get(&number).cloned()
    }

    fn set(&mut self, number: u64, sector: Sector) {
        match sector {
            Some(sector) => drop(self.sectors.insert(number, sector)),
            None => drop(self.sectors.remove(&number)),
        }
    }

    /// Forgets what lies beyond the length, and returns which sectors have changed.
    fn trim(&mut self) -> Vec<u64> {
        let (last, inside) = (self.length / SECTOR as u64, self.length as usize % SECTOR);
        let first_gone = last + u64::from(inside > 0);
        let mut changed: Vec<u64> = self.sectors.split_off(&first_gone).into_keys().collect();
        if inside > 0
            && let Some(sector) = self.sectors.get_mut(&last)
            && sector[inside..].iter().any(|byte| *byte != 0)
        {
            Arc::make_mut(sector)[inside..].fill(0);
            changed.push(last);
        }
        changed
    }
}

/// The content of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    current: Image,
    stable: Image,
    /// Lengths since the last flush, oldest first.
    lengths: Vec<u64>,
    /// Of each sector that was changed since the last flush, its contents since then, oldest first.
    changed: BTreeMap<u64, Vec<Sector>>,
}

impl Content {
    /// Bytes.
    pub(crate) fn length(&self) -> u64 {
        self.current.length
    }

    /// At most `size` bytes from `offset` on; fewer at the end.
    pub(crate) fn read(&self, offset: u64, size: usize) -> Vec<u8> {
        let end = self.current.length.min(offset.saturating_add(size as u64));
        let mut bytes = vec![0; usize::try_from(end.saturating_sub(offset)).unwrap_or(0)];
        for (number, inside, range) in pieces(offset, bytes.len()) {
            if let Some(sector) = self.current.sectors.get(&number) {
                let length = range.len();
                bytes[range].copy_from_slice(&sector[inside..inside + length]);
            }
        }
        bytes
    }

    /// Writes `bytes` from `offset` on, not yet on stable storage.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) {
        for (number, inside, range) in pieces(offset, bytes.len()) {
            let mut sector = self.current.get(number).map_or([0; SECTOR], |sector| *sector);
            sector[inside..inside + range.len()].copy_from_slice(&bytes[range]);
            self.change(number, Some(Arc::new(sector)));
        }
        self.reserve(offset + bytes.len() as u64);
    }

    /// Makes it `length` bytes long: what is cut off is gone, what is added are zeros.
    pub(crate) fn resize(&mut self, length: u64) {
        if length != self.current.length {
            self.current.length = length;
            self.lengths.push(length);
        }
        for number in self.current.trim() {
            let sector = self.current.get(number);
            self.changed.entry(number).or_default().push(sector);
        }
    }

    /// Makes it `length` bytes long at least.
    pub(crate) fn reserve(&mut self, length: u64) {
        if length > self.current.length {
            self.resize(length);
        }
    }

    fn change(&mut self, number: u64, sector: Sector) {
        self.current.set(number, sector.clone());
        self.changed.entry(number).or_default().push(sector);
    }

    /// Puts all that was written on stable storage.
    pub(crate) fn flush(&mut self) {
        for number in std::mem::take(&mut self.changed).into_keys() {
            self.stable.set(number, self.current.get(number));
        }
        self.stable.length = self.current.length;
        self.lengths.clear();
    }

    /// The power fails: of what was not flushed some is there, and nobody knows what. Returns the number of sectors
    /// that do not hold what was written last.
    pub(crate) fn lose_power(&mut self, random: &mut Stream) -> u64 {
        // All, none, or something in between: each finds other mistakes.
        let eighths = random.below(9);
        let mut kept = |versions: usize| {
            let is_kept = random.below(8) < eighths;
            is_kept.then(|| random.below(versions as u64) as usize)
        };
        if !self.lengths.is_empty()
            && let Some(which) = kept(self.lengths.len())
        {
            self.stable.length = self.lengths[which];
        }
        for (number, versions) in std::mem::take(&mut self.changed) {
            if let Some(which) = kept(versions.len()) {
                self.stable.set(number, versions[which].clone());
            }
        }
        self.stable.trim();
        self.lengths.clear();
        let before = std::mem::replace(&mut self.current, self.stable.clone());
        let differs = |number: &&u64| before.get(**number) != self.current.get(**number);
        let appeared =
            self.current.sectors.keys().filter(|number| !before.sectors.contains_key(number));
        (before.sectors.keys().filter(differs).count() + appeared.count()) as u64
    }

    /// Changes one bit of one sector that is not zeros, for good. Returns where: the offset of the byte.
    pub(crate) fn rot(&mut self, random: &mut Stream) -> Option<u64> {
        let numbers: Vec<u64> = self.current.sectors.keys().copied().collect();
        let which = random.below((numbers.len() as u64).max(1)) as usize;
        let number = *numbers.get(which)?;
        let (byte, bit) = (random.below(SECTOR as u64) as usize, random.below(8));
        let flip = |sector: &mut Arc<[u8; SECTOR]>| Arc::make_mut(sector)[byte] ^= 1 << bit;
        self.current.sectors.get_mut(&number).into_iter().for_each(flip);
        self.stable.sectors.get_mut(&number).into_iter().for_each(flip);
        let versions = self.changed.get_mut(&number).into_iter().flatten();
        versions.flatten().for_each(flip);
        Some(number * SECTOR as u64 + byte as u64)
    }
}

/// The sectors that `length` bytes from `offset` on lie in: the number of each, where in it they begin, and which of
/// the bytes are there.
fn pieces(
    offset: u64,
    length: usize,
) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let place = offset + at as u64;
        let inside = (place % SECTOR as u64) as usize;
        let range = at..length.min(at + SECTOR - inside);
        at = range.end;
        (!range.is_empty()).then_some((place / SECTOR as u64, inside, range))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use slotcast_random::Streams;

    use super::*;

    fn random(seed: u64) -> Stream {
        Streams::new(seed).stream("test", 0)
    }

    #[derive(Debug, Clone)]
    enum Step {
        Write(u64, Vec<u8>),
        Resize(u64),
        Reserve(u64),
        Flush,
    }

    fn step() -> impl Strategy<Value = Step> {
        let bytes = proptest::collection::vec(any::<u8>(), 0..1500);
        prop_oneof![
            6 => (0..4000_u64, bytes).prop_map(|(offset, bytes)| Step::Write(offset, bytes)),
            1 => (0..5000_u64).prop_map(Step::Resize),
            1 => (0..5000_u64).prop_map(Step::Reserve),
            2 => Just(Step::Flush),
        ]
    }

    /// The plain way to keep a file.
    fn carry_out(file: &mut Vec<u8>, step: &Step) {
        match step {
            Step::Write(offset, bytes) => {
                let (from, to) = (*offset as usize, *offset as usize + bytes.len());
                file.resize(file.len().max(to), 0);
                file[from..to].copy_from_slice(bytes);
            }
            Step::Resize(length) => file.resize(*length as usize, 0),
            Step::Reserve(length) => file.resize(file.len().max(*length as usize), 0),
            Step::Flush => {}
        }
    }

    fn sector_of(file: &[u8], number: usize) -> [u8; SECTOR] {
        let mut sector = [0; SECTOR];
        let all = file.get(number * SECTOR..).unwrap_or_default();
        let there = all.len().min(SECTOR);
        sector[..there].copy_from_slice(&all[..there]);
        sector
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Readers see what a plain file would hold. After a power failure each sector holds what it held at the last
        /// flush or at some moment since, up to a length that the file had then or since; and nothing is lost after a
        /// flush.
        #[test]
        fn what_was_flushed_is_there(steps in proptest::collection::vec(step(), 0..40), seed: u64) {
            let (mut content, mut plain) = (Content::default(), Vec::new());
            let mut since = vec![plain.clone()];
            for step in &steps {
                carry_out(&mut plain, step);
                match step {
                    Step::Write(offset, bytes) => content.write(*offset, bytes),
                    Step::Resize(length) => content.resize(*length),
                    Step::Reserve(length) => content.reserve(*length),
                    Step::Flush => {
                        content.flush();
                        since.clear();
                    }
                }
                since.push(plain.clone());
                prop_assert_eq!(&content.read(0, usize::MAX), &plain);
            }
            content.lose_power(&mut random(seed));
            let left = content.read(0, usize::MAX);
            prop_assert!(since.iter().any(|file| file.len() == left.len()));
            for number in 0..left.len().div_ceil(SECTOR) {
                let inside = (left.len() - number * SECTOR).min(SECTOR);
                let sector = sector_of(&left, number);
                let had = |file: &Vec<u8>| sector_of(file, number)[..inside] == sector[..inside];
                prop_assert!(since.iter().any(had), "sector {number}");
            }
            let before = content.read(0, usize::MAX);
            prop_assert_eq!(content.lose_power(&mut random(seed + 1)), 0);
            prop_assert_eq!(content.read(0, usize::MAX), before);
        }
    }

    #[test]
    fn all_outcomes_of_two_sectors_are_drawn() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..400 {
            let mut content = Content::default();
            content.write(0, &[1; 2 * SECTOR]);
            content.flush();
            content.write(0, &[2; 2 * SECTOR]);
            content.write(0, &[3; 2 * SECTOR]);
            content.lose_power(&mut random(seed));
            let left = content.read(0, 2 * SECTOR);
            seen.insert((left[0], left[SECTOR]));
        }
        assert_eq!(seen.len(), 9, "{seen:?}");
    }

    #[test]
    fn rot_is_one_bit_and_stays() {
        let mut content = Content::default();
        content.write(700, &[7; 3000]);
        content.flush();
        let before = content.read(0, usize::MAX);
        let at = content.rot(&mut random(1)).expect("there is content") as usize;
        let after = content.read(0, usize::MAX);
        let bits = before.iter().zip(&after).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
        assert!(bits == 1 && before.get(at) != after.get(at) || at >= before.len());
        content.lose_power(&mut random(2));
        assert_eq!(content.read(0, usize::MAX), after);
        assert_eq!(Content::default().rot(&mut random(1)), None);
    }
}
