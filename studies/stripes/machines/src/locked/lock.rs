use alloc::collections::VecDeque;
use alloc::vec::Vec;

use slotcast_units::{Span, Time};

use crate::code::Code;
use crate::content::Content;
use crate::lineage::RequestId;
use crate::locked::message::Message;
use crate::locked::recovery::{Progress, Recovery};
use crate::locked::{Effect, Input, send};
use crate::machine::{Peer, Timer};
#[cfg(test)]
use crate::mistake::Mistake;

/// What the lock server of a stripe must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LockConfig {
    /// The stripe's code.
    pub code: Code,
    /// Counts the starts of the lock server; never used twice. Nothing else of it must be durable.
    pub incarnation: u32,
    /// How long a client may hold the lock.
    pub lease: Span,
    /// How long it waits for answers before it asks again.
    pub retry: Span,
    /// What it does wrong, on purpose.
    #[cfg(test)]
    pub mistake: Mistake,
}

/// The lock of one stripe, at the metadata server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LockServer<C> {
    config: LockConfig,
    phase: Phase<C>,
    /// Clients that wait for the lock, the first first.
    waiting: VecDeque<Want>,
    /// Who had the lock of late: its question may come once more.
    served: VecDeque<Want>,
    /// Counts the holdings of this incarnation.
    holdings: u32,
    /// Whether the stripe may be inconsistent, or short of a unit, when the holding ends.
    suspect: bool,
    /// For each place, the incarnation of its server that lost its content last.
    damaged: Vec<u32>,
    /// Whether a wake is to come.
    waking: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Phase<C> {
    Free,
    Held { by: Want, token: u64 },
    Recovering(Recovery<C>),
    Lost,
}

/// One attempt of an operation to get the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Want {
    request: RequestId,
    attempt: u32,
}

/// Most clients that wait; others must ask again.
const MAX_WAITING: usize = 1024;

/// How many holdings are remembered.
const MAX_SERVED: usize = 16;

impl<C: Content> LockServer<C> {
    /// The lock of a stripe that has just been created.
    pub fn created(config: LockConfig) -> LockServer<C> {
        let places = usize::from(config.code.data() + config.code.parity());
        LockServer {
            config,
            phase: Phase::Free,
            waiting: VecDeque::new(),
            served: VecDeque::new(),
            holdings: 0,
            suspect: false,
            damaged: alloc::vec![0; places],
            waking: false,
        }
    }

    /// The lock after a restart: who had it is forgotten, so the stripe is checked first.
    pub fn restarted(now: Time, config: LockConfig, effects: &mut Vec<Effect<C>>) -> LockServer<C> {
        let mut server = LockServer::created(config);
        server.recover(now, effects);
        server
    }

    /// The token of the client that has the lock.
    pub fn token(&self) -> Option<u64> {
        match self.phase {
            Phase::Held { token, .. } => Some(token),
            _ => None,
        }
    }

    /// The token of the recovery under way.
    #[cfg(test)]
    pub(crate) fn recovering(&self) -> Option<u64> {
        match &self.phase {
            Phase::Recovering(recovery) => Some(recovery.token),
            _ => None,
        }
    }

    /// Whether nobody has or wants the lock, and the stripe is consistent.
    pub fn is_quiet(&self) -> bool {
        matches!(self.phase, Phase::Free) && self.waiting.is_empty() && !self.suspect
    }

    /// Takes `input` at `now` and appends what is to be done to `effects`.
    pub fn handle(&mut self, now: Time, input: Input<C>, effects: &mut Vec<Effect<C>>) {
        match input {
            Input::Message { from: from @ Peer::Client(_), message } => match message {
                Message::Acquire { request, attempt } => {
                    self.acquire(now, Want { request, attempt }, effects);
                }
                Message::Release { token, suspect } => {
                    if self.token() == Some(token) {
                        self.end(now, suspect, effects);
                    }
                    send(effects, from, Message::Released { token });
                }
                _ => {}
            },
            Input::Message { from, message } => {
                if let Some(place) = Recovery::<C>::place(self.config.code, from) {
                    self.unit_message(now, place, message, effects);
                }
            }
            Input::Wake(Timer::Lease(over)) if self.token() == Some(over) => {
                self.end(now, true, effects);
            }
            Input::Wake(Timer::Retry) => {
                self.waking = false;
                if let Phase::Recovering(recovery) = &self.phase {
                    recovery.ask(effects);
                    self.wake(now, effects);
                }
            }
            _ => {}
        }
    }
    fn acquire(&mut self, now: Time, want: Want, effects: &mut Vec<Effect<C>>) {
        if let Phase::Held { by, token } = &self.phase
            && *by == want
        {
            let Want { request, attempt } = want;
            let message = Message::Granted { request, attempt, token: *token };
            send(effects, Peer::Client(request.client), message);
        } else if self.served.contains(&want) {
            let Want { request, attempt } = want;
            let message = Message::Over { request, attempt };
            send(effects, Peer::Client(request.client), message);
        } else if !self.waiting.contains(&want) && self.waiting.len() < MAX_WAITING {
            self.waiting.push_back(want);
            self.next(now, effects);
        }
    }

