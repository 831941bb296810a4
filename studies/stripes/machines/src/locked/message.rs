use crate::lineage::{RequestId, Stamp, Vector};

/// The messages of the stripe-lock mode.
///
/// A `token` names one holding of the lock; later ones are greater. An `echo` is carried back by the
/// answer: a token, or the serial of an operation that needs no lock. Tokens are greater than serials.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Message<C> {
    /// Client to lock server: I want the lock.
    Acquire {
        /// The operation.
        request: RequestId,
        /// Counts the times that the operation wanted it.
        attempt: u32,
    },
    /// Lock server to client: you have the lock.
    Granted {
        /// The operation.
        request: RequestId,
        /// Which time.
        attempt: u32,
        /// The name of the holding.
        token: u64,
    },
    /// Lock server to client: you had the lock, and that is over.
    Over {
        /// The operation.
        request: RequestId,
        /// Which time.
        attempt: u32,
    },
    /// Client to lock server: I need the lock no more.
    Release {
        /// Which holding.
        token: u64,
        /// Whether the stripe may be inconsistent.
        suspect: bool,
    },
    /// Lock server to client: I know.
    Released {
        /// Which holding.
        token: u64,
    },

    /// To a unit's server: what is your content?
    Read {
        /// What the answer will carry.
        echo: u64,
        /// A data unit's content that need not be sent.
        have: Option<Stamp>,
    },
    /// Unit's server: this.
    Unit {
        /// What the question carried.
        echo: u64,
        /// Of a data unit, its lineage; of a parity unit, those of all data units.
        header: Vector,
        /// The content; `None` if it is the one that the asker has.
        content: Option<C>,
    },
    /// Unit's server: I have lost my content.
    Blank {
        /// What the question carried, or the token of the write.
        echo: u64,
    },
    /// To a unit's server: this is your content now.
    Write {
        /// The holding under which it is written.
        token: u64,
        /// As in [`Unit`](Message::Unit).
        header: Vector,
        /// The content.
        content: C,
    },
    /// Unit's server: it is durable.
    Stored {
        /// The token of the write.
        token: u64,
    },
    /// Unit's server: that holding is over.
    Fenced {
        /// The token of the write.
        token: u64,
    },

    /// Lock server to unit's server: take no write of an earlier holding, and tell me what you have.
    Seal {
        /// The holding that begins.
        token: u64,
    },
    /// Unit's server to lock server: this. `None` if it has lost its content.
    Sealed {
        /// Which seal.
        token: u64,
        /// The incarnation of the server.
        incarnation: u32,
        /// As in [`Unit`](Message::Unit).
        header: Option<Vector>,
    },
    /// Unit's server to lock server: I have lost my content.
    Damaged {
        /// The incarnation of the server that found it out.
        incarnation: u32,
    },
}
