use core::cmp::Reverse;
use std::collections::BinaryHeap;

use slotcast_units::Time;

use super::{EventQueue, Scheduled};

/// The plain queue: a binary heap. Push and pop are O(log n).
///
/// It is the reference that the faster [`LadderQueue`](crate::LadderQueue) is held against.
#[derive(Debug, Clone)]
pub struct HeapQueue<E> {
    heap: BinaryHeap<Reverse<Scheduled<E>>>,
}

impl<E> Default for HeapQueue<E> {
    fn default() -> Self {
        HeapQueue { heap: BinaryHeap::new() }
    }
}

impl<E: Copy> EventQueue<E> for HeapQueue<E> {
    fn push(&mut self, scheduled: Scheduled<E>) {
        self.heap.push(Reverse(scheduled));
    }

    fn pop_until(&mut self, limit: Time) -> Option<Scheduled<E>> {
        if self.heap.peek()?.0.time > limit {
            return None;
        }
        self.heap.pop().map(|Reverse(scheduled)| scheduled)
    }

    fn len(&self) -> usize {
        self.heap.len()
    }
}
