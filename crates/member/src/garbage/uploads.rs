//! Content that is being stored for names, and is not named yet: each round of collection touches it when it is opened.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use slotcast_protocol::ChunkId;

use crate::input::RequestNumber;

/// The uploads and puts that are under way at a node. However long one takes, and however many rounds begin meanwhile,
/// its chunks are not garbage.
#[derive(Debug, Default)]
pub(crate) struct Uploads {
    /// Of content of several chunks, and of parts.
    uploads: BTreeMap<u64, Vec<ChunkId>>,
    /// Of puts of one chunk, whose name is changed when that is stored.
    puts: BTreeMap<RequestNumber, ChunkId>,
}

impl Uploads {
    /// How many uploads of several chunks there are.
    pub(crate) fn len(&self) -> usize {
        self.uploads.len()
    }

    /// A chunk of an upload is put.
    pub(crate) fn upload(&mut self, upload: u64, chunk: ChunkId) {
        self.uploads.entry(upload).or_default().push(chunk);
    }

    /// An upload is named, or given up.
    pub(crate) fn upload_ended(&mut self, upload: u64) {
        self.uploads.remove(&upload);
    }

    /// The chunk of a put is stored, and its name changed after that.
    pub(crate) fn put(&mut self, number: RequestNumber, chunk: ChunkId) {
        self.puts.insert(number, chunk);
    }

    /// The name of a put is changed, or will not be.
    pub(crate) fn put_ended(&mut self, number: RequestNumber) {
        self.puts.remove(&number);
    }

    /// What is to be touched.
    pub(crate) fn chunks(&self) -> BTreeSet<ChunkId> {
        self.uploads.values().flatten().chain(self.puts.values()).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use slotcast_object::Rosters;
    use slotcast_object::garbage::{Chunks, GarbageMessage};
    use slotcast_units::{Span, Time};

    use super::*;
    use crate::config::CollectionRules;
    use crate::garbage::{Around, Garbage, GarbageEffect};

    const CHUNK: ChunkId = ChunkId([7; 32]);
    const NUMBER: RequestNumber = RequestNumber(1);

    /// The chunks that a node touches when a round is opened.
    fn touches(garbage: &mut Garbage, round: u64) -> Vec<ChunkId> {
        let (nodes, rosters) = ([0].into(), Rosters::default());
        let around = Around { nodes: &nodes, rosters: &rosters };
        garbage.heard(Time::ZERO, 0, GarbageMessage::Open(round), around, |_| [0, 0]);
        garbage.go_on(Time::ZERO, around, |_| ([0].into(), true), |_| false);
        let effects = garbage.take_effects().into_iter();
        let touched = effects.filter_map(|effect| match effect {
            GarbageEffect::Say(_, GarbageMessage::Touch(_, Chunks(chunks))) => Some(chunks),
            _ => None,
        });
        touched.flatten().collect()
    }

    #[test]
    fn each_round_touches_the_chunk_of_a_put_until_its_name_is_decided() {
        let rules = (CollectionRules::PRODUCTION, Span::from_ms(10));
        let mut garbage = Garbage::new(Time::ZERO, 0, rules, 1, None);
        garbage.uploads().put(NUMBER, CHUNK);
        assert_eq!(touches(&mut garbage, 1), [CHUNK]);
        assert_eq!(touches(&mut garbage, 2), [CHUNK], "it may take long");
        garbage.uploads().put_ended(NUMBER);
        assert_eq!(touches(&mut garbage, 3), []);
    }
}
