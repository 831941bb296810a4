//! Everything that a Lustre experiment can say: keys, kinds, meanings.

use slotcast_lab::Seeds;
use slotcast_lab::nearest::nearest;
use slotcast_lab::setting::{Field, Kind, Range, Value, Word};
use slotcast_schedulers::timeout::{EarlyRule, EstimatorKind};
use slotcast_units::{Rate, Share, Size, Span};

use super::policy::{MOST, POLICIES, PolicyChoice};
use crate::{Access, ElevatorKind, Files, Job, LustreScenario, TimeoutRule, TimeoutSettings, Work};

/// What is set, before it is put together.
#[derive(Debug, Clone, Default)]
pub(super) struct Stated {
    pub(super) scenario: LustreScenario,
    pub(super) policy: PolicyChoice,
    pub(super) seeds: Seeds,
}

/// Where a value goes.
#[derive(Clone, Copy)]
pub(super) enum Target {
    /// The file system, the scheduler, or the seeds.
    Whole(fn(&mut Stated, Value)),
    /// Every job, or the one in whose block it stands.
    Job(fn(&mut Job, Value)),
}

/// One key.
pub(super) struct LustreSetting {
    pub(super) key: &'static str,
    pub(super) kind: Kind,
    pub(super) doc: &'static str,
    pub(super) target: Target,
}

/// Sections in the order of the documentation.
pub(super) const SECTIONS: [&str; 13] = [
    "job",
    "client",
    "network",
    "ost",
    "scheduler",
    "elevator",
    "disk",
    "cache",
    "mdt",
    "layout",
    "timeout",
    "sample",
    "seeds",
];

const fn count(min: u64, max: u64) -> Kind {
    Kind::Count(Range { min, max })
}
const SIZE: Kind = Kind::Size(Range { min: Size::ZERO, max: MOST });
const RATE: Kind =
    Kind::Rate(Range { min: Rate::from_bps(1_000_000), max: Rate::from_bps(10_000_000_000_000) });
const SPAN: Kind = Kind::Span(Range { min: Span::ZERO, max: Span::from_secs(86_400) });
const PART: Kind = Kind::Share(Range { min: Share::from_percent(1), max: Share::from_percent(99) });
const FACTOR: Kind = Kind::Share(Range { min: Share::ZERO, max: Share::from_percent(1000) });

const ELEVATORS: &[Word] = &[
    Word { word: "noop", doc: "order of arrival" },
    Word { word: "deadline", doc: "writes before reads, the lowest place first" },
];
const FILES: &[Word] = &[
    Word { word: "per-process", doc: "each client its own" },
    Word { word: "shared", doc: "all the same one" },
];
const WORK: &[Word] = &[
    Word { word: "write", doc: "write" },
    Word { word: "read", doc: "read what is there" },
    Word { word: "write-read", doc: "write, and when all have written read it" },
];
const ACCESS: &[Word] = &[
    Word { word: "sequential", doc: "from the beginning to the end" },
    Word { word: "random", doc: "at multiples of the transfer size" },
];
const TIMEOUTS: &[Word] = &[
    Word { word: "off", doc: "clients wait for ever" },
    Word { word: "fixed", doc: "timeout.fixed" },
    Word { word: "max", doc: "from the longest service time in the window" },
    Word { word: "lcf", doc: "from a line of least squares" },
    Word { word: "aet", doc: "from the mean execution time and the queue (LOAD)" },
];
const EARLY: &[Word] = &[
    Word { word: "off", doc: "none" },
    Word { word: "before-deadline", doc: "shortly before a client gives up (ERP)" },
    Word {
        word: "at-arrival-too",
        doc: "also at arrival, if the client allows too little (ERPCK)",
    },
];

fn word(value: Value) -> &'static str {
    match value {
        Value::Word(word) => word,
        _ => unreachable!("a choice is a word"),
    }
}

macro_rules! whole {
    ($section:ident . $name:ident, $kind:expr, $doc:expr) => {
        LustreSetting {
            key: concat!(stringify!($section), ".", stringify!($name)),
            kind: $kind,
            doc: $doc,
            target: Target::Whole(|stated, value| {
                stated.scenario.$section.$name = Field::from_value(value);
            }),
        }
    };
    (scheduler $name:ident, $kind:expr, $doc:expr) => {
        LustreSetting {
            key: concat!("scheduler.", stringify!($name)),
            kind: $kind,
            doc: $doc,
            target: Target::Whole(|stated, value| stated.policy.$name = Field::from_value(value)),
        }
    };
    ($key:literal, $kind:expr, $doc:expr, $set:expr) => {
        LustreSetting { key: $key, kind: $kind, doc: $doc, target: Target::Whole($set) }
    };
}
macro_rules! job {
    ($name:ident, $kind:expr, $doc:expr) => {
        LustreSetting {
            key: concat!("job.", stringify!($name)),
            kind: $kind,
            doc: $doc,
            target: Target::Job(|job, value| job.$name = Field::from_value(value)),
        }
    };
    ($key:literal, $kind:expr, $doc:expr, $set:expr) => {
        LustreSetting { key: $key, kind: $kind, doc: $doc, target: Target::Job($set) }
    };
}

