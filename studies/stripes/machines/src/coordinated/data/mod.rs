//! The server of a data unit: orders the updates of its unit, and sees each through.

mod serving;
mod takeover;
mod update;

use alloc::vec::Vec;

use slotcast_units::{Span, Time};

use crate::code::Code;
use crate::content::Content;
use crate::coordinated::disk::{Disk, Record, Write};
use crate::coordinated::message::{Message, Want};
use crate::coordinated::{Effect, Input, send};
use crate::lineage::{Lineage, Stamp};
use crate::machine::{Load, Mark, Timer};
#[cfg(test)]
use crate::mistake::Mistake;

use serving::Serving;
use takeover::Takeover;

/// What a data server must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DataConfig {
    /// The stripe's code.
    pub code: Code,
    /// Which data unit it has.
    pub unit: u8,
    /// Bytes of a unit.
    pub unit_len: usize,
    /// Counts the starts of servers of this unit, by whichever machine; never used twice.
    pub incarnation: u32,
    /// How long it waits for answers before it asks again.
    pub retry: Span,
    /// Whether it asks for the old content as soon as new content is announced, not when it has come.
    pub prefetch: bool,
    /// What it does wrong, on purpose.
    #[cfg(test)]
    pub mistake: Mistake,
}

/// The server of one data unit of one stripe.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DataServer<C> {
    config: DataConfig,
    phase: Phase<C>,
    /// What the wake to come was asked for: the update that was under way.
    waking: Option<Stamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Phase<C> {
    /// It takes the place of a server whose content is lost.
    Lost(Takeover<C>),
    Serving(Serving<C>),
}

impl<C: Content> DataServer<C> {
    /// The server of a stripe that has just been created: all units and parity units are zero.
    pub fn created(config: DataConfig) -> DataServer<C> {
        let phase = Phase::Serving(Serving::new(&config, Lineage::default()));
        DataServer { config, phase, waking: None }
    }

    /// The server after a restart, with what its disk still holds. An empty disk makes it take the place
    /// of the server that was lost.
    pub fn restarted(
        now: Time,
        config: DataConfig,
        disk: &Disk<C>,
        effects: &mut Vec<Effect<C>>,
    ) -> DataServer<C> {
        let slots: Vec<&Lineage> = disk.slots.iter().map(|slot| &slot.lineage).collect();
        let phase = match slots[..] {
            [] => Phase::Lost(Takeover::new(&config)),
            [.., older, newest] => {
                Phase::Serving(Serving::in_doubt(&config, Some(older.clone()), newest.clone()))
            }
            [only] => Phase::Serving(Serving::in_doubt(&config, None, only.clone())),
        };
        let mut server = DataServer { config, phase, waking: None };
        server.retry(now, effects);
        server
    }

    /// The version that readers get; `None` while it is lost or in doubt.
    pub fn version(&self) -> Option<&Lineage> {
        match &self.phase {
            Phase::Serving(serving) => serving.readable(),
            Phase::Lost(_) => None,
        }
    }

    /// Whether it has nothing to finish: no update under way, nothing in doubt, nothing lost.
    pub fn is_quiet(&self) -> bool {
        matches!(&self.phase, Phase::Serving(serving) if serving.is_quiet())
    }

    /// Takes `input` at `now` and appends what is to be done to `effects`.
    pub fn handle(&mut self, now: Time, input: Input<C>, effects: &mut Vec<Effect<C>>) {
        match input {
            Input::Wake(Timer::Retry) => {
                let woken_for = self.waking.take();
                if woken_for == Some(self.waited_for()) {
                    self.retry(now, effects);
                } else if !self.is_quiet() {
                    // It was meant for an update that is done: this one has not waited long.
                    self.wake(now, effects);
                }
                return;
            }
            Input::Start(_) | Input::Wake(_) => return,
            _ => {}
        }
        match &mut self.phase {
            Phase::Serving(serving) => serving.handle(&self.config, input, effects),
            Phase::Lost(takeover) => {
                if let Some(lineage) = takeover.handle(&self.config, input, effects) {
                    let serving = Serving::in_doubt(&self.config, None, lineage);
                    serving.retry(&self.config, effects);
                    self.phase = Phase::Serving(serving);
                }
            }
        }
        if !self.is_quiet() {
            self.wake(now, effects);
        }
    }

    /// Names what it waits for: the update under way.
    fn waited_for(&self) -> Stamp {
        match &self.phase {
            Phase::Serving(serving) => serving.under_way_to(),
            Phase::Lost(_) => Stamp::default(),
        }
    }

    /// Asks again for all that is missing.
    fn retry(&mut self, now: Time, effects: &mut Vec<Effect<C>>) {
        match &self.phase {
            Phase::Serving(serving) => serving.retry(&self.config, effects),
            Phase::Lost(takeover) => takeover.retry(&self.config, effects),
        }
        if !self.is_quiet() {
            self.wake(now, effects);
        }
    }

    fn wake(&mut self, now: Time, effects: &mut Vec<Effect<C>>) {
        if self.waking.is_none() {
            self.waking = Some(self.waited_for());
            let at = now.saturating_add(self.config.retry);
            effects.push(Effect::Wake { at, timer: Timer::Retry });
        }
    }
}
