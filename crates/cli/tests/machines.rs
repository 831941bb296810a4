//! The machines in both of their hosts: what those of one heard, those of the other answer alike. So neither
//! host has state of its own that a machine depends on, and configurations mean the same.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it has a real disk")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use bytes::Bytes;
use slotcast_member::{Circumstances, Effect, Outbox, StorageTarget, TargetInput, TargetSetup};
use slotcast_node::{Hosting, Limits, Machines, Node, QueueRule, TargetStatus};
use slotcast_protocol::tape::{TargetEntry, TargetHeard};
use slotcast_protocol::{ChunkId, Membership, Message, RepairRules, TargetEffect, TargetId};
use slotcast_sim::{
    Difference, MachineConfigs, Scenario, Tapes, Ties, machine_configs, record, replay,
};
use slotcast_store::{Config, Content, Identity, Op, OpId, Output, SegmentId};
use slotcast_units::{Rate, Share, Size, Span, Time};

fn scenario() -> Scenario {
    let mut scenario = Scenario::default();
    (scenario.cluster.initiators, scenario.cluster.targets) = (1, 9);
    scenario.disk.queue_limit = Size::from_mib(1);
    scenario.replicast.choosy = true;
    scenario.replicast.ties = Ties::ByBacklog;
    scenario.workload.window = 8;
    scenario.workload.chunk_size = Size::from_kib(16);
    (scenario.run.length, scenario.run.warmup) = (Span::from_ms(50), Span::ZERO);
    scenario
}

fn host(scenario: &Scenario, base: &Path, disk_rates: BTreeMap<TargetId, Rate>) -> Node {
    let hosting = Hosting {
        folders: (0..scenario.cluster.targets).map(|n| base.join(n.to_string())).collect(),
        segment_size: 4 << 20,
        limits: Limits { disk_rate: Some(scenario.disk.rate), ..Limits::default() },
        disk_rates,
        queue: QueueRule { time: Span::from_ms(50), most: Size::from_mib(4) },
        records: true,
        repairs: true,
    };
    let MachineConfigs { groups, targets, mut initiators } =
        machine_configs(scenario).expect("a scenario for hosts");
    let machines = Machines { groups, targets, initiator: initiators.remove(0) };
    Node::host(&hosting, machines).expect("it starts")
}

fn content(n: usize, length: usize) -> Content {
    let mut bytes = vec![0; length];
    bytes[..8].copy_from_slice(&n.to_le_bytes());
    Content::of(Bytes::from(bytes))
}

/// Puts `count` chunks, 8 at a time.
fn put_all(node: &Node, count: usize, length: usize) {
    let mut under_way = VecDeque::new();
    for n in 0..count {
        under_way.push_back(node.put(content(n, length)));
        if under_way.len() == 8 {
            let oldest = under_way.pop_front().expect("eight");
            assert_eq!(oldest.blocking_recv().expect("an answer"), Ok(()));
        }
    }
    for put in under_way {
        assert_eq!(put.blocking_recv().expect("an answer"), Ok(()));
    }
}

#[test]
fn the_simulators_machines_repeat_what_those_of_a_node_did() {
    let base = tempfile::tempdir().expect("a folder");
    let scenario = scenario();
    let node = host(&scenario, base.path(), BTreeMap::new());
    put_all(&node, 60, 16 << 10);
    // Some of them once more, which are there already, and gets, of one that is not there as well.
    put_all(&node, 10, 16 << 10);
    for n in 0..20 {
        let content = content(n, 16 << 10);
        assert_eq!(node.get(content.chunk()).blocking_recv().expect("an answer"), Ok(content));
    }
    assert!(node.get(ChunkId([7; 32])).blocking_recv().expect("an answer").is_err());
    let recorded = node.recorded().blocking_recv().expect("an answer");
    let mut tapes = Tapes {
        from_stores: true,
        targets: recorded.targets,
        initiators: vec![recorded.initiator],
    };
    let kinds: BTreeSet<_> = tapes
        .targets
        .iter()
        .flatten()
        .map(|entry| match entry.heard {
            TargetHeard::Message(_) => "message",
            TargetHeard::Received { .. } => "received",
            TargetHeard::Written { .. } => "written",
            TargetHeard::Read { .. } => "read",
            TargetHeard::Sent { .. } => "sent",
            TargetHeard::DiskRate { .. } => "disk rate",
            TargetHeard::ReadRate(_) => "read rate",
            TargetHeard::LinkRate(_) => "link rate",
        })
        .collect();
    for kind in ["message", "received", "written", "read", "sent", "disk rate"] {
        assert!(kinds.contains(kind), "{kind} is on no tape: {kinds:?}");
    }
    assert_eq!(replay(&scenario, &tapes).expect("a scenario for hosts"), Ok(()));

    // Other machines do not: those of a cluster that is configured otherwise, ...
    let mut other = scenario.clone();
    other.network.trip = Span::from_us(3);
    assert!(replay(&other, &tapes).expect("a scenario for hosts").is_err());
    // ... or those that have missed something.
    let written = |entry: &TargetEntry| matches!(entry.heard, TargetHeard::Written { .. });
    let missed = tapes.targets[0].iter().position(written).expect("it wrote");
    tapes.targets[0].remove(missed);
    let difference = replay(&scenario, &tapes).expect("a scenario for hosts");
    assert!(matches!(difference, Err(Difference::Target { target: 0, .. })), "{difference:?}");
}

