//! What a scheduler knows of a request.

use slotcast_units::{Size, Span, Time};

/// A request at its server; given by the host, unique among those that are queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// A data object: in Lustre the part of a file that lies on one OST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u64);

/// One of the storage targets that a server serves; in Lustre the index of an OST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetId(pub u32);

/// A client node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u32);

/// A class of clients or of work: a tenant, a job, a priority. Class 0 is the highest priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u16);

/// Which way the data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// To the client.
    Read,
    /// To the disk.
    Write,
}

/// A request that waits for a service thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Which one.
    pub id: RequestId,
    /// Who asked.
    pub client: ClientId,
    /// To which class it belongs.
    pub class: ClassId,
    /// On which of the server's targets the object lies.
    pub target: TargetId,
    /// The object that it reads or writes.
    pub object: ObjectId,
    /// Which way.
    pub direction: Direction,
    /// First byte within the object.
    pub offset: u64,
    /// Number of bytes.
    pub length: Size,
    /// When it came to the server.
    pub arrived: Time,
    /// For urgent requests: the longest time from arrival to service that the client asks for.
    pub within: Option<Span>,
}

/// Total order of requests of one object: by offset, shorter first, then by name.
pub(crate) type ByOffset = (u64, Size, RequestId);

impl Request {
    pub(crate) fn by_offset(&self) -> ByOffset {
        (self.offset, self.length, self.id)
    }
}
