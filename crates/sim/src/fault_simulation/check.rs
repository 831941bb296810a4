//! What must hold once the faults have stopped.

use std::collections::BTreeMap;

use slotcast_engine::Agenda;
use slotcast_faults::{DiskFaults, SimulatedDisk};
use slotcast_member::StorageTarget;
use slotcast_protocol::{ChunkId, GroupId, TargetId, Wanted};
use slotcast_store::{Config, Effect, Input, Store, Ticket, Work};
use slotcast_units::{Span, Time};

use super::catalogue::Known;
use super::cluster::Cluster;
use super::event::Event;
use super::node::{Leaving, NodeHost, Purpose};

/// From one check to the next: many at a time, but not all at once.
pub(super) const APART: Span = Span::from_us(10);

impl Cluster {
    /// Whether no request of a user is under way, and no check.
    pub(super) fn is_quiet(&self) -> bool {
        self.checks == 0
            && self.names.is_quiet()
            && self.buckets.clients.is_quiet()
            && self.nodes.iter().all(|host| host.running.is_empty())
    }

    /// What is under way, for whoever wants to know why it hangs.
    pub(super) fn tell_open(&mut self, now: Time) {
        let open: Vec<_> = self.nodes.iter().flat_map(|host| host.running.values()).collect();
        let what = if !open.is_empty() {
            format!("at {now} requests are still open: {open:?}")
        } else if !self.names.is_quiet() {
            let open = self.names.running.values();
            let open: Vec<_> = open.map(|ask| &self.names.asks[*ask]).collect();
            format!("at {now} requests about names are still open: {open:?}")
        } else if !self.buckets.clients.is_quiet() {
            format!("at {now} clients of buckets are still at: {:?}", self.buckets.clients)
        } else if self.lacks_voters() {
            format!("at {now} others are to vote than do: {}", self.tell_all_voters())
        } else if !self.has_handed_over() {
            let states: Vec<_> =
                self.map.nodes.iter().map(|node| (node.number, node.state())).collect();
            format!(
                "at {now} the map does not say that all is done: {states:?}; names: {}",
                self.tell_all_voters()
            )
        } else if !self.all_follow() {
            format!("at {now} some nodes do not follow epoch {}", self.map.epoch)
        } else {
            let is_busy = |(_, host): &(u32, &NodeHost)| {
                !host.is_gone() && !host.has_settled(host.clock.local(now), self.has_silent())
            };
            let busy: Vec<_> = (0..).zip(&self.nodes).filter(is_busy).collect();
            let members = busy.iter().filter_map(|(_, host)| host.member.as_ref());
            let targets = members.flat_map(|member| member.targets());
            let state = |target: &StorageTarget| {
                let local = self.nodes[self.node_of(target.id())].clock.local(now);
                let (scan, _) = target.repair_progress(local);
                let numbers = target.repair_statistics();
                let lacking = (numbers.under_replicated, numbers.unrecovered);
                (target.id().0, target.status(), scan.is_some(), lacking)
            };
            let states: Vec<_> = targets.map(state).collect();
            let busy: Vec<_> = busy.iter().map(|(node, _)| node).collect();
            let surplus = self.has_removed_surplus();
            format!(
                "at {now} nodes {busy:?} have not ended their repair, and nothing is wrong any more: \
                 {states:?}; surplus removed: {surplus}"
            )
        };
        self.report.violated(what);
    }

    /// Fetches every acknowledged chunk, and puts a new one into every group.
    pub(super) fn check_all(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        let all: Vec<_> = self.catalogue.acknowledged().collect();
        let mut at = now;
        for (chunk, _) in all {
            at += APART;
            agenda.at(at, Event::Check { chunk });
            self.checks += 1;
        }
        for group in 0..self.groups.groups() {
            let content = loop {
                let content = self.catalogue.add(self.plan.longest);
                if self.groups.group_of(&content.chunk()) == GroupId(group) {
                    break content;
                }
            };
            self.checks += 1;
            self.put(now, content, Purpose::Check, agenda);
        }
    }

    /// A store that was opened must have found all that it held before, but for what was harmed since, or may
    /// have been removed.
    pub(super) fn check_found(&mut self, now: Time, target: TargetId) {
        let held = std::mem::take(&mut self.disk_mut(target).held);
        for chunk in held {
            let storage = self.nodes[self.node_of(target)].target(target);
            let is_held = storage.is_some_and(|storage| storage.wanted(&chunk).is_some());
            let is_retired = self.catalogue.known(&chunk) == Known::Retired;
            if !is_held && !is_retired && !self.disk(target).disk.excuses(&chunk) {
                let what = format!(
                    "target {} at {now} held {chunk} and has not found it at its start",
                    target.0
                );
                self.report.violated(what);
            }
        }
    }

