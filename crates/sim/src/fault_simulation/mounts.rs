//! What lies in the folders of a node: its disks, or what is found where one is not mounted. Which of that the node
//! takes for its targets is decided when it starts, as in a real one.

use std::collections::BTreeMap;

use slotcast_engine::Stream;
use slotcast_faults::SimulatedDisk;
use slotcast_member::identity::{
    Admission, ClusterId, Contents, Label, NotReplaced, Placed, Seat, Verdict, admit,
};
use slotcast_protocol::{GroupId, TargetId};
use slotcast_store::Identity;

use super::Mistake;
use super::cluster::Cluster;
use super::plan::SEGMENT;

/// What lies in the place of a disk that is not mounted.
#[derive(Debug)]
pub(super) struct Instead {
    contents: Contents,
    /// Where what is written there goes.
    pub(super) disk: SimulatedDisk,
    /// The node has taken it for the target.
    pub(super) is_taken: bool,
}

impl Cluster {
    /// A disk is not mounted any more, or something else is at its place, until [`Cluster::mount`].
    pub(super) fn unmount(&mut self, target: TargetId) {
        let chance = &mut self.mounts;
        let contents = match chance.below(5) {
            0 => Contents::Missing,
            1 | 2 => Contents::Empty,
            3 => self.label_of_sibling(target).unwrap_or(Contents::Empty),
            _ => match self.disk(target).contents.clone() {
                // A disk of another cluster.
                Contents::Labelled { mut label, .. } => {
                    label.identity = Identity([0xee; 32]);
                    if let Some(owner) = &mut label.owner {
                        owner.cluster = ClusterId::from_bytes([0xee; 16]);
                    }
                    Contents::Labelled { label, broken_copy: None }
                }
                contents => contents,
            },
        };
        let disk = SimulatedDisk::new(self.mounts.next_u64());
        self.disk_mut(target).instead = Some(Instead { contents, disk, is_taken: false });
    }

    /// Everything is mounted again.
    pub(super) fn mount(&mut self, node: u32) {
        self.nodes[node as usize].disks.values_mut().for_each(|disk| disk.instead = None);
    }

    /// The label of another target of the same node: somebody has mixed up the mounts.
    fn label_of_sibling(&self, target: TargetId) -> Option<Contents> {
        let disks = &self.nodes[self.node_of(target)].disks;
        disks.iter().find(|(other, _)| **other != target).map(|(_, disk)| disk.contents.clone())
    }

    /// A disk is lost, and another one, which is empty, is mounted in its place; somebody says so if the node knew its
    /// target.
    pub(super) fn replace(&mut self, target: TargetId) {
        let node = self.node_of(target);
        let disk = self.disk_mut(target);
        (disk.contents, disk.instead) = (Contents::Empty, None);
        if self.nodes[node].register.is_none() {
            return;
        }
        let Admission { register, verdicts } = self.admission(node);
        let at = self.nodes[node].disks.keys().position(|of| *of == target).expect("a disk of it");
        let new = new_identity(&mut self.mounts, target);
        match register.replaced(target, (&verdicts[at], true), false, new) {
            Ok(register) => self.nodes[node].register = Some(register),
            // It was replaced already, and has not begun since.
            Err(NotReplaced::IsNew) => {}
            Err(why) => {
                self.report.violated(format!("target {} is not replaced: {why:?}", target.0));
            }
        }
    }

    /// What a node makes of its folders. A new store is laid out as the map says.
    fn admission(&mut self, node: usize) -> Admission {
        let targets: Vec<TargetId> = self.nodes[node].disks.keys().copied().collect();
        let place = |target: TargetId| {
            // A target that has left has no seat; its disk is not asked for.
            let (group, position) = self.groups.find(target).unwrap_or((GroupId(0), 0));
            let seat = Seat { group, position };
            Placed { target, seat, new: new_identity(&mut self.mounts, target) }
        };
        let placed: Vec<Placed> = targets.into_iter().map(place).collect();
        let host = &self.nodes[node];
        let contents = host.disks.values().map(|disk| match &disk.instead {
            Some(instead) => &instead.contents,
            None => &disk.contents,
        });
        let targets: Vec<_> = placed.into_iter().zip(contents.map(Some)).collect();
        let cluster = ClusterId::of_key(&[5; 32]);
        let mut register = host.register.as_ref();
        // As if nothing were kept outside of the folders.
        if self.plan.mistake == Some(Mistake::KeepsNoRegister) {
            register = None;
        }
        admit(register, (Some(&cluster), &cluster), &targets, SEGMENT)
    }

    /// A node looks at its folders as it starts. Gives who each target is, none of those that it does not use.
    pub(super) fn take_folders(&mut self, node: u32) -> BTreeMap<TargetId, Option<Identity>> {
        let place = node as usize;
        let Admission { mut register, verdicts } = self.admission(place);
        let host = &mut self.nodes[place];
        let mut identities = BTreeMap::new();
        for ((target, disk), verdict) in host.disks.iter_mut().zip(verdicts) {
            let label = match verdict {
                Verdict::Open(label, _) => Some(label),
                Verdict::Format(label) => {
                    register = register.formatted(*target, label.identity);
                    Some(label)
                }
                Verdict::Refuse(_) | Verdict::Unreadable => None,
            };
            identities.insert(*target, label.as_ref().map(|label| label.identity));
            disk.take(label);
        }
        host.register = Some(register);
        identities
    }
}

impl super::node::DiskHost {
    /// The node takes what is mounted for its target, with this label; or leaves it alone.
    fn take(&mut self, label: Option<Label>) {
        let labelled = |label| Contents::Labelled { label, broken_copy: None };
        match (&mut self.instead, label) {
            (Some(instead), Some(label)) => {
                (instead.contents, instead.is_taken) = (labelled(label), true);
            }
            (Some(instead), None) => instead.is_taken = false,
            (None, Some(label)) => self.contents = labelled(label),
            (None, None) => {}
        }
    }

    /// What the records on its disk are checked with.
    pub(super) fn identity(&self) -> Option<Identity> {
        match &self.contents {
            Contents::Labelled { label, .. } => Some(label.identity),
            _ => None,
        }
    }

    /// The disk that the node uses for its target; none where it uses none.
    pub(super) fn in_use(&mut self) -> Option<&mut SimulatedDisk> {
        match &mut self.instead {
            Some(instead) => instead.is_taken.then_some(&mut instead.disk),
            None => Some(&mut self.disk),
        }
    }

    /// Whether the node does not use what lies in the place of the disk.
    pub(super) fn is_refused(&self) -> bool {
        self.instead.as_ref().is_some_and(|instead| !instead.is_taken)
    }
}

/// An identity that no other target has.
fn new_identity(chance: &mut Stream, target: TargetId) -> Identity {
    let mut identity = [3; 32];
    identity[..4].copy_from_slice(&target.0.to_le_bytes());
    identity[4..12].copy_from_slice(&chance.next_u64().to_le_bytes());
    Identity(identity)
}
