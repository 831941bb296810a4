//! What happens in a run: all of it follows from the seed.

use std::collections::BTreeMap;

use slotcast_job::{Existing, JobText, Kind, Place, Selection, Transform};
use slotcast_random::{Stream, Streams};
use slotcast_units::Span;

/// What is wrong with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Poison {
    /// It is refused so many times.
    Times(u32),
    /// This node refuses it.
    Node(u32),
    /// It is always refused.
    Always,
}

/// A run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) text: JobText,
    pub(crate) workers: u32,
    pub(crate) names: u64,
    /// Nothing is lost, late or slow, and nobody stops.
    pub(crate) is_calm: bool,
    /// Single workers stop.
    pub(crate) crashes: u32,
    /// All stop at once.
    pub(crate) blackouts: u32,
    /// Somebody pauses and resumes the job, or aborts it.
    pub(crate) orders: bool,
    pub(crate) aborts: bool,
    /// Somebody changes sources while the job works.
    pub(crate) changes_sources: bool,
    /// Somebody puts objects where outputs go.
    pub(crate) changes_outputs: bool,
    /// Objects where outputs go, before the job begins.
    pub(crate) has_outputs: bool,
    pub(crate) poison: BTreeMap<String, Poison>,
    /// When the bucket of the sources is removed, if it is.
    pub(crate) loses_sources: Option<Span>,
    /// The longest that it takes to carry something out on an object.
    pub(crate) slowest: Span,
}

pub(crate) fn name(n: u64) -> String {
    format!("in/{n:05}")
}

fn poison(random: &mut Stream, plan: &Plan) -> BTreeMap<String, Poison> {
    let mut poison = BTreeMap::new();
    if plan.text.kind == Kind::Delete || random.chance(0.4) {
        return poison;
    }
    let always = random.chance(0.3);
    let is_quiet = plan.is_calm && !plan.changes_sources && !plan.changes_outputs;
    let is_plain = is_quiet && plan.slowest < Span::from_secs(1);
    for n in 0..plan.names {
        if random.chance(0.05) {
            let kind = match random.below(3) {
                0 if always => Poison::Always,
                // A node that is alone with it, or while all others are busy, tries it again and again.
                1 if plan.workers > 1 && is_plain => {
                    Poison::Node(random.below(u64::from(plan.workers)) as u32)
                }
                _ => Poison::Times(1),
            };
            poison.insert(name(n), kind);
        }
    }
    poison
}

fn loses_sources(random: &mut Stream) -> Option<Span> {
    random.chance(0.08).then(|| Span::from_ms(random.below(3_000)))
}

fn kind(random: &mut Stream) -> Kind {
    match random.below(8) {
        0 => Kind::Verify,
        1 => Kind::Delete,
        2 | 3 => Kind::Transform(Transform {
            command: "cat".into(),
            suffix: ".out".into(),
            timeout_ms: 1,
            cpu_s: 1,
            memory: 1 << 20,
            network: false,
        }),
        _ => Kind::Copy,
    }
}

impl Plan {
    pub(crate) fn new(seed: u64) -> Plan {
        let random = &mut Streams::new(seed).stream("plan", 0);
        let kind = kind(random);
        let names = [0, 1, 30, 200, 400][random.below(5) as usize];
        let select = match random.below(4) {
            0 if names > 0 => Selection::Template(format!("{{00000..{:05}}}", names - 1)),
            1 => Selection::Glob("*".into()),
            _ => Selection::All,
        };
        let place =
            |bucket: &str, prefix: &str| Place { bucket: bucket.into(), prefix: prefix.into() };
        let to = kind.has_outputs().then(|| place("b", "out/"));
        let is_calm = random.chance(0.3);
        let is_listed = !matches!(select, Selection::Template(_));
        let changes = is_listed && kind.has_outputs() && random.chance(0.4);
        let text = JobText {
            kind,
            from: place("a", "in/"),
            select,
            to,
            existing: Existing::Replace,
            check: true,
            started: 0,
            by: "".into(),
        };
        let mut plan = Plan {
            workers: 1 + random.below(4) as u32,
            names,
            is_calm,
            crashes: if is_calm { 0 } else { random.below(4) as u32 },
            blackouts: if is_calm { 0 } else { random.below(2) as u32 },
            orders: random.chance(0.3),
            aborts: random.chance(0.2),
            changes_sources: changes,
            changes_outputs: text.kind.has_outputs() && random.chance(0.4),
            has_outputs: random.chance(0.3),
            poison: BTreeMap::new(),
            loses_sources: loses_sources(&mut Streams::new(seed).stream("sources", 0)),
            slowest: Span::from_ms(if random.chance(0.3) { 4_000 } else { 60 }),
            text,
        };
        plan.poison = poison(random, &plan);
        plan
    }

    /// Whether it must end as verified, unless it is aborted.
    pub(crate) fn can_be_done(&self) -> bool {
        self.poison.values().all(|poison| *poison != Poison::Always)
    }
}