    /// A put was acknowledged: so many targets have the chunk on stable storage, but for those that were harmed.
    pub(super) fn check_acknowledged(
        &mut self,
        now: Time,
        node: u32,
        (chunk, replicas): (&ChunkId, u8),
    ) {
        let restarts = &self.nodes[node as usize].restarts;
        let members = self.groups.members(self.groups.group_of(chunk)).iter();
        let has_it = |target: &&TargetId| {
            let Some(host) = self.nodes.get(self.node_of(**target)) else { return false };
            let Some(disk) = host.disks.get(target) else { return false };
            // Whoever was emptied does not have what it had before, and it is heard that it has started anew.
            let heard = restarts.get(&u32::try_from(self.node_of(**target)).expect("small"));
            let is_known_empty =
                heard.is_some_and(|heard| disk.wiped_at.is_some_and(|at| at < *heard));
            let has_it = match host.target(**target).filter(|_| host.is_open(**target)) {
                // Its record may still be on the disk when it was removed.
                Some(open) => open.has(chunk) && disk.disk.has_flushed(chunk),
                None => disk.disk.has_flushed(chunk),
            };
            // What was done to it since is not known.
            let is_excused = disk.harmed && (!is_known_empty || disk.disk.excuses(chunk));
            is_excused || has_it
        };
        let found = members.filter(has_it).count();
        if found < usize::from(replicas) && self.catalogue.known(chunk) != Known::Retired {
            let what = format!(
                "at {now} {chunk} was acknowledged for {replicas} replicas, and {found} are on stable storage"
            );
            self.report.violated(what);
        }
    }

    /// Whether as many targets were harmed as the chunk is wanted on: then it may be lost. That is so only of
    /// one that is wanted on fewer than the cluster's number.
    pub(super) fn may_be_lost(&self, chunk: &ChunkId) -> bool {
        self.catalogue.wanted(chunk) <= self.harmed(chunk)
    }

    /// Members of a chunk's group whose disks were harmed.
    fn harmed(&self, chunk: &ChunkId) -> u8 {
        let members = self.groups.members(self.groups.group_of(chunk)).iter();
        let is_harmed = |target: &&TargetId| {
            let host = self.nodes.get(self.node_of(**target));
            host.and_then(|host| host.disks.get(target)).is_some_and(|disk| disk.harmed)
        };
        u8::try_from(members.filter(is_harmed).count()).unwrap_or(u8::MAX)
    }

    /// The members of a chunk's group: what each can do, and for how many replicas it has the chunk.
    pub(super) fn states_of(&self, chunk: &ChunkId) -> String {
        let members = self.groups.members(self.groups.group_of(chunk)).iter();
        let state = |target: &TargetId| {
            let host = self.nodes.get(self.node_of(*target));
            let target_here = host.and_then(|host| host.target(*target));
            let state = target_here.map(|target| (target.status(), target.wanted(chunk)));
            format!("{}: {state:?}", target.0)
        };
        members.map(state).collect::<Vec<_>>().join(", ")
    }

