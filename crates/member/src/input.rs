//! What a member is told.

use alloc::boxed::Box;
use core::net::SocketAddr;

use slotcast_object::{
    Entry, Guard, Key, NameRequest, Request as ChangeOf, Rosters, RowsError, RowsOpId, RowsOutput,
};
use slotcast_protocol::{ChunkId, Claim, GroupId, TargetId};
use slotcast_store::{Content, DiskError, OpId, Output, Worked};
use slotcast_transport::Datagram;

use crate::map::ClusterMap;

/// A request of a client of this node, numbered by its host. No two under way have the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestNumber(pub u64);

/// A change of a name.
pub type ChangeRequest = ChangeOf<Entry>;

/// What a client of this node wants. Each is answered by one [`Answer`](crate::Answer), unless the member is
/// dropped before.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "each is there once, and most are about names")]
pub enum Request {
    /// Store a chunk, which is not empty, on so many targets (1 to 8), or on as many as the cluster's number
    /// says, with this claim.
    Put(Content, Option<u8>, Claim),
    /// Fetch a chunk.
    Get(ChunkId),
    /// Find out which targets hold a chunk.
    Holders(ChunkId),
    /// Do something about names.
    Names(NameRequest),
    /// Store a chunk of the upload of this number as [`Request::Put`] does with [`Claim::Names`]. It is not taken for
    /// garbage before [`Input::UploadEnded`].
    Upload(u64, Content, Option<u8>),
    /// Store a chunk as [`Request::Put`] does with [`Claim::Names`], and then change a name that says where it is, as long
    /// as another name says what that relies on. The name says so only when the chunk is stored.
    PutNamed(Content, Option<u8>, Box<(Key, ChangeRequest, Option<Guard>)>),
}

/// One thing that has happened.
#[derive(Debug)]
pub enum Input<'a> {
    /// A client wants something.
    Request(RequestNumber, Request),
    /// A datagram came from an address, and was sealed with the cluster's key; `via` is the group to whose
    /// multicast address it was sent.
    Datagram {
        /// Where it came from.
        from: SocketAddr,
        /// The group of a multicast.
        via: Option<GroupId>,
        /// What it says.
        datagram: Datagram<'a>,
    },
    /// All pieces of a [`Pass`](crate::Pass) have left; names its transfer.
    Left(u32),
    /// A disk operation of a target has ended.
    Disk(TargetId, OpId, Result<Output, DiskError>),
    /// The work is done that was taken from a target.
    Worked(TargetId, Worked),
    /// An operation on the rows of names of a target has ended.
    Rows(TargetId, RowsOpId, Result<RowsOutput, RowsError>),
    /// Who votes was kept, as [`Effect::KeepRosters`](crate::Effect::KeepRosters) wanted.
    Rosters(Rosters),
    /// The folder of a target has disappeared.
    DiskGone(TargetId),
    /// A chunk is to be removed from a target, as the collection of garbage decides. Nobody is told: what a
    /// crash brings back can be removed again.
    Remove(TargetId, ChunkId),
    /// All that an upload has stored is named, or it was given up.
    UploadEnded(u64),
    /// Garbage is to be collected now.
    Collect,
    /// A cluster map was read. It may be the one that the member has.
    Map(Box<ClusterMap>),
    /// The time of [`Member::wakes_at`](crate::Member::wakes_at) has come.
    Wake,
}
