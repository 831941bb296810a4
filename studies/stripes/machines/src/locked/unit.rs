use alloc::vec::Vec;

use slotcast_units::{Span, Time};

use crate::content::Content;
use crate::lineage::{Stamp, Vector};
use crate::locked::disk::{Disk, Record, Write};
use crate::locked::message::Message;
use crate::locked::{Effect, Input, send};
use crate::machine::{Load, Mark, Peer, Timer};
#[cfg(test)]
use crate::mistake::Mistake;

/// What the server of a unit must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UnitConfig {
    /// Which data unit, or the parity unit behind them.
    pub place: u8,
    /// Lineages in the unit's header: one for a data unit, one for each data unit for a parity unit.
    pub lineages: u8,
    /// Bytes of a unit.
    pub unit_len: usize,
    /// Counts the starts of servers of this unit, by whichever machine; never used twice. Zero is the
    /// one at the creation of the stripe.
    pub incarnation: u32,
    /// How long it waits before it says again that it has lost its content.
    pub retry: Span,
    /// What it does wrong, on purpose.
    #[cfg(test)]
    pub mistake: Mistake,
}

/// The server of one data or parity unit of one stripe.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UnitServer {
    config: UnitConfig,
    /// What it has; `None` if it has lost its content.
    held: Option<Held>,
    /// What is being written, and for whom.
    writing: Option<(Peer, Held)>,
    /// Writes with a smaller token are not taken.
    fence: u64,
    /// The fence on the disk.
    sealed: u64,
    /// Whether a wake is to come.
    waking: bool,
}

/// What a unit is, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Held {
    token: u64,
    header: Vector,
}

impl UnitServer {
    /// The server after a restart, or at the creation of the stripe, with what its disk holds.
    pub fn started<C: Content>(
        now: Time,
        config: UnitConfig,
        disk: &Disk<C>,
        effects: &mut Vec<Effect<C>>,
    ) -> UnitServer {
        let held = disk.unit.as_ref();
        let held = held.map(|unit| Held { token: unit.token, header: unit.header.clone() });
        let (fence, sealed) = (disk.fence, disk.fence);
        let mut server = UnitServer { config, held, writing: None, fence, sealed, waking: false };
        server.retry(now, effects);
        server
    }

    /// Whether it has its content and writes nothing.
    pub fn is_quiet(&self) -> bool {
        self.held.is_some() && self.writing.is_none()
    }

    /// Takes `input` at `now` and appends what is to be done to `effects`.
    pub fn handle<C: Content>(&mut self, now: Time, input: Input<C>, effects: &mut Vec<Effect<C>>) {
        match input {
            Input::Message { from, message: Message::Read { echo, have } } => {
                self.read(from, echo, have, effects);
            }
            Input::Message { from, message: Message::Write { token, header, content } } => {
                self.write(from, Record { token, header, content }, effects);
            }
            Input::Message { from: Peer::Lock, message: Message::Seal { token } } => {
                self.seal(token, effects);
            }
            Input::Stored(Mark::Unit(token)) => {
                if let Some((to, held)) = self.writing.take_if(|(_, held)| held.token == token) {
                    self.held = Some(held);
                    send(effects, to, Message::Stored { token });
                }
            }
            Input::Stored(Mark::Fence { epoch, .. }) => {
                self.sealed = epoch;
                self.tell(epoch, effects);
            }
            Input::Loaded { load: Load::Whole { to, echo }, record: Some(unit) } => {
                let content = Some(unit.content);
                send(effects, to, Message::Unit { echo, header: unit.header, content });
            }
            Input::Wake(Timer::Retry) => {
                self.waking = false;
                self.retry(now, effects);
            }
            _ => {}
        }
    }

    fn read<C>(&self, from: Peer, echo: u64, have: Option<Stamp>, effects: &mut Vec<Effect<C>>) {
        match &self.held {
            None => send(effects, from, Message::Blank { echo }),
            Some(Held { header, .. }) if header.len() == 1 && have == Some(header[0].stamp) => {
                let message = Message::Unit { echo, header: header.clone(), content: None };
                send(effects, from, message);
            }
            Some(_) => effects.push(Effect::Load(Load::Whole { to: from, echo })),
        }
    }

    fn write<C: Content>(&mut self, from: Peer, unit: Record<C>, effects: &mut Vec<Effect<C>>) {
        let token = unit.token;
        let fits = unit.content.len() == self.config.unit_len
            && unit.header.len() == usize::from(self.config.lineages);
        if !fits || self.writing.is_some() {
            return;
        }
        // A server without content cannot tell old writes from new ones before it is sealed.
        let Some(newest) = self.held.as_ref().map(|held| held.token).or(match self.fence {
            0 => None,
            _ => Some(0),
        }) else {
            send(effects, from, Message::Blank { echo: token });
            return;
        };
        #[cfg(test)]
        let newest = if self.config.mistake == Mistake::NoFence { 0 } else { newest };
        #[cfg(test)]
        let fence = if self.config.mistake == Mistake::NoFence { 0 } else { self.fence };
        #[cfg(not(test))]
        let fence = self.fence;
        if token < newest.max(fence) {
            send(effects, from, Message::Fenced { token });
        } else if self.held.is_some() && token == newest {
            send(effects, from, Message::Stored { token });
        } else {
            self.writing = Some((from, Held { token, header: unit.header.clone() }));
            effects.push(Effect::Store { mark: Mark::Unit(token), write: Write::Unit(unit) });
        }
    }

    fn seal<C>(&mut self, token: u64, effects: &mut Vec<Effect<C>>) {
        if token > self.fence {
            self.fence = token;
            let mark = Mark::Fence { unit: self.config.place, epoch: token };
            effects.push(Effect::Store { mark, write: Write::Fence(token) });
        } else if token == self.sealed {
            self.tell(token, effects);
        }
    }

    /// Tells the lock server what is here.
    fn tell<C>(&self, token: u64, effects: &mut Vec<Effect<C>>) {
        if token == self.fence {
            let header = self.held.as_ref().map(|held| held.header.clone());
            let incarnation = self.config.incarnation;
            send(effects, Peer::Lock, Message::Sealed { token, incarnation, header });
        }
    }

    fn retry<C>(&mut self, now: Time, effects: &mut Vec<Effect<C>>) {
        if self.held.is_none() {
            let incarnation = self.config.incarnation;
            send(effects, Peer::Lock, Message::Damaged { incarnation });
            if !self.waking {
                self.waking = true;
                let at = now.saturating_add(self.config.retry);
                effects.push(Effect::Wake { at, timer: Timer::Retry });
            }
        }
    }
}
