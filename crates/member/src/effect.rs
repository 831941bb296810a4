//! What a member wants of its host.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::SocketAddr;

use slotcast_object::garbage::LostList;
use slotcast_object::{NameAnswer, Rosters, RowsOp, RowsOpId};
use slotcast_protocol::{
    ChunkId, Failure, GroupId, Members, Membership, PartValue, RequestId, TargetId,
};
use slotcast_store::{Content, Op, OpId, Statistics, StoreStatus};
use slotcast_transport::{Body, Data, Datagram, Header, Purpose};
use slotcast_units::{Size, Span, Time};

use crate::input::RequestNumber;
use crate::link::PeerRefusal;
use crate::map::ClusterMap;

/// One thing to be done.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "most are datagrams, and a box for each costs more")]
pub enum Effect {
    /// Carry out a disk operation of a target, and report it with [`Input::Disk`](crate::Input::Disk).
    Disk(TargetId, OpId, Op),
    /// Take the work of a target with [`Member::take_work`](crate::Member::take_work), run it where nobody waits for it,
    /// and report it with [`Input::Worked`](crate::Input::Worked).
    Work(TargetId),
    /// Carry out an operation on the rows of names of a target, and report it with [`Input::Rows`](crate::Input::Rows).
    Rows(TargetId, RowsOpId, RowsOp),
    /// Keep who votes on stable storage, and then say [`Input::Rosters`](crate::Input::Rosters): of a cluster in one process,
    /// which begins with [`NamesConfig::rosters`](crate::NamesConfig) the next time.
    KeepRosters(Rosters),
    /// Give a datagram the next sequence number of this incarnation, seal it and send it, now. Datagrams are
    /// numbered when they leave: receivers take what is far behind others for repeated.
    Send(SocketAddr, Datagram<'static>),
    /// Send pieces of a chunk, then say [`Input::Left`](crate::Input::Left).
    SendPieces(Box<Pass>),
    /// Answer a request.
    Answer(RequestNumber, Answer),
    /// Keep a copy of this map, which the member follows from now on.
    KeepMap(Box<ClusterMap>),
    /// The member proposes this map in the place of the one before it. It may be withdrawn: whoever writes it asks
    /// for [`Member::proposal`](crate::Member::proposal) right before, and writes only if the map has not been
    /// changed meanwhile. What becomes of it is told by [`Input::Map`](crate::Input::Map).
    Propose(Box<ClusterMap>),
    /// Nothing to be done: for logs.
    Note(Note),
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The chunk is on stable storage on as many targets as wanted, or why it is not.
    Put(Result<(), Failure>),
    /// The chunk, or why it is not to be had.
    Get(Result<Content, Failure>),
    /// Where the chunk is.
    Holders(Holders),
    /// What became of a request about names.
    Names(NameAnswer),
}

/// Where a chunk is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holders {
    /// Targets that hold it, of all nodes.
    pub targets: Vec<u32>,
    /// Targets of its group that did not answer: nobody knows whether they hold it.
    pub silent_targets: Vec<u32>,
    /// The nodes of those; none of a cluster in one process.
    pub silent_nodes: Vec<u32>,
    /// Its size, if anybody holds it.
    pub size: Option<Size>,
    /// How many targets are to hold it, if anybody does.
    pub replicas: Option<u8>,
}

/// Pieces of a chunk that leave one after another.
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// Where to.
    pub to: SocketAddr,
    /// Of each datagram, but for its sequence number, when it leaves, and the echo.
    pub header: Header,
    /// What the receiver said last and when that came, for the echo; none for a multicast.
    pub echo: Option<(Time, Time)>,
    /// Which transfer of this incarnation.
    pub transfer: u32,
    /// Counts the times that pieces are repeated, from 0.
    pub pass: u8,
    /// What it is.
    pub purpose: Purpose,
    /// How long the receiver waits for a further piece before it reports.
    pub slack: Span,
    /// For which request.
    pub request: RequestId,
    /// The negotiating group.
    pub group: GroupId,
    /// The members that it is for; with a get, the one from which it comes.
    pub members: Members,
    /// The chunk.
    pub content: Content,
    /// How long each piece but the last one is, in bytes.
    pub piece_len: u16,
    /// Which pieces, in ascending order; at least one. The last one says that it ends its pass.
    pub pieces: Vec<u32>,
    /// When the first one may leave.
    pub start: Time,
    /// From one piece to the next.
    pub piece_time: Span,
    /// What has not left by then need not leave any more.
    pub give_up: Time,
}