    /// The holding is over.
    fn end(&mut self, now: Time, suspect: bool, effects: &mut Vec<Effect<C>>) {
        if let Phase::Held { by, .. } = self.phase {
            self.served.push_back(by);
            let old = self.served.len().saturating_sub(MAX_SERVED);
            self.served.drain(..old);
        }
        self.phase = Phase::Free;
        #[cfg(test)]
        let suspect = suspect && self.config.mistake != Mistake::SkipRecovery;
        if suspect || self.suspect {
            self.recover(now, effects);
        } else {
            self.next(now, effects);
        }
    }

    /// Gives the lock to the first client that waits, if it is free.
    fn next(&mut self, now: Time, effects: &mut Vec<Effect<C>>) {
        if matches!(self.phase, Phase::Free)
            && let Some(by) = self.waiting.pop_front()
        {
            let token = self.new_token();
            self.phase = Phase::Held { by, token };
            let Want { request, attempt } = by;
            let message = Message::Granted { request, attempt, token };
            send(effects, Peer::Client(request.client), message);
            let at = now.saturating_add(self.config.lease);
            effects.push(Effect::Wake { at, timer: Timer::Lease(token) });
        }
    }

    /// A token greater than all before, those of earlier incarnations included.
    fn new_token(&mut self) -> u64 {
        self.holdings += 1;
        (u64::from(self.config.incarnation) + 1) << 32 | u64::from(self.holdings)
    }

    fn recover(&mut self, now: Time, effects: &mut Vec<Effect<C>>) {
        self.suspect = false;
        let recovery = Recovery::new(self.config.code, self.new_token());
        recovery.ask(effects);
        self.phase = Phase::Recovering(recovery);
        self.wake(now, effects);
    }

    fn wake(&mut self, now: Time, effects: &mut Vec<Effect<C>>) {
        if !self.waking {
            self.waking = true;
            let at = now.saturating_add(self.config.retry);
            effects.push(Effect::Wake { at, timer: Timer::Retry });
        }
    }

    fn unit_message(
        &mut self,
        now: Time,
        place: u8,
        message: Message<C>,
        effects: &mut Vec<Effect<C>>,
    ) {
        let known = &mut self.damaged[usize::from(place)];
        match &message {
            // What it was before it lost its content counts no more.
            Message::Sealed { incarnation, .. } if *incarnation < *known => return,
            Message::Damaged { incarnation }
            | Message::Sealed { incarnation, header: None, .. }
                if incarnation > known =>
            {
                *known = *incarnation;
                match &self.phase {
                    Phase::Recovering(recovery) if !recovery.counts_on(place) => {}
                    Phase::Recovering(_) | Phase::Free => return self.recover(now, effects),
                    Phase::Held { .. } => self.suspect = true,
                    Phase::Lost => {}
                }
            }
            _ => {}
        }
        let Phase::Recovering(recovery) = &mut self.phase else { return };
        let ours = recovery.token;
        let progress = match message {
            Message::Sealed { token, header, .. } if token == ours => {
                recovery.sealed(place, header, effects)
            }
            Message::Unit { echo, content: Some(content), .. } if echo == ours => {
                recovery.read(place, content, effects);
                Progress::UnderWay
            }
            Message::Stored { token } if token == ours => recovery.stored(place),
            _ => Progress::UnderWay,
        };
        match progress {
            Progress::UnderWay => {}
            Progress::Consistent => {
                self.phase = Phase::Free;
                self.next(now, effects);
            }
            Progress::Lost => {
                self.phase = Phase::Lost;
                effects.push(Effect::Lost);
            }
        }
    }
}