pub(super) static ALL: &[LustreSetting] = &[
    job!(clients, count(1, 1_000_000), "Number of clients."),
    job!(
        "job.class",
        count(0, 100),
        "Their class, for schedulers that know classes.",
        |job, value| {
            job.class = u16::try_from(u64::from_value(value)).expect("the range is within 16 bits");
        }
    ),
    job!("job.files", Kind::Choice(FILES), "Which files.", |job, value| {
        let is_shared = word(value) == "shared";
        job.files = if is_shared { Files::Shared } else { Files::PerProcess };
    }),
    job!("job.work", Kind::Choice(WORK), "What they do.", |job, value| {
        job.work = match word(value) {
            "read" => Work::Read,
            "write-read" => Work::WriteRead,
            _ => Work::Write,
        };
    }),
    job!("job.access", Kind::Choice(ACCESS), "In which order.", |job, value| {
        let is_random = word(value) == "random";
        job.access = if is_random { Access::Random } else { Access::Sequential };
    }),
    job!(size, SIZE, "Bytes of each client."),
    job!(transfer, SIZE, "Bytes of one call, and of an RPC at most."),
    job!(direct, Kind::Switch, "Whether a call returns when its data is on disk."),
    job!(start, SPAN, "When the first client starts."),
    job!(sets, count(1, 1_000_000), "Sets in which clients start."),
    job!(skew, SPAN, "Time between sets."),
    job!(spread, SPAN, "Within which clients start at random."),
    job!(interval, SPAN, "Pause between calls."),
    job!(until, SPAN, "If set, clients repeat their work until then."),
    job!(within, SPAN, "If set, requests are urgent: service is asked for within this."),
    whole!(client.rpcs_in_flight, count(1, 100_000), "RPCs under way to one OST."),
    whole!(client.rpc_size, SIZE, "Largest RPC."),
    whole!(client.readahead, SIZE, "Bytes that a buffered read may have under way."),
    whole!(client.start_spread, SPAN, "Clients start this much apart at most."),
    whole!(network.rate, RATE, "Rate of every link, each way."),
    whole!(network.latency, SPAN, "Time through the switch."),
    whole!(network.interrupt, SPAN, "From the last byte of a message to its handler."),
    whole!(network.message, SIZE, "Size of a message without data."),
    whole!(ost.count, count(1, 100_000), "Object storage targets."),
    whole!(ost.threads, count(1, 100_000), "Service threads of each."),
    whole!(ost.allocation_time, SPAN, "Time to allocate or look up the blocks of a request."),
    whole!("scheduler.policy", Kind::Choice(POLICIES), "Order of execution.", |stated, value| {
        stated.policy.policy = word(value);
    }),
    whole!(scheduler quantum, count(0, 1_000_000), "Requests in a turn; 0 for the policy's default."),
    whole!(scheduler epoch, SPAN, "Length of an epoch of time slices."),
    whole!(scheduler first_share, PART, "The first class's part of it."),
    whole!(scheduler frr_inside, Kind::Switch, "FRR rather than FCFS within a class."),
    whole!(scheduler rate, RATE, "What dynamic deadlines trust the server to sustain."),
    whole!(scheduler stretch, FACTOR, "By how much they stretch the time for pending work."),
    whole!(scheduler step, SPAN, "What a dynamic deadline adds to the one before."),
    whole!(scheduler otherwise, SPAN, "Deadline of requests that name none."),
    whole!(scheduler tokens, count(1, 10_000), "Requests per second of every class but the first."),
    whole!("elevator.kind", Kind::Choice(ELEVATORS), "Order on disk.", |stated, value| {
        let is_noop = word(value) == "noop";
        let kind = if is_noop { ElevatorKind::Noop } else { ElevatorKind::Deadline };
        stated.scenario.elevator.kind = kind;
    }),
    whole!(elevator.merge_limit, SIZE, "Largest request after merging."),
    whole!(elevator.unplug_delay, SPAN, "How long an elevator stays plugged."),
    whole!(elevator.unplug_at, count(1, 100_000), "Requests that unplug it."),
    whole!(elevator.plug_holds_disk, Kind::Switch, "Whether the disk starts nothing meanwhile."),
    whole!(disk.members, count(1, 1000), "Members of the RAID0."),
    whole!(disk.chunk, SIZE, "Bytes on one member before the next one's turn."),
    whole!(disk.read_rate, RATE, "Rate of a member, reading."),
    whole!(disk.write_rate, RATE, "Rate of a member, writing."),
    whole!(disk.seek, SPAN, "Time of a request that starts elsewhere."),
    whole!(disk.seek_jitter, SPAN, "Random part of it, either way."),
    whole!(disk.latency, SPAN, "Time of a request that goes on."),
    whole!(disk.latency_jitter, SPAN, "Random part of it, either way."),
    whole!(cache.size, SIZE, "Room of the write-back cache of an OST; 0B for none."),
    whole!(cache.rate, RATE, "Rate into it and out of it."),
    whole!(mdt.opens, Kind::Switch, "Whether files are opened first."),
    whole!(mdt.threads, count(1, 100_000), "Service threads of the MDT."),
    whole!(mdt.open_time, SPAN, "Time to open a file."),
    whole!(layout.stripe_count, count(0, 100_000), "OSTs of a file; 0 for all."),
    whole!(layout.stripe_size, SIZE, "Bytes on one OST before the next one's turn."),
    whole!("timeout.rule", Kind::Choice(TIMEOUTS), "How long clients wait.", |stated, value| {
        let timeout = &mut stated.scenario.timeout;
        timeout.rule = match word(value) {
            "fixed" => TimeoutRule::Fixed(timeout.initial),
            "max" => TimeoutRule::Adaptive(EstimatorKind::Max),
            "lcf" => TimeoutRule::Adaptive(EstimatorKind::Lcf),
            "aet" => TimeoutRule::Adaptive(EstimatorKind::Aet),
            _ => TimeoutRule::Off,
        };
    }),
    whole!(timeout.history, SPAN, "Length of the sliding time window."),
    whole!(timeout.parts, count(1, 1000), "Its sub-windows."),
    whole!(timeout.stretch, FACTOR, "What the estimate is multiplied with."),
    whole!(timeout.margin, SPAN, "What is added to it."),
    whole!(
        "timeout.initial",
        SPAN,
        "The fixed timeout; the estimate before the first reply.",
        initial
    ),
    whole!(timeout.first, SPAN, "If set, the timeout before the first reply."),
    whole!(timeout.at_least, SPAN, "Shortest timeout."),
    whole!(timeout.at_most, SPAN, "Longest timeout."),
    whole!(
        "timeout.early",
        Kind::Choice(EARLY),
        "When servers grant more time.",
        |stated, value| {
            let timeout = &mut stated.scenario.timeout;
            timeout.early = match word(value) {
                "before-deadline" => Some(EarlyRule::BeforeDeadline),
                "at-arrival-too" => Some(EarlyRule::AtArrivalToo(timeout.stretch)),
                _ => None,
            };
        }
    ),
    whole!(timeout.early_margin, SPAN, "How long before a deadline they do."),
    whole!(timeout.early_extra, SPAN, "How much they grant."),
    whole!(sample.interval, SPAN, "Length of a sample over time; 0s for none."),
    whole!("seeds.first", count(0, u64::MAX), "The first seed.", |stated, value| {
        stated.seeds.first = Field::from_value(value);
    }),
    whole!("seeds.count", count(1, 100_000), "How many seeds.", |stated, value| {
        stated.seeds.count = Field::from_value(value);
    }),
];

