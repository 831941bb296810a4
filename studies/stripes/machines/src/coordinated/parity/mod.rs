//! The server of a parity unit: keeps deltas in a log until they are committed, and merges them.

mod log;
mod ready;
mod rebuild;

use alloc::vec::Vec;

use slotcast_units::{Span, Time};

use crate::code::Code;
use crate::content::Content;
use crate::coordinated::disk::{Disk, Record, Write};
use crate::coordinated::message::{Message, Want};
use crate::coordinated::{Effect, Input, send};
use crate::lineage::{Birth, Lineage, Stamp};
use crate::machine::{Load, Mark, Peer, Timer};
#[cfg(test)]
use crate::mistake::Mistake;

use log::{Fit, UnitLog};
use ready::{Delta, Ready};
use rebuild::Rebuild;

/// What a parity server must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ParityConfig {
    /// The stripe's code.
    pub code: Code,
    /// Which parity unit it has.
    pub parity: u8,
    /// Bytes of a unit.
    pub unit_len: usize,
    /// Counts the starts of servers of this unit, by whichever machine; never used twice.
    pub incarnation: u32,
    /// How long it waits for answers before it asks again.
    pub retry: Span,
    /// How long it holds up new updates for a data server that takes over.
    pub hold: Span,
    /// What it does wrong, on purpose.
    #[cfg(test)]
    pub mistake: Mistake,
}

/// The server of one parity unit of one stripe.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ParityServer<C> {
    config: ParityConfig,
    born: Birth,
    phase: Phase<C>,
    /// The newest incarnation of each data server that was heard of: older ones are not listened to.
    sessions: Vec<u32>,
    /// For each data unit, the incarnation of the data server that took over last, as it is on the disk.
    fences: Vec<u32>,
    /// The data units whose new server is still without its content. Until it has it, no update is taken
    /// of any unit, so that the contents that it reads fit together.
    held: Vec<bool>,
    /// Whether a wake is to come, to ask again and to stop holding.
    waking: (bool, bool),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Phase<C> {
    /// What is on the disk is of no use and is being deleted.
    Wiping,
    Rebuilding(Rebuild<C>),
    Ready(Ready<C>),
}

impl<C: Content> ParityServer<C> {
    /// The server of a stripe that has just been created: all units and parity units are zero.
    pub fn created(config: ParityConfig) -> ParityServer<C> {
        let vector = config.code.per_unit(Lineage::default());
        let phase = Phase::Ready(Ready::new(vector, &[]));
        ParityServer::new(config, Birth::default(), phase)
    }

    /// The server after a restart, with what its disk still holds. An empty disk makes it build its
    /// content anew.
    pub fn restarted(
        now: Time,
        config: ParityConfig,
        disk: &Disk<C>,
        effects: &mut Vec<Effect<C>>,
    ) -> ParityServer<C> {
        let (born, phase) = match &disk.image {
            Some((born, image)) => {
                let mut ready = Ready::new(image.vector.clone(), &disk.unsettled);
                ready.restore(disk.log.clone());
                (*born, Phase::Ready(ready))
            }
            None => {
                let born = Birth { incarnation: config.incarnation, build: 0 };
                (born, Phase::Rebuilding(Rebuild::new(&config)))
            }
        };
        let mut server = ParityServer::new(config, born, phase);
        for &(unit, session) in &disk.fences {
            server.fences[usize::from(unit)] = session;
            server.sessions[usize::from(unit)] = session;
        }
        server.retry(now, effects);
        server
    }

    fn new(config: ParityConfig, born: Birth, phase: Phase<C>) -> ParityServer<C> {
        ParityServer {
            born,
            phase,
            sessions: config.code.per_unit(0),
            fences: config.code.per_unit(0),
            held: config.code.per_unit(false),
            waking: (false, false),
            config,
        }
    }

    /// Whether its content is there and known to be committed: whether it counts as a server that may be
    /// needed when others are lost.
    pub fn is_ready(&self) -> bool {
        matches!(&self.phase, Phase::Ready(ready) if ready.logs.iter().all(|log| log.settled))
    }

    /// Whether it has nothing to finish: its content is there and includes all that it knows of.
    pub fn is_quiet(&self) -> bool {
        matches!(&self.phase, Phase::Ready(ready) if ready.is_quiet())
    }