/// Memory in the place of a disk; writes wait until they are told to happen.
#[derive(Default)]
struct MemoryDisk {
    waiting: VecDeque<(OpId, Op)>,
    segments: BTreeMap<SegmentId, Vec<u8>>,
}

impl MemoryDisk {
    fn carry_out(&mut self, op: &Op) -> Output {
        let at = |offset: u64| usize::try_from(offset).expect("a small segment");
        match op {
            Op::List => return Output::Segments(self.segments.keys().copied().collect()),
            Op::Create { segment, length } => {
                self.segments.insert(*segment, vec![0; at(*length)]);
            }
            Op::Write { segment, offset, parts } => {
                let bytes = parts.concat();
                let place = at(*offset)..at(*offset) + bytes.len();
                self.segments.get_mut(segment).expect("created")[place].copy_from_slice(&bytes);
            }
            other => panic!("puts into a new store need no {other:?}"),
        }
        Output::Done
    }
}

/// A target with its disk.
struct Played {
    target: StorageTarget,
    outbox: Outbox,
    disk: MemoryDisk,
    tape: Vec<TargetEntry>,
}

impl Played {
    /// Carries out what the target wants of its disk; of the writes that wait, one if it is to `release` one.
    fn work(&mut self, now: Time, mut release: bool) {
        loop {
            for effect in self.outbox.effects.drain(..) {
                if let Effect::Disk(_, id, op) = effect {
                    self.disk.waiting.push_back((id, op));
                }
            }
            if let Some(work) = self.target.take_work() {
                self.target.handle(now, TargetInput::Worked(work.run()), &mut self.outbox);
                continue;
            }
            let is_free = |(_, op): &(OpId, Op)| !matches!(op, Op::Write { .. });
            let next = self.disk.waiting.iter().position(|waiting| is_free(waiting) || release);
            let Some((id, op)) = next.and_then(|n| self.disk.waiting.remove(n)) else { break };
            let output = self.disk.carry_out(&op);
            self.target.handle(now, TargetInput::Disk(id, Ok(output)), &mut self.outbox);
            let entries = self.target.take_tape();
            release &= !entries.iter().any(|e| matches!(e.heard, TargetHeard::Written { .. }));
            self.tape.extend(entries);
        }
        self.tape.extend(self.target.take_tape());
    }
}

/// Tells a target with a store what a target of the simulator was told, and gives what it heard and did.
fn play(tape: &[TargetEntry], setup: TargetSetup) -> Vec<TargetEntry> {
    let start = tape.first().expect("it heard something").now;
    let mut outbox = Outbox::new(None, 0);
    let circumstances = Circumstances {
        members: 9,
        membership: Membership::Active,
        patience: Span::from_secs(10),
        room_pause: Span::from_ms(100),
        mistake: None,
    };
    let target = StorageTarget::open(start, setup, circumstances, &mut outbox);
    let disk = MemoryDisk::default();
    let mut played = Played { target, outbox, disk, tape: Vec::new() };
    played.work(start, false);
    for entry in tape {
        let now = entry.now;
        let mut release = false;
        let (target, outbox) = (&mut played.target, &mut played.outbox);
        match named(entry).heard {
            TargetHeard::Message(message) => {
                target.handle(now, TargetInput::Message(&message), outbox);
            }
            TargetHeard::Received { request, size, .. } => {
                let TargetHeard::Received { chunk, .. } = entry.heard else { unreachable!() };
                let content = content_of(&chunk, size);
                target.handle(now, TargetInput::Received(request, content, None), outbox);
            }
            TargetHeard::Written { .. } => release = true,
            other => panic!("a run of puts has no {other:?}"),
        }
        played.work(now, release);
    }
    played.tape
}

