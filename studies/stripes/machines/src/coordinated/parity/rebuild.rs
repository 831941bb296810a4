use crate::coordinated::message::{Image, Slot, Want};
use crate::lineage::Vector;

use super::*;

/// A parity server builds its content anew from the data units.
///
/// A data server that has sent its content commits nothing more before this server has it, too. So the
/// contents fit together, whenever each was read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Rebuild<C> {
    /// What came from each data server.
    copies: Vec<Option<Copied>>,
    /// The sum of what came.
    sum: Option<C>,
    storing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Copied {
    lineage: Lineage,
    session: u32,
    settled: bool,
}

impl<C: Content> Rebuild<C> {
    pub(super) fn new(config: &ParityConfig) -> Rebuild<C> {
        Rebuild { copies: config.code.per_unit(None), sum: None, storing: false }
    }

    /// Asks the data servers that have not answered.
    pub(super) fn ask(&self, born: Birth, effects: &mut Vec<Effect<C>>) {
        for (unit, copy) in (0..).zip(&self.copies) {
            if copy.is_none() {
                let message = Message::Fetch { want: Want::Newest(born) };
                send(effects, Peer::Data(unit), message);
            }
        }
    }

    /// Takes the content of a data unit, and writes the sum when all are there.
    pub(super) fn copy(
        &mut self,
        config: &ParityConfig,
        born: Birth,
        unit: u8,
        (session, settled): (u32, bool),
        slot: Slot<C>,
        effects: &mut Vec<Effect<C>>,
    ) {
        let copy = &mut self.copies[usize::from(unit)];
        if copy.is_some() || slot.content.len() != config.unit_len {
            return;
        }
        *copy = Some(Copied { lineage: slot.lineage, session, settled });
        let factor = config.code.coefficient(config.parity, unit);
        match &mut self.sum {
            None => self.sum = Some(slot.content.scaled(factor)),
            Some(sum) => sum.add_scaled(factor, &slot.content),
        }
        if !self.storing
            && let (Some(vector), Some(content)) = (self.vector(), &self.sum)
        {
            self.storing = true;
            let image = Image { vector, content: content.clone() };
            let write = Write::Image { born, image, unsettled: self.unsettled() };
            effects.push(Effect::Store { mark: Mark::Image, write });
        }
    }

    /// What the content includes, once it is complete.
    pub(super) fn vector(&self) -> Option<Vector> {
        self.copies.iter().map(|copy| copy.as_ref().map(|copy| copy.lineage.clone())).collect()
    }

    /// Whether the content of `unit` came from a data server before `session`.
    pub(super) fn has_older(&self, unit: u8, session: u32) -> bool {
        let copy = self.copies.get(usize::from(unit)).and_then(Option::as_ref);
        copy.is_some_and(|copy| copy.session < session)
    }

    /// The data units whose content is not known to be committed.
    pub(super) fn unsettled(&self) -> Vec<u8> {
        let copies = (0..).zip(self.copies.iter().flatten());
        copies.filter(|(_, copy)| !copy.settled).map(|(unit, _)| unit).collect()
    }

    /// The incarnations of the data servers that answered.
    pub(super) fn sessions(&self) -> impl Iterator<Item = u32> {
        self.copies.iter().map(|copy| copy.as_ref().map_or(0, |copy| copy.session))
    }
}
