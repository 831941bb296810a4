//! The initiator: asks a negotiating group, chooses among the answers, and sees to it that enough
//! replicas are stored, or that a chunk is fetched.

mod choosy;
mod get;
mod late;
mod put;
mod round;
mod shortage;

use alloc::vec::Vec;

use slotcast_units::{Size, Span, Time};

pub use choosy::Choosy;
pub use get::GetRules;
pub use late::LateRules;
pub use put::PutRules;

use choosy::Patience;
use get::Get;
use late::Usual;
use put::{Buffers, Proxies, Put};
use shortage::Shortage;

use crate::claim::{Claim, Wanted};
use crate::group::{GroupMap, Members};
use crate::ids::{ChunkId, GroupId, InitiatorId, RequestId};
use crate::message::Message;
use crate::selection::{Candidate, Chosen, LinkSchedule};
use crate::timing::Timing;
use crate::window::Window;

/// What an initiator must know.
#[derive(Debug, Clone)]
pub struct InitiatorConfig {
    /// Its name.
    pub id: InitiatorId,
    /// Times shared with the targets.
    pub timing: Timing,
    /// How it puts.
    pub put: PutRules,
    /// How it gets.
    pub get: GetRules,
    /// How long it waits for missing answers before it goes on without them.
    pub answer_timeout: Span,
    /// How long after the end of its window a transfer may stay without acknowledgement or arrival.
    pub ack_timeout: Span,
    /// When it asks what became of a transfer, before that time is over; none: it does not ask.
    pub late: Option<LateRules>,
    /// Rounds of asking before a request is given up, 1 to 255.
    pub max_rounds: u8,
    /// For how long a request is tried while too few members are available for it to succeed; none: through
    /// all its rounds.
    pub refuse_after: Option<Span>,
    /// Windows that start later than this from now are taken for nonsense, and longer waits cut.
    pub horizon: Span,
}

impl InitiatorConfig {
    /// Whether an answered window can be believed.
    fn believes(&self, now: Time, window: Window) -> bool {
        window.start.saturating_since(now) <= self.horizon
            && window.width() > Span::ZERO
            && window.width() <= self.horizon
    }

    /// From a round in which no member was available to the next.
    fn pause_without_members(&self) -> Span {
        let pause = self.refuse_after.map_or(Span::ZERO, |refuse_after| refuse_after / 10);
        pause.max(self.answer_timeout)
    }
}

/// What a host tells the initiator.
#[derive(Debug, Clone, Copy)]
pub enum InitiatorInput<'a> {
    /// A message arrived.
    Message(&'a Message),
    /// The time that the initiator asked to be woken at has come.
    Wake,
    /// A chunk arrived for a get; `intact` if its content matches its name.
    Delivered {
        /// For which request.
        request: RequestId,
        /// Whether its content matches its name.
        intact: bool,
    },
    /// All of the chunk of a put has come to these members, as their nodes say: it is written, or about to be.
    Reached {
        /// For which request.
        request: RequestId,
        /// The members.
        members: Members,
    },
    /// Members of a group are not heard any more: nobody waits for their answers, transfers and
    /// acknowledgements. They are asked again in later rounds.
    Unavailable {
        /// The group.
        group: GroupId,
        /// The members.
        members: Members,
    },
    /// Members of a group have started anew, perhaps with another disk, or have failed: what they had promised is void, and
    /// what they had acknowledged for requests under way does not count until they say again that they hold it.
    Restarted {
        /// The group.
        group: GroupId,
        /// The members.
        members: Members,
    },
}

/// Why a request was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// No window was common to enough bids, and the rules say to give up then.
    NoCommonWindow,
    /// All rounds are used up, with fewer replicas than wanted.
    TooFewReplicas {
        /// How many are stored.
        stored: u8,
    },
    /// Too few members are available to store as many replicas as wanted.
    TooFewAvailable {
        /// How many are stored.
        stored: u8,
    },
    /// No member of the group holds the chunk: all of them have said so.
    NotFound,
    /// No member that is available holds the chunk, and others are not available.
    Uncertain,
    /// All rounds are used up, and no member delivered.
    Undelivered,
}

