use slotcast_engine::ScenarioError;
use slotcast_stripe::Code;
use slotcast_units::{Share, Size, Span};

/// The size that costs are given for.
pub const REFERENCE: Size = Size::from_mib(1);

/// Who keeps parity and data together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Clients, with a lock for each stripe at a metadata server.
    #[default]
    StripeLock,
    /// The data and parity servers among themselves.
    Coordinated,
}

/// Which unit of a stripe a client writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Units {
    /// Always its own: client `c` has unit `c` modulo the number of data units.
    #[default]
    Own,
    /// Any, each with the same chance.
    Any,
}

/// Where a message that is alone is slower than the link: what makes one message of 1 MiB take more than
/// half as long as two at a time from one sender to two receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bottleneck {
    /// At the receiver: it takes in no more than this from all senders together.
    #[default]
    Receiver,
    /// At each stream: several of them fill the link of a receiver, too.
    Stream,
}

/// Where contents are that are not in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecondCache {
    /// On the disk alone.
    #[default]
    None,
    /// Also on an SSD beside it.
    Ssd,
}

/// The stripes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stripes {
    /// Who keeps parity and data together.
    pub mode: Mode,
    /// Data units of a stripe.
    pub data: u32,
    /// Parity units of a stripe.
    pub parity: u32,
    /// Size of a unit.
    pub unit: Size,
    /// Number of stripes. There are as many servers as a stripe has units; each stripe begins at the next
    /// of them, so that all have data and parity.
    pub count: u32,
}

/// The clients: each has one write after another, without a pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clients {
    /// How many.
    pub count: u32,
    /// Which unit they write.
    pub units: Units,
    /// The exponent of Zipf's law over the stripes; zero chooses each with the same chance.
    pub zipf: Share,
}

/// The network: every node has a link with two directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Time of a message of 1 MiB.
    pub transfer: Span,
    /// Time of two messages of 1 MiB from one sender to two receivers at once.
    pub transfer_pair: Span,
    /// Time of a small message, and the part of the other two that does not depend on the size.
    pub message: Span,
    /// What limits a message that is alone.
    pub bottleneck: Bottleneck,
}

/// The disk of each server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Time to write 1 MiB.
    pub write: Span,
    /// How much shorter or longer a write may be: evenly distributed.
    pub spread: Span,
    /// Time to read 1 MiB.
    pub read: Span,
    /// The part of both that does not depend on the size.
    pub access: Span,
}

/// What servers have in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// How often the content of a data unit is there.
    pub data_hits: Share,
    /// How often the content of a parity unit is there.
    pub parity_hits: Share,
    /// Where the others are.
    pub second: SecondCache,
    /// Time to read 1 MiB from the SSD.
    pub ssd_read: Span,
    /// Whether a data server fetches the old content while the new one arrives; coordinated mode only.
    pub prefetch: bool,
}

/// What computing costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Costs {
    /// Time to compute a unit of 1 MiB from others.
    pub parity: Span,
    /// Time to acquire and to release a lock, the four messages included.
    pub lock: Span,
}

/// The patience of the machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patience {
    /// How long they wait for an answer before they ask again.
    pub retry: Span,
    /// How long a client may hold a lock.
    pub lease: Span,
}

/// How long a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// What happens before is not measured.
    pub warmup: Span,
    /// When clients stop.
    pub length: Span,
}

/// Everything that one run depends on, except for its seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The stripes.
    pub stripes: Stripes,
    /// The clients.
    pub clients: Clients,
    /// The network.
    pub network: Network,
    /// The disks.
    pub disk: Disk,
    /// What servers have in memory.
    pub cache: Cache,
    /// What computing costs.
    pub costs: Costs,
    /// The patience of the machines.
    pub patience: Patience,
    /// How long the run is.
    pub run: Run,
}