fn initial(stated: &mut Stated, value: Value) {
    let TimeoutSettings { rule, initial, .. } = &mut stated.scenario.timeout;
    *initial = Field::from_value(value);
    if let TimeoutRule::Fixed(span) = rule {
        *span = *initial;
    }
}

/// The setting called `key`.
pub(super) fn find(key: &str) -> Option<&'static LustreSetting> {
    ALL.iter().find(|setting| setting.key == key)
}

/// The key most like `key`, in whatever section.
pub(super) fn nearest_key(key: &str) -> Option<&'static str> {
    let name = |key: &'static str| key.rsplit_once('.').map_or(key, |(_, name)| name);
    let wanted = key.rsplit_once('.').map_or(key, |(_, name)| name);
    nearest(key, ALL.iter().map(|setting| setting.key)).or_else(|| {
        let near = nearest(wanted, ALL.iter().map(|setting| name(setting.key)))?;
        ALL.iter().map(|setting| setting.key).find(|key| name(key) == near)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_sorted_by_section_and_documented() {
        let mut sections: Vec<&str> = Vec::new();
        for (index, setting) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|other| other.key != setting.key), "{}", setting.key);
            assert!(setting.doc.ends_with('.'), "{}", setting.key);
            let (section, _) = setting.key.split_once('.').expect("section and name");
            assert!(SECTIONS.contains(&section), "{section}");
            if sections.last() != Some(&section) {
                assert!(!sections.contains(&section), "{section} is in two places");
                sections.push(section);
            }
        }
    }
}
