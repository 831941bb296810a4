use alloc::vec::Vec;

use slotcast_units::{Span, Time};

use crate::code::Code;
use crate::content::Content;
use crate::coordinated::gather::Gather;
use crate::coordinated::message::{Message, Want};
use crate::coordinated::{Effect, Input, send};
use crate::lineage::{ClientId, RequestId};
use crate::machine::{Failure, Operation, Outcome, Peer, Timer};

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
    /// How often it asks a data server again before it rebuilds what it reads from the other units;
    /// `None` for never.
    pub rebuild_after: Option<u32>,
}

/// A client of one stripe, with one operation at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Client<C> {
    config: ClientConfig,
    serial: u32,
    running: Option<Running<C>>,
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
    /// `base` is the version that the data server named before the content was sent for the first time.
    Write { content: C, base: Option<u64>, asking: bool },
    /// `gather` is there once the data server has been silent for long.
    Read { gather: Option<Gather<C>> },
}

impl<C: Content> Client<C> {
    /// A client that has done nothing yet on this stripe.
    pub fn new(config: ClientConfig) -> Client<C> {
        Client { config, serial: 0, running: None, waking: None }
    }

    /// Whether an operation is under way.
    pub fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    /// Takes `input` at `now` and appends what is to be done to `effects`.
    pub fn handle(&mut self, now: Time, input: Input<C>, effects: &mut Vec<Effect<C>>) {
        match input {
            Input::Start(operation) => self.start(now, operation, effects),
            Input::Message { from, message } => self.message(from, message, effects),
            Input::Wake(Timer::Retry) => self.retry(now, effects),
            Input::Wake(_) | Input::Stored(_) | Input::Loaded { .. } => {}
        }
    }

    fn start(&mut self, now: Time, operation: Operation<C>, effects: &mut Vec<Effect<C>>) {
        let request = RequestId { client: self.config.id, serial: self.serial };
        self.serial += 1;
        let (unit, task) = match operation {
            Operation::Write { unit, content } => {
                (unit, Task::Write { content, base: None, asking: true })
            }
            Operation::Read { unit } => (unit, Task::Read { gather: None }),
        };
        let wrong_size =
            matches!(&task, Task::Write { content, .. } if content.len() != self.config.unit_len);
        if self.running.is_some() || unit >= self.config.code.data() || wrong_size {
            let outcome = Outcome::Failed(Failure::Refused);
            effects.push(Effect::Done { request, outcome });
            return;
        }
        let first = match task {
            Task::Write { .. } => Message::Ask { request },
            Task::Read { .. } => Message::Read { request },
        };
        self.running = Some(Running { request, unit, retries: 0, task });
        send(effects, Peer::Data(unit), first);
        self.wake(now, effects);
    }

    fn wake(&mut self, now: Time, effects: &mut Vec<Effect<C>>) {
        if let (None, Some(running)) = (self.waking, &self.running) {
            self.waking = Some(running.request.serial);
            let at = now.saturating_add(self.config.retry);
            effects.push(Effect::Wake { at, timer: Timer::Retry });
        }
    }

    fn retry(&mut self, now: Time, effects: &mut Vec<Effect<C>>) {
        let woken_for = self.waking.take();
        let Some(running) = &mut self.running else { return };
        if woken_for != Some(running.request.serial) {
            // It was meant for an operation that has ended: this one has not waited long.
            return self.wake(now, effects);
        }
        // Without a limit the number of retries is of no interest.
        let limits = [self.config.max_retries, self.config.rebuild_after];
        if let Some(counted) = limits.into_iter().flatten().max() {
            running.retries = (running.retries + 1).min(counted + 1);
        }
        if self.config.max_retries.is_some_and(|max| running.retries > max) {
            self.done(Outcome::Failed(Failure::TimedOut), effects);
            return;
        }
        let Running { request, unit, retries, .. } = *running;
        match &mut running.task {
            Task::Write { asking, .. } => {
                *asking = true;
                send(effects, Peer::Data(unit), Message::Ask { request });
            }
            Task::Read { gather } => {
                send(effects, Peer::Data(unit), Message::Read { request });
                if self.config.rebuild_after.is_some_and(|after| retries > after) {
                    let echo = u64::from(request.serial);
                    gather
                        .get_or_insert_with(|| Gather::new(self.config.code, unit, None, echo))
                        .ask(effects);
                }
            }
        }
        self.wake(now, effects);
    }

    fn message(&mut self, from: Peer, message: Message<C>, effects: &mut Vec<Effect<C>>) {
        let Some(running) = &mut self.running else { return };
        let ours = running.request;
        match (message, &mut running.task) {
            (Message::Ready { request, base: now_at }, Task::Write { content, base, asking })
                if request == ours && *asking =>
            {
                *asking = false;
                let base = *base.get_or_insert(now_at);
                let content = content.clone();
                let message = Message::Write { request, base, content };
                send(effects, Peer::Data(running.unit), message);
            }
            (Message::Written { request, version }, Task::Write { .. }) if request == ours => {
                self.done(Outcome::Written { version }, effects);
            }
            (Message::Forgotten { request }, Task::Write { .. }) if request == ours => {
                self.done(Outcome::Failed(Failure::Forgotten), effects);
            }
            (Message::Content { request, version, content }, Task::Read { .. })
                if request == ours =>
            {
                self.done(Outcome::Content { version, content }, effects);
            }
            (Message::Image { echo, image }, Task::Read { gather: Some(gather) }) => {
                let Peer::Parity(parity) = from else { return };
                gather.image(parity, echo, image, effects);
                self.rebuilt(effects);
            }
            (
                Message::Copy { want: Want::Exactly(_), slot, .. },
                Task::Read { gather: Some(gather) },
            ) => {
                let Peer::Data(unit) = from else { return };
                gather.slot(unit, slot);
                self.rebuilt(effects);
            }
            _ => {}
        }
    }

    /// Ends a read if the other units determine its content.
    fn rebuilt(&mut self, effects: &mut Vec<Effect<C>>) {
        if let Some(Running { task: Task::Read { gather: Some(gather) }, .. }) = &self.running
            && let Some(slot) = gather.content()
        {
            let version = slot.lineage.stamp.version;
            self.done(Outcome::Content { version, content: slot.content }, effects);
        }
    }

    fn done(&mut self, outcome: Outcome<C>, effects: &mut Vec<Effect<C>>) {
        if let Some(Running { request, .. }) = self.running.take() {
            effects.push(Effect::Done { request, outcome });
        }
    }
}