impl Pass {
    /// Where piece `n` of those listed lies in the chunk, and its bytes.
    fn piece(&self, n: usize) -> (usize, &[u8]) {
        let (bytes, piece_len) = (self.content.bytes(), usize::from(self.piece_len));
        let at = self.pieces[n] as usize * piece_len;
        (at, &bytes[at..bytes.len().min(at + piece_len)])
    }

    /// The value of piece `n` of those listed. O(length of a piece), or O(1) where the content knows it.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn value(&self, n: usize) -> PartValue {
        let parts = self.content.parts().filter(|parts| parts.len() == u32::from(self.piece_len));
        parts.and_then(|parts| parts.value(self.pieces[n] as usize)).unwrap_or_else(|| {
            let (at, bytes) = self.piece(n);
            PartValue::of(at as u64, bytes)
        })
    }

    /// The datagram with piece `n` of those listed, which leaves at `sent_at` with this sequence number; `value` is
    /// that of [`Pass::value`].
    ///
    /// # Panics
    /// If there are not so many.
    pub fn datagram(
        &self,
        n: usize,
        (sent_at, sequence): (Time, u64),
        value: PartValue,
    ) -> Datagram<'_> {
        let data = Data {
            purpose: self.purpose,
            is_last: n + 1 == self.pieces.len(),
            pass: self.pass,
            transfer: self.transfer,
            piece: u16::try_from(self.pieces[n]).expect("at most 8192 pieces"),
            piece_len: self.piece_len,
            length: u32::try_from(self.content.bytes().len()).expect("at most 8 MiB"),
            slack: self.slack,
            request: self.request,
            group: self.group,
            members: self.members,
            name: self.content.chunk(),
            bytes: self.piece(n).1,
            value,
        };
        let echo = self.echo.map(|(stamp, came)| (stamp, sent_at.saturating_since(came)));
        let header = Header { sequence, sent_at, echo, ..self.header };
        Datagram { header, body: Body::Data(data) }
    }
}

/// What people may want to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// A target can do something else than before.
    Target {
        /// Which.
        target: TargetId,
        /// What it could do.
        before: StoreStatus,
        /// What it can do.
        status: StoreStatus,
        /// Numbers of its store.
        statistics: Statistics,
    },
    /// A target scans what it holds for chunks that have too few replicas.
    ScanBegun {
        /// Which.
        target: TargetId,
        /// Chunks that it holds.
        chunks: u64,
    },
    /// The scan has ended.
    ScanEnded {
        /// Which target.
        target: TargetId,
        /// Chunks looked at.
        visited: u64,
        /// Chunks brought back to their number of replicas.
        healed: u64,
        /// Attempts that failed.
        failed: u64,
        /// Chunks that still have too few.
        under_replicated: u64,
        /// How long it took.
        elapsed: Span,
    },
    /// A target reads all that it holds.
    ScrubBegun {
        /// Which.
        target: TargetId,
        /// Chunks that it holds.
        chunks: u64,
    },
    /// The scrub has ended.
    ScrubEnded {
        /// Which target.
        target: TargetId,
        /// Chunks read.
        read: u64,
        /// Chunks found unreadable.
        lost: u64,
        /// How long it took.
        elapsed: Span,
    },
    /// The disk cannot read a chunk: it does not count as stored there for now.
    ChunkUnreadable {
        /// At which target.
        target: TargetId,
        /// Which.
        chunk: ChunkId,
    },
    /// A target of a peer has failed: what it holds is replaced.
    PeerTargetFailed(u32, TargetId),
    /// A chunk is not what its name says, and is not stored there any more.
    ChunkLost {
        /// At which target.
        target: TargetId,
        /// Which.
        chunk: ChunkId,
    },
    /// A peer is heard.
    PeerUp(u32, SocketAddr),
    /// A peer is not heard; after this span what it held is replaced.
    PeerDown(u32, SocketAddr, Span),
    /// A peer is heard, and not believed: why.
    PeerRefused(u32, SocketAddr, PeerRefusal),
    /// A peer was down for so long that what it held is replaced.
    PeerGone(u32),
    /// A peer has started anew: what it holds is checked.
    PeerRestarted(u32),
    /// The member follows the map of this epoch, in which its node is this.
    MapTaken(u32, Membership),
    /// This node leaves, and others hold all that it holds: it may be stopped.
    HandedOver,
    /// The list of the chunks of an object cannot be had: no garbage is removed before that is mended.
    ListLost(LostList),
}