impl Default for Scenario {
    /// One client on one stripe of 8+1 units of 1 MiB in the cluster Suno ("Overcoming write penalties of
    /// conflicting client operations", 2012, "Evaluation: Suno cluster").
    fn default() -> Scenario {
        let us = Span::from_us;
        Scenario {
            stripes: Stripes {
                mode: Mode::default(),
                data: 8,
                parity: 1,
                unit: REFERENCE,
                count: 1,
            },
            clients: Clients { count: 1, units: Units::Own, zipf: Share::ZERO },
            network: Network {
                transfer: us(10_633),
                transfer_pair: us(18_172),
                message: us(80),
                bottleneck: Bottleneck::Receiver,
            },
            disk: Disk { write: us(4_284), spread: us(1_726), read: us(4_284), access: Span::ZERO },
            cache: Cache {
                data_hits: Share::ONE,
                parity_hits: Share::ONE,
                second: SecondCache::None,
                ssd_read: us(500),
                prefetch: false,
            },
            costs: Costs { parity: us(657), lock: us(416) },
            patience: Patience { retry: Span::from_secs(10), lease: Span::from_secs(100) },
            run: Run { warmup: Span::from_secs(1), length: Span::from_secs(20) },
        }
    }
}

impl Scenario {
    /// The code of the stripes.
    ///
    /// # Errors
    /// If there is no such code.
    pub fn code(&self) -> Result<Code, ScenarioError> {
        let Stripes { data, parity, .. } = self.stripes;
        Code::new(data, parity)
            .map_err(|error| ScenarioError { key: "stripes.data", problem: error.to_string() })
    }

    /// Time of the lock server for each request: what a cycle takes beyond its four messages, in halves.
    pub(super) fn lock_service(&self) -> Span {
        self.costs.lock.saturating_sub(self.network.message * 4) / 2
    }

    /// What a cost for 1 MiB, of which `fixed` does not depend on the size, is for a unit.
    pub(super) fn for_unit(&self, cost: Span, fixed: Span) -> Span {
        let (unit, whole) = (self.stripes.unit.as_bytes(), REFERENCE.as_bytes());
        let variable = u128::from(cost.saturating_sub(fixed).as_ns()) * u128::from(unit);
        // Units are at most 1 GiB, so this is far below the end of the clock.
        let variable = u64::try_from(variable / u128::from(whole)).unwrap_or(u64::MAX);
        fixed + Span::from_ns(variable)
    }
}

/// Finds the first reason for which `scenario` cannot be run.
///
/// # Errors
/// Names the setting, what is wrong with it and what would be right.
pub fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Scenario { stripes, clients, network, disk, costs, patience, run, .. } = scenario;
    let demand = |key, holds: bool, problem: String| match holds {
        true => Ok(()),
        false => Err(ScenarioError { key, problem }),
    };
    let positive =
        |key, span: Span| demand(key, span > Span::ZERO, "must be more than zero".into());
    scenario.code()?;
    demand("stripes.count", stripes.count > 0, "must be at least 1".into())?;
    demand("clients.count", clients.count > 0, "must be at least 1".into())?;
    demand(
        "stripes.unit",
        stripes.unit > Size::ZERO && stripes.unit <= Size::from_mib(1024),
        format!("{} is not between 1B and 1GiB", stripes.unit),
    )?;
    let Network { transfer, transfer_pair, message, .. } = *network;
    demand(
        "network.transfer",
        transfer > message,
        format!("{transfer} is no longer than the small message of {message}"),
    )?;
    demand(
        "network.transfer_pair",
        transfer_pair >= transfer && transfer_pair - message <= (transfer - message) * 2,
        format!(
            "{transfer_pair} for two messages is not between the {transfer} of one and twice that"
        ),
    )?;
    demand(
        "costs.lock",
        costs.lock >= message * 4,
        format!("{} is shorter than its four messages of {message}", costs.lock),
    )?;
    for (key, time) in [("disk.write", disk.write), ("disk.read", disk.read)] {
        demand(
            key,
            time >= disk.access,
            format!("{time} is shorter than disk.access of {}", disk.access),
        )?;
    }
    demand(
        "disk.spread",
        disk.spread <= disk.write,
        format!("{} is longer than the write of {} itself", disk.spread, disk.write),
    )?;
    positive("patience.retry", patience.retry)?;
    positive("patience.lease", patience.lease)?;
    demand(
        "run.length",
        run.length > run.warmup,
        format!("{} leaves nothing after the warm-up of {}", run.length, run.warmup),
    )
}