/// The simulator's chunks have names and no content: this one has content, and so a name of its own.
fn content_of(chunk: &ChunkId, size: Size) -> Content {
    let mut bytes = vec![0; usize::try_from(size.as_bytes()).expect("a chunk")];
    bytes[..32].copy_from_slice(&chunk.0);
    Content::of(Bytes::from(bytes))
}

/// The entry with the names that chunks have by their content.
fn named(entry: &TargetEntry) -> TargetEntry {
    let mut entry = entry.clone();
    match &mut entry.heard {
        TargetHeard::Message(Message::PutRequest(asked)) => {
            asked.chunk = content_of(&asked.chunk, asked.size).chunk();
        }
        TargetHeard::Received { chunk, size, .. } => *chunk = content_of(chunk, *size).chunk(),
        _ => {}
    }
    for effect in &mut entry.did {
        if let TargetEffect::Write { chunk, size, .. } = effect {
            *chunk = content_of(chunk, *size).chunk();
        }
    }
    entry
}

#[test]
fn targets_with_stores_repeat_what_those_of_the_simulator_did() {
    let scenario = scenario();
    let tapes = record(&scenario, 11).expect("a scenario for hosts");
    let configs = machine_configs(&scenario).expect("a scenario for hosts");
    let mut entries = 0;
    let second = Span::from_secs(1);
    let repair = RepairRules {
        at_once: 1,
        heal_share: Share::from_percent(1),
        scrub_share: Share::from_percent(1),
        least_pause: second,
        survey_pause: second,
        most_pause: second,
        period: second,
        belief: second,
        scrub_period: second,
        first_scrub: second,
        retry: second,
        surplus_after: second,
    };
    for ((id, tape), target) in (0..).map(TargetId).zip(&tapes.targets).zip(configs.targets) {
        // One chunk to a flush, as each is written by itself in the simulator.
        let store = Config { segment_size: 1 << 20, batch: 1, ..Config::new(Identity([3; 32])) };
        let setup = TargetSetup { id, target, store, repair, queue: None, records: true };
        let played = play(tape, setup);
        let expected: Vec<_> = tape.iter().map(named).collect();
        let first = played.iter().zip(&expected).position(|(played, expected)| played != expected);
        if let Some(n) = first {
            panic!("entry {n}: {:?} instead of {:?}", played[n], expected[n]);
        }
        assert_eq!(played.len(), expected.len());
        entries += played.len();
    }
    assert!(entries > 2000, "{entries} entries tell little");
}

/// Bids follow what was measured: all disks are taken for equally fast at first.
#[test]
fn a_slow_disk_is_measured_and_gets_fewer_chunks() {
    let base = tempfile::tempdir().expect("a folder");
    let mut scenario = scenario();
    scenario.disk.rate = Rate::from_bytes_per_s(60_000_000);
    let slow = (TargetId(4), Rate::from_bytes_per_s(3_000_000));
    let node = host(&scenario, base.path(), [slow].into());
    // Some chunks must have come to the slow one, before its first rate is forgotten.
    put_all(&node, 1200, 128 << 10);
    let status = node.status().blocking_recv().expect("an answer");
    let is_slow = |status: &&TargetStatus| status.target == slow.0;
    let (slow, others): (Vec<_>, Vec<_>) = status.iter().partition(is_slow);
    let rate = |status: &TargetStatus| status.load.disk_rate.expect("it wrote").as_bps() / 8;
    let slow_rate = rate(slow[0]);
    assert!(slow_rate < 8_000_000, "{slow_rate} bytes/s at 3 MB/s");
    assert!(others.iter().all(|status| rate(status) > slow_rate), "{status:?}");
    let got = |status: &TargetStatus| status.load.received_bytes;
    let mean = others.iter().map(|status| got(status)).sum::<u64>() / others.len() as u64;
    assert!(got(slow[0]) * 2 < mean, "{} against {mean} bytes", got(slow[0]));
}