    /// Counts the replicas that would be there if the power of all targets failed now, each with a number that
    /// has it kept.
    pub(super) fn check_replicas(&mut self) {
        let mut replicas: BTreeMap<ChunkId, Vec<Wanted>> = BTreeMap::new();
        // Until disks that have failed are replaced, a drain may not end: what its node holds is there.
        let counts = |host: &&NodeHost| match host.leaving {
            Leaving::No => true,
            Leaving::Draining | Leaving::HandedOver => self.has_dead(),
            Leaving::Gone => false,
        };
        for host in self.nodes.iter().filter(counts) {
            // Of a disk that has failed nobody may have noticed: what it holds can be read then.
            let has_failed = |target: &TargetId| {
                host.target(*target).is_none_or(StorageTarget::has_failed) && host.is_dead(*target)
            };
            for (target, disk) in host.disks.iter().filter(|(target, _)| !has_failed(target)) {
                let counts = |chunk: &ChunkId| {
                    host.target(*target).is_some_and(|target| target.wanted(chunk).is_some())
                };
                let readable = readable(self.plan.store(disk.identity()), disk.disk.clone());
                for (chunk, wanted) in &readable {
                    // What the target itself does not take for stored is not, whatever is on its disk.
                    let of_chunk = replicas.entry(*chunk).or_default();
                    of_chunk.extend(Some(*wanted).filter(|_| counts(chunk)));
                }
                // Nobody starts a node anew of which a disk has failed. While that still answers, damage to the headers of
                // its records shows at the next start only: until then nobody can know.
                if let Some(target) = host.target(*target).filter(|_| disk.is_dead) {
                    let harmed = target.chunks().filter(|chunk| disk.disk.excuses(chunk));
                    for chunk in harmed.filter(|chunk| readable.iter().all(|(of, _)| of != chunk)) {
                        replicas.entry(chunk).or_default().extend(target.wanted(&chunk));
                    }
                }
            }
        }
        if let Some(chunk) = replicas.keys().find(|of| self.catalogue.known(of) == Known::Nothing) {
            self.report.violated(format!("{chunk} is stored, and nobody has put it"));
        }
        let acknowledged: Vec<_> = self.catalogue.acknowledged().collect();
        for (_, chunk) in acknowledged {
            let wanted = self.catalogue.wanted(&chunk);
            let group = self.groups.group_of(&chunk);
            let domains = self.groups.domains_of(group, self.groups.members_for_puts(group));
            let found = |wanted: Wanted| {
                let told = replicas.get(&chunk).into_iter().flatten();
                told.filter(|told| told.covers(wanted)).count()
            };
            // Whoever has put it without a name, on no more targets than were harmed, may have lost that claim alone.
            let bare = self.catalogue.bare(&chunk);
            let of_bare = found(Wanted::bare(bare));
            let lacks = of_bare < usize::from(bare).min(domains);
            if lacks && bare <= self.harmed(&chunk) {
                // What was harmed is whole again after this, and the claim does not come back.
                self.lose_claims(&chunk, of_bare);
            } else if lacks {
                let states = self.states_of(&chunk);
                let what = format!(
                    "{chunk} has {of_bare} of {bare} bare replicas after the repair: {states}"
                );
                self.report.violated(what);
                continue;
            }
            let found = found(Wanted::named(wanted));
            if found >= usize::from(wanted).min(domains) {
                continue;
            }
            if self.may_be_lost(&chunk) {
                self.catalogue.forget(&chunk);
            } else {
                let states = self.states_of(&chunk);
                let what =
                    format!("{chunk} has {found} of {wanted} replicas after the repair: {states}");
                self.report.violated(what);
            }
        }
    }
}

impl Cluster {
    /// So many of those who had put it without a name have not lost their claim. Where what is not named is collected, it
    /// may be gone from now on unless a name is found to say it.
    fn lose_claims(&mut self, chunk: &ChunkId, left: usize) {
        self.catalogue.lose_claims(chunk, u8::try_from(left).unwrap_or(u8::MAX));
        if self.collects() {
            self.catalogue.release(chunk);
        }
    }
}

/// The chunks that a store finds, and can read, on `disk` after a power failure, with what is wanted of them.
fn readable(config: Config, mut disk: SimulatedDisk) -> Vec<(ChunkId, Wanted)> {
    disk.faults = DiskFaults::default();
    disk.crash();
    let mut effects = Vec::new();
    let mut store = Store::open(config, &mut effects);
    let mut found = Vec::new();
    let (mut is_asked, mut work) = (false, None::<Work>);
    loop {
        for effect in effects.drain(..) {
            match effect {
                Effect::Disk(id, op) => disk.ask(id, op),
                Effect::Work => work = store.take_work(),
                Effect::Fetched(_, content) => {
                    let chunk = content.chunk();
                    found.extend(store.wanted(&chunk).map(|wanted| (chunk, wanted)));
                }
                _ => {}
            }
        }
        if let Some(work) = work.take() {
            store.handle(Input::Worked(work.run()), &mut effects);
        } else if let Some((id, result)) = disk.step() {
            store.handle(Input::Disk(id, result), &mut effects);
        } else if is_asked {
            return found;
        } else {
            is_asked = true;
            let held: Vec<_> = store.chunks(ChunkId([0; 32])).collect();
            for (ticket, chunk) in (0..).zip(held) {
                store.handle(Input::Get(Ticket(ticket), chunk), &mut effects);
            }
        }
    }
}
