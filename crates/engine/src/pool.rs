//! Values that several events refer to, kept in one place so that events stay small.

/// A slab of values with a count of users each. Handles are reused, and given out in a
/// deterministic order.
#[derive(Debug)]
pub struct Pool<T> {
    slots: Vec<(T, u32)>,
    free: Vec<u32>,
}

impl<T: Copy> Default for Pool<T> {
    fn default() -> Self {
        Pool::new()
    }
}

impl<T: Copy> Pool<T> {
    /// An empty pool.
    pub fn new() -> Pool<T> {
        Pool { slots: Vec::new(), free: Vec::new() }
    }

    /// Stores `value` for `users` users.
    pub fn insert(&mut self, value: T, users: u32) -> u32 {
        debug_assert!(users > 0, "a value that nobody uses");
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = (value, users);
            slot
        } else {
            self.slots.push((value, users));
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 values in use")
        }
    }

    /// The value at `slot`.
    pub fn get(&self, slot: u32) -> &T {
        &self.slots[slot as usize].0
    }

    /// The value at `slot`, to change it.
    pub fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize].0
    }

    /// The values in use.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter(|(_, users)| *users > 0).map(|(value, _)| value)
    }

    /// One more user.
    pub fn share(&mut self, slot: u32) {
        self.slots[slot as usize].1 += 1;
    }

    /// One user less; the last one frees the slot.
    pub fn release(&mut self, slot: u32) {
        let users = &mut self.slots[slot as usize].1;
        debug_assert!(*users > 0, "released more often than used");
        *users -= 1;
        if *users == 0 {
            self.free.push(slot);
        }
    }

    /// Values in use.
    pub fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_reused_after_its_last_user() {
        let mut pool = Pool::new();
        let a = pool.insert('a', 2);
        pool.release(a);
        let b = pool.insert('b', 1);
        assert_ne!(a, b);
        assert_eq!(*pool.get(a), 'a');
        pool.release(a);
        assert_eq!(pool.insert('c', 1), a);
        assert_eq!(pool.in_use(), 2);
        pool.release(b);
        assert_eq!(pool.iter().collect::<Vec<_>>(), [&'c']);
    }
}