    /// Takes `input` at `now` and appends what is to be done to `effects`.
    pub fn handle(&mut self, now: Time, input: Input<C>, effects: &mut Vec<Effect<C>>) {
        match input {
            Input::Message { from: Peer::Data(unit), message }
                if unit < self.config.code.data() =>
            {
                self.data_message(now, unit, message, effects);
            }
            Input::Message { from, message: Message::FetchImage { unit, echo } } => {
                self.fetch_image(from, unit, echo, effects);
            }
            Input::Stored(mark) => self.stored(mark, effects),
            Input::Loaded { load, record: Some(Record::Image(image)) } => {
                match (load, &mut self.phase) {
                    (Load::Merge, Phase::Ready(ready)) => ready.loaded(self.born, image, effects),
                    (Load::Whole { to, echo }, _) => {
                        send(effects, to, Message::Image { echo, image });
                    }
                    _ => {}
                }
            }
            Input::Wake(Timer::Retry) => {
                self.waking.0 = false;
                self.retry(now, effects);
            }
            Input::Wake(Timer::Hold) => {
                self.waking.1 = false;
                self.held.fill(false);
            }
            _ => {}
        }
        self.wake(now, effects);
    }

    fn data_message(
        &mut self,
        now: Time,
        unit: u8,
        message: Message<C>,
        effects: &mut Vec<Effect<C>>,
    ) {
        match message {
            Message::Delta { session, from, to, by, content } if self.admits(unit, session) => {
                let open = !self.held.contains(&true);
                let Phase::Ready(ready) = &mut self.phase else { return };
                let delta = Delta { from, to, by, content };
                let fit = ready.delta(&self.config, unit, delta, open, effects);
                self.answer(unit, to, fit, effects);
            }
            Message::Query { session, from, to } if self.admits(unit, session) => {
                let Phase::Ready(ready) = &mut self.phase else { return };
                let fit = ready.logs[usize::from(unit)].fit(from, to);
                if fit == Fit::Next {
                    let message = Message::Missing { to, session, born: self.born };
                    send(effects, Peer::Data(unit), message);
                } else {
                    self.answer(unit, to, fit, effects);
                }
            }
            Message::Commit { to } => {
                if let Phase::Ready(ready) = &mut self.phase {
                    ready.commit(unit, to, effects);
                }
            }
            Message::Abort { session, to } if self.admits(unit, session) => {
                if let Phase::Ready(ready) = &mut self.phase {
                    ready.abort(unit, to, effects);
                }
            }
            Message::Takeover { session } => self.takeover(now, unit, session, effects),
            Message::Settle { session, at } if self.admits(unit, session) => {
                let Phase::Ready(ready) = &mut self.phase else { return };
                #[cfg(test)]
                let session = match self.config.mistake {
                    Mistake::SettleAll => session + 1,
                    _ => session,
                };
                if !ready.settle(unit, session, at, effects) {
                    self.wipe(effects);
                }
            }
            Message::Restored { session } if self.admits(unit, session) => {
                self.held[usize::from(unit)] = false;
            }
            Message::Copy { want: Want::Newest(born), session, settled, slot }
                if born == self.born && self.admits(unit, session) =>
            {
                if let Phase::Rebuilding(rebuild) = &mut self.phase {
                    rebuild.copy(&self.config, born, unit, (session, settled), slot, effects);
                }
            }
            Message::FetchImage { unit: wanted, echo } => {
                self.fetch_image(Peer::Data(unit), wanted, echo, effects);
            }
            _ => {}
        }
    }

    /// Whether a data server's incarnation is to be listened to.
    fn admits(&mut self, unit: u8, session: u32) -> bool {
        let newest = &mut self.sessions[usize::from(unit)];
        *newest = session.max(*newest);
        session == *newest
    }

    /// Says that the update to `to` is here, or sees that this server has missed some.
    fn answer(&mut self, unit: u8, to: Stamp, fit: Fit, effects: &mut Vec<Effect<C>>) {
        match fit {
            Fit::Held => self.prepared(unit, to, effects),
            Fit::Ahead => self.wipe(effects),
            Fit::Arriving | Fit::Next | Fit::Stale => {}
        }
    }

    fn prepared(&self, unit: u8, to: Stamp, effects: &mut Vec<Effect<C>>) {
        let session = self.sessions[usize::from(unit)];
        let message = Message::Prepared { to, session, born: self.born };
        send(effects, Peer::Data(unit), message);
    }

