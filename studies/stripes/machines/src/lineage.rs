use alloc::vec::Vec;
use core::fmt;

/// Somebody who reads and writes units. A client that has lost its memory must take a new id: its
/// serials would repeat otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u32);

/// One operation of one client, over all its attempts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// Who asks.
    pub client: ClientId,
    /// Counts the client's operations on this stripe; never used twice.
    pub serial: u32,
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.client.0, self.serial)
    }
}

/// Names one content of one data unit, for ever: no two contents get the same stamp.
///
/// `version` counts the updates of the unit. An update that came to nothing leaves its version to
/// another one, made in a later `epoch`; so stamps are ordered by both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Stamp {
    /// Counts the updates of the unit from its creation on, which is zero.
    pub version: u64,
    /// Who made it: the incarnation of the data server, or the token of the lock.
    pub epoch: u64,
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}e{}", self.version, self.epoch)
    }
}

/// One life of a parity server's content: which incarnation of the server built it, and how often it
/// had built it before. What a server said in an earlier life counts no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Birth {
    /// The incarnation of the server.
    pub incarnation: u32,
    /// Counts the builds of one incarnation.
    pub build: u32,
}

/// A stamp, and the requests that made this version and those before it.
///
/// This is what makes a write happen once, however often its messages arrive: a write names the version
/// that its client was told before it sent the content (`base`). Whoever applies it looks whether the
/// request is among those since then. It lies beside the content on the data server, and once more on
/// every parity server, so that it outlives each of them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lineage {
    /// The version that this is.
    pub stamp: Stamp,
    /// The requests of the last versions, the newest last.
    recent: Vec<RequestId>,
}

/// How many versions back a request is remembered. A write that needs its attempts for longer than this ends
/// as [`Failure::Forgotten`](crate::Failure::Forgotten). It is twice as many as the writes that wait at a
/// data server: those that came into the queue have their turn in time.
const REMEMBERED: usize = 32;

impl Lineage {
    /// The lineage of the version that `request` makes of this one in `epoch`.
    #[must_use]
    pub fn next(&self, epoch: u64, request: RequestId) -> Lineage {
        let kept = self.recent.len().saturating_sub(REMEMBERED - 1);
        let recent = self.recent[kept..].iter().copied().chain([request]).collect();
        Lineage { stamp: Stamp { version: self.stamp.version + 1, epoch }, recent }
    }

    /// The version that `request` made, if it is remembered.
    pub fn version_of(&self, request: RequestId) -> Option<u64> {
        let back = self.recent.iter().rev().position(|made| *made == request)?;
        Some(self.stamp.version - back as u64)
    }

    /// Whether all requests after version `base` are remembered.
    pub fn covers(&self, base: u64) -> bool {
        self.stamp.version.saturating_sub(base) <= self.recent.len() as u64
    }

    /// The requests that made the last versions, the newest last.
    pub fn makers(&self) -> impl DoubleEndedIterator<Item = RequestId> {
        self.recent.iter().copied()
    }

    /// The request that made this version.
    pub(crate) fn maker(&self) -> Option<RequestId> {
        self.recent.last().copied()
    }
}

impl fmt::Debug for Lineage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{:?}", self.stamp, self.recent)
    }
}

/// The lineages of all data units, as a parity unit includes them.
pub type Vector = Vec<Lineage>;

/// Whether two vectors name the same contents.
pub(crate) fn same_stamps(a: &[Lineage], b: &[Lineage]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.stamp == b.stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(serial: u32) -> RequestId {
        RequestId { client: ClientId(1), serial }
    }

    fn grown(n: u32) -> Lineage {
        (0..n).fold(Lineage::default(), |lineage, serial| lineage.next(5, request(serial)))
    }

    #[test]
    fn a_request_is_found_with_the_version_that_it_made() {
        let lineage = grown(3);
        assert_eq!(lineage.stamp, Stamp { version: 3, epoch: 5 });
        assert_eq!(lineage.maker(), Some(request(2)));
        for serial in 0..3 {
            assert_eq!(lineage.version_of(request(serial)), Some(u64::from(serial) + 1));
        }
        assert_eq!(lineage.version_of(request(3)), None);
    }

    #[test]
    fn what_is_forgotten_is_known_to_be_forgotten() {
        let lineage = grown(36);
        assert_eq!(lineage.version_of(request(3)), None);
        assert_eq!(lineage.version_of(request(4)), Some(5));
        assert!(lineage.covers(4) && !lineage.covers(3));
        assert!(grown(5).covers(0));
    }
}
