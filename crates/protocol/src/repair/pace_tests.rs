//! How much of a disk a repair takes, and how long it says that it will take.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

const RULES: RepairRules = RepairRules {
    at_once: 4,
    heal_share: Share::from_percent(25),
    scrub_share: Share::from_percent(10),
    least_pause: Span::from_ms(5),
    survey_pause: Span::from_ms(5),
    most_pause: Span::from_secs(30),
    period: Span::from_secs(7 * 24 * 3600),
    belief: Span::from_secs(7 * 24 * 3600),
    scrub_period: Span::from_secs(7 * 24 * 3600),
    first_scrub: Span::from_secs(24 * 3600),
    retry: Span::from_secs(30),
    surplus_after: Span::from_ms(10),
};

struct Shelf {
    chunks: u32,
    size: Size,
    rate: Rate,
}

fn name(n: u32) -> ChunkId {
    let mut name = [0; 32];
    name[..4].copy_from_slice(&n.to_be_bytes());
    ChunkId(name)
}

fn number(chunk: &ChunkId) -> u32 {
    u32::from_be_bytes([chunk.0[0], chunk.0[1], chunk.0[2], chunk.0[3]])
}

impl Inventory for Shelf {
    fn chunk_from(&self, from: Bound<ChunkId>) -> Option<ChunkId> {
        let next = match from {
            Bound::Unbounded => 0,
            Bound::Included(chunk) => number(&chunk) + u32::from(name(number(&chunk)) < chunk),
            Bound::Excluded(chunk) => number(&chunk) + 1,
        };
        (next < self.chunks).then(|| name(next))
    }

    fn wanted(&self, _chunk: &ChunkId) -> Option<Wanted> {
        Some(Wanted::bare(3))
    }

    fn size(&self, _chunk: &ChunkId) -> Option<Size> {
        Some(self.size)
    }

    fn range_sum(&self, bits: u8, range: u32) -> RangeSum {
        // One range is enough here: its sum is that of nobody else.
        assert_eq!((bits, range), (0, 0));
        RangeSum { sum: 1, chunks: 0 }
    }

    fn read_rate(&self) -> Rate {
        self.rate
    }
}

/// A host whose disk reads one chunk after another, at a rate that the repair knows. Of the chunks that
/// are asked about every `lacking`th has too few replicas.
struct Disk {
    shelf: Shelf,
    lacking: u32,
    repair: Repair,
    now: Time,
    wake: Time,
    /// What ends when.
    under_way: BTreeMap<(Time, ChunkId), RepairOutcome>,
    free_at: Time,
    busy: Span,
    reads: u64,
    replies: VecDeque<RepairInput>,
}

impl Disk {
    fn new(shelf: Shelf, lacking: u32) -> Disk {
        Disk {
            shelf,
            lacking,
            repair: Repair::new(RULES, 0, 9),
            now: Time::ZERO,
            wake: Time::NEVER,
            under_way: BTreeMap::new(),
            free_at: Time::ZERO,
            busy: Span::ZERO,
            reads: 0,
            replies: VecDeque::new(),
        }
    }

    fn lacks(&self, chunk: &ChunkId) -> bool {
        number(chunk).is_multiple_of(self.lacking)
    }

    fn tell(&mut self, input: RepairInput) {
        let mut effects = Vec::new();
        self.repair.handle(self.now, input, &self.shelf, &mut effects);
        for effect in effects {
            let (chunk, outcome) = match effect {
                RepairEffect::WakeAt(time) => {
                    self.wake = time;
                    continue;
                }
                RepairEffect::Check(chunk) if self.lacks(&chunk) => (chunk, RepairOutcome::Lacking),
                RepairEffect::Check(chunk) => (chunk, RepairOutcome::Complete),
                RepairEffect::PutAgain(chunk) => (chunk, RepairOutcome::Healed),
                RepairEffect::Read(chunk) => (chunk, RepairOutcome::Complete),
                RepairEffect::Recover(..) => unreachable!("nothing is lost"),
                RepairEffect::Release(_) => unreachable!("nothing is surplus"),
                RepairEffect::Compare { .. } => {
                    self.replies.push_back(RepairInput::Compared(None));
                    continue;
                }
                RepairEffect::Survey(number, ref chunks) => {
                    let is_enough =
                        |(_, (chunk, _)): &(usize, &(ChunkId, Wanted))| !self.lacks(chunk);
                    let enough = chunks.iter().enumerate().filter(is_enough);
                    let enough = enough.fold(0, |all, (bit, _)| all | 1 << bit);
                    let answers = Answers::All;
                    self.replies.push_back(RepairInput::Surveyed {
                        number,
                        enough,
                        surplus: 0,
                        answers,
                    });
                    continue;
                }
            };
            let mut end = self.now + Span::from_us(200);
            if !matches!(effect, RepairEffect::Check(_)) {
                let takes = self.shelf.rate.time_for(self.shelf.size);
                self.free_at = self.free_at.max(self.now) + takes;
                self.busy += takes;
                self.reads += 1;
                end = self.free_at;
            }
            self.under_way.insert((end, chunk), outcome);
        }
    }

