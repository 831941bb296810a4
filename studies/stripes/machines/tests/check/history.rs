//! What clients ask for and see, and what must be true of it.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use slotcast_stripe::{ClientId, Lineage, Operation, Outcome, RequestId};

/// A unit in the checks.
pub(super) type Unit = [u8; 2];

/// The content of a stripe that has just been created.
pub(super) const ZERO: Unit = [0; 2];

/// What one client does, one operation after the other.
pub(super) type Script = Vec<Operation<Unit>>;

/// The content that the check's clients write in their operation number `serial`: each write has its
/// own, so that a content tells where it comes from, and a mixture of two is none.
pub(super) fn value(request: RequestId) -> Unit {
    let number = (request.client.0 * 50 + request.serial + 1) as u8;
    [number, number.wrapping_mul(167) ^ 0x5a]
}

/// A script, with the contents filled in.
pub(super) fn script(client: u32, operations: &[Step]) -> Script {
    let numbered = (0..).zip(operations);
    numbered
        .map(|(serial, step)| {
            let request = RequestId { client: ClientId(client), serial };
            match *step {
                Step::Write(unit) => Operation::Write { unit, content: value(request) },
                Step::Read(unit) => Operation::Read { unit },
            }
        })
        .collect()
}

/// A line of a script.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Write(u8),
    Read(u8),
}

/// What all clients have seen. Versions count the updates of a unit, so one number says in which order
/// operations took effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct History {
    /// For each client, its operations under way and to come.
    pub(super) clients: Vec<ClientHistory>,
    /// The newest version of each unit that an operation has ended with.
    newest: BTreeMap<u8, u64>,
    /// The content of each version that somebody has seen or made.
    seen: BTreeMap<(u8, u64), Unit>,
    /// Acknowledged writes: unit, version and request.
    pub(super) acknowledged: Vec<(u8, u64, RequestId)>,
    /// Operations that failed.
    pub(super) failed: u32,
    /// What is wrong.
    pub(super) violation: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct ClientHistory {
    /// The operations, the one under way first.
    pub(super) script: Vec<Operation<Unit>>,
    /// The newest version of the unit at the start of the operation under way.
    floor: u64,
}

impl History {
    pub(super) fn new(scripts: &[Script]) -> History {
        let clients =
            scripts.iter().map(|script| ClientHistory { script: script.clone(), floor: 0 });
        History { clients: clients.collect(), ..History::default() }
    }

    /// The next operation of `client`, which starts now.
    pub(super) fn start(&mut self, client: ClientId) -> Option<Operation<Unit>> {
        let history = &mut self.clients[client.0 as usize];
        let operation = history.script.first()?.clone();
        history.floor = self.newest.get(&unit_of(&operation)).copied().unwrap_or(0);
        Some(operation)
    }

    /// The operation of `client` that is under way has ended.
    pub(super) fn end(&mut self, request: RequestId, outcome: &Outcome<Unit>) {
        let history = &mut self.clients[request.client.0 as usize];
        let operation = history.script.remove(0);
        let (unit, floor) = (unit_of(&operation), history.floor);
        let (version, content) = match (outcome, operation) {
            (Outcome::Written { version }, Operation::Write { content, .. }) => {
                self.acknowledged.push((unit, *version, request));
                if *version <= floor {
                    self.fail(format!("{request:?} wrote v{version} after v{floor} had been seen"));
                }
                (*version, content)
            }
            (Outcome::Content { version, content }, Operation::Read { .. }) => {
                if *version < floor {
                    self.fail(format!("{request:?} read v{version} after v{floor} had been seen"));
                }
                (*version, *content)
            }
            (Outcome::Failed(_), _) => {
                self.failed += 1;
                return;
            }
            _ => return self.fail(format!("{request:?} ended with {outcome:?}")),
        };
        let zero = version == 0;
        let seen = *self.seen.entry((unit, version)).or_insert(if zero { ZERO } else { content });
        if seen != content {
            self.fail(format!("v{version} of unit {unit} is {content:?} and {seen:?}"));
        }
        let newest = self.newest.entry(unit).or_default();
        *newest = version.max(*newest);
    }

    /// Whether every operation has ended.
    pub(super) fn is_over(&self) -> bool {
        self.clients.iter().all(|client| client.script.is_empty())
    }

    pub(super) fn fail(&mut self, violation: String) {
        self.violation.get_or_insert(violation);
    }

    /// What is wrong if a server has `lineage` as its newest of `unit`: an acknowledged write is
    /// missing, or one was made twice.
    pub(super) fn lineage_problem(&self, unit: u8, lineage: &Lineage) -> Option<String> {
        let missing = self.acknowledged.iter().find(|(of, version, request)| {
            let known = lineage.version_of(*request);
            *of == unit
                && (*version > lineage.stamp.version
                    || known.is_some_and(|known| known != *version))
        });
        let twice = lineage
            .makers()
            .find(|request| lineage.makers().filter(|other| other == request).count() > 1);
        match (missing, twice) {
            (Some(write), _) => Some(format!("{write:?} is not in {lineage:?}")),
            (_, Some(request)) => Some(format!("{request:?} is twice in {lineage:?}")),
            _ => None,
        }
    }
}

/// The content that belongs to a lineage.
pub(super) fn content_of(lineage: &Lineage) -> Unit {
    lineage.makers().last().map_or(ZERO, value)
}

fn unit_of(operation: &Operation<Unit>) -> u8 {
    match operation {
        Operation::Write { unit, .. } | Operation::Read { unit } => *unit,
    }
}
