use alloc::vec::Vec;

use crate::content::Content;
use crate::coordinated::message::{Image, Slot};
use crate::lineage::{Birth, Lineage, Stamp};
use crate::machine::Load;

/// A durable write of the coordinated mode.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Write<C> {
    /// Data server: a version of the unit. The two newest stay, older ones are dropped.
    Slot(Slot<C>),
    /// Parity server: an update goes into the log, in place of one with the same unit and version.
    Log(LogEntry<C>),
    /// Parity server: an update goes out of the log. It need not be durable soon.
    Discard {
        /// Of which data unit.
        unit: u8,
        /// What the update makes of it.
        to: Stamp,
    },
    /// Parity server: a new content. Updates that it includes go out of the log.
    Image {
        /// The life of the content.
        born: Birth,
        /// The content.
        image: Image<C>,
        /// The data units whose version in it is not known to be committed.
        unsettled: Vec<u8>,
    },
    /// Parity server: listen to no earlier data server of this unit.
    Fence {
        /// Which data unit.
        unit: u8,
        /// The incarnation of its data server.
        session: u32,
    },
    /// Parity server: the content and the log are of no use and are deleted; fences stay.
    Wipe,
}

/// An update of a data unit in the log of a parity server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogEntry<C> {
    /// Of which data unit.
    pub unit: u8,
    /// The content that it starts from.
    pub from: Stamp,
    /// The content that it ends at.
    pub to: Lineage,
    /// The difference, times the unit's coefficient.
    pub content: C,
}

/// What a read of stable storage finds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Record<C> {
    /// A version of a data unit.
    Slot(Slot<C>),
    /// A parity unit.
    Image(Image<C>),
}

/// What the stable storage of one server holds. [`write`](Disk::write) and [`read`](Disk::read) say what
/// writes and reads mean; a host with real disks keeps the same in files.
///
/// Writes take effect one by one, in the order in which the machine asked for them; each is there whole
/// or not at all, even after a crash. A read takes effect before the writes that were asked for after it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Disk<C> {
    /// Data server: the newest versions of the unit, the newest last; at most two.
    pub slots: Vec<Slot<C>>,
    /// Parity server: the content, and its life.
    pub image: Option<(Birth, Image<C>)>,
    /// Parity server: the data units whose version in the content is not known to be committed.
    pub unsettled: Vec<u8>,
    /// Parity server: updates that the content does not include.
    pub log: Vec<LogEntry<C>>,
    /// Parity server: for some data units, the incarnation of the data server that took over last.
    pub fences: Vec<(u8, u32)>,
}

impl<C: Content> Disk<C> {
    /// An empty disk, of a server that takes the place of a lost one.
    pub const fn empty() -> Disk<C> {
        Disk {
            slots: Vec::new(),
            image: None,
            unsettled: Vec::new(),
            log: Vec::new(),
            fences: Vec::new(),
        }
    }

    /// The disk of a data server of a stripe that has just been created, with `zero` for the content.
    pub fn created_data(zero: C) -> Disk<C> {
        let slots = alloc::vec![Slot { lineage: Lineage::default(), content: zero }];
        Disk { slots, ..Disk::empty() }
    }

    /// The disk of a parity server of a stripe that has just been created, with `units` data units and
    /// `zero` for the content.
    pub fn created_parity(units: u8, zero: C) -> Disk<C> {
        let vector = alloc::vec![Lineage::default(); usize::from(units)];
        Disk { image: Some((Birth::default(), Image { vector, content: zero })), ..Disk::empty() }
    }

    /// Carries out a write.
    pub fn write(&mut self, write: Write<C>) {
        match write {
            Write::Slot(slot) => {
                self.slots.push(slot);
                let old = self.slots.len().saturating_sub(2);
                self.slots.drain(..old);
            }
            Write::Log(entry) => {
                let version = entry.to.stamp.version;
                self.log.retain(|e| e.unit != entry.unit || e.to.stamp.version != version);
                self.log.push(entry);
            }
            Write::Discard { unit, to } => {
                self.log.retain(|e| e.unit != unit || e.to.stamp != to);
            }
            Write::Image { born, image, unsettled } => {
                self.log.retain(|e| {
                    let included = &image.vector[usize::from(e.unit)].stamp;
                    e.to.stamp.version > included.version
                });
                self.image = Some((born, image));
                self.unsettled = unsettled;
            }
            Write::Fence { unit, session } => {
                self.fences.retain(|(other, _)| *other != unit);
                self.fences.push((unit, session));
            }
            Write::Wipe => {
                self.image = None;
                self.unsettled.clear();
                self.log.clear();
            }
        }
    }

    /// Carries out a read.
    pub fn read(&self, load: &Load) -> Option<Record<C>> {
        match load {
            Load::Base(stamp)
            | Load::Update(stamp)
            | Load::Read { stamp, .. }
            | Load::Copy { stamp, .. } => {
                let slot = self.slots.iter().find(|slot| slot.lineage.stamp == *stamp)?;
                Some(Record::Slot(slot.clone()))
            }
            Load::Merge | Load::Whole { .. } => {
                self.image.as_ref().map(|(_, image)| Record::Image(image.clone()))
            }
        }
    }
}
