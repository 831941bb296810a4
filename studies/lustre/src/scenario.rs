//! What is simulated of a Lustre file system.

use slotcast_schedulers::Policy;
use slotcast_schedulers::timeout::{EarlyRule, EstimatorKind};
use slotcast_units::{Rate, Share, Size, Span};

use super::job::Job;

/// A Lustre file system, its clients, and what they do.
///
/// The defaults are those of the simulator of seed 003 (Lustre-Simulator 950d9e2), where nothing else is
/// said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LustreScenario {
    /// The clients' side of an RPC.
    pub client: ClientSettings,
    /// Links and switch.
    pub network: FabricSettings,
    /// Object storage targets.
    pub ost: OstSettings,
    /// In which order an OST executes what is asked of it.
    pub scheduler: SchedulerSettings,
    /// What merges and sorts requests in front of a disk.
    pub elevator: ElevatorSettings,
    /// The disks of an OST.
    pub disk: ArraySettings,
    /// A write-back cache in front of the disks.
    pub cache: CacheSettings,
    /// The metadata target.
    pub mdt: MdtSettings,
    /// How files are spread over OSTs.
    pub layout: LayoutSettings,
    /// How long clients wait.
    pub timeout: TimeoutSettings,
    /// What is measured over time.
    pub sample: SampleSettings,
    /// Who does what; at least one.
    pub jobs: Vec<Job>,
}

/// The object storage clients (OSC) of a node, one for each OST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    /// RPCs that a client may have under way to one OST.
    pub rpcs_in_flight: u32,
    /// Largest RPC.
    pub rpc_size: Size,
    /// Bytes that a buffered read may have under way, over all OSTs.
    pub readahead: Size,
    /// Clients start this much apart at most, at random.
    pub start_spread: Span,
}

impl Default for ClientSettings {
    fn default() -> ClientSettings {
        ClientSettings {
            rpcs_in_flight: 8,
            rpc_size: Size::from_mib(1),
            readahead: Size::from_mib(40),
            start_spread: Span::from_us(5),
        }
    }
}

/// Every node has one full-duplex link to a non-blocking switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FabricSettings {
    /// Rate of every link, each way.
    pub rate: Rate,
    /// Time through the switch, plus or minus a tenth at random.
    pub latency: Span,
    /// From the last byte of a message to its handler, plus or minus a tenth at random.
    pub interrupt: Span,
    /// Size of a message that carries no data.
    pub message: Size,
}

impl Default for FabricSettings {
    fn default() -> FabricSettings {
        FabricSettings {
            rate: Rate::from_bytes_per_s(1_000_000_000),
            latency: Span::from_us(1),
            interrupt: Span::from_us(25),
            message: Size::from_kib(1),
        }
    }
}

/// Object storage targets, each with a server of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OstSettings {
    /// How many.
    pub count: u32,
    /// Service threads. A thread is held from the moment at which it takes a request until the data is on
    /// disk, or with the client.
    pub threads: u32,
    /// Time to take new blocks for a write. One into blocks that were taken before needs a fifth of it, a read,
    /// which looks them up, a twentieth.
    pub allocation_time: Span,
    /// Part of these times that is random, at most, either way.
    pub allocation_jitter: Share,
}

impl Default for OstSettings {
    fn default() -> OstSettings {
        OstSettings {
            count: 1,
            threads: 64,
            allocation_time: Span::from_us(200),
            allocation_jitter: Share::from_percent(20),
        }
    }
}

/// The network request scheduler of every OST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulerSettings {
    /// Which.
    pub policy: Policy,
}

impl Default for SchedulerSettings {
    fn default() -> SchedulerSettings {
        SchedulerSettings { policy: Policy::Fcfs }
    }
}

/// The order in which requests leave the elevator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElevatorKind {
    /// Order of arrival.
    Noop,
    /// Writes before reads, and the lowest place on disk first.
    Deadline,
}

/// Merges requests that are neighbours on disk, and holds them back while it is plugged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElevatorSettings {
    /// Order.
    pub kind: ElevatorKind,
    /// Largest request after merging.
    pub merge_limit: Size,
    /// For how long an empty elevator waits for more after a request came.
    pub unplug_delay: Span,
    /// With this many requests it waits no longer.
    pub unplug_at: u32,
    /// Whether the disk starts nothing while the elevator is plugged, not even what has left it before:
    /// so it was in the original simulator.
    pub plug_holds_disk: bool,
    /// Whether a request merges with any that lies behind it. The original simulator finds such a one, and then
    /// merges only with the request that it touched last.
    pub front_merges: bool,
}

impl Default for ElevatorSettings {
    fn default() -> ElevatorSettings {
        ElevatorSettings {
            kind: ElevatorKind::Deadline,
            merge_limit: Size::from_mib(4),
            unplug_delay: Span::from_ms(3),
            unplug_at: 8,
            plug_holds_disk: true,
            front_merges: false,
        }
    }
}