/// What the initiator wants of its host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InitiatorEffect {
    /// Send a message to members of a group.
    Multicast {
        /// The group.
        group: GroupId,
        /// The members that it concerns; reaching others as well is harmless.
        to: Members,
        /// What.
        message: Message,
    },
    /// Send the chunk of a put from `start` on, in one multicast to all of `to`.
    Transfer {
        /// For which request.
        request: RequestId,
        /// The chunk.
        chunk: ChunkId,
        /// Its size.
        size: Size,
        /// The group.
        group: GroupId,
        /// The members that it goes to.
        to: Members,
        /// When.
        start: Time,
    },
    /// A put has its replicas.
    PutDone {
        /// Which.
        request: RequestId,
        /// Rounds of asking that it took.
        rounds: u8,
    },
    /// A get has its chunk.
    GetDone {
        /// Which.
        request: RequestId,
        /// Rounds of asking that it took.
        rounds: u8,
    },
    /// A request was given up.
    Failed {
        /// Which.
        request: RequestId,
        /// Rounds of asking that it took.
        rounds: u8,
        /// Why.
        reason: Failure,
    },
    /// Say [`InitiatorInput::Wake`] at this time. Replaces an earlier wish.
    WakeAt(Time),
}

/// What puts and gets of one initiator share: its link, and space to choose in.
#[derive(Debug, Clone, Default)]
struct Shared {
    /// What has been accepted for the outgoing link.
    egress: LinkSchedule,
    /// The same for the incoming link.
    ingress: LinkSchedule,
    /// Whom to ask where proxies grant windows.
    proxies: Proxies,
    /// Of a choosy initiator.
    patience: Option<Patience>,
    /// From a chunk that has come to its acknowledgement.
    acks: Usual,
    /// From the end of the window of a get to the chunk.
    deliveries: Usual,
    candidates: Vec<Candidate>,
    chosen: Chosen,
    taken_domains: Vec<u32>,
}

/// The surroundings of one step of a put or get.
struct Step<'a> {
    now: Time,
    config: &'a InitiatorConfig,
    groups: &'a GroupMap,
    shared: &'a mut Shared,
    effects: &'a mut Vec<InitiatorEffect>,
}

/// Members that are not heard any more, or have started anew.
#[derive(Debug, Clone, Copy)]
struct Lost {
    members: Members,
    restarted: bool,
}

/// Whether a request goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Going,
    Over,
}

fn assert_replicas(replicas: u8) {
    let is_possible = (1..=crate::message::MAX_REPLICAS).contains(&usize::from(replicas));
    assert!(is_possible, "between one and eight replicas");
}

/// Of `replicas` those that the group of `chunk` has failure domains for, at least one.
fn possible(replicas: u8, chunk: &ChunkId, groups: &GroupMap) -> u8 {
    let group = groups.group_of(chunk);
    let domains = groups.domains_of(group, groups.members_for_puts(group)).max(1);
    u8::try_from(domains).map_or(replicas, |domains| domains.min(replicas))
}

/// One initiator, with any number of puts and gets under way.
#[derive(Debug, Clone)]
pub struct Initiator {
    config: InitiatorConfig,
    puts: Vec<Put>,
    gets: Vec<Get>,
    /// Of puts that have ended.
    spare: Vec<Buffers>,
    shared: Shared,
    next_serial: u32,
    alarm: Time,
    rejected: u64,
}

impl Initiator {
    /// An initiator with nothing to do.
    pub fn new(config: InitiatorConfig) -> Initiator {
        assert!(config.max_rounds > 0, "a request asks at least once");
        assert_replicas(config.put.replicas);
        let shared = Shared { patience: config.put.choosy.map(Patience::new), ..Shared::default() };
        Initiator {
            config,
            puts: Vec::new(),
            gets: Vec::new(),
            spare: Vec::new(),
            shared,
            next_serial: 0,
            alarm: Time::NEVER,
            rejected: 0,
        }
    }

