//! Buffers for what is read from disks, used again and again.
//!
//! A new buffer of the size of a chunk costs about as much as reading into it: the system zeroes its
//! pages and hands them out one fault at a time.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// Below this the allocator of the system is as good.
const SMALLEST: usize = 32 << 10;

/// Most bytes that are kept while nobody uses them.
const MAX_IDLE: usize = 48 << 20;

/// Buffers that nobody uses.
#[derive(Debug, Default)]
struct Idle {
    by_size: BTreeMap<usize, Vec<Vec<u8>>>,
    bytes: usize,
}

/// The buffers of a node, shared by the threads that read.
#[derive(Debug, Default)]
pub struct Buffers {
    idle: Mutex<Idle>,
}

impl Buffers {
    /// A buffer of `length` bytes with anything in them.
    pub(crate) fn take(self: &Arc<Buffers>, length: usize) -> Buffer {
        let size = if length < SMALLEST { length } else { length.next_power_of_two() };
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let used_before = idle.by_size.get_mut(&size).and_then(Vec::pop);
        if let Some(bytes) = used_before {
            idle.bytes -= size;
            return Buffer { bytes, length, home: self.clone() };
        }
        drop(idle);
        Buffer { bytes: vec![0; size], length, home: self.clone() }
    }

    fn give_back(&self, bytes: Vec<u8>) {
        let size = bytes.len();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if size >= SMALLEST && idle.bytes + size <= MAX_IDLE {
            idle.bytes += size;
            idle.by_size.entry(size).or_default().push(bytes);
        }
    }
}

/// A buffer that goes back to where it came from when nobody uses it any more.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    length: usize,
    home: Arc<Buffers>,
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl AsMut<[u8]> for Buffer {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.home.give_back(mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn idle(buffers: &Buffers) -> usize {
        buffers.idle.lock().expect("not poisoned").bytes
    }

    #[test]
    fn a_buffer_is_used_again_when_nobody_has_it_any_more() {
        let buffers = Arc::new(Buffers::default());
        let whole = Bytes::from_owner(buffers.take(100_000));
        let place = whole.as_ptr();
        let part = whole.slice(10..20);
        drop(whole);
        assert_eq!(idle(&buffers), 0, "a part is still in use");
        drop(part);
        assert_eq!(idle(&buffers), 131_072);
        let again = buffers.take(131_072);
        assert_eq!((again.as_ref().as_ptr(), again.as_ref().len()), (place, 131_072));
        assert_eq!(idle(&buffers), 0);
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let buffers = Arc::new(Buffers::default());
        let many: Vec<Buffer> = (0..100).map(|_| buffers.take(1 << 20)).collect();
        drop(many);
        assert_eq!(idle(&buffers), MAX_IDLE);
        drop(buffers.take(1000));
        assert_eq!(idle(&buffers), MAX_IDLE);
    }
}
