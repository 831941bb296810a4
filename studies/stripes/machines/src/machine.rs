use core::fmt;

use slotcast_units::Time;

use crate::lineage::{Birth, ClientId, RequestId, Stamp};

/// Who takes part in a stripe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Peer {
    /// A client.
    Client(ClientId),
    /// The server of a data unit.
    Data(u8),
    /// The server of a parity unit.
    Parity(u8),
    /// The metadata server that has the stripe's lock; only in the stripe-lock mode.
    Lock,
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Client(ClientId(id)) => write!(f, "C{id}"),
            Peer::Data(unit) => write!(f, "D{unit}"),
            Peer::Parity(parity) => write!(f, "P{parity}"),
            Peer::Lock => write!(f, "L"),
        }
    }
}

/// What an application asks of a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operation<C> {
    /// Replaces the content of a data unit.
    Write {
        /// Which unit.
        unit: u8,
        /// Its new content.
        content: C,
    },
    /// Reads a data unit.
    Read {
        /// Which unit.
        unit: u8,
    },
}

/// How an operation ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Outcome<C> {
    /// The write survives the loss of as many servers as there are parity units.
    Written {
        /// The version that it made of the unit.
        version: u64,
    },
    /// The content of the unit.
    Content {
        /// Its version.
        version: u64,
        /// The content.
        content: C,
    },
    /// It did not end well.
    Failed(Failure),
}

/// Why an operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The client has another operation under way on this stripe, there is no such unit, or the content
    /// has another length than a unit. Nothing happened.
    Refused,
    /// No answer came in all attempts. A write may have happened, or may happen later.
    TimedOut,
    /// So many other writes came between the attempts that nobody knows any more whether this one was
    /// among them.
    Forgotten,
}

/// What a wake is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Ask again for what is missing.
    Retry,
    /// The lease of the lock with this token ends.
    Lease(u64),
    /// The data server that is being replaced has had its time.
    Hold,
}

/// Names a durable write among those of one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// The content of a data unit.
    Slot(Stamp),
    /// An update in a parity server's log.
    Log {
        /// Of which data unit.
        unit: u8,
        /// What the update makes of it.
        to: Stamp,
    },
    /// An update taken out of the log.
    Discard,
    /// The content of a parity unit.
    Image,
    /// A promise to listen to nobody from before this epoch.
    Fence {
        /// Of which unit.
        unit: u8,
        /// The incarnation, or the token of the lock.
        epoch: u64,
    },
    /// Everything deleted.
    Wipe,
    /// A unit written under the lock with this token.
    Unit(u64),
}

/// What to read from stable storage, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Load {
    /// The content of a data unit that the update under way starts from.
    Base(Stamp),
    /// The content that an update in doubt ends at.
    Update(Stamp),
    /// A parity unit, to merge the log into.
    Merge,
    /// The content of a data unit, for a client that reads.
    Read {
        /// Which content.
        stamp: Stamp,
        /// The client's operation.
        request: RequestId,
    },
    /// The content of a data unit, for somebody who rebuilds another unit.
    Copy {
        /// Which content.
        stamp: Stamp,
        /// Who asked.
        to: Peer,
        /// Set if a parity server asked for the newest content: the life that it begins.
        newest: Option<Birth>,
    },
    /// A whole parity unit, or in the stripe-lock mode any unit, for somebody who asked.
    Whole {
        /// Who asked.
        to: Peer,
        /// What tells the answer from others.
        echo: u64,
    },
}

/// What a host tells a machine.
#[derive(Debug, Clone)]
pub enum Input<M, R, C> {
    /// An application starts an operation. For clients only.
    Start(Operation<C>),
    /// A message arrived.
    Message {
        /// From whom.
        from: Peer,
        /// What.
        message: M,
    },
    /// A write of [`Effect::Store`] is on stable storage.
    Stored(Mark),
    /// A read of [`Effect::Load`] ended.
    Loaded {
        /// Which one.
        load: Load,
        /// What was found, if it was there.
        record: Option<R>,
    },
    /// A time of [`Effect::Wake`] has come.
    Wake(Timer),
}

/// What a machine wants of its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect<M, W, C> {
    /// Send a message. It may be lost, repeated, or overtaken by others.
    Send {
        /// To whom.
        to: Peer,
        /// What.
        message: M,
    },
    /// Write to stable storage, all or nothing, then say [`Input::Stored`].
    Store {
        /// The name of the write.
        mark: Mark,
        /// What is written.
        write: W,
    },
    /// Read from stable storage, then say [`Input::Loaded`].
    Load(Load),
    /// A hint: the content with this stamp will soon be loaded.
    Prefetch(Stamp),
    /// Say [`Input::Wake`] at this time. A machine has at most one wish of each kind at a time.
    Wake {
        /// When.
        at: Time,
        /// What for.
        timer: Timer,
    },
    /// An operation ended. From clients only.
    Done {
        /// Which one.
        request: RequestId,
        /// How.
        outcome: Outcome<C>,
    },
    /// More servers were lost than there are parity units, or a server and a client in the middle of an
    /// update under the lock: data units are gone. From the lock server only.
    Lost,
}
