use alloc::vec::Vec;

use crate::lineage::{Birth, Lineage, RequestId, Stamp};

/// The content of a data unit with its lineage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot<C> {
    /// Which version it is, and how it came to be.
    pub lineage: Lineage,
    /// The content.
    pub content: C,
}

/// The content of a parity unit with what it includes of each data unit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Image<C> {
    /// The lineage of each data unit.
    pub vector: Vec<Lineage>,
    /// The sum.
    pub content: C,
}

/// Which content of a data unit is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Want {
    /// The newest that will stay: for a parity server that builds its content anew.
    Newest(Birth),
    /// This one, if it is still there.
    Exactly(Stamp),
}

/// What a parity server tells a data server that takes over.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Surrender {
    /// The version that it knows to be committed.
    pub committed: Lineage,
    /// An update that is in its log and may be committed.
    pub undecided: Option<Lineage>,
}

/// The messages of the coordinated mode. `session` is the incarnation of the data server: the one that
/// sends, or the one that is answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Message<C> {
    /// Client to data server: I have new content for you.
    Ask {
        /// The operation.
        request: RequestId,
    },
    /// Data server to client: send it.
    Ready {
        /// The operation.
        request: RequestId,
        /// The version of the unit.
        base: u64,
    },
    /// Client to data server: the new content of the unit.
    Write {
        /// The operation.
        request: RequestId,
        /// The version in the first `Ready` after which the content was sent.
        base: u64,
        /// The content.
        content: C,
    },
    /// Data server to client: your write is committed.
    Written {
        /// The operation.
        request: RequestId,
        /// The version that it made.
        version: u64,
    },
    /// Data server to client: whether your write was committed is no longer known.
    Forgotten {
        /// The operation.
        request: RequestId,
    },
    /// Client to data server: what is the content?
    Read {
        /// The operation.
        request: RequestId,
    },
    /// Data server to client: this.
    Content {
        /// The operation.
        request: RequestId,
        /// Its version.
        version: u64,
        /// The content.
        content: C,
    },

    /// Data server to parity server: a change of my unit. It also says that `from` is committed.
    Delta {
        /// The incarnation of the data server.
        session: u32,
        /// The content before.
        from: Stamp,
        /// The content after.
        to: Stamp,
        /// Whose write it is.
        by: RequestId,
        /// The difference.
        content: C,
    },
    /// Data server to parity server: have you got the update to `to`?
    Query {
        /// The incarnation of the data server.
        session: u32,
        /// The content before it; `None` if the data server has it no more.
        from: Option<Stamp>,
        /// The content after it.
        to: Stamp,
    },
    /// Parity server to data server: I have, durably.
    Prepared {
        /// The content after the update.
        to: Stamp,
        /// The incarnation of the data server.
        session: u32,
        /// The life of the parity server's content.
        born: Birth,
    },
    /// Parity server to data server: I have not, but could take it.
    Missing {
        /// The content after the update.
        to: Stamp,
        /// The incarnation of the data server.
        session: u32,
        /// The life of the parity server's content.
        born: Birth,
    },
    /// Data server to parity server: the update is durable here and everywhere.
    Commit {
        /// The content after the update.
        to: Stamp,
    },
    /// Data server to parity server: that update was not committed, and will not be by me.
    Abort {
        /// The incarnation of the data server: a later one may see to it that it is committed after all.
        session: u32,
        /// The content after the update.
        to: Stamp,
    },
    /// Parity server to data server: what became of the update in my log?
    Inquire {
        /// The content after the update.
        to: Stamp,
    },

    /// New data server to parity server: listen to no data server of this unit before me, and tell me
    /// what you have.
    Takeover {
        /// The incarnation of the data server.
        session: u32,
    },
    /// Parity server to new data server: I do; this is what I have. `None` if it has lost its content,
    /// too.
    Surrender {
        /// The incarnation of the data server.
        session: u32,
        /// What it has.
        surrender: Option<Surrender>,
    },
    /// New data server to parity server: the unit is at this version; commit or drop what is in your
    /// log.
    Settle {
        /// The incarnation of the data server.
        session: u32,
        /// The version.
        at: Stamp,
    },
    /// New data server to parity server: I have my content.
    Restored {
        /// The incarnation of the data server.
        session: u32,
    },

    /// To a data server: send the content of your unit.
    Fetch {
        /// Which content.
        want: Want,
    },
    /// Data server: here it is.
    Copy {
        /// What was asked for.
        want: Want,
        /// The incarnation of the data server.
        session: u32,
        /// Whether it is known to be committed. If not it will be, unless the data server is lost.
        settled: bool,
        /// The content.
        slot: Slot<C>,
    },
    /// To a parity server, by whoever wants to rebuild data unit `unit`: send your content, unless you
    /// have an update of that unit in your log.
    FetchImage {
        /// Which data unit is to be rebuilt.
        unit: u8,
        /// What the answer will carry.
        echo: u64,
    },
    /// Parity server: here it is.
    Image {
        /// What the question carried.
        echo: u64,
        /// The content.
        image: Image<C>,
    },
}
