//! The settings of a Lustre experiment: keys, kinds, meanings.

use slotcast_lab::setting::{
    Blocks, Field, Kind, MORE_THAN_0, Only, Schema, Setting, Value, choice, count, rate, share,
    size, span,
};
use slotcast_lab::{Seeds, choice, setting};
use slotcast_schedulers::timeout::{EarlyRule, EstimatorKind};
use slotcast_units::{Share, Size, Span};

use super::policy::{PolicyChoice, PolicyName};
use crate::{Access, ElevatorKind, Files, Job, LustreScenario, TimeoutRule, Work, check_lustre};

/// What is set, before it is put together.
#[derive(Debug, Clone)]
pub(super) struct Stated {
    scenario: LustreScenario,
    policy: PolicyChoice,
    timeout_rule: TimeoutName,
    early: EarlyName,
    pub(super) seeds: Seeds,
}

impl Default for Stated {
    fn default() -> Stated {
        Stated {
            scenario: LustreScenario::default(),
            policy: PolicyChoice::default(),
            timeout_rule: TimeoutName::Off,
            early: EarlyName::Off,
            seeds: Seeds { count: 1, ..Seeds::default() },
        }
    }
}

impl Stated {
    /// What is simulated.
    pub(super) fn scenario(&self) -> LustreScenario {
        let mut scenario = self.scenario.clone();
        scenario.scheduler.policy = self.policy.policy();
        let timeout = &mut scenario.timeout;
        timeout.rule = match self.timeout_rule {
            TimeoutName::Off => TimeoutRule::Off,
            TimeoutName::Fixed => TimeoutRule::Fixed(timeout.initial),
            TimeoutName::Max => TimeoutRule::Adaptive(EstimatorKind::Max),
            TimeoutName::Lcf => TimeoutRule::Adaptive(EstimatorKind::Lcf),
            TimeoutName::Aet => TimeoutRule::Adaptive(EstimatorKind::Aet),
        };
        timeout.early = match self.early {
            EarlyName::Off => None,
            EarlyName::BeforeDeadline => Some(EarlyRule::BeforeDeadline),
            EarlyName::AtArrivalToo => Some(EarlyRule::AtArrivalToo(timeout.stretch)),
        };
        scenario
    }
}

/// How clients wait, as a file says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeoutName {
    Off,
    Fixed,
    Max,
    Lcf,
    Aet,
}

/// When servers grant more time, as a file says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EarlyName {
    Off,
    BeforeDeadline,
    AtArrivalToo,
}

choice!(ElevatorKind {
    Noop = "noop", "order of arrival";
    Deadline = "deadline", "writes before reads, the lowest place first";
});
choice!(Files {
    PerProcess = "per-process", "each client its own";
    Shared = "shared", "all the same one";
});
choice!(Work {
    Write = "write", "write";
    Read = "read", "read what is there";
    WriteRead = "write-read", "write, and when all have written read it";
});
choice!(Access {
    Sequential = "sequential", "from the beginning to the end";
    Random = "random", "at multiples of the transfer size";
});
choice!(TimeoutName {
    Off = "off", "clients wait for ever";
    Fixed = "fixed", "timeout.initial";
    Max = "max", "from the longest service time in the window";
    Lcf = "lcf", "from a line of least squares";
    Aet = "aet", "from the mean execution time and the queue (LOAD)";
});
choice!(EarlyName {
    Off = "off", "none";
    BeforeDeadline = "before-deadline", "shortly before a client gives up (ERP)";
    AtArrivalToo = "at-arrival-too", "also at arrival, if the client allows too little (ERPCK)";
});

/// The settings of the simulated Lustre.
pub(super) static LUSTRE: Schema<Stated> = Schema {
    model: "lustre",
    sections: &[
        ("job", "groups of equal clients: who does what"),
        ("client", "the clients' side of an RPC"),
        ("network", "links and switch"),
        ("ost", "object storage targets"),
        ("scheduler", "in which order an OST executes what is asked of it"),
        ("elevator", "what merges and sorts requests in front of a disk"),
        ("disk", "the disks of an OST"),
        ("cache", "a write-back cache in front of the disks"),
        ("mdt", "the metadata target"),
        ("layout", "how files are spread over OSTs"),
        ("timeout", "how long clients wait"),
        ("sample", "what is measured over time"),
        ("seeds", "replications: every point runs once with each seed"),
    ],
    settings: ALL,
    blocks: Some(Blocks {
        section: "job",
        add: |stated, name, set| {
            let job = Job { name: name.into(), ..Job::default() };
            let mut one = Stated::default();
            one.scenario.jobs.push(job);
            set(&mut one);
            stated.scenario.jobs.append(&mut one.scenario.jobs);
        },
    }),
    check: |stated| check_lustre(&stated.scenario()),
};