    /// The same, counting its requests from `serial` on. A host that starts anew takes another one than
    /// before: targets may still hold promises to its earlier requests.
    #[must_use]
    pub fn counting_from(self, serial: u32) -> Initiator {
        Initiator { next_serial: serial, ..self }
    }

    /// Requests under way.
    pub fn active(&self) -> usize {
        self.puts.len() + self.gets.len()
    }

    /// Messages that belonged to no request under way and were dropped.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Starts to store `chunk` on as many targets as [`PutRules::replicas`] says, until somebody removes it.
    ///
    /// # Panics
    /// If `size` is zero.
    pub fn put(
        &mut self,
        now: Time,
        chunk: ChunkId,
        size: Size,
        groups: &GroupMap,
        effects: &mut Vec<InitiatorEffect>,
    ) -> RequestId {
        self.put_on(now, (None, Claim::Bare), (chunk, size), groups, effects)
    }

    /// Starts to store a chunk of this name and size on `replicas` targets in different failure domains, or on
    /// as many as the rules say, with this claim. Where more were wanted of the same chunk before, more stay wanted,
    /// and a claim is never lowered.
    ///
    /// # Panics
    /// If the size is zero, or `replicas` not between 1 and [`crate::MAX_REPLICAS`].
    pub fn put_on(
        &mut self,
        now: Time,
        (replicas, claim): (Option<u8>, Claim),
        (chunk, size): (ChunkId, Size),
        groups: &GroupMap,
        effects: &mut Vec<InitiatorEffect>,
    ) -> RequestId {
        let replicas = replicas.unwrap_or(self.config.put.replicas);
        let wanted = Wanted { replicas, claim };
        self.start_put(now, (wanted, replicas), false, (chunk, size), groups, effects)
    }

    /// Starts to store a chunk anew that was stored on so many targets, or on as many as its group still has
    /// failure domains: members may have been removed since. Those that store it keep the number and the claim of
    /// `wanted`.
    ///
    /// # Panics
    /// As [`Initiator::put_on`].
    pub fn put_again(
        &mut self,
        now: Time,
        wanted: Wanted,
        (chunk, size): (ChunkId, Size),
        groups: &GroupMap,
        effects: &mut Vec<InitiatorEffect>,
    ) -> RequestId {
        let numbers = (wanted, possible(wanted.replicas, &chunk, groups));
        self.start_put(now, numbers, false, (chunk, size), groups, effects)
    }

    /// Asks whether a chunk is stored on so many targets with this claim, or on as many as its group still has failure
    /// domains. The first round of [`Initiator::put_again`] and no more: it is done if there are enough, and
    /// fails with [`Failure::TooFewReplicas`] if there are too few among the members that answer. Nothing is
    /// sent.
    ///
    /// # Panics
    /// As [`Initiator::put_on`].
    pub fn check(
        &mut self,
        now: Time,
        wanted: Wanted,
        (chunk, size): (ChunkId, Size),
        groups: &GroupMap,
        effects: &mut Vec<InitiatorEffect>,
    ) -> RequestId {
        let numbers = (wanted, possible(wanted.replicas, &chunk, groups));
        self.start_put(now, numbers, true, (chunk, size), groups, effects)
    }

    fn start_put(
        &mut self,
        now: Time,
        numbers: (Wanted, u8),
        only_asks: bool,
        (chunk, size): (ChunkId, Size),
        groups: &GroupMap,
        effects: &mut Vec<InitiatorEffect>,
    ) -> RequestId {
        assert!(size > Size::ZERO, "an empty chunk is never sent");
        assert_replicas(numbers.0.replicas);
        let request = self.next_request();
        if let Some(patience) = self.shared.patience.as_mut().filter(|_| !only_asks) {
            patience.next_put();
        }
        let (group, buffers) = (groups.group_of(&chunk), self.spare.pop().unwrap_or_default());
        let put = Put::new(request, (chunk, size), group, numbers, only_asks, buffers);
        let mut step =
            Step { now, config: &self.config, groups, shared: &mut self.shared, effects };
        self.puts.push_mut(put).ask(&mut step);
        self.set_alarm(effects);
        request
    }

