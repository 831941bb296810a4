//! A node, as the rest of the program sees it.

mod opening;
mod starting;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

use slotcast_member::{
    CacheStatistics, ChangeRequest, ClusterMap, CollectionStatus, Holders, Member, StorageTarget,
    Tape, TargetStatus, WindowEvent,
};
use slotcast_object::{Guard, Key, NameAnswer, NameRequest, Voter, Voters};
use slotcast_protocol::{ChunkId, Claim, GroupId, MAX_REPLICAS, TargetId};
use slotcast_store::{Content, DiskError, StoreStatus};
use slotcast_units::Time;
use tokio::sync::oneshot::{self, Receiver};

pub use self::starting::{Hosting, Machines, NodeConfig, StartError};
use crate::access::MasterKeySource;
use crate::browsers::HostNames;
use crate::cluster::MapSource;
use crate::folder::Refusal;
use crate::limits::Serving;
use crate::mailbox::Mailbox;
use crate::map_keeper::MapKeeper;
use crate::network::SocketCounters;
use crate::notifications::Notifications;
use crate::objects::BelievedBuckets;
use crate::reactor::{Event, GetResult, NamedResult, PutNamed, PutResult, Recorded};
use crate::status::{Quorum, Snapshot};

/// A running node. Dropping it stops it, after what was acknowledged is on disk.
#[derive(Debug)]
pub struct Node {
    pub(crate) mailbox: Mailbox,
    reactor: Option<JoinHandle<()>>,
    sockets: Option<Arc<SocketCounters>>,
    folders: BTreeMap<TargetId, (PathBuf, Option<Refusal>)>,
    keeper: Option<MapKeeper>,
    /// The lock of the register of its targets.
    _register: Option<File>,
    serving: Serving,
    host_names: HostNames,
    /// Numbers uploads.
    uploads: AtomicU64,
    /// Buckets as they were read some time ago.
    pub(crate) believed: Mutex<BelievedBuckets>,
    /// What keys of objects are sealed with.
    master_keys: OnceLock<Arc<MasterKeySource>>,
    /// Whom it tells what happens to objects, while it is served.
    notifications: OnceLock<Arc<Notifications>>,
}

/// An upload under way. When it is dropped all that it has stored is named, or nobody wants it.
#[derive(Debug)]
pub(crate) struct Upload {
    number: u64,
    mailbox: Mailbox,
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.mailbox.put(Event::UploadEnded(self.number));
    }
}

/// Whether a target answers no questions about names.
fn has_failed(target: &StorageTarget) -> bool {
    matches!(target.status(), StoreStatus::Failed(_) | StoreStatus::ReadOnly(DiskError::Gone))
}