    /// What happens next; false if that is not before `end`.
    fn step(&mut self, end: Time) -> bool {
        if let Some(reply) = self.replies.pop_front() {
            self.tell(reply);
            return true;
        }
        let first = self.under_way.first_key_value().map_or(Time::NEVER, |((time, _), _)| *time);
        if first.min(self.wake) > end {
            return false;
        }
        self.now = self.now.max(first.min(self.wake));
        if self.wake <= self.now {
            self.wake = Time::NEVER;
            self.tell(RepairInput::Wake);
        } else if let Some(((_, chunk), outcome)) = self.under_way.pop_first() {
            self.tell(RepairInput::Ended(chunk, outcome));
        }
        true
    }

    fn run_until(&mut self, is_there: impl Fn(&Repair) -> bool) {
        while !is_there(&self.repair) {
            assert!(self.step(Time::NEVER), "it goes on");
        }
    }
}

fn mib_per_s(rate: u64) -> Rate {
    Rate::from_bytes_per_s(rate << 20)
}

const MIB: Size = Size::from_mib(1);

#[test]
fn a_pause_follows_from_the_size_and_the_rate_within_its_bounds() {
    let (share, quarter) = (RULES.scrub_share, RULES.heal_share);
    assert_eq!(RULES.pause(MIB, mib_per_s(100), share), Span::from_ms(100));
    assert_eq!(RULES.pause(MIB, mib_per_s(400), quarter), Span::from_ms(10));
    assert_eq!(RULES.pause(Size::from_kib(4), mib_per_s(400), quarter), Span::from_ms(5));
    assert_eq!(RULES.pause(Size::from_mib(8), Rate::from_bps(1), share), Span::from_secs(30));
    assert_eq!(RULES.pause(MIB, mib_per_s(100), Share::ZERO), Span::from_secs(30));
}

/// A hundred chunks a second were healed, whatever the disk, before the pace followed the disk.
#[test]
fn a_fast_disk_heals_a_hundred_chunks_a_second_and_more() {
    for (rate, least) in [(400, 99.0), (2_000, 190.0)] {
        let mut disk = Disk::new(Shelf { chunks: 2_000, size: MIB, rate: mib_per_s(rate) }, 1);
        disk.tell(RepairInput::Changed);
        disk.run_until(|repair| repair.statistics().scans == 1);
        let seconds = disk.now.as_ns() as f64 / 1e9;
        assert_eq!(disk.repair.statistics().healed, 2_000);
        assert!(2_000.0 / seconds >= least, "{rate} MiB/s: {seconds} s for 2000");
    }
}

/// What users do to a disk changes its rate: the pace and the estimate follow.
#[test]
fn the_estimate_follows_a_disk_that_becomes_slow() {
    let mut disk = Disk::new(Shelf { chunks: 60_000, size: MIB, rate: mib_per_s(400) }, 1);
    disk.tell(RepairInput::Changed);
    disk.run_until(|repair| repair.statistics().healed == 20_000);
    disk.shelf.rate = mib_per_s(40);
    disk.run_until(|repair| repair.statistics().healed == 25_000);
    let progress = disk.repair.progress(disk.now).expect("it scans");
    let told = progress.remaining(60_000).expect("it has begun").as_ns() as f64 / 1e9;
    // 35 000 at a quarter of 40 a second.
    assert!((3_400.0..3_600.0).contains(&told), "{told} s");
}