    /// Starts to fetch `chunk`.
    pub fn get(
        &mut self,
        now: Time,
        chunk: ChunkId,
        groups: &GroupMap,
        effects: &mut Vec<InitiatorEffect>,
    ) -> RequestId {
        let request = self.next_request();
        let mut get = Get::new(request, chunk, groups.group_of(&chunk));
        let mut step =
            Step { now, config: &self.config, groups, shared: &mut self.shared, effects };
        get.ask(&mut step);
        self.gets.push(get);
        self.set_alarm(effects);
        request
    }

    /// Takes `input` at `now` and appends what is to be done to `effects`.
    pub fn handle(
        &mut self,
        now: Time,
        input: InitiatorInput<'_>,
        groups: &GroupMap,
        effects: &mut Vec<InitiatorEffect>,
    ) {
        let Initiator { config, puts, gets, spare, shared, .. } = self;
        let mut step = Step { now, config, groups, shared, effects };
        match input {
            InitiatorInput::Message(message) => {
                let request = message.request();
                if let Some(i) = puts.iter().position(|put| put.request() == request) {
                    if puts[i].message(message, &mut step) == Progress::Over {
                        spare.push(puts.swap_remove(i).into_buffers());
                    }
                } else if let Some(i) = gets.iter().position(|get| get.request() == request) {
                    if gets[i].message(message, &mut step) == Progress::Over {
                        gets.swap_remove(i);
                    }
                } else {
                    // Late answers of ended requests come here, too.
                    self.rejected += 1;
                }
            }
            InitiatorInput::Delivered { request, intact } => {
                if let Some(i) = gets.iter().position(|get| get.request() == request)
                    && gets[i].delivered(intact, &mut step) == Progress::Over
                {
                    gets.swap_remove(i);
                }
            }
            InitiatorInput::Reached { request, members } => {
                if let Some(put) = puts.iter_mut().find(|put| put.request() == request) {
                    put.reached(members, &mut step);
                }
            }
            InitiatorInput::Unavailable { group, members }
            | InitiatorInput::Restarted { group, members } => {
                let restarted = matches!(input, InitiatorInput::Restarted { .. });
                let lost = Lost { members, restarted };
                let mut i = 0;
                while i < puts.len() {
                    if puts[i].group() == group
                        && puts[i].lose_members(lost, &mut step) == Progress::Over
                    {
                        spare.push(puts.swap_remove(i).into_buffers());
                    } else {
                        i += 1;
                    }
                }
                gets.retain_mut(|get| {
                    get.group() != group || get.lose_members(lost, &mut step) == Progress::Going
                });
            }
            // A wish that was replaced; whoever answered it too would be asked ever more often.
            InitiatorInput::Wake if now < self.alarm => return,
            InitiatorInput::Wake => {
                self.alarm = Time::NEVER;
                let mut i = 0;
                while i < puts.len() {
                    if puts[i].wake(&mut step) == Progress::Over {
                        spare.push(puts.swap_remove(i).into_buffers());
                    } else {
                        i += 1;
                    }
                }
                gets.retain_mut(|get| get.wake(&mut step) == Progress::Going);
            }
        }
        self.set_alarm(effects);
    }

    fn next_request(&mut self) -> RequestId {
        let request = RequestId { initiator: self.config.id, serial: self.next_serial };
        self.next_serial = self.next_serial.wrapping_add(1);
        request
    }

    /// Asks to be woken if something is due before the alarm that is set. An alarm that turns out
    /// too early costs one call, so it is never taken back.
    fn set_alarm(&mut self, effects: &mut Vec<InitiatorEffect>) {
        let due = self.puts.iter().map(Put::due).chain(self.gets.iter().map(Get::due)).min();
        if let Some(due) = due.filter(|&due| due < self.alarm) {
            self.alarm = due;
            effects.push(InitiatorEffect::WakeAt(due));
        }
    }
}
