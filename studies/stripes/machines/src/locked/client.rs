use alloc::vec::Vec;

use slotcast_units::{Span, Time};

use crate::code::Code;
use crate::content::Content;
use crate::lineage::{ClientId, Lineage, RequestId, Vector};
use crate::locked::message::Message;
use crate::locked::{Effect, Input, send};
use crate::machine::{Failure, Operation, Outcome, Peer, Timer};
#[cfg(test)]
use crate::mistake::Mistake;

/// What a client must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientConfig {
    /// Its id.
    pub id: ClientId,
    /// The stripe's code.
    pub code: Code,
    /// Bytes of a unit.
    pub unit_len: usize,
    /// How long it waits for an answer before it asks again.
    pub retry: Span,
    /// How often it asks again before it gives up; `None` for ever.
    pub max_retries: Option<u32>,
    /// What it does wrong, on purpose.
    #[cfg(test)]
    pub mistake: Mistake,
}

/// A client of one stripe, with one operation at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Client<C> {
    config: ClientConfig,
    serial: u32,
    running: Option<Running<C>>,
    /// The unit that it wrote last: it need not be read again if nobody else has written it.
    cached: Option<(u8, Lineage, C)>,
    /// The last holding of the lock that it has made use of.
    last_token: u64,
    /// A holding that it gives back, and whether the stripe is suspect.
    releasing: Option<(u64, bool)>,
    /// The serial of the operation that the wake to come was asked for.
    waking: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Running<C> {
    request: RequestId,
    unit: u8,
    retries: u32,
    task: Task<C>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Task<C> {
    Read,
    Write { content: C, base: Option<u64>, attempt: u32, step: Step<C> },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Step<C> {
    Acquiring,
    /// The data unit and the parity units, as they come.
    Reading {
        token: u64,
        data: Option<(Lineage, C)>,
        parity: Vec<Option<(Vector, C)>>,
    },
    /// What is written, whether it is durable, and whether a server has lost its content.
    Writing {
        token: u64,
        version: u64,
        writes: Vec<Written<C>>,
        damaged: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Written<C> {
    to: Peer,
    header: Vector,
    content: C,
    durable: bool,
}

impl<C: Content> Client<C> {
    /// A client that has done nothing yet on this stripe.
    pub fn new(config: ClientConfig) -> Client<C> {
        Client {
            config,
            serial: 0,
            running: None,
            cached: None,
            last_token: 0,
            releasing: None,
            waking: None,
        }
    }

    /// Whether an operation is under way.
    pub fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    /// The holding of the lock that it makes use of.
    pub fn token(&self) -> Option<u64> {
        match &self.running.as_ref()?.task {
            Task::Write {
                step: Step::Reading { token, .. } | Step::Writing { token, .. }, ..
            } => Some(*token),
            _ => None,
        }
    }

    /// The holding of the lock under which it reads.
    #[cfg(test)]
    pub(crate) fn reading(&self) -> Option<u64> {
        match &self.running.as_ref()?.task {
            Task::Write { step: Step::Reading { token, .. }, .. } => Some(*token),
            _ => None,
        }
    }

    /// Takes `input` at `now` and appends what is to be done to `effects`.
    pub fn handle(&mut self, now: Time, input: Input<C>, effects: &mut Vec<Effect<C>>) {
        match input {
            Input::Start(operation) => self.start(operation, effects),
            Input::Message { from, message } => self.message(from, message, effects),
            Input::Wake(Timer::Retry) => {
                let woken_for = self.waking.take();
                self.retry(woken_for, effects);
            }
            Input::Wake(_) | Input::Stored(_) | Input::Loaded { .. } => {}
        }
        if (self.running.is_some() || self.releasing.is_some()) && self.waking.is_none() {
            self.waking = Some(self.running.as_ref().map_or(0, |running| running.request.serial));
            let at = now.saturating_add(self.config.retry);
            effects.push(Effect::Wake { at, timer: Timer::Retry });
        }
    }

    fn start(&mut self, operation: Operation<C>, effects: &mut Vec<Effect<C>>) {
        let request = RequestId { client: self.config.id, serial: self.serial };
        self.serial += 1;
        let (unit, task) = match operation {
            Operation::Write { unit, content } => {
                let step = Step::Acquiring;
                (unit, Task::Write { content, base: None, attempt: 0, step })
            }
            Operation::Read { unit } => (unit, Task::Read),
        };
        let wrong_size =
            matches!(&task, Task::Write { content, .. } if content.len() != self.config.unit_len);
        if self.running.is_some() || unit >= self.config.code.data() || wrong_size {
            let outcome = Outcome::Failed(Failure::Refused);
            effects.push(Effect::Done { request, outcome });
            return;
        }
        let running = Running { request, unit, retries: 0, task };
        self.ask(&running, effects);
        self.running = Some(running);
    }

    /// Asks, for the first time or again, for what the operation lacks.
    fn ask(&self, running: &Running<C>, effects: &mut Vec<Effect<C>>) {
        let Running { request, unit, .. } = *running;
        match &running.task {
            Task::Read => {
                let echo = u64::from(request.serial);
                send(effects, Peer::Data(unit), Message::Read { echo, have: None });
            }
            Task::Write { attempt, step: Step::Acquiring, .. } => {
                send(effects, Peer::Lock, Message::Acquire { request, attempt: *attempt });
            }
            Task::Write { step: Step::Reading { token, data, parity }, .. } => {
                let echo = *token;
                if data.is_none() {
                    let cached = self.cached.as_ref().filter(|(of, ..)| *of == unit);
                    let have = cached.map(|(_, lineage, _)| lineage.stamp);
                    send(effects, Peer::Data(unit), Message::Read { echo, have });
                }
                for (place, content) in (0..).zip(parity) {
                    if content.is_none() {
                        let message = Message::Read { echo, have: None };
                        send(effects, Peer::Parity(place), message);
                    }
                }
            }
            Task::Write { step: Step::Writing { token, writes, .. }, .. } => {
                for write in writes.iter().filter(|write| !write.durable) {
                    let (header, content) = (write.header.clone(), write.content.clone());
                    let message = Message::Write { token: *token, header, content };
                    send(effects, write.to, message);
                }
            }
        }
    }

    fn retry(&mut self, woken_for: Option<u32>, effects: &mut Vec<Effect<C>>) {
        if let Some((token, suspect)) = self.releasing {
            send(effects, Peer::Lock, Message::Release { token, suspect });
        }
        // A wake that was meant for an operation before this one: it has not waited long.
        let waited = |running: &&mut Running<C>| woken_for == Some(running.request.serial);
        let Some(running) = self.running.as_mut().filter(waited) else { return };
        if let Some(max) = self.config.max_retries {
            running.retries += 1;
            if running.retries > max {
                self.done(Outcome::Failed(Failure::TimedOut), true, effects);
                return;
            }
        }
        if let Some(running) = &self.running {
            self.ask(running, effects);
        }
    }

    fn message(&mut self, from: Peer, message: Message<C>, effects: &mut Vec<Effect<C>>) {
        match message {
            Message::Granted { request, attempt, token } => {
                self.granted(request, attempt, token, effects);
            }
            Message::Over { request, attempt } => self.over(request, attempt, effects),
            Message::Released { token } => {
                self.releasing.take_if(|(releasing, _)| *releasing == token);
            }
            Message::Unit { echo, header, content } => {
                self.unit(from, echo, header, content, effects);
            }
            Message::Blank { echo: token } => self.damaged(from, token, effects),
            Message::Stored { token } => self.stored(from, token, effects),
            Message::Fenced { token } if self.token() == Some(token) => self.again(effects),
            _ => {}
        }
    }

    fn granted(
        &mut self,
        request: RequestId,
        attempt: u32,
        token: u64,
        effects: &mut Vec<Effect<C>>,
    ) {
        if token <= self.last_token {
            return;
        }
        self.last_token = token;
        // What was to be released is over if there is a later holding.
        self.releasing = None;
        match &mut self.running {
            Some(Running {
                request: ours, task: Task::Write { attempt: this, step, .. }, ..
            }) if *ours == request && *this == attempt => {
                let parity = self.config.code.per_parity(None);
                *step = Step::Reading { token, data: None, parity };
            }
            _ => {
                self.release(token, false, effects);
                return;
            }
        }
        if let Some(running) = &self.running {
            self.ask(running, effects);
        }
    }

    /// The lock was granted, and the lease ended before that was heard.
    fn over(&mut self, request: RequestId, attempt: u32, effects: &mut Vec<Effect<C>>) {
        if let Some(Running {
            request: ours, task: Task::Write { attempt: this, step, .. }, ..
        }) = &self.running
            && *ours == request
            && *this == attempt
            && *step == Step::Acquiring
        {
            self.again(effects);
        }
    }

    fn release(&mut self, token: u64, suspect: bool, effects: &mut Vec<Effect<C>>) {
        self.releasing = Some((token, suspect));
        send(effects, Peer::Lock, Message::Release { token, suspect });
    }

    /// A unit was read.
    fn unit(
        &mut self,
        from: Peer,
        echo: u64,
        header: Vector,
        content: Option<C>,
        effects: &mut Vec<Effect<C>>,
    ) {
        let Some(running) = &mut self.running else { return };
        let ours = Peer::Data(running.unit);
        match (&mut running.task, from, content) {
            (Task::Read, from, Some(content))
                if echo == u64::from(running.request.serial) && from == ours =>
            {
                let Some(lineage) = header.into_iter().next() else { return };
                let version = lineage.stamp.version;
                self.cached = Some((running.unit, lineage, content.clone()));
                self.done(Outcome::Content { version, content }, false, effects);
                return;
            }
            (Task::Write { step: Step::Reading { token, data, .. }, .. }, from, content)
                if echo == *token && from == ours =>
            {
                let Some(lineage) = header.into_iter().next() else { return };
                let cached = self.cached.take_if(|(unit, held, _)| {
                    *unit == running.unit && held.stamp == lineage.stamp
                });
                let content = content.or(cached.map(|(_, _, content)| content));
                *data = content.map(|content| (lineage, content)).or(data.take());
            }
            (
                Task::Write { step: Step::Reading { token, parity, .. }, .. },
                Peer::Parity(place),
                Some(content),
            ) if echo == *token => {
                let fits = header.len() == usize::from(self.config.code.data());
                if let Some(place) = parity.get_mut(usize::from(place)).filter(|_| fits) {
                    *place = Some((header, content));
                }
            }
            _ => return,
        }
        self.compute(effects);
    }

    /// Once all that is needed has been read: computes what is to be written, and writes it.
    fn compute(&mut self, effects: &mut Vec<Effect<C>>) {
        let Some(Running { request, unit, task: Task::Write { content, base, step, .. }, .. }) =
            &mut self.running
        else {
            return;
        };
        let Step::Reading { token, data: Some((lineage, old)), parity } = &*step else { return };
        let Some(parity) = parity.iter().cloned().collect::<Option<Vec<_>>>() else { return };
        let place = usize::from(*unit);
        if parity.iter().any(|(vector, _)| vector[place].stamp != lineage.stamp) {
            self.suspect(effects);
            return;
        }
        let base = *base.get_or_insert(lineage.stamp.version);
        if let Some(version) = lineage.version_of(*request) {
            self.done(Outcome::Written { version }, false, effects);
            return;
        }
        if !lineage.covers(base) {
            self.done(Outcome::Failed(Failure::Forgotten), false, effects);
            return;
        }
        let token = *token;
        let next = lineage.next(token, *request);
        let version = next.stamp.version;
        let delta = content.clone().plus(old);
        let data = Written {
            to: Peer::Data(*unit),
            header: alloc::vec![next.clone()],
            content: content.clone(),
            durable: false,
        };
        let code = self.config.code;
        let parity = (0..).zip(parity).map(|(index, (mut header, mut content))| {
            content.add_scaled(code.coefficient(index, *unit), &delta);
            header[place] = next.clone();
            Written { to: Peer::Parity(index), header, content, durable: false }
        });
        let writes = [data].into_iter().chain(parity).collect();
        *step = Step::Writing { token, version, writes, damaged: false };
        #[cfg(test)]
        if self.config.mistake == Mistake::ReleaseEarly {
            send(effects, Peer::Lock, Message::Release { token, suspect: false });
        }
        if let Some(running) = &self.running {
            self.ask(running, effects);
        }
    }

    /// A write is durable, or need not be waited for.
    fn stored(&mut self, from: Peer, echo: u64, effects: &mut Vec<Effect<C>>) {
        let Some(Running { unit, task: Task::Write { step, .. }, .. }) = &mut self.running else {
            return;
        };
        let Step::Writing { token, version, writes, damaged } = step else { return };
        if echo != *token {
            return;
        }
        writes.iter_mut().filter(|w| w.to == from).for_each(|write| write.durable = true);
        if !writes.iter().all(|write| write.durable) {
            return;
        }
        if *damaged {
            // The lock server must see to the lost unit first.
            self.suspect(effects);
            return;
        }
        let version = *version;
        self.cached = writes.drain(..).next().and_then(|write| {
            let lineage = write.header.into_iter().next()?;
            Some((*unit, lineage, write.content))
        });
        self.done(Outcome::Written { version }, false, effects);
    }

    /// A server has lost its content.
    fn damaged(&mut self, from: Peer, echo: u64, effects: &mut Vec<Effect<C>>) {
        let Some(Running { task: Task::Write { step, .. }, .. }) = &mut self.running else {
            return;
        };
        match step {
            Step::Reading { token, .. } if echo == *token => self.suspect(effects),
            Step::Writing { token, damaged, .. } if echo == *token => {
                // The others must still get theirs: what the lost one had may be known to readers.
                *damaged = true;
                self.stored(from, echo, effects);
            }
            _ => {}
        }
    }

    /// Gives the lock back for a recovery, and wants it again.
    fn suspect(&mut self, effects: &mut Vec<Effect<C>>) {
        if let Some(token) = self.token() {
            self.release(token, true, effects);
        }
        self.again(effects);
    }

    /// Wants the lock again.
    fn again(&mut self, effects: &mut Vec<Effect<C>>) {
        if let Some(Running { task: Task::Write { attempt, step, .. }, .. }) = &mut self.running {
            *attempt += 1;
            *step = Step::Acquiring;
        }
        if let Some(running) = &self.running {
            self.ask(running, effects);
        }
    }

    /// Ends the operation, and gives the lock back if it has it.
    fn done(&mut self, outcome: Outcome<C>, suspect: bool, effects: &mut Vec<Effect<C>>) {
        let token = self.token();
        if let Some(Running { request, .. }) = self.running.take() {
            effects.push(Effect::Done { request, outcome });
        }
        if let Some(token) = token {
            self.release(token, suspect, effects);
        }
    }
}
