//! What a production node runs with.

use slotcast_object::NameTimes;
use slotcast_protocol::{
    Backpressure, CalendarRules, Choosy, Delivery, DiskForecast, GetRules, GroupMap, IdleExtension,
    InitiatorConfig, InitiatorId, LateRules, OfferRule, PutRules, RepairRules, TargetConfig,
    TargetId, Timing, WindowRule,
    selection::{SequenceRule, Ties},
};
use slotcast_units::{Rate, Share, Size, Span};

use crate::config::Times;
use crate::map::ClusterMap;
use crate::target::QueueRule;

/// How the nodes of a cluster bid, choose, wait and repair: what a production node runs with. All of it is decided here,
/// from what people say in the cluster map and in the file of a node; a fault simulation takes the same with shorter times.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Times and rates of the network.
    pub timing: Timing,
    /// How chunks travel.
    pub delivery: Delivery,
    /// Replicas of a chunk where a put does not say, 1 to 8.
    pub replicas: u8,
    /// Which of several bids is taken where transfers would begin together.
    pub ties: Ties,
    /// Whether a long wait for the best bid is asked about again.
    pub is_choosy: bool,
    /// How long answers are awaited in a round.
    pub answers: Span,
    /// How long acknowledgements are awaited after a transfer.
    pub acks: Span,
    /// When it is asked what became of a transfer, before that time is over: what is said in a datagram may be lost.
    pub late: Option<LateRules>,
    /// How often members are asked for one request.
    pub max_rounds: u8,
    /// For how long a request is tried that too few members are available for: longer than a member is taken for
    /// silent that is only busy, and so short that a client hears of it within a second.
    pub refuse_after: Span,
    /// How long after its window an accepted transfer may come.
    pub grace: Span,
    /// How long a bid is kept.
    pub hold: Span,
    /// How far ahead windows are offered.
    pub horizon: Span,
    /// What a disk is taken for until it has been measured.
    pub first_disk_rate: Rate,
    /// When a target asks initiators to wait.
    pub queue: QueueRule,
    /// How a disk repairs, for all targets on it.
    pub repair: RepairRules,
    /// How long a node waits for what.
    pub times: Times,
}

/// A flush of a busy disk takes some hundred milliseconds; of most it takes a few.
const LATE: LateRules = LateRules { first: Span::from_ms(250), least: Span::from_ms(20) };

impl Rules {
    /// Of a whole cluster in one process: control messages and chunks pass by reference, so the times of the
    /// network are those of memory; nothing is lost and nobody is away. Over limited links, 90 % are for chunks, as
    /// in the Replicast paper.
    pub fn of_process(link_rate: Option<Rate>, replicas: u8) -> Rules {
        let memory = Rate::from_bytes_per_s(8_000_000_000);
        let for_chunks = |rate: Rate| rate.share(Share::from_percent(90)).min(memory);
        let timing = Timing {
            control: Span::from_ns(500),
            trip: Span::from_us(1),
            data_rate: link_rate.map_or(memory, for_chunks),
            frame: Size::from_kib(64),
        };
        let acks = Span::from_secs(10);
        Rules::new((timing, Delivery::Multicast, replicas), Span::from_ms(50), (acks, 32))
    }

    /// Of a cluster of several processes. A member may be silent, and while it is waited for, the windows that the
    /// others have bid pass: so answers are not awaited for long, and more rounds are asked.
    pub fn of_cluster(map: &ClusterMap) -> Rules {
        let answers = (map.trip * 20).max(Span::from_ms(3));
        let rules = Rules::new(
            (map.timing(), map.delivery, map.replicas),
            answers,
            (Span::from_secs(3), 255),
        );
        Rules { late: Some(LATE), ..rules }
    }