/// What a setting of jobs has: the first job's value, or where there is none the default.
fn first_job<T: Field>(stated: &Stated, field: impl Fn(&Job) -> &T) -> Option<Value> {
    match stated.scenario.jobs.first() {
        Some(job) => field(job).to_value(),
        None => field(&Job::default()).to_value(),
    }
}

const SIZE: Kind = size(Size::ZERO, Size::from_mib(1 << 30));
const RATE: Kind = rate();
const SPAN: Kind = span(Span::ZERO, Span::from_secs(86_400));
const PART: Kind = share(Share::from_percent(1), Share::from_percent(99));
const PART_OR_ALL: Kind = share(Share::ZERO, Share::ONE);
const FACTOR: Kind = share(Share::ZERO, Share::from_percent(1000));

const SIMULATOR: &str = "Lustre-Simulator 950d9e2";
const OURS: &str = "our choice";

macro_rules! whole {
    ($section:ident . $name:ident, $kind:expr, $($rest:tt)*) => {
        setting!(
            concat!(stringify!($section), ".", stringify!($name)),
            scenario.$section.$name,
            $kind,
            SIMULATOR,
            $($rest)*
        )
    };
    (scheduler $name:ident, $kind:expr, $($rest:tt)*) => {
        setting!(concat!("scheduler.", stringify!($name)), policy.$name, $kind, OURS, $($rest)*)
    };
    ($key:literal, $($path:ident).+, $kind:expr, $doc:expr) => {
        setting!($key, $($path).+, $kind, OURS, $doc)
    };
}
macro_rules! job {
    ($name:ident, $kind:expr, $doc:expr) => {
        Setting::new(
            concat!("job.", stringify!($name)),
            $kind,
            OURS,
            $doc,
            &[],
            |stated| first_job(stated, |job| &job.$name),
            |stated, value| {
                for job in &mut stated.scenario.jobs {
                    job.$name = Field::from_value(value);
                }
            },
        )
    };
}

const SLICES: &[Only] = &[("scheduler.policy", &["time-slices"])];
const DEADLINES: &[Only] = &[("scheduler.policy", &["frr-deadline"])];
const OPENS: &[Only] = &[("mdt.opens", &["true"])];
const CACHE: &[Only] = &[("cache.size", MORE_THAN_0)];
const ESTIMATES: &[Only] = &[("timeout.rule", &["max", "lcf", "aet"])];
const TIMEOUTS: &[Only] = &[("timeout.rule", &["fixed", "max", "lcf", "aet"])];
const EARLY: &[Only] = &[("timeout.early", &["before-deadline", "at-arrival-too"])];

