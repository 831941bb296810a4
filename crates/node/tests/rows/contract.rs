//! What rows promise to whoever asks, whether they are on a disk or simulated.

use std::collections::BTreeMap;

use slotcast_object::{RowsError, RowsOp, RowsOpId, RowsOutput};
use slotcast_random::{Stream, Streams};

/// Rows that are held to the contract.
pub(crate) trait Contract {
    /// Begins an operation.
    fn ask(&mut self, id: RowsOpId, op: RowsOp);

    /// The next result.
    fn next(&mut self) -> (RowsOpId, Result<RowsOutput, RowsError>);

    /// Ends them amid what they do, and starts them anew, not opened yet. Returns the results that were reported before
    /// the end.
    fn interrupt(&mut self) -> Vec<(RowsOpId, Result<RowsOutput, RowsError>)>;
}

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// Something that was asked for: of a reading, how many changes were reported before.
#[derive(Debug)]
enum Asked {
    Change,
    Get(Vec<u8>, usize),
    Scan(Vec<u8>, Option<Vec<u8>>, u32, usize),
}

struct Check<'a> {
    rows: &'a mut dyn Contract,
    draw: Stream,
    next: u64,
    asked: BTreeMap<RowsOpId, Asked>,
    /// The rows after each change, beginning with none.
    states: Vec<Map>,
    /// Changes that were reported.
    reported: usize,
    store: Option<u64>,
}

/// Holds new rows to the contract in so many bursts of operations, as `seed` says.
pub(crate) fn check(rows: &mut dyn Contract, seed: u64, bursts: u32) {
    let draw = Streams::new(seed).stream("contract", 0);
    let (asked, states) = (BTreeMap::new(), vec![Map::new()]);
    let mut check = Check { rows, draw, next: 0, asked, states, reported: 0, store: None };
    assert_eq!(check.run(RowsOp::Get(b"k".to_vec())), Err(RowsError), "not opened");
    check.open();
    for _ in 0..bursts {
        check.burst();
        match check.draw.below(8) {
            0 => check.interrupt(),
            1 => {
                check.settle();
                check.fail();
            }
            _ => check.settle(),
        }
    }
    check.settle();
    check.interrupt();
}

