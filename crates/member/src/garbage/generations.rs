//! What was touched of late, and what is named: what a node may remove.

use alloc::vec::Vec;

use slotcast_object::garbage::{Filter, Mark, WaveId};
use slotcast_protocol::ChunkId;

/// One round, as this incarnation of a node has seen it.
#[derive(Debug)]
struct Generation {
    round: u64,
    /// Who has begun the round, if this incarnation had opened it by then: it knows all that was touched since anybody
    /// could use the round as a stamp.
    began_by: Option<u64>,
    touched: Filter,
}

/// What is named, as one conductor says.
#[derive(Debug)]
struct Marks {
    round: u64,
    by: u64,
    named: Filter,
    /// The last wave that came, and how many.
    last: Option<WaveId>,
    waves: u32,
}

/// The last two rounds.
#[derive(Debug)]
pub(super) struct Generations {
    /// The latest last; the first one is what came before any round was opened.
    all: Vec<Generation>,
    marks: Option<Marks>,
}

impl Generations {
    pub(super) fn new() -> Generations {
        let first = Generation { round: 0, began_by: None, touched: Filter::new(0) };
        Generations { all: [first].into(), marks: None }
    }

    /// The latest round that was opened; 0 before the first.
    pub(super) fn latest(&self) -> u64 {
        self.all.last().map_or(0, |generation| generation.round)
    }

    /// Keeps from now on what is touched in a later round.
    pub(super) fn open(&mut self, round: u64) {
        if round <= self.latest() {
            return;
        }
        self.all.push(Generation { round, began_by: None, touched: Filter::new(round) });
        let before = self.all.len().saturating_sub(2);
        self.all.drain(..before);
        self.marks = None;
    }

    /// A mistake: what was touched since the start is taken for all that was touched in the round before this one.
    pub(super) fn pretend(&mut self, round: u64) {
        if let [first] = &mut self.all[..] {
            (first.round, first.began_by) = (round - 1, Some(0));
        }
    }

    /// A round has begun which this incarnation had opened before.
    pub(super) fn began(&mut self, round: u64, by: u64) {
        if let Some(latest) = self.all.last_mut().filter(|latest| latest.round == round) {
            latest.began_by = Some(by);
        }
    }

    pub(super) fn touch(&mut self, chunk: &ChunkId) {
        if let Some(latest) = self.all.last_mut() {
            latest.touched.insert(chunk);
        }
    }

    /// These are named, says whoever began the round.
    pub(super) fn mark(&mut self, mark: Mark, chunks: &[ChunkId]) {
        let Mark { round, by, wave } = mark;
        if round != self.latest() {
            return;
        }
        let is_same = |marks: &Marks| (marks.round, marks.by) == (round, by);
        if !self.marks.as_ref().is_some_and(is_same) {
            let named = Filter::new(!round);
            self.marks = Some(Marks { round, by, named, last: None, waves: 0 });
        }
        let Some(marks) = &mut self.marks else { return };
        chunks.iter().for_each(|chunk| marks.named.insert(chunk));
        if marks.last < Some(wave) {
            marks.last = Some(wave);
            marks.waves += 1;
        }
    }

    /// Whether this incarnation knows all that was touched in this round and the one before, and all that is named, in so
    /// many waves.
    pub(super) fn may_sweep(&self, sweep: Mark) -> bool {
        let Mark { round, by, wave } = sweep;
        let [before, latest] = &self.all[..] else { return false };
        let is_whole = before.round + 1 == latest.round
            && before.began_by.is_some()
            && (latest.round, latest.began_by) == (round, Some(by));
        let waves = self.marks.as_ref().filter(|marks| (marks.round, marks.by) == (round, by));
        // Where nothing is named there is nothing to be told.
        is_whole && waves.map_or(0, |marks| marks.waves) == wave.wave
    }

    /// Whether nothing names this chunk, and nobody is about to. What has to be known for that is said by
    /// [`Generations::may_sweep`].
    pub(super) fn is_garbage(&self, chunk: &ChunkId) -> bool {
        let is_named = self.marks.as_ref().is_some_and(|marks| marks.named.contains(chunk));
        !is_named && !self.all.iter().any(|generation| generation.touched.contains(chunk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY: u64 = 9;

    fn chunk(n: u8) -> ChunkId {
        ChunkId([n; 32])
    }

    fn mark(round: u64, wave: u32) -> Mark {
        Mark { round, by: BY, wave: WaveId { walk: 1, wave } }
    }

    fn turn(generations: &mut Generations, round: u64) {
        generations.open(round);
        generations.began(round, BY);
    }

    #[test]
    fn a_node_sits_out_until_it_knows_two_rounds() {
        let mut generations = Generations::new();
        assert!(!generations.may_sweep(mark(0, 0)));
        turn(&mut generations, 7);
        assert!(!generations.may_sweep(mark(7, 0)), "of the round before it knows nothing");
        turn(&mut generations, 8);
        assert!(generations.may_sweep(mark(8, 0)));
        generations.open(9);
        assert!(
            !generations.may_sweep(mark(9, 0)),
            "it may not have been there from the beginning"
        );
        assert!(!generations.may_sweep(mark(8, 0)), "it is over");
        turn(&mut generations, 11);
        assert!(!generations.may_sweep(mark(11, 0)), "one is missing");
    }

    #[test]
    fn what_was_touched_is_kept_for_two_rounds() {
        let mut generations = Generations::new();
        for round in 1..6 {
            turn(&mut generations, round);
            if round == 3 {
                generations.touch(&chunk(1));
            }
            assert_eq!(generations.is_garbage(&chunk(1)), !(3..5).contains(&round), "{round}");
        }
    }

    #[test]
    fn all_marks_must_have_come() {
        let mut generations = Generations::new();
        (1..3).for_each(|round| turn(&mut generations, round));
        generations.mark(mark(2, 3), &[chunk(1)]);
        generations.mark(mark(2, 3), &[chunk(1)]);
        assert!(!generations.may_sweep(mark(2, 2)), "one wave came twice");
        generations.mark(mark(2, 5), &[chunk(2)]);
        assert!(generations.may_sweep(mark(2, 2)));
        assert!(!generations.may_sweep(Mark { by: 8, ..mark(2, 2) }), "another's");
        let is_garbage = [1, 2, 3].map(|n| generations.is_garbage(&chunk(n)));
        assert_eq!(is_garbage, [false, false, true]);
        turn(&mut generations, 3);
        assert!(generations.is_garbage(&chunk(1)), "marks are those of one round");
    }
}
