use crate::content::Content;
use crate::lineage::{Lineage, Vector};
use crate::machine::Load;

/// A durable write of the stripe-lock mode.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Write<C> {
    /// The content of a unit.
    Unit(Record<C>),
    /// No write of a holding before this token is taken any more.
    Fence(u64),
}

/// A unit as it is on the disk of its server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record<C> {
    /// The holding of the lock under which it was written.
    pub token: u64,
    /// Of a data unit, its lineage; of a parity unit, those of all data units.
    pub header: Vector,
    /// The content.
    pub content: C,
}

/// What the stable storage of one server of a unit holds. [`write`](Disk::write) and
/// [`read`](Disk::read) say what writes and reads mean; order and atomicity are as for the
/// [coordinated mode](crate::coordinated::Disk).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Disk<C> {
    /// The unit, unless it was lost.
    pub unit: Option<Record<C>>,
    /// The token below which no write is taken.
    pub fence: u64,
}

impl<C: Content> Disk<C> {
    /// An empty disk, of a server that takes the place of a lost one.
    pub const fn empty() -> Disk<C> {
        Disk { unit: None, fence: 0 }
    }

    /// The disk of a stripe that has just been created, with `zero` for the content. A data unit has a
    /// header of one lineage, a parity unit one for each data unit.
    pub fn created(lineages: u8, zero: C) -> Disk<C> {
        let header = alloc::vec![Lineage::default(); usize::from(lineages)];
        Disk { unit: Some(Record { token: 0, header, content: zero }), fence: 0 }
    }

    /// Carries out a write.
    pub fn write(&mut self, write: Write<C>) {
        match write {
            Write::Unit(record) => self.unit = Some(record),
            Write::Fence(token) => self.fence = token,
        }
    }

    /// Carries out a read.
    pub fn read(&self, load: &Load) -> Option<Record<C>> {
        match load {
            Load::Whole { .. } => self.unit.clone(),
            _ => None,
        }
    }
}
