//! A node with three targets on simulated disks, by itself.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use slotcast_faults::SimulatedDisk;
use slotcast_member::{
    Answer, ClusterMap, Effect, FailureDomain, Input, MapNode, Member, MemberConfig, Request,
    RequestNumber, Rules, TargetSetup,
};
use slotcast_protocol::{Delivery, Membership, TargetId};
use slotcast_store::{Config, Content, Identity, StoreStatus};
use slotcast_units::{Rate, Span, Time};

/// The target that takes long to open.
pub(crate) const SLOW: TargetId = TargetId(0);

fn map() -> ClusterMap {
    ClusterMap {
        epoch: 1,
        group_size: 3,
        replicas: 2,
        failure_domain: FailureDomain::Target,
        delivery: Delivery::Unicast,
        data_rate: Rate::from_bps(8_910_000_000),
        trip: Span::from_us(5),
        datagram: 1452,
        multicast: None,
        nodes: vec![MapNode {
            number: 0,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 7481)),
            targets: (0..3).map(TargetId).collect(),
            membership: Membership::Active,
        }],
        seats: None,
        voters: BTreeMap::new(),
        collection: slotcast_object::Collection::default(),
    }
}

/// Whether it repairs, and how many bytes of content it keeps in memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Choices {
    pub(crate) repairs: bool,
    pub(crate) cache_memory: u64,
}

fn config(choices: Choices) -> MemberConfig {
    let (map, began) = (map(), Time::ZERO + Span::from_secs(1));
    let (rules, groups) = (Rules::of_cluster(&map), map.groups().expect("targets for a group"));
    let setup = |id| TargetSetup {
        id,
        target: rules.target(&groups, id, None),
        store: Config { segment_size: 64 << 10, ..Config::new(Identity([9; 32])) },
        repair: rules.repair,
        queue: None,
        records: false,
    };
    MemberConfig {
        node: 0,
        began,
        targets: (0..3).map(TargetId).map(setup).collect(),
        initiator: rules.initiator(0),
        groups,
        first_serial: 0,
        cache_memory: choices.cache_memory,
        links: None,
        network: None,
        names: None,
        repairs: choices.repairs,
        times: rules.times,
        mistake: None,
    }
}

/// A member with its disks. The work of the slow target waits as long as it is held.
pub(crate) struct Host {
    pub(crate) member: Member,
    pub(crate) now: Time,
    pub(crate) disks: BTreeMap<TargetId, SimulatedDisk>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) holds: bool,
    pub(crate) pieces: u32,
    pub(crate) answers: BTreeMap<RequestNumber, Answer>,
}

impl Host {
    pub(crate) fn start(choices: Choices, disks: BTreeMap<TargetId, SimulatedDisk>) -> Host {
        let (config, mut effects) = (config(choices), Vec::new());
        let now = config.began;
        let member = Member::new(now, config, &mut effects);
        Host { member, now, disks, effects, holds: true, pieces: 0, answers: BTreeMap::new() }
    }

    pub(crate) fn tell(&mut self, input: Input<'_>) {
        self.member.handle(self.now, input, &mut self.effects);
    }

    pub(crate) fn work(&mut self, target: TargetId) {
        if let Some(work) = self.member.take_work(target) {
            self.tell(Input::Worked(target, work.run()));
        }
    }

    /// Does one thing that is to be done, or lets time pass.
    pub(crate) fn step(&mut self) {
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Disk(target, id, op) => {
                    self.disks.get_mut(&target).expect("a disk each").ask(id, op);
                }
                Effect::Work(SLOW) => self.pieces += 1,
                Effect::Work(target) => self.work(target),
                Effect::Answer(number, answer) => drop(self.answers.insert(number, answer)),
                _ => {}
            }
        }
        if !self.holds {
            self.work(SLOW);
        }
        let mut disks = self.disks.iter_mut();
        let done = disks.find_map(|(target, disk)| Some((*target, disk.step()?)));
        match done {
            Some((target, (id, result))) => self.tell(Input::Disk(target, id, result)),
            None if self.effects.is_empty() => {
                self.now = self.member.wakes_at().max(self.now);
                self.tell(Input::Wake);
            }
            None => {}
        }
    }

    pub(crate) fn ask(&mut self, number: u64, request: Request) -> Answer {
        let number = RequestNumber(number);
        self.tell(Input::Request(number, request));
        for _ in 0..100_000 {
            if let Some(answer) = self.answers.remove(&number) {
                return answer;
            }
            self.step();
        }
        panic!("no answer");
    }

    pub(crate) fn status(&self) -> StoreStatus {
        let slow = self.member.target_status(self.now).into_iter().next();
        slow.expect("the first target").store
    }
}

pub(crate) fn disks() -> BTreeMap<TargetId, SimulatedDisk> {
    (0..3).map(|n| (TargetId(n), SimulatedDisk::new(u64::from(n)))).collect()
}

pub(crate) fn content(n: u64) -> Content {
    Content::of(Bytes::from(n.to_le_bytes().repeat(500)))
}