/// The disks of an OST: a RAID0 of equal members, each with an elevator and an arm of its own.
///
/// Publications that give "total" figures of an array take one member with these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArraySettings {
    /// Number of members.
    pub members: u32,
    /// Bytes on one member before the next one's turn.
    pub chunk: Size,
    /// Rate of a member, reading.
    pub read_rate: Rate,
    /// Rate of a member, writing.
    pub write_rate: Rate,
    /// Time of a request that starts elsewhere than the last one ended.
    pub seek: Span,
    /// Part of `seek` that is random, at most, either way.
    pub seek_jitter: Span,
    /// Time of a request that goes on where the last one ended.
    pub latency: Span,
    /// Part of `latency` that is random, at most, either way.
    pub latency_jitter: Span,
}

impl Default for ArraySettings {
    fn default() -> ArraySettings {
        ArraySettings {
            members: 1,
            chunk: Size::from_mib(1),
            read_rate: Rate::from_bytes_per_s(500_000_000),
            write_rate: Rate::from_bytes_per_s(500_000_000),
            seek: Span::from_ms(2),
            seek_jitter: Span::from_us(200),
            latency: Span::from_us(20),
            latency_jitter: Span::from_us(6),
        }
    }
}

/// A write-back cache: a write is complete when it is here, and goes to disk later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheSettings {
    /// Room for data that is not on disk; zero for no cache.
    pub size: Size,
    /// Rate into it and out of it.
    pub rate: Rate,
}

impl Default for CacheSettings {
    fn default() -> CacheSettings {
        CacheSettings { size: Size::ZERO, rate: Rate::from_bytes_per_s(1_000_000_000) }
    }
}

/// The metadata target, which opens and creates files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MdtSettings {
    /// Whether clients open their files; otherwise they are open from the start.
    pub opens: bool,
    /// Service threads.
    pub threads: u32,
    /// Time to open or create a file, plus or minus a tenth at random.
    pub open_time: Span,
}

impl Default for MdtSettings {
    fn default() -> MdtSettings {
        MdtSettings { opens: false, threads: 2, open_time: Span::from_ms(1) }
    }
}

/// The logical object volume (LOV): how files are spread over OSTs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutSettings {
    /// OSTs of a file; zero for all.
    pub stripe_count: u32,
    /// Bytes on one OST before the next one's turn.
    pub stripe_size: Size,
}

impl Default for LayoutSettings {
    fn default() -> LayoutSettings {
        LayoutSettings { stripe_count: 1, stripe_size: Size::from_mib(1) }
    }
}

/// How clients know how long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutRule {
    /// They wait for ever.
    Off,
    /// The same for every RPC.
    Fixed(Span),
    /// From the estimate that the server sends with every reply.
    Adaptive(EstimatorKind),
}

/// Timeouts. An RPC that is answered later is counted; it is not sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeoutSettings {
    /// Fixed or adaptive.
    pub rule: TimeoutRule,
    /// Length of the servers' sliding time window.
    pub history: Span,
    /// Its sub-windows.
    pub parts: u32,
    /// What the estimate is multiplied with.
    pub stretch: Share,
    /// What is added to that.
    pub margin: Span,
    /// What a client takes for the estimate before the first reply.
    pub initial: Span,
    /// If more than zero, the timeout itself before the first reply.
    pub first: Span,
    /// Shortest timeout.
    pub at_least: Span,
    /// Longest timeout.
    pub at_most: Span,
    /// Servers measure and estimate in whole seconds, rounded down, as Lustre and the original simulator do; off
    /// unless that is looked into.
    pub whole_seconds: bool,
    /// Whether and when servers grant more time.
    pub early: Option<EarlyRule>,
    /// How long before a deadline they do.
    pub early_margin: Span,
    /// How much they grant.
    pub early_extra: Span,
}

impl Default for TimeoutSettings {
    fn default() -> TimeoutSettings {
        TimeoutSettings {
            rule: TimeoutRule::Off,
            history: Span::from_secs(50),
            parts: 5,
            stretch: Share::from_percent(125),
            margin: Span::from_secs(5),
            initial: Span::from_secs(50),
            first: Span::ZERO,
            at_least: Span::from_secs(5),
            at_most: Span::from_secs(600),
            whole_seconds: false,
            early: None,
            early_margin: Span::from_secs(5),
            early_extra: Span::from_secs(20),
        }
    }
}

/// Bandwidth and queue over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleSettings {
    /// Length of a sample; zero for none. The first 2^20 samples are kept.
    pub interval: Span,
}

impl Default for SampleSettings {
    fn default() -> SampleSettings {
        SampleSettings { interval: Span::ZERO }
    }
}
