//! Memory for the bodies of requests and answers: all of them together have a bound.
//!
//! A request is admitted when there is memory with which it can go on to its end by itself: that of one chunk, and
//! of its lists. So nobody holds memory while waiting for more, and what was admitted is never stopped by what comes
//! later. More chunks of it are in memory while nobody else needs that.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use slotcast_units::Size;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory is counted in units of so many bytes.
const UNIT: u64 = 4 << 10;

/// The memory of all bodies. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct BodyMemory {
    free: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    patience: Duration,
    units: u32,
}

/// No memory came free in time, or too many requests wait for that already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Busy;

fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

impl BodyMemory {
    /// Of this size. So many requests wait for some of it, each for so long at most.
    pub(crate) fn new(size: Size, waiting: usize, patience: Duration) -> BodyMemory {
        let units =
            units(size.as_bytes()).min(u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX));
        BodyMemory {
            free: Arc::new(Semaphore::new(units as usize)),
            waiting: Arc::new(Semaphore::new(waiting)),
            patience,
            units,
        }
    }

    /// Bytes that are in use.
    pub(crate) fn used(&self) -> u64 {
        (u64::from(self.units)).saturating_sub(self.free.available_permits() as u64) * UNIT
    }

    /// So much of it, if it is free and nobody waits for it.
    pub(crate) fn try_take(&self, bytes: u64) -> Option<Lease> {
        let permit = self.free.clone().try_acquire_many_owned(units(bytes).min(self.units));
        permit.ok().map(Lease)
    }

    /// So much of it, as soon as it is free.
    ///
    /// # Errors
    /// If too many wait for that, or it takes too long.
    pub(crate) async fn take(&self, bytes: u64) -> Result<Lease, Busy> {
        if let Some(lease) = self.try_take(bytes) {
            return Ok(lease);
        }
        let _waits = self.waiting.try_acquire().map_err(|_| Busy)?;
        let permit = self.free.clone().acquire_many_owned(units(bytes).min(self.units));
        match tokio::time::timeout(self.patience, permit).await {
            Ok(Ok(permit)) => Ok(Lease(permit)),
            _ => Err(Busy),
        }
    }
}

/// Memory that is in use until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease(OwnedSemaphorePermit);

impl Lease {
    /// Gives back all but so many bytes.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        let keep = units(bytes) as usize;
        drop(self.0.split(self.0.num_permits().saturating_sub(keep)));
    }
}

/// What one request has: memory of its own for one chunk of it, and more while there is.
#[derive(Debug)]
pub(crate) struct Share {
    memory: BodyMemory,
    /// Bytes of a chunk that fits into its own memory.
    chunk: u64,
    own: Arc<Semaphore>,
    _lease: Lease,
}

/// Memory of one chunk.
#[derive(Debug)]
pub(crate) struct Hold {
    _own: Option<OwnedSemaphorePermit>,
    _more: Option<Lease>,
    _share: Arc<Share>,
}

impl Share {
    /// One with `lease`, in which there is room for a chunk of so many bytes.
    pub(crate) fn new(memory: BodyMemory, lease: Lease, chunk: u64) -> Arc<Share> {
        Arc::new(Share { memory, chunk, own: Arc::new(Semaphore::new(1)), _lease: lease })
    }

    fn held(self: &Arc<Share>, own: Option<OwnedSemaphorePermit>, more: Option<Lease>) -> Hold {
        Hold { _own: own, _more: more, _share: self.clone() }
    }

    /// Memory for a chunk of so many bytes, if there is some at once.
    pub(crate) fn try_hold(self: &Arc<Share>, bytes: u64) -> Option<Hold> {
        if bytes <= self.chunk
            && let Ok(own) = self.own.clone().try_acquire_owned()
        {
            return Some(self.held(Some(own), None));
        }
        self.memory.try_take(bytes).map(|more| self.held(None, Some(more)))
    }

    /// The same, as soon as there is some: when the chunk before is not in memory any more.
    ///
    /// # Errors
    /// If the chunk is larger than those that the memory was taken for, and there is no more in time.
    pub(crate) async fn hold(self: &Arc<Share>, bytes: u64) -> Result<Hold, Busy> {
        if bytes > self.chunk {
            let more = self.memory.take(bytes).await?;
            return Ok(self.held(None, Some(more)));
        }
        let own = self.own.clone().acquire_owned().await.map_err(|_| Busy)?;
        Ok(self.held(Some(own), None))
    }
}

/// Bytes whose memory is counted until nobody has them any more.
pub(crate) fn counted<T: Send + 'static>(bytes: Bytes, held: T) -> Bytes {
    struct Counted<T>(Bytes, #[allow(dead_code, reason = "it is dropped with the bytes")] T);
    impl<T> AsRef<[u8]> for Counted<T> {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    Bytes::from_owner(Counted(bytes, held))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(20);

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(test);
    }

    #[test]
    fn what_is_in_use_has_a_bound_and_so_have_those_who_wait() {
        run(async {
            let memory = BodyMemory::new(Size::from_kib(64), 1, PATIENCE);
            let mut first = memory.take(40 << 10).await.expect("free");
            assert_eq!(memory.used(), 40 << 10);
            let (late, busy) = tokio::join!(memory.take(32 << 10), memory.take(32 << 10));
            // One waits in vain, and the other may not even wait.
            assert!(late.is_err() && busy.is_err());
            first.shrink(1);
            assert_eq!(memory.used(), UNIT);
            let second = memory.take(32 << 10).await.expect("free");
            drop((first, second));
            assert_eq!(memory.used(), 0);
            // More than there is takes all there is.
            assert!(memory.take(1 << 30).await.is_ok());
        });
    }

    #[test]
    fn a_request_goes_on_although_others_have_all_the_rest() {
        run(async {
            let memory = BodyMemory::new(Size::from_kib(64), 1, PATIENCE);
            let lease = memory.take(16 << 10).await.expect("free");
            let share = Share::new(memory.clone(), lease, 16 << 10);
            let own = share.try_hold(16 << 10).expect("its own");
            let more = share.try_hold(16 << 10).expect("more is free");
            let rest = memory.try_take(32 << 10).expect("free");
            assert!(share.try_hold(1).is_none(), "nothing is free");
            drop(own);
            let again = share.hold(16 << 10).await.expect("its own again");
            drop(share);
            assert_eq!(memory.used(), 64 << 10, "a chunk of it is still in memory");
            assert_eq!(counted(Bytes::from_static(b"x"), again), "x");
            drop(more);
            assert_eq!(memory.used(), 32 << 10);
            drop(rest);
            assert_eq!(memory.used(), 0);
        });
    }
}
