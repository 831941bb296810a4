//! Nodes that disagree with the others: of an older program, or with another layout of the same epoch.

use slotcast_engine::Agenda;
use slotcast_member::ClusterMap;
use slotcast_protocol::{GroupId, TargetId};
use slotcast_transport::{Body, Datagram, MAX_VERSION, MIN_VERSION, Versions};
use slotcast_units::{Span, Time};

use super::cluster::Cluster;
use super::event::{Event, Fault};
use super::plan::Disagreement;

/// What the older program of a node speaks: the oldest one, or that of the version before.
const fn older(node: u32) -> Versions {
    let highest = if node.is_multiple_of(2) { MIN_VERSION } else { MAX_VERSION - 1 };
    Versions { lowest: MIN_VERSION, highest }
}

impl Cluster {
    /// A node is about to start: of which program it is, and which map it is given.
    pub(super) fn disagree(&mut self, now: Time, node: u32, agenda: &mut Agenda<Event>) {
        let is_first = self.nodes[node as usize].incarnation == 0;
        let host = &mut self.nodes[node as usize];
        host.map = host.right_map.take().unwrap_or_else(|| host.map.clone());
        match self.plan.disagreement {
            Disagreement::Versions if self.disagreements.chance(0.5) => {
                // Programs are upgraded, and not the other way round.
                let host = &mut self.nodes[node as usize];
                host.versions = if is_first { older(node) } else { Versions::ALL };
                self.report.injected.older += u64::from(is_first);
            }
            Disagreement::Layouts if !self.is_calm && self.disagreements.chance(0.5) => {
                let Some(other) = self.other_layout(node) else { return };
                let host = &mut self.nodes[node as usize];
                host.right_map = Some(std::mem::replace(&mut host.map, other));
                self.report.injected.other_layouts += 1;
                let lasts = Span::from_ms(2) + self.disagreements.exponential(Span::from_ms(15));
                let of = host.disks.keys().next().expect("a disk of the node").0;
                // It counts on when it starts.
                let incarnation = host.incarnation + 1;
                agenda.at(now + lasts, Event::Over { fault: Fault::OtherLayout, of, incarnation });
            }
            _ => {}
        }
    }

    /// The map of `node` with two seats exchanged, of targets of other nodes: a start with other seats of its own is
    /// refused by the labels of its targets.
    fn other_layout(&mut self, node: u32) -> Option<ClusterMap> {
        let map = &self.nodes[node as usize].map;
        let groups = map.groups().ok()?;
        let mut seats: Vec<Vec<TargetId>> =
            (0..groups.groups()).map(|group| groups.members(GroupId(group)).to_vec()).collect();
        let nodes = map.node_of_targets();
        let mut others: Vec<(usize, usize)> = Vec::new();
        for (group, members) in seats.iter().enumerate() {
            for (position, target) in members.iter().enumerate() {
                if nodes.get(target).is_some_and(|of| *of != node) {
                    others.push((group, position));
                }
            }
        }
        let chance = &mut self.disagreements;
        let mut one = || {
            let n = usize::try_from(chance.below(others.len().max(1) as u64)).expect("an index");
            (n < others.len()).then(|| others.swap_remove(n))
        };
        let (a, b) = (one()?, one()?);
        let (first, second) = (seats[a.0][a.1], seats[b.0][b.1]);
        (seats[a.0][a.1], seats[b.0][b.1]) = (second, first);
        Some(ClusterMap { seats: Some(seats), ..self.nodes[node as usize].map.clone() })
    }

    /// Whether a datagram that comes to `node` is of one that has another layout of the same epoch: nothing in it may be
    /// believed but what they have to agree on.
    pub(super) fn is_of_another_layout(&self, node: u32, datagram: &Datagram<'_>) -> bool {
        let Datagram { header, body } = datagram;
        let (to, from) = (&self.nodes[node as usize], self.nodes.get(header.sender as usize));
        let Some(from) = from.filter(|from| from.began.as_ns() == header.incarnation) else {
            return false;
        };
        let disagrees = to.right_map.is_some() || from.right_map.is_some();
        let hears = to.member.as_ref().and_then(|member| member.link());
        disagrees
            && header.sender != node
            && !matches!(body, Body::Clock(_))
            && hears.is_some_and(|link| link.has_joined())
            && [to.map.epoch, from.map.epoch] == [header.epoch; 2]
            && to.map.digest() != from.map.digest()
    }

    /// It has come, after `refused` datagrams that were not believed.
    pub(super) fn check_layout(&mut self, now: Time, (node, refused): (u32, u64), sender: u32) {
        if self.refused(node) == refused {
            self.report.violated(format!(
                "node {node} at {now} believes node {sender}, which has another layout"
            ));
        }
    }
}
