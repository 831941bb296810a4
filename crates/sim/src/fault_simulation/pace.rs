//! How long everything takes around the nodes: as short as it can be, so that a simulation sees much of it, or as long as
//! it is in production.

use slotcast_member::{CollectionRules, QueueRule, Rules, Times};
use slotcast_object::NameTimes;
use slotcast_protocol::{LateRules, RepairRules};
use slotcast_transport::{ReachRules, SilenceRules};
use slotcast_units::{Rate, Share, Size, Span};

/// The times of a fault simulation, but for those of its disks and of the network.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Nodes wait a hundred times shorter than in production.
    pub(super) is_hurried: bool,
    /// How long a node is down before what it held is replaced.
    pub(super) gone_after: Span,
    /// A fault lasts so long at least, and so much longer on average.
    pub(super) fault: (Span, Span),
    /// How long requests and repair may take once the faults have stopped, and from one look at that to the next.
    pub(super) patience: Span,
    pub(super) step: Span,
    /// In which all have heard of a target that has failed, and have begun to scan.
    pub(super) told: Span,
    /// In which a node has started, all of its groups have heard of that and scan, and users have had their time.
    pub(super) scanned: Span,
    /// Scrubs that may be needed: the one under way, and a whole one; none where nothing happens that only a scrub can find.
    pub(super) scrubs: u64,
    /// After such a time without requests no target remembers when its offers were accepted.
    pub(super) quiet: Span,
    /// From one look of the keeper of the map for what nodes have to say to the next.
    pub(super) keeper: Span,
}

impl Pace {
    /// Of seeds.
    pub(super) const HURRIED: Pace = Pace {
        is_hurried: true,
        gone_after: Span::from_ms(10),
        fault: (Span::from_us(500), Span::from_ms(8)),
        patience: Span::from_secs(2),
        step: Span::from_ms(1),
        told: Span::from_ms(10),
        scanned: Span::from_ms(35),
        scrubs: 2,
        quiet: Span::from_secs(2),
        keeper: Span::from_ms(5),
    };

    /// Of a month. A disk is scrubbed once a week: what only that finds does not happen there.
    pub(super) const PRODUCTION: Pace = Pace {
        is_hurried: false,
        gone_after: Span::from_secs(600),
        fault: (Span::from_secs(10), Span::from_secs(600)),
        // A deletion is looked for by each voter in turn, and remembered for an hour, twice if somebody else was promised something.
        patience: Span::from_secs(8 * 3600),
        step: Span::from_secs(1),
        told: Span::from_secs(30),
        scanned: Span::from_secs(300),
        scrubs: 0,
        quiet: Span::from_secs(60),
        keeper: Span::from_secs(1),
    };

    /// `rules` as they are, or with shorter times.
    pub(super) fn rules(&self, rules: Rules) -> Rules {
        if !self.is_hurried {
            return rules;
        }
        Rules {
            answers: ANSWERS,
            acks: ACKS,
            late: Some(LATE),
            refuse_after: REFUSE,
            grace: ACKS,
            hold: HOLD,
            horizon: HORIZON,
            first_disk_rate: Rate::from_bytes_per_s(100 << 20),
            queue: QUEUE,
            repair: REPAIR,
            times: TIMES,
            ..rules
        }
    }

    /// How long requests about names wait.
    pub(super) fn names(&self, rules: &Rules) -> NameTimes {
        if self.is_hurried { NAMES } else { rules.names() }
    }

    /// How garbage is collected, as often as this.
    pub(super) fn collection(&self, every: Option<Span>) -> CollectionRules {
        let hurried = CollectionRules {
            every,
            limit: Span::from_ms(80),
            pause: Span::from_us(200),
            at_once: 4,
        };
        if self.is_hurried { hurried } else { CollectionRules::PRODUCTION }
    }
}

const ANSWERS: Span = Span::from_us(400);
/// Longer than an acknowledgement is waited for, and than most faults of the network last.
const REFUSE: Span = Span::from_ms(40);
const ACKS: Span = Span::from_ms(15);
const LATE: LateRules = LateRules { first: Span::from_ms(3), least: Span::from_us(500) };
const HOLD: Span = Span::from_us(1600);
const HORIZON: Span = Span::from_secs(1);

/// When targets that measure their disk ask to be waited for: some chunks of a simulation.
const QUEUE: QueueRule = QueueRule { time: Span::from_ms(5), most: Size::from_mib(1) };

/// The times of a node, made so short that a simulation sees many of them.
const TIMES: Times = Times {
    opened_within: Span::from_ms(60),
    disk: Span::from_ms(60),
    room: Span::from_ms(2),
    settling: Span::from_ms(1),
    beat: Span::from_us(2500),
    first_beat: Span::from_ms(1),
    youth: Span::from_ms(10),
    silence: SilenceRules { unresponsive: Span::from_us(8500), silence: Span::from_ms(14) },
    probe: Span::from_us(3500),
    reach: ReachRules { patience: ANSWERS, heard: Span::from_ms(8), lasts: Span::from_ms(40) },
    least_slack: Span::from_us(60),
    repeats: Span::from_ms(3),
};

/// Longer than maps take to the nodes, but for few.
const NAMES: NameTimes = NameTimes {
    patience: Span::from_ms(3),
    silence: Span::from_ms(50),
    most: Span::from_ms(300),
    stores: Span::from_ms(20),
    // Longer than any simulation.
    deletions: Span::from_secs(3600),
};

const REPAIR: RepairRules = RepairRules {
    at_once: 4,
    // Disks here have less to do for users than for repair.
    heal_share: Share::from_percent(400),
    scrub_share: Share::from_percent(400),
    least_pause: Span::from_us(20),
    survey_pause: Span::from_us(20),
    most_pause: Span::from_us(500),
    // Nobody scans for no reason: whoever should have begun to is found out.
    period: Span::from_secs(3600),
    // Some scans believe the sums, and some come later than that.
    belief: Span::from_ms(40),
    scrub_period: Span::from_ms(40),
    first_scrub: Span::from_ms(20),
    retry: Span::from_ms(5),
    surplus_after: Span::from_ms(20),
};