    fn new(
        (timing, delivery, replicas): (Timing, Delivery, u8),
        answers: Span,
        (acks, max_rounds): (Span, u8),
    ) -> Rules {
        Rules {
            timing,
            delivery,
            replicas,
            // A flush takes longer than everything else, and in one process all windows start at once.
            ties: Ties::ByBacklog,
            is_choosy: true,
            answers,
            acks,
            late: None,
            max_rounds,
            refuse_after: Span::from_ms(700),
            grace: Span::from_secs(10),
            hold: Span::from_ms(200),
            horizon: Span::from_secs(10),
            first_disk_rate: Rate::from_bytes_per_s(400 << 20),
            // Some batches of a fast disk, and not so long that a slow one makes everybody wait who stores there.
            queue: QueueRule { time: Span::from_ms(50), most: Size::from_mib(32) },
            // What is missing is written at about the pace at which it is read, so that healing takes about half of
            // the disks' time, and a scrub a tenth.
            repair: RepairRules {
                at_once: 4,
                heal_share: Share::from_percent(25),
                scrub_share: Share::from_percent(10),
                least_pause: Span::from_ms(5),
                survey_pause: Span::from_ms(2),
                most_pause: Span::from_secs(30),
                period: Span::from_secs(7 * 24 * 3600),
                belief: Span::from_secs(7 * 24 * 3600),
                scrub_period: Span::from_secs(7 * 24 * 3600),
                first_scrub: Span::from_secs(24 * 3600),
                retry: Span::from_secs(30),
                surplus_after: Span::from_secs(60),
            },
            times: Times::production(answers),
        }
    }

    /// The negotiator of a target, whose disk is said to be so fast, if anybody says.
    ///
    /// # Panics
    /// If the target has no seat in `groups`.
    pub fn target(&self, groups: &GroupMap, id: TargetId, disk_rate: Option<Rate>) -> TargetConfig {
        let (group, position) = groups.seat(id);
        TargetConfig {
            group,
            position,
            timing: self.timing,
            window_rule: WindowRule::published(self.delivery),
            idle_extension: IdleExtension::TwoTransfers,
            calendar: CalendarRules {
                offer: OfferRule::FirstFit,
                gap: Span::ZERO,
                grace: self.grace,
                expected: self.timing.trip,
                hold: self.hold,
                horizon: self.horizon,
                capacity: 256,
            },
            // Where the disk is measured, the limit of the queue follows its rate.
            disk: DiskForecast::new(
                disk_rate.unwrap_or(self.first_disk_rate),
                self.queue.most,
                Backpressure::KeepRoom,
            ),
        }
    }

    /// How long requests about names wait for what.
    pub fn names(&self) -> NameTimes {
        NameTimes {
            // Voters flush before they answer.
            patience: (self.answers * 4).max(Span::from_ms(20)),
            silence: self.refuse_after + Span::from_ms(300),
            most: Span::from_secs(10),
            stores: Span::from_secs(1),
            deletions: Span::from_secs(3600),
        }
    }

    /// The initiator of a node.
    pub fn initiator(&self, node: u32) -> InitiatorConfig {
        let timing = self.timing;
        InitiatorConfig {
            id: InitiatorId(node),
            timing,
            put: PutRules {
                replicas: self.replicas,
                window_rule: WindowRule::published(self.delivery),
                ties: self.ties,
                sequence: SequenceRule::revised(&timing),
                double_booking: false,
                proxied: false,
                consecutive_only: false,
                abandon_without_window: false,
                choosy: self
                    .is_choosy
                    .then_some(Choosy { first_patience: timing.round_trip() * 3, overlaps: false }),
            },
            get: GetRules { window_rule: WindowRule::published(Delivery::Unicast) },
            answer_timeout: self.answers,
            ack_timeout: self.acks,
            late: self.late,
            max_rounds: self.max_rounds,
            refuse_after: Some(self.refuse_after),
            horizon: self.horizon,
        }
    }

    /// The repair of each of so many targets on one disk, which share its time.
    pub fn repair_of(&self, sharing: u32) -> RepairRules {
        let part = |share: Share| Share::from_ppm(share.as_ppm() / sharing.max(1));
        let (heal_share, scrub_share) =
            (part(self.repair.heal_share), part(self.repair.scrub_share));
        RepairRules { heal_share, scrub_share, ..self.repair }
    }
}