impl Node {
    /// Reads the file of the cluster map again, and takes it if that is possible.
    pub(crate) fn read_map_again(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.read_again();
        }
    }

    /// Where its cluster map is kept; none of a cluster in one process.
    pub(crate) fn map_source(&self) -> Option<&MapSource> {
        self.keeper.as_ref().map(MapKeeper::source)
    }

    /// The same node, which browsers may reach by these names, too.
    #[must_use]
    pub fn reached_by(mut self, names: &[String]) -> Node {
        self.host_names = HostNames::new(names);
        self
    }

    /// By which names browsers may reach it.
    pub(crate) fn host_names(&self) -> HostNames {
        self.host_names.clone()
    }

    /// From now on keys of objects are sealed with these.
    pub(crate) fn seals_with(&self, keys: Arc<MasterKeySource>) {
        let _ = self.master_keys.set(keys);
    }

    /// What keys of objects are sealed with.
    pub(crate) fn master_keys(&self) -> &MasterKeySource {
        self.master_keys.get().map_or(&MasterKeySource::None, |keys| keys)
    }

    /// From now on these are told what happens to objects.
    pub(crate) fn notifies(&self, notifications: Arc<Notifications>) {
        let _ = self.notifications.set(notifications);
    }

    /// Whom it tells what happens to objects; nobody of a node that is not served.
    pub(crate) fn notifications(&self) -> Option<&Arc<Notifications>> {
        self.notifications.get()
    }

    /// How its HTTP connections are served.
    pub(crate) fn serving(&self) -> Serving {
        self.serving
    }

    /// Ends when one of its machines has panicked: it answers nothing any more.
    pub(crate) fn failed(&self) -> impl Future<Output = ()> + use<> {
        self.mailbox.failed()
    }

    /// Stores a chunk on as many targets as the cluster's number says; the result comes when it is on stable
    /// storage there. It is kept until somebody removes it.
    ///
    /// # Panics
    /// For an empty chunk.
    pub fn put(&self, content: Content) -> Receiver<PutResult> {
        self.put_on(content, None, Claim::Bare)
    }

    /// The same on so many targets, if the number is given, with this claim. Of what the chunk is stored for already
    /// the highest number and the highest claim stay.
    ///
    /// # Panics
    /// For an empty chunk, or a number that is not between 1 and 8.
    pub fn put_on(
        &self,
        content: Content,
        replicas: Option<u8>,
        claim: Claim,
    ) -> Receiver<PutResult> {
        assert!(!content.bytes().is_empty(), "an empty chunk is never sent");
        let is_possible = |n: u8| (1..=MAX_REPLICAS).contains(&usize::from(n));
        assert!(replicas.is_none_or(is_possible), "between one and eight replicas");
        let (reply, result) = oneshot::channel();
        self.mailbox.put(Event::Put(content, (replicas, claim), reply));
        result
    }

    /// The most targets on which any chunk can be: failure domains of the smallest group, at most 8.
    pub fn most_replicas(&self) -> Receiver<usize> {
        self.look(|member, _| member.groups().most_replicas())
    }

    /// How many negotiating groups there are.
    pub fn groups(&self) -> Receiver<u32> {
        self.look(|member, _| member.groups().groups())
    }

    /// What `look` finds, when it is its turn.
    fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut Member, Time) -> T + Send + 'static,
    ) -> Receiver<T> {
        let (reply, result) = oneshot::channel();
        let look = move |member: &mut Member, now| drop(reply.send(look(member, now)));
        self.mailbox.put(Event::Look(Box::new(look)));
        result
    }

    /// Fetches a chunk.
    pub fn get(&self, chunk: ChunkId) -> Receiver<GetResult> {
        let (reply, result) = oneshot::channel();
        self.mailbox.put(Event::Get(chunk, reply));
        result
    }

    /// Does something about names.
    pub fn names(&self, request: NameRequest) -> Receiver<NameAnswer> {
        let (reply, result) = oneshot::channel();
        self.mailbox.put(Event::Names(Box::new(request), reply));
        result
    }

    /// An upload of many chunks begins: none of them is taken for garbage before it is dropped.
    pub(crate) fn begin_upload(&self) -> Upload {
        Upload {
            number: self.uploads.fetch_add(1, Ordering::Relaxed),
            mailbox: self.mailbox.clone(),
        }
    }

    /// Stores a chunk of an upload.
    pub(crate) fn put_of(
        &self,
        upload: &Upload,
        content: Content,
        replicas: Option<u8>,
    ) -> Receiver<PutResult> {
        let (reply, result) = oneshot::channel();
        self.mailbox.put(Event::Upload(upload.number, content, replicas, reply));
        result
    }

    /// Garbage is to be collected now: this node begins a round, unless one is under way.
    pub fn collect(&self) {
        self.mailbox.put(Event::Collect);
    }

    /// How the collection of garbage stands; none where no names are kept.
    pub fn collection(&self) -> Receiver<Option<CollectionStatus>> {
        self.look(|member, _| member.collection_status())
    }

    /// Stores a chunk as [`Node::put_on`] does, and then changes a name that says where it is.
    ///
    /// # Panics
    /// For an empty chunk.
    pub fn put_named(
        &self,
        (content, replicas): (Content, Option<u8>),
        change: (Key, ChangeRequest, Option<Guard>),
    ) -> Receiver<NamedResult> {
        assert!(!content.bytes().is_empty(), "an empty chunk is never sent");
        let (reply, result) = oneshot::channel();
        let put = PutNamed { content, replicas, change };
        self.mailbox.put(Event::PutNamed(Box::new(put), reply));
        result
    }

    /// Which targets of the whole cluster hold a chunk, as far as they answer within 700 ms.
    pub fn holders(&self, chunk: ChunkId) -> Receiver<Holders> {
        let (reply, result) = oneshot::channel();
        self.mailbox.put(Event::Holders(chunk, reply));
        result
    }

    /// What its machines heard and did since this was last asked, if it records.
    pub fn recorded(&self) -> Receiver<Recorded> {
        self.look(|member, _| {
            let (targets, initiator) = member.take_tapes();
            Recorded { targets, initiator }
        })
    }

    /// What its member has heard and done since it began, if that is kept.
    pub fn tape(&self) -> Option<Tape> {
        self.mailbox.enter(|reactor| reactor.tape()).flatten()
    }

    /// How its targets are.
    pub fn status(&self) -> Receiver<Vec<TargetStatus>> {
        self.look(|member, now| member.target_status(now))
    }

    /// How many chunks of the cluster have too few replicas; none if that is not known. See
    /// [`Member::under_replicated`].
    pub fn under_replicated(&self) -> Receiver<Option<u64>> {
        self.look(|member, now| member.under_replicated(now))
    }

    /// How often gets were answered from memory.
    pub fn cache(&self) -> Receiver<CacheStatistics> {
        self.look(|member, _| member.cache_statistics())
    }

    /// Takes what has become of the windows of its targets since this was last asked, with the present, and counts what was
    /// left out. Between this and the next time at most about `capacity` events are kept; with 0 none are.
    pub(crate) fn windows(&self, capacity: usize) -> Receiver<(Time, Vec<WindowEvent>, u64)> {
        self.look(move |member, now| {
            let (events, left_out) = member.take_windows();
            let targets = member.target_count().max(1);
            // Of many targets few are busy.
            let each = if capacity == 0 { 0 } else { (capacity / targets).max(32) };
            member.watch_windows(each);
            (now, events, left_out)
        })
    }

    /// Of each group that keeps names, how many of its voters are heard; none of a cluster in one process, whose voters are all
    /// here.
    pub(crate) fn quorums(&self) -> Receiver<Vec<Quorum>> {
        self.look(|member, now| {
            let (Some(map), Some(link)) = (member.map(), member.link()) else { return Vec::new() };
            let up = link.peers(now).into_iter().filter(|peer| peer.is_up).map(|peer| peer.node);
            let up: BTreeSet<u32> = up.chain([member.node()]).collect();
            let nodes = map.node_of_targets();
            // Of targets of other nodes only their node is known.
            let has_failed = |target| member.target(target).is_some_and(has_failed);
            let is_heard = |voter: Voter| {
                let node = nodes.get(&voter.target);
                node.is_some_and(|node| up.contains(node)) && !has_failed(voter.target)
            };
            let quorum = |(group, voters): (&GroupId, &Voters)| Quorum {
                group: group.0,
                voters: voters.all().len(),
                heard: voters.all().into_iter().filter(|voter| is_heard(*voter)).count(),
                is_quorum: voters.is_quorum(is_heard),
            };
            map.voters.iter().map(quorum).collect()
        })
    }

    /// The cluster map that it follows; none of a cluster in one process.
    pub(crate) fn map(&self) -> Receiver<Option<ClusterMap>> {
        self.look(|member, _| member.map().cloned())
    }

    /// How its link to the other nodes is; none of a cluster in one process.
    pub(crate) fn network(&self) -> Receiver<Option<Snapshot>> {
        let (sockets, source) = (self.sockets.clone(), self.map_source().map(MapSource::to_string));
        let problem = self.keeper.as_ref().and_then(MapKeeper::problem);
        self.look(move |member, now| {
            let (link, membership) = (member.link()?, member.membership_status()?);
            Some(Snapshot {
                node: member.node(),
                peers: link.peers(now),
                counters: link.counters(),
                sockets: sockets?,
                source: source.unwrap_or_default(),
                problem: problem.or_else(|| membership.problem.clone()),
                membership,
            })
        })
    }

    /// The folder of a target, and why it is not taken for it, if that is so.
    pub(crate) fn folder(&self, target: TargetId) -> Option<&(PathBuf, Option<Refusal>)> {
        self.folders.get(&target)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Its thread notices that soon, and is not waited for.
        drop(self.keeper.take());
        self.mailbox.stop();
        if let Some(reactor) = self.reactor.take() {
            let _ = reactor.join();
            tracing::info!("stopped");
        }
    }
}

#[cfg(test)]
mod tests;
