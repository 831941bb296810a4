use crate::coordinated::gather::Gather;
use crate::coordinated::message::Surrender;
use crate::machine::Peer;

use super::*;

/// A data server takes the place of one whose content is lost.
///
/// First all parity servers promise not to listen to the old one any more, and say what they have. That
/// decides which version the unit is at: an update that the old server may have committed is in the log
/// of every parity server, for that is the condition of committing. Then the other units give back the
/// content of that version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Takeover<C> {
    /// What each parity server has; inside, `None` for one that has lost its own content.
    surrenders: Vec<Option<Option<Surrender>>>,
    /// The version that the unit is at, once it is known, and the contents of the others.
    rebuilding: Option<Rebuilding<C>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Rebuilding<C> {
    at: Lineage,
    gather: Gather<C>,
    /// Whether the content is being written.
    storing: bool,
}

impl<C: Content> Takeover<C> {
    pub(super) fn new(config: &DataConfig) -> Takeover<C> {
        Takeover { surrenders: config.code.per_parity(None), rebuilding: None }
    }

    /// Takes `input`, and returns the version of the unit once its content is on the disk.
    pub(super) fn handle(
        &mut self,
        config: &DataConfig,
        input: Input<C>,
        effects: &mut Vec<Effect<C>>,
    ) -> Option<Lineage> {
        match input {
            Input::Message { from: Peer::Parity(parity), message } => match message {
                Message::Surrender { session, surrender } if session == config.incarnation => {
                    *self.surrenders.get_mut(usize::from(parity))? = Some(surrender);
                    self.decide(config, effects);
                }
                Message::Image { echo, image } => {
                    let rebuilding = self.rebuilding.as_mut()?;
                    rebuilding.gather.image(parity, echo, image, effects);
                    rebuilding.try_store(effects);
                }
                _ => {}
            },
            Input::Message {
                from: Peer::Data(unit),
                message: Message::Copy { want: Want::Exactly(_), slot, .. },
            } => {
                let rebuilding = self.rebuilding.as_mut()?;
                rebuilding.gather.slot(unit, slot);
                rebuilding.try_store(effects);
            }
            Input::Stored(Mark::Slot(stamp)) => {
                let rebuilding = self.rebuilding.take_if(|r| r.at.stamp == stamp)?;
                for parity in 0..config.code.parity() {
                    let message = Message::Restored { session: config.incarnation };
                    send(effects, Peer::Parity(parity), message);
                }
                return Some(rebuilding.at);
            }
            _ => {}
        }
        None
    }

    /// Decides which version the unit is at, once all parity servers have said what they have.
    fn decide(&mut self, config: &DataConfig, effects: &mut Vec<Effect<C>>) {
        let answered = self.surrenders.iter().all(Option::is_some);
        let Some(at) = version_of(self.surrenders.iter().flatten().flatten()) else { return };
        if self.rebuilding.is_none() && answered {
            let session = config.incarnation;
            let echo = u64::from(session);
            let gather = Gather::new(config.code, config.unit, Some(at.stamp), echo);
            self.rebuilding = Some(Rebuilding { at, gather, storing: false });
            self.retry(config, effects);
        }
    }

    /// Asks again for what is missing.
    pub(super) fn retry(&self, config: &DataConfig, effects: &mut Vec<Effect<C>>) {
        let session = config.incarnation;
        let Some(rebuilding) = &self.rebuilding else {
            for (parity, surrender) in (0..).zip(&self.surrenders) {
                if surrender.is_none() {
                    send(effects, Peer::Parity(parity), Message::Takeover { session });
                }
            }
            return;
        };
        if !rebuilding.storing {
            let at = rebuilding.at.stamp;
            for parity in 0..config.code.parity() {
                send(effects, Peer::Parity(parity), Message::Settle { session, at });
            }
            rebuilding.gather.ask(effects);
        }
    }
}

impl<C: Content> Rebuilding<C> {
    /// Writes the content if the pieces determine it.
    fn try_store(&mut self, effects: &mut Vec<Effect<C>>) {
        if !self.storing
            && let Some(slot) = self.gather.content()
        {
            self.storing = true;
            let mark = Mark::Slot(slot.lineage.stamp);
            effects.push(Effect::Store { mark, write: Write::Slot(slot) });
        }
    }
}

/// The version that the unit is at, from what the parity servers that have a content say: what one of
/// them knows to be committed, or the update that all of them have.
fn version_of<'a>(surrenders: impl Iterator<Item = &'a Surrender> + Clone) -> Option<Lineage> {
    let committed = surrenders.clone().map(|s| &s.committed).max_by_key(|l| l.stamp)?;
    let mut logged = surrenders.map(|s| s.undecided.as_ref());
    let first = logged.next()?;
    let everywhere = first.filter(|first| logged.all(|other| other == Some(first)));
    let newest = everywhere.filter(|l| l.stamp > committed.stamp).unwrap_or(committed);
    Some(newest.clone())
}