impl Check<'_> {
    fn id(&mut self) -> RowsOpId {
        self.next += 1;
        RowsOpId(self.next)
    }

    /// What an operation comes to while no other is under way.
    fn run(&mut self, op: RowsOp) -> Result<RowsOutput, RowsError> {
        let id = self.id();
        self.rows.ask(id, op);
        let (of, result) = self.rows.next();
        assert_eq!(of, id);
        result
    }

    fn open(&mut self) {
        let Ok(RowsOutput::Opened(store)) = self.run(RowsOp::Open) else { panic!("not opened") };
        assert_ne!(store, 0);
        assert_eq!(*self.store.get_or_insert(store), store, "another store");
    }

    fn key(&mut self) -> Vec<u8> {
        let mut key = vec![b'k'];
        for _ in 0..self.draw.below(3) {
            key.push([0, b'a', 0xff][self.draw.below(3) as usize]);
        }
        key
    }

    fn writes(&mut self) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let mut writes = Vec::new();
        for _ in 0..self.draw.below(5) {
            let key = self.key();
            let length = self.draw.below(2000) as usize;
            let value = vec![self.draw.below(256) as u8; length];
            writes.push((key, (self.draw.below(3) > 0).then_some(value)));
        }
        writes
    }

    /// Asks for some operations at a time.
    fn burst(&mut self) {
        for _ in 0..1 + self.draw.below(6) {
            let id = self.id();
            let reported = self.reported;
            let (op, asked) = match self.draw.below(12) {
                0 => (RowsOp::Clear, Asked::Change),
                1..5 => (RowsOp::Write(self.writes()), Asked::Change),
                5..9 => {
                    let key = self.key();
                    (RowsOp::Get(key.clone()), Asked::Get(key, reported))
                }
                _ => {
                    let (from, before) = (self.key(), self.key());
                    let before = (self.draw.below(3) > 0).then_some(before);
                    let limit = self.draw.below(8) as u32;
                    let op = RowsOp::Scan { from: from.clone(), before: before.clone(), limit };
                    (op, Asked::Scan(from, before, limit, reported))
                }
            };
            self.change(&op);
            self.asked.insert(id, asked);
            self.rows.ask(id, op);
        }
    }

    fn change(&mut self, op: &RowsOp) {
        let mut state = self.states.last().expect("at least one").clone();
        match op {
            RowsOp::Clear => state.clear(),
            RowsOp::Write(writes) => {
                for (key, value) in writes {
                    match value {
                        Some(value) => _ = state.insert(key.clone(), value.clone()),
                        None => _ = state.remove(key),
                    }
                }
            }
            _ => return,
        }
        self.states.push(state);
    }

    /// Waits for all that was asked for.
    fn settle(&mut self) {
        while !self.asked.is_empty() {
            let (id, result) = self.rows.next();
            self.take(id, result);
        }
    }

    fn take(&mut self, id: RowsOpId, result: Result<RowsOutput, RowsError>) {
        let asked = self.asked.remove(&id).expect("it was asked for, and once");
        let (since, answer): (_, &dyn Fn(&Map) -> RowsOutput) = match &asked {
            Asked::Change => {
                assert_eq!(result, Ok(RowsOutput::Done));
                assert!(
                    !self
                        .asked
                        .iter()
                        .any(|(other, asked)| { *other < id && matches!(asked, Asked::Change) }),
                    "in order"
                );
                self.reported += 1;
                return;
            }
            Asked::Get(key, since) => (*since, &|map| RowsOutput::Got(map.get(key).cloned())),
            Asked::Scan(from, before, limit, since) => {
                (*since, &|map| scan(map, from, before.as_deref(), *limit))
            }
        };
        let output = result.expect("it is open");
        let is_one = self.states[since..].iter().any(|state| answer(state) == output);
        assert!(is_one, "{asked:?}: {output:?} was never so");
    }

    /// After an error nothing is answered but errors, until the rows are opened anew.
    fn fail(&mut self) {
        let impossible = RowsOp::Write(vec![(b"k".to_vec(), None), (Vec::new(), None)]);
        assert_eq!(self.run(impossible), Err(RowsError));
        assert_eq!(self.run(RowsOp::Get(b"k".to_vec())), Err(RowsError));
        assert_eq!(self.run(RowsOp::Write(Vec::new())), Err(RowsError));
        assert_eq!(self.run(RowsOp::Clear), Err(RowsError));
        self.open();
        self.compare();
    }

    fn interrupt(&mut self) {
        for (id, result) in self.rows.interrupt() {
            self.take(id, result);
        }
        self.asked.clear();
        self.open();
        self.compare();
    }

    /// Changes are there up to one of them, and all that were reported.
    fn compare(&mut self) {
        let scan = RowsOp::Scan { from: b"k".to_vec(), before: None, limit: u32::MAX };
        let Ok(RowsOutput::Scanned(rows, true)) = self.run(scan) else { panic!("not all") };
        assert!(rows.is_sorted());
        let found: Map = rows.into_iter().collect();
        let is_one = self.states[self.reported..].contains(&found);
        assert!(is_one, "{} of {} changes: {found:?}", self.reported, self.states.len() - 1);
        (self.states, self.reported) = (vec![found], 0);
    }
}

fn scan(map: &Map, from: &[u8], before: Option<&[u8]>, limit: u32) -> RowsOutput {
    let is_in = |key: &Vec<u8>| **key >= *from && before.is_none_or(|before| **key < *before);
    let all = map.iter().filter(|(key, _)| is_in(key));
    let all: Vec<_> = all.map(|(key, value)| (key.clone(), value.clone())).collect();
    let count = all.len().min(limit as usize);
    RowsOutput::Scanned(all[..count].to_vec(), count == all.len())
}