static ALL: &[Setting<Stated>] = &[
    job!(clients, count(1, 1_000_000), "Number of clients."),
    job!(class, count(0, 100), "Their class, for schedulers that know classes."),
    job!(files, choice::<Files>(), "Which files."),
    job!(work, choice::<Work>(), "What they do."),
    job!(access, choice::<Access>(), "In which order."),
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
    whole!(
        ost.allocation_time,
        SPAN,
        "Time to take blocks; a fifth if taken before, a twentieth to read."
    ),
    whole!(ost.allocation_jitter, PART_OR_ALL, "Part of it that is random."),
    whole!("scheduler.policy", policy.policy, choice::<PolicyName>(), "Order of execution."),
    whole!(scheduler quantum, count(0, 1_000_000), "Requests in a turn; 0 for the policy's default."),
    whole!(scheduler epoch, SPAN, "Length of an epoch of time slices.", SLICES),
    whole!(scheduler first_share, PART, "The first class's part of it.", SLICES),
    whole!(scheduler frr_inside, Kind::Switch, "FRR rather than FCFS within a class.", SLICES),
    whole!(scheduler rate, RATE, "What dynamic deadlines trust the server to sustain.", DEADLINES),
    whole!(scheduler stretch, FACTOR, "By how much they stretch the time for pending work.", DEADLINES),
    whole!(scheduler step, SPAN, "What a dynamic deadline adds to the one before.", DEADLINES),
    whole!(scheduler otherwise, SPAN, "Deadline of requests that name none.", &[("scheduler.policy", &["earliest-deadline"])]),
    whole!(scheduler tokens, count(1, 10_000), "Requests per second of every class but the first.", &[("scheduler.policy", &["tbf"])]),
    whole!(elevator.kind, choice::<ElevatorKind>(), "Order on disk."),
    whole!(elevator.merge_limit, SIZE, "Largest request after merging."),
    whole!(elevator.unplug_delay, SPAN, "How long an elevator stays plugged."),
    whole!(elevator.unplug_at, count(1, 100_000), "Requests that unplug it."),
    whole!(elevator.plug_holds_disk, Kind::Switch, "Whether the disk starts nothing meanwhile."),
    whole!(
        elevator.front_merges,
        Kind::Switch,
        "Merge with any request behind, not the last touched only."
    ),
    whole!(disk.members, count(1, 1000), "Members of the RAID0."),
    whole!(disk.chunk, SIZE, "Bytes on one member before the next one's turn."),
    whole!(disk.read_rate, RATE, "Rate of a member, reading."),
    whole!(disk.write_rate, RATE, "Rate of a member, writing."),
    whole!(disk.seek, SPAN, "Time of a request that starts elsewhere."),
    whole!(disk.seek_jitter, SPAN, "Random part of it, either way."),
    whole!(disk.latency, SPAN, "Time of a request that goes on."),
    whole!(disk.latency_jitter, SPAN, "Random part of it, either way."),
    whole!(cache.size, SIZE, "Room of the write-back cache of an OST; 0B for none."),
    whole!(cache.rate, RATE, "Rate into it and out of it.", CACHE),
    whole!(mdt.opens, Kind::Switch, "Whether files are opened first."),
    whole!(mdt.threads, count(1, 100_000), "Service threads of the MDT.", OPENS),
    whole!(mdt.open_time, SPAN, "Time to open a file.", OPENS),
    whole!(layout.stripe_count, count(0, 100_000), "OSTs of a file; 0 for all."),
    whole!(layout.stripe_size, SIZE, "Bytes on one OST before the next one's turn."),
    whole!("timeout.rule", timeout_rule, choice::<TimeoutName>(), "How long clients wait."),
    whole!(timeout.history, SPAN, "Length of the sliding time window.", ESTIMATES),
    whole!(timeout.parts, count(1, 1000), "Its sub-windows.", ESTIMATES),
    whole!(timeout.stretch, FACTOR, "What the estimate is multiplied with."),
    whole!(timeout.margin, SPAN, "What is added to it.", ESTIMATES),
    whole!(
        timeout.initial,
        SPAN,
        "The fixed timeout; the estimate before the first reply.",
        TIMEOUTS
    ),
    whole!(timeout.first, SPAN, "If set, the timeout before the first reply."),
    whole!(timeout.at_least, SPAN, "Shortest timeout.", ESTIMATES),
    whole!(timeout.at_most, SPAN, "Longest timeout.", ESTIMATES),
    whole!(
        timeout.whole_seconds,
        Kind::Switch,
        "Servers measure and estimate in whole seconds.",
        ESTIMATES
    ),
    whole!("timeout.early", early, choice::<EarlyName>(), "When servers grant more time."),
    whole!(timeout.early_margin, SPAN, "How long before a deadline they do.", EARLY),
    whole!(timeout.early_extra, SPAN, "How much they grant.", EARLY),
    whole!(sample.interval, SPAN, "Length of a sample over time; 0s for none."),
    whole!("seeds.first", seeds.first, count(0, u64::MAX), "The first seed."),
    whole!("seeds.count", seeds.count, count(1, 100_000), "How many seeds."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_sound() {
        assert_eq!(LUSTRE.problems(), Vec::<String>::new());
    }
}
