//! Objects of several chunks, while their chunks are being stored or fetched.

use slotcast_engine::Pool;
use slotcast_protocol::{ChunkId, Failure};
use slotcast_scenario::Operation;
use slotcast_units::{Size, Time};

/// An object that is put or got chunk by chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object {
    pub(crate) operation: Operation,
    pub(crate) asked: Time,
    /// The name of the object, and of its first chunk.
    pub(crate) name: ChunkId,
    pub(crate) size: Size,
}

/// One chunk of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) chunk: ChunkId,
    pub(crate) size: Size,
}

/// Part `index` of the object called `name` with `size`, in chunks of `chunk_size`.
pub(crate) fn part(name: &ChunkId, size: Size, chunk_size: Size, index: u64) -> Part {
    let offset = chunk_size * index;
    Part { chunk: part_name(name, index), size: size.saturating_sub(offset).min(chunk_size) }
}

/// Number of chunks of an object.
pub(crate) fn parts(size: Size, chunk_size: Size) -> u64 {
    size.as_bytes().div_ceil(chunk_size.as_bytes()).max(1)
}

/// The first chunk has the object's name, the others names that follow from it.
fn part_name(name: &ChunkId, index: u64) -> ChunkId {
    if index == 0 {
        return *name;
    }
    let mut part = [0; 32];
    for (word, bytes) in (0..).zip(part.chunks_exact_mut(8)) {
        bytes.copy_from_slice(&name.mix(index << 8 | word).to_le_bytes());
    }
    ChunkId(part)
}

#[derive(Debug, Clone, Copy)]
struct UnderWay {
    object: Object,
    /// Chunks that have been started, and how many there are.
    started: u64,
    parts: u64,
    /// Chunks that have been started and have not ended.
    running: u64,
    failure: Option<Failure>,
}

/// What the end of one chunk means for its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Other chunks are still under way, or to be started.
    Going,
    /// All chunks are there.
    Whole,
    /// A chunk was given up, and with it the object.
    Failed(Failure),
}

impl From<Option<Failure>> for Ended {
    fn from(failure: Option<Failure>) -> Ended {
        failure.map_or(Ended::Whole, Ended::Failed)
    }
}

/// All objects of several chunks that are under way.
#[derive(Debug)]
pub(crate) struct Objects {
    chunk_size: Size,
    under_way: Pool<UnderWay>,
    /// Of each initiator, the object whose chunks are being started.
    current: Vec<Option<u32>>,
}

impl Objects {
    pub(crate) fn new(initiators: u32, chunk_size: Size) -> Objects {
        Objects { chunk_size, under_way: Pool::new(), current: vec![None; initiators as usize] }
    }

    /// `initiator` starts the first chunk of `object`; none if that is all of it.
    pub(crate) fn open(&mut self, initiator: u32, object: Object) -> Option<u32> {
        let parts = parts(object.size, self.chunk_size);
        if parts == 1 {
            return None;
        }
        let under_way = UnderWay { object, started: 1, parts, running: 1, failure: None };
        let slot = self.under_way.insert(under_way, 1);
        self.current[initiator as usize] = Some(slot);
        Some(slot)
    }

    /// When each object was asked for.
    pub(crate) fn asked(&self) -> impl Iterator<Item = Time> {
        self.under_way.iter().map(|under_way| under_way.object.asked)
    }

    /// Whether an object of `initiator` has chunks that are not started.
    pub(crate) fn has_next(&self, initiator: u32) -> bool {
        self.current[initiator as usize].is_some()
    }

    /// Starts the next chunk of the object that `initiator` is at.
    pub(crate) fn start_next(&mut self, initiator: u32) -> Option<(u32, Object, Part)> {
        let slot = self.current[initiator as usize]?;
        let UnderWay { object, started, parts, running, .. } = self.under_way.get_mut(slot);
        let part = part(&object.name, object.size, self.chunk_size, *started);
        let object = *object;
        *started += 1;
        *running += 1;
        if started == parts {
            self.current[initiator as usize] = None;
        }
        Some((slot, object, part))
    }

    /// A chunk of the object in `slot` has ended. A failure leaves out the chunks that are not started.
    pub(crate) fn ended(&mut self, initiator: u32, slot: u32, failure: Option<Failure>) -> Ended {
        let object = self.under_way.get_mut(slot);
        object.running -= 1;
        object.failure = object.failure.or(failure);
        if object.failure.is_some() && object.started < object.parts {
            object.started = object.parts;
            self.current[initiator as usize] = None;
        }
        if object.running > 0 || object.started < object.parts {
            return Ended::Going;
        }
        let ended = Ended::from(object.failure);
        self.under_way.release(slot);
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object(size: Size) -> Object {
        Object { operation: Operation::Put, asked: Time::ZERO, name: ChunkId([9; 32]), size }
    }

    #[test]
    fn an_object_is_whole_when_its_last_chunk_is() {
        let mut objects = Objects::new(2, Size::from_kib(4));
        assert_eq!(objects.open(0, object(Size::from_kib(4))), None);
        let slot = objects.open(1, object(Size::from_kib(9))).unwrap();
        assert!(!objects.has_next(0));
        let (_, _, second) = objects.start_next(1).unwrap();
        assert_eq!(objects.ended(1, slot, None), Ended::Going, "the first");
        let (same, _, third) = objects.start_next(1).unwrap();
        assert_eq!((same, third.size), (slot, Size::from_kib(1)));
        assert_ne!(second.chunk, third.chunk);
        assert!(objects.start_next(1).is_none());
        assert_eq!(objects.ended(1, slot, None), Ended::Going);
        assert_eq!(objects.ended(1, slot, None), Ended::Whole);
    }

    #[test]
    fn an_object_that_fails_starts_no_more_chunks() {
        let mut objects = Objects::new(1, Size::from_kib(4));
        let slot = objects.open(0, object(Size::from_kib(40))).unwrap();
        objects.start_next(0).unwrap();
        assert_eq!(objects.ended(0, slot, Some(Failure::NotFound)), Ended::Going);
        assert!(!objects.has_next(0));
        assert_eq!(objects.ended(0, slot, None), Ended::Failed(Failure::NotFound));
        assert!(
            objects.open(0, object(Size::from_kib(8))).is_some(),
            "the next object starts anew"
        );
    }

    proptest! {
        #[test]
        fn the_parts_of_an_object_make_it_up(bytes in 1u64..100_000, chunk in 1u64..5_000) {
            let (size, chunk) = (Size::from_bytes(bytes), Size::from_bytes(chunk));
            let name = ChunkId([3; 32]);
            let all: Vec<Part> =
                (0..parts(size, chunk)).map(|i| part(&name, size, chunk, i)).collect();
            prop_assert_eq!(all.iter().map(|p| p.size.as_bytes()).sum::<u64>(), bytes);
            prop_assert!(all.iter().all(|p| p.size > Size::ZERO && p.size <= chunk));
            let mut names: Vec<_> = all.iter().map(|p| p.chunk).collect();
            names.sort_unstable();
            names.dedup();
            prop_assert_eq!(names.len(), all.len());
        }
    }
}