    fn takeover(&mut self, now: Time, unit: u8, session: u32, effects: &mut Vec<Effect<C>>) {
        let place = usize::from(unit);
        if !self.admits(unit, session) {
            return;
        }
        if let Phase::Rebuilding(rebuild) = &self.phase
            && rebuild.has_older(unit, session)
        {
            // What the old data server gave may be ahead of what the new one will come to: it decides
            // without this server.
            self.wipe(effects);
        }
        let is_ready = matches!(self.phase, Phase::Ready(_));
        if !is_ready || self.fences[place] == session {
            self.surrender(unit, effects);
        } else if !self.held[place] {
            self.held[place] = true;
            if !self.waking.1 {
                self.waking.1 = true;
                let at = now.saturating_add(self.config.hold);
                effects.push(Effect::Wake { at, timer: Timer::Hold });
            }
            let mark = Mark::Fence { unit, epoch: u64::from(session) };
            effects.push(Effect::Store { mark, write: Write::Fence { unit, session } });
        }
    }

    /// Tells a data server that takes over what is here, which it decides by.
    fn surrender(&self, unit: u8, effects: &mut Vec<Effect<C>>) {
        let surrender = match &self.phase {
            Phase::Ready(ready) => Some(ready.logs[usize::from(unit)].surrender()),
            Phase::Rebuilding(_) => None,
            // A crash could still bring the content back: the data server asks again.
            Phase::Wiping => return,
        };
        let session = self.sessions[usize::from(unit)];
        send(effects, Peer::Data(unit), Message::Surrender { session, surrender });
    }

    fn fetch_image(&self, to: Peer, unit: u8, echo: u64, effects: &mut Vec<Effect<C>>) {
        if let Phase::Ready(ready) = &self.phase
            && ready.logs.get(usize::from(unit)).is_some_and(UnitLog::is_quiet)
        {
            effects.push(Effect::Load(Load::Whole { to, echo }));
        }
    }

    fn stored(&mut self, mark: Mark, effects: &mut Vec<Effect<C>>) {
        match (mark, &mut self.phase) {
            (Mark::Log { unit, to }, Phase::Ready(ready)) => {
                let is_wanted = ready.logged(unit, to);
                if is_wanted {
                    #[cfg(test)]
                    if self.config.mistake == Mistake::ParityBeforeData {
                        ready.commit(unit, to, effects);
                    }
                    self.prepared(unit, to, effects);
                }
            }
            (Mark::Image, Phase::Ready(ready)) => ready.merged(effects),
            (Mark::Image, Phase::Rebuilding(rebuild)) => {
                for (known, session) in self.sessions.iter_mut().zip(rebuild.sessions()) {
                    *known = session.max(*known);
                }
                if let Some(vector) = rebuild.vector() {
                    let unsettled = rebuild.unsettled();
                    self.phase = Phase::Ready(Ready::new(vector, &unsettled));
                }
            }
            (Mark::Wipe, Phase::Wiping) => {
                let rebuild = Rebuild::new(&self.config);
                rebuild.ask(self.born, effects);
                self.phase = Phase::Rebuilding(rebuild);
            }
            (Mark::Fence { unit, epoch }, _) => {
                let place = usize::from(unit);
                if epoch == u64::from(self.sessions[place]) {
                    self.fences[place] = self.sessions[place];
                    self.surrender(unit, effects);
                }
            }
            _ => {}
        }
    }

    /// Gives the content up: it lacks updates that nobody can repeat any more. That takes the loss of
    /// more than one server at a time.
    fn wipe(&mut self, effects: &mut Vec<Effect<C>>) {
        self.born = Birth { incarnation: self.config.incarnation, build: self.born.build + 1 };
        self.phase = Phase::Wiping;
        effects.push(Effect::Store { mark: Mark::Wipe, write: Write::Wipe });
    }

    /// Asks again for what is missing.
    fn retry(&mut self, now: Time, effects: &mut Vec<Effect<C>>) {
        match &self.phase {
            Phase::Rebuilding(rebuild) => rebuild.ask(self.born, effects),
            Phase::Ready(ready) => {
                for (unit, log) in (0..).zip(&ready.logs) {
                    if let Some(to) = log.in_doubt() {
                        send(effects, Peer::Data(unit), Message::Inquire { to });
                    }
                }
            }
            Phase::Wiping => {}
        }
        self.wake(now, effects);
    }

    fn wake(&mut self, now: Time, effects: &mut Vec<Effect<C>>) {
        let waiting = match &self.phase {
            Phase::Ready(ready) => {
                ready.logs.iter().any(|log| log.undecided().is_some() || !log.settled)
            }
            Phase::Rebuilding(_) => true,
            Phase::Wiping => false,
        };
        if waiting && !self.waking.0 {
            self.waking.0 = true;
            let at = now.saturating_add(self.config.retry);
            effects.push(Effect::Wake { at, timer: Timer::Retry });
        }
    }
}
