use alloc::vec::Vec;

use crate::code::Code;
use crate::content::Content;
use crate::coordinated::message::{Image, Message, Slot, Want};
use crate::coordinated::{Effect, send};
use crate::lineage::{Stamp, same_stamps};
use crate::machine::Peer;

/// Collects contents of the other units until they determine the content of one.
///
/// A stamp names one content for ever, and so does the vector of a parity unit. So it does not matter
/// when a piece was read: pieces fit if the parity units have the same vector and the data units are
/// those that it names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Gather<C> {
    code: Code,
    unit: u8,
    /// Which content is wanted; any if `None`.
    at: Option<Stamp>,
    echo: u64,
    images: Vec<Option<Image<C>>>,
    slots: Vec<Option<Slot<C>>>,
}

impl<C: Content> Gather<C> {
    /// Wants `unit`, as it is `at` this stamp if one is named. `echo` tells answers to this one from
    /// answers to others.
    pub(super) fn new(code: Code, unit: u8, at: Option<Stamp>, echo: u64) -> Gather<C> {
        Gather { code, unit, at, echo, images: code.per_parity(None), slots: code.per_unit(None) }
    }

    /// Asks all parity servers, for the first time or again: what did not fit may have changed.
    pub(super) fn ask(&self, effects: &mut Vec<Effect<C>>) {
        for parity in 0..self.code.parity() {
            let message = Message::FetchImage { unit: self.unit, echo: self.echo };
            send(effects, Peer::Parity(parity), message);
        }
    }

    /// Takes an image, and asks for the data units that go with it.
    pub(super) fn image(
        &mut self,
        parity: u8,
        echo: u64,
        image: Image<C>,
        effects: &mut Vec<Effect<C>>,
    ) {
        let Some(lineage) = image.vector.get(usize::from(self.unit)) else { return };
        let wanted = self.at.is_none_or(|at| at == lineage.stamp);
        if echo != self.echo || !wanted || image.vector.len() != self.slots.len() {
            return;
        }
        for (unit, lineage) in (0..).zip(&image.vector) {
            let held = self.slots[usize::from(unit)].as_ref();
            if unit != self.unit && held.is_none_or(|slot| slot.lineage.stamp != lineage.stamp) {
                let want = Want::Exactly(lineage.stamp);
                send(effects, Peer::Data(unit), Message::Fetch { want });
            }
        }
        if let Some(place) = self.images.get_mut(usize::from(parity)) {
            *place = Some(image);
        }
    }

    /// Takes the content of another data unit.
    pub(super) fn slot(&mut self, unit: u8, slot: Slot<C>) {
        if let Some(place) = self.slots.get_mut(usize::from(unit)) {
            *place = Some(slot);
        }
    }

    /// The wanted content, if the pieces determine it.
    ///
    /// Complexity: O(number of parity units) comparisons of vectors, and one decoding.
    pub(super) fn content(&self) -> Option<Slot<C>> {
        self.images.iter().flatten().find_map(|reference| {
            let data = (0..).zip(&self.slots).filter_map(|(unit, slot)| {
                let slot = slot.as_ref()?;
                let fits = slot.lineage.stamp == reference.vector[usize::from(unit)].stamp;
                (fits && unit != self.unit).then_some((unit, &slot.content))
            });
            let parity = (self.code.data()..).zip(&self.images).filter_map(|(place, image)| {
                let image = image.as_ref()?;
                same_stamps(&image.vector, &reference.vector).then_some((place, &image.content))
            });
            let pieces: Vec<(u8, &C)> = data.chain(parity).collect();
            let content = self.code.recover(self.unit, &pieces)?;
            let lineage = reference.vector[usize::from(self.unit)].clone();
            Some(Slot { lineage, content })
        })
    }
}