#[test]
fn before_the_first_chunk_nothing_is_estimated() {
    let mut scan = Scan::new(Time::ZERO, ChunkId([0; 32]));
    let later = Time::ZERO + Span::from_secs(1);
    assert_eq!(scan.progress(later, 0).remaining(400), None);
    scan.visit(later, 1);
    assert_eq!(scan.progress(later, 0).remaining(400), Some(Span::from_secs(399)));
    assert_eq!(scan.progress(later, 0).remaining(1), Some(Span::ZERO));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the disk and the chunks, neither scrubbing nor healing takes more of the disk than its share,
    /// and both come to their end.
    #[test]
    fn no_more_than_the_share_is_taken(
        kib in 1u64..8192,
        // A slower disk would be left alone for longer than `most_pause` says.
        mib_s in 3u64..4000,
        lacking in 1u32..4,
        chunks in 20u32..300,
    ) {
        let shelf = Shelf { chunks, size: Size::from_kib(kib), rate: mib_per_s(mib_s) };
        let one = shelf.rate.time_for(shelf.size).as_ns() as f64;
        let mut disk = Disk::new(shelf, lacking);
        disk.tell(RepairInput::Changed);
        disk.run_until(|repair| repair.statistics().scans == 1);
        let allowed = |from: Time, to: Time, share: Share| {
            // One may have been begun just before the end.
            to.saturating_since(from).as_ns() as f64 * share.as_f64() + one
        };
        let busy = disk.busy.as_ns() as f64;
        prop_assert_eq!(disk.reads, u64::from(chunks.div_ceil(lacking)));
        prop_assert!(busy <= allowed(Time::ZERO, disk.now, RULES.heal_share) * 1.000_001);
        disk.run_until(|repair| repair.scrub_progress(Time::ZERO).is_some());
        let (began, before) = (disk.now, disk.busy);
        disk.run_until(|repair| repair.statistics().scrubs == 1);
        let busy = disk.busy.saturating_sub(before).as_ns() as f64;
        prop_assert_eq!(disk.repair.statistics().scrubbed, u64::from(chunks));
        prop_assert!(busy <= allowed(began, disk.now, RULES.scrub_share) * 1.000_001);
    }

    /// After a quarter of a scan, and of a scrub, its end is known within a fifth.
    #[test]
    fn the_estimate_is_near_the_truth(
        kib in 1u64..8192,
        mib_s in 5u64..4000,
        lacking in 1u32..50,
        chunks in 2_000u32..6_000,
    ) {
        let shelf = Shelf { chunks, size: Size::from_kib(kib), rate: mib_per_s(mib_s) };
        let mut disk = Disk::new(shelf, lacking);
        let held = u64::from(chunks);
        disk.tell(RepairInput::Changed);
        disk.run_until(|repair| {
            // On a slow disk everything is visited before much is healed: a quarter of both.
            let is_quarter = |p: RepairProgress| {
                p.visited >= held / 4 && p.healed >= held / u64::from(lacking) / 4
            };
            repair.progress(Time::ZERO).is_some_and(is_quarter)
        });
        let at = disk.now;
        let told = disk.repair.progress(at).and_then(|p| p.remaining(held)).expect("it has begun");
        disk.run_until(|repair| repair.statistics().scans == 1);
        let took = disk.now.saturating_since(at).as_ns() as f64;
        let error = told.as_ns() as f64 / took;
        prop_assert!((0.8..1.25).contains(&error), "a scan: {error} of {took} ns");

        disk.run_until(|repair| repair.scrub_progress(Time::ZERO).is_some_and(|p| p.visited >= held / 4));
        let at = disk.now;
        let told = disk.repair.scrub_progress(at).and_then(|p| p.remaining(held)).expect("begun");
        disk.run_until(|repair| repair.statistics().scrubs == 1);
        let took = disk.now.saturating_since(at).as_ns() as f64;
        let error = told.as_ns() as f64 / took;
        prop_assert!((0.95..1.05).contains(&error), "a scrub: {error} of {took} ns");
    }
}
