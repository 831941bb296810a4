//! What a fault simulation did, and what did not hold.

/// Faults injected, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Injected {
    /// Datagrams that never arrived.
    pub lost: u64,
    /// That a partition kept back.
    pub partitioned: u64,
    /// That arrived twice.
    pub duplicated: u64,
    /// That were held up until others had overtaken them.
    pub held_up: u64,
    /// Datagrams that arrived damaged.
    pub damaged: u64,
    /// Partitions of the network.
    pub partitions: u64,
    /// Nodes that lost power and memory, and what was not flushed.
    pub crashes: u64,
    /// Nodes that lost a disk, or never came back.
    pub gone: u64,
    /// Bits that changed on a disk.
    pub rotten_bits: u64,
    /// Acknowledged sectors that a disk had not written.
    pub lost_writes: u64,
    /// Disks that were full for a while.
    pub full_disks: u64,
    /// Disks that were slow for a while.
    pub slow_disks: u64,
    /// Disks of which operations of some kinds failed for a while, now and then or all.
    pub failing_disks: u64,
    /// Disks that answered operations of some kinds only after a while.
    pub stalled_disks: u64,
    /// Disks that failed for good while they were in use, and were replaced when others had made up for them.
    pub dying_disks: u64,
    /// Rows of names of which operations of some kinds failed for a while.
    pub failing_rows: u64,
    /// Rows of names that answered operations of some kinds only after a while.
    pub stalled_rows: u64,
    /// Rows of names that were slow for a while.
    pub slow_rows: u64,
    /// Nodes that stood still for a while.
    pub pauses: u64,
    /// Nodes that were started with the folder of another target for a while.
    pub refused: u64,
    /// Nodes that did not hear the multicast of a group for a while.
    pub deaf: u64,
    /// Datagrams by multicast that such nodes did not hear.
    pub unheard: u64,
    /// Nodes that began with an older program.
    pub older: u64,
    /// Starts with another layout of the same epoch.
    pub other_layouts: u64,
}

impl Injected {
    /// Each kind with its name.
    pub fn all(&self) -> [(&'static str, u64); 24] {
        [
            ("lost", self.lost),
            ("partitioned", self.partitioned),
            ("duplicated", self.duplicated),
            ("held_up", self.held_up),
            ("damaged", self.damaged),
            ("partitions", self.partitions),
            ("crashes", self.crashes),
            ("gone_for_good", self.gone),
            ("rotten_bits", self.rotten_bits),
            ("lost_writes", self.lost_writes),
            ("full_disks", self.full_disks),
            ("slow_disks", self.slow_disks),
            ("failing_disks", self.failing_disks),
            ("stalled_disks", self.stalled_disks),
            ("dying_disks", self.dying_disks),
            ("failing_rows", self.failing_rows),
            ("stalled_rows", self.stalled_rows),
            ("slow_rows", self.slow_rows),
            ("pauses", self.pauses),
            ("foreign_folders", self.refused),
            ("deaf_to_multicast", self.deaf),
            ("unheard", self.unheard),
            ("older_programs", self.older),
            ("other_layouts", self.other_layouts),
        ]
    }

    /// The sum of all kinds.
    pub fn total(&self) -> u64 {
        self.all().iter().map(|(_, count)| count).sum()
    }
}

/// What a fault simulation found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FaultReport {
    /// It repeats the simulation.
    pub seed: u64,
    /// Faults injected.
    pub injected: Injected,
    /// Puts that were acknowledged.
    pub acknowledged: u64,
    /// Puts and gets that were given up, as they may be under faults.
    pub given_up: u64,
    /// Gets that were answered, those of the checks among them.
    pub fetched: u64,
    /// Chunks that repair brought back to their number of replicas.
    pub healed: u64,
    /// Surplus replicas that were removed.
    pub surplus_removed: u64,
    /// Segments that stores compacted.
    pub compacted: u64,
    /// Replicas removed since nothing named them, by the nodes that were there in the end; and rounds of collection.
    pub collected: u64,
    /// See there.
    pub collections: u64,
    /// Requests about names that were answered.
    pub names_answered: u64,
    /// Listings of names, page by page.
    pub names_listed: u64,
    /// Requests about names that were asked again, since the answer was lost.
    pub names_asked_again: u64,
    /// Puts into buckets that are to be removed that were acknowledged, and buckets that were removed.
    pub stored_in_buckets: u64,
    /// See there.
    pub buckets_removed: u64,
    /// Uploads in parts that were completed or aborted.
    pub uploads_ended: u64,
    /// Acceptances after which the accepted windows were checked.
    pub acceptances: u64,
    /// Targets that were told to leave, those that said that they had handed over, and those that were taken
    /// away then.
    pub drained: u64,
    /// See there.
    pub handed_over: u64,
    /// See there.
    pub taken_away: u64,
    /// Nodes that joined.
    pub joined: u64,
    /// Events executed.
    pub events: u64,
    /// A fingerprint of all of them: equal seeds give equal ones.
    pub trace_hash: u64,
    /// What did not hold; empty is as it should be. At most [`FaultReport::MAX_VIOLATIONS`].
    pub violations: Vec<String>,
}

impl FaultReport {
    /// Further ones are not kept: the first ones tell most.
    pub const MAX_VIOLATIONS: usize = 8;

    pub(super) fn violated(&mut self, what: String) {
        if self.violations.len() < FaultReport::MAX_VIOLATIONS {
            self.violations.push(what);
        }
    }
}
