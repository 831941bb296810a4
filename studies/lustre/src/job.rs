//! Who does what: groups of equal clients.

use slotcast_units::{Size, Span};

/// Which files the clients of a job use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Each its own (IOR's file per process).
    PerProcess,
    /// All the same one, each a part of it.
    Shared,
}

/// What the clients of a job do with their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Write.
    Write,
    /// Read what is there.
    Read,
    /// Write, and when all have written read it.
    WriteRead,
}

/// In which order a client goes through its part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// From the beginning to the end.
    Sequential,
    /// At multiples of the transfer size, at random; only with direct I/O.
    Random,
}

/// A group of equal clients, such as the processes of an IOR run or a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What reports call it.
    pub name: String,
    /// How many.
    pub clients: u32,
    /// Their class, for schedulers that know classes.
    pub class: u16,
    /// Which files.
    pub files: Files,
    /// What they do.
    pub work: Work,
    /// In which order.
    pub access: Access,
    /// Bytes of each client.
    pub size: Size,
    /// Bytes of one call.
    pub transfer: Size,
    /// Whether a call returns when its data is on disk: one call at a time. Buffered I/O has as many RPCs
    /// under way as the client may.
    pub direct: bool,
    /// When the first client starts.
    pub start: Span,
    /// Clients start in this many sets, client i in set i mod `sets`.
    pub sets: u32,
    /// One set this much after the other, plus up to a tenth of the set's own delay at random.
    pub skew: Span,
    /// Clients start at random within this.
    pub spread: Span,
    /// Pause between calls; only with direct I/O.
    pub interval: Span,
    /// If more than zero, clients go through their files again and again, and start nothing after it.
    pub until: Span,
    /// If more than zero, their requests are urgent: they ask for service within this.
    pub within: Span,
}

impl Default for Job {
    fn default() -> Job {
        Job {
            name: "ior".into(),
            clients: 1,
            class: 0,
            files: Files::PerProcess,
            work: Work::Write,
            access: Access::Sequential,
            size: Size::from_mib(32),
            transfer: Size::from_mib(1),
            direct: false,
            start: Span::ZERO,
            sets: 1,
            skew: Span::ZERO,
            spread: Span::ZERO,
            interval: Span::ZERO,
            until: Span::ZERO,
            within: Span::ZERO,
        }
    }
}
