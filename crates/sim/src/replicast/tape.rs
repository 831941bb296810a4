//! What the machines of a run heard and did, to be played to those of another host; and the other way round.

use std::collections::BTreeMap;

use slotcast_engine::Simulation;
use slotcast_protocol::tape::{InitiatorEntry, InitiatorHeard, TargetEntry, TargetHeard};
use slotcast_protocol::{
    ChunkId, GroupMap, InitiatorEffect, InitiatorInput, RequestId, TargetEffect, TargetInput,
};
use slotcast_scenario::Scenario;
use slotcast_scenario::drive::ClusterModel;
use slotcast_scenario::recorder::measured_until;
use slotcast_units::{Size, Time};

use super::store::Stores;
use super::{ReplicastModel, new_model};

/// Of every machine of a cluster what it heard, in order, and what it did about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tapes {
    /// Whether the targets were those of stores, which send late what was read late
    /// (`Target::sending_late_reads`); those of a simulation do not.
    pub from_stores: bool,
    /// Of each target.
    pub targets: Vec<Vec<TargetEntry>>,
    /// Of each initiator.
    pub initiators: Vec<Vec<InitiatorEntry>>,
}

/// Where a machine did something else than the tape says.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// A target.
    Target {
        /// Its number.
        target: u32,
        /// Which entry of its tape.
        entry: usize,
        /// What it did instead.
        did: Vec<TargetEffect>,
    },
    /// An initiator.
    Initiator {
        /// Its number.
        initiator: u32,
        /// Which entry of its tape.
        entry: usize,
        /// What it did instead.
        did: Vec<InitiatorEffect>,
    },
}

impl Tapes {
    fn new(targets: usize, initiators: usize) -> Tapes {
        Tapes {
            from_stores: false,
            targets: vec![Vec::new(); targets],
            initiators: vec![Vec::new(); initiators],
        }
    }

    #[cold]
    pub(super) fn target(
        &mut self,
        now: Time,
        target: u32,
        input: TargetInput<'_>,
        did: &[TargetEffect],
    ) {
        let entry = TargetEntry { now, heard: input.into(), did: did.to_vec() };
        self.targets[target as usize].push(entry);
    }

    #[cold]
    pub(super) fn initiator(
        &mut self,
        now: Time,
        initiator: u32,
        heard: InitiatorHeard,
        did: &[InitiatorEffect],
    ) {
        let entry = InitiatorEntry { now, heard, did: did.to_vec() };
        self.initiators[initiator as usize].push(entry);
    }
}

/// Runs `scenario` with `seed` and keeps what its machines hear and do.
pub(crate) fn record(scenario: &Scenario, groups: GroupMap, seed: u64) -> Tapes {
    let mut model = new_model(scenario, groups, seed);
    model.tape = Some(Box::new(Tapes::new(model.targets.len(), model.initiators.len())));
    let mut simulation = Simulation::new(model);
    simulation.schedule(ClusterModel::start);
    simulation.run_until(measured_until(scenario));
    *simulation.into_model().tape.expect("just put there")
}

/// Plays `tapes` to the machines of `scenario` in this host, with the disks' contents that follow from
/// what was written, and stops where one does something else than the tape says.
pub(crate) fn replay(
    scenario: &Scenario,
    groups: GroupMap,
    tapes: &Tapes,
) -> Result<(), Difference> {
    let mut model = new_model(scenario, groups, 0);
    model.stores = Stores::new(scenario.cluster.targets, true);
    if tapes.from_stores {
        for host in &mut model.targets {
            host.machine = host.machine.clone().sending_late_reads();
        }
    }
    let mut written = Written::new();
    for (target, tape) in (0..).zip(&tapes.targets) {
        for (entry, heard) in tape.iter().enumerate() {
            let did = model.replay_target(target, heard, &mut written);
            if did != heard.did {
                return Err(Difference::Target { target, entry, did });
            }
        }
    }
    for (initiator, tape) in (0..).zip(&tapes.initiators) {
        for (entry, heard) in tape.iter().enumerate() {
            let did = model.replay_initiator(initiator, heard);
            if did != heard.did {
                return Err(Difference::Initiator { initiator, entry, did });
            }
        }
    }
    Ok(())
}

/// What targets were asked to write, and have not.
type Written = BTreeMap<(u32, RequestId), (ChunkId, Size)>;

impl ReplicastModel {
    fn replay_target(
        &mut self,
        target: u32,
        entry: &TargetEntry,
        written: &mut Written,
    ) -> Vec<TargetEffect> {
        let mut did = Vec::new();
        if let TargetHeard::Written { request, stable: true } = entry.heard
            && let Some((chunk, size)) = written.remove(&(target, request))
        {
            self.stores.add((target, 0), chunk, size);
        }
        let shelf = self.stores.shelf(target);
        let machine = &mut self.targets[target as usize].machine;
        machine.handle(entry.now, entry.heard.input(), &shelf, &mut did);
        for effect in &did {
            if let TargetEffect::Write { request, chunk, size, .. } = *effect {
                written.insert((target, request), (chunk, size));
            }
        }
        did
    }

    fn replay_initiator(&mut self, initiator: u32, entry: &InitiatorEntry) -> Vec<InitiatorEffect> {
        let mut did = Vec::new();
        let machine = &mut self.initiators[initiator as usize].machine;
        match &entry.heard {
            InitiatorHeard::Put(chunk, size, wanted) => {
                let what = (*chunk, *size);
                machine.put_on(entry.now, *wanted, what, &self.groups, &mut did);
            }
            InitiatorHeard::PutAgain(chunk, size, wanted) => {
                let what = (*chunk, *size);
                machine.put_again(entry.now, *wanted, what, &self.groups, &mut did);
            }
            InitiatorHeard::Check(chunk, size, wanted) => {
                let what = (*chunk, *size);
                machine.check(entry.now, *wanted, what, &self.groups, &mut did);
            }
            InitiatorHeard::Get(chunk) => {
                machine.get(entry.now, *chunk, &self.groups, &mut did);
            }
            InitiatorHeard::Message(message) => {
                let input = InitiatorInput::Message(message);
                machine.handle(entry.now, input, &self.groups, &mut did);
            }
            InitiatorHeard::Reached { request, members } => {
                let input = InitiatorInput::Reached { request: *request, members: *members };
                machine.handle(entry.now, input, &self.groups, &mut did);
            }
            InitiatorHeard::Wake => {
                let input = InitiatorInput::Wake;
                machine.handle(entry.now, input, &self.groups, &mut did);
            }
            InitiatorHeard::Delivered { request, intact } => {
                let (request, intact) = (*request, *intact);
                let input = InitiatorInput::Delivered { request, intact };
                machine.handle(entry.now, input, &self.groups, &mut did);
            }
            InitiatorHeard::Unavailable { group, members } => {
                let (group, members) = (*group, *members);
                let input = InitiatorInput::Unavailable { group, members };
                machine.handle(entry.now, input, &self.groups, &mut did);
            }
            InitiatorHeard::Restarted { group, members } => {
                let (group, members) = (*group, *members);
                let input = InitiatorInput::Restarted { group, members };
                machine.handle(entry.now, input, &self.groups, &mut did);
            }
        }
        did
    }
}
