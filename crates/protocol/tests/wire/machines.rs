//! A target, a proxy and an initiator that hear anything that the wire form lets through.
//!
//! The fuzz targets use this file as well.

use slotcast_protocol::selection::{SequenceRule, Ties};
use slotcast_protocol::wire::{self, Header, WireError};
use slotcast_protocol::{
    Backpressure, Bid, BidAnswer, CalendarRules, ChunkId, Delivery, DiskForecast, GetAccept,
    GetRules, Grant, GroupId, GroupMap, Holdings, IdleExtension, Initiator, InitiatorConfig,
    InitiatorEffect, InitiatorId, InitiatorInput, LateReject, LateRules, Message, Occasion, Offer,
    OfferAnswer, OfferRule, Proxy, ProxyChoice, ProxyConfig, ProxyEffect, ProxyInput, ProxyReply,
    ProxyReport, PutAccept, PutRules, RequestId, Target, TargetConfig, TargetEffect, TargetInput,
    Term, Timing, Undelivered, Window, WindowRule,
};
use slotcast_units::{Rate, Size, Span, Time};

const CHUNK: ChunkId = ChunkId([2; 32]);
const SIZE: Size = Size::from_kib(128);
const MEMBERS: u8 = 9;

/// A request of the initiator on the stage.
fn under_way(serial: u32) -> RequestId {
    RequestId { initiator: InitiatorId(0), serial }
}

/// Holds every chunk whose name begins with an odd byte.
struct Shelf;

impl Holdings for Shelf {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        (chunk.0[0] % 2 == 1).then_some(SIZE)
    }
}

/// Who negotiates for the initiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Negotiation {
    /// It asks all members, for a transfer of this kind.
    Itself(Delivery),
    /// The proxy does.
    Proxied(ProxyChoice),
}

/// All of them.
pub(crate) const NEGOTIATIONS: [Negotiation; 4] = [
    Negotiation::Itself(Delivery::Multicast),
    Negotiation::Itself(Delivery::Unicast),
    Negotiation::Proxied(ProxyChoice::EarliestWrite),
    Negotiation::Proxied(ProxyChoice::LeastIdle),
];

/// The target and the proxy are member 0 of group 0, and initiator 0 has puts 0 and 1 and gets 2 and 3 under way.
pub(crate) struct Stage {
    target: Target,
    proxy: Proxy,
    initiator: Initiator,
    groups: GroupMap,
    proxy_effects: Vec<ProxyEffect>,
    target_effects: Vec<TargetEffect>,
    initiator_effects: Vec<InitiatorEffect>,
    alarm: Time,
    /// The proxy's latest term.
    term: Term,
    /// The window that the target offered last.
    offered: Option<(RequestId, u8, Window)>,
    progress: Progress,
}

/// How often the machines got somewhere.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    /// Chunks that the target wrote.
    pub(crate) written: u32,
    /// Chunks that the target sent.
    pub(crate) sent: u32,
    /// Chunks that the initiator sent.
    pub(crate) transfers: u32,
    /// Grants that the initiator made for gets.
    pub(crate) fetches: u32,
    /// Windows that the proxy granted.
    pub(crate) granted: u32,
}

fn initiator_config(negotiation: Negotiation, delivery: Delivery) -> InitiatorConfig {
    let timing = Timing::published();
    let window_rule = WindowRule::published(delivery);
    InitiatorConfig {
        id: InitiatorId(0),
        timing,
        put: PutRules {
            replicas: 3,
            window_rule,
            ties: Ties::ByBacklog,
            sequence: SequenceRule::published(&timing, true),
            consecutive_only: false,
            abandon_without_window: false,
            choosy: None,
            double_booking: delivery == Delivery::Unicast,
            proxied: matches!(negotiation, Negotiation::Proxied(_)),
        },
        get: GetRules { window_rule: WindowRule::published(Delivery::Unicast) },
        answer_timeout: Span::from_ms(1),
        ack_timeout: Span::from_ms(10),
        late: Some(LateRules { first: Span::from_ms(2), least: Span::from_us(500) }),
        max_rounds: 5,
        refuse_after: Some(Span::from_ms(5)),
        horizon: Span::from_ns(1 << 61),
    }
}

impl Stage {
    /// With the published rules.
    pub(crate) fn new(negotiation: Negotiation) -> Stage {
        let (delivery, choice) = match negotiation {
            Negotiation::Itself(delivery) => (delivery, ProxyChoice::default()),
            Negotiation::Proxied(choice) => (Delivery::Multicast, choice),
        };
        let timing = Timing::published();
        let window_rule = WindowRule::published(delivery);
        let (offer, backpressure, idle_extension) = match delivery {
            Delivery::Multicast => {
                (OfferRule::Queue, Backpressure::DrainFirst, IdleExtension::TwoTransfersByCoin)
            }
            Delivery::Unicast => {
                (OfferRule::DoubleBooking, Backpressure::KeepRoom, IdleExtension::TwoTrips)
            }
        };
        let disk = Rate::from_bytes_per_s(400 << 20);
        let disk = DiskForecast::new(disk, Size::from_kib(256), backpressure);
        let calendar = CalendarRules {
            offer,
            gap: Span::ZERO,
            grace: Span::from_ms(1),
            expected: Span::from_us(1),
            hold: Span::from_ns(1 << 61),
            horizon: Span::from_ns(1 << 61),
            capacity: 64,
        };
        let proxy = Proxy::new(ProxyConfig {
            group: GroupId(0),
            position: 0,
            domains: (0..u32::from(MEMBERS)).collect(),
            timing,
            choice,
            service: timing.control * 4,
            calendar,
            disk: disk.clone(),
            answer_timeout: Span::from_ms(1),
        });
        let target = Target::new(TargetConfig {
            group: GroupId(0),
            position: 0,
            timing,
            window_rule,
            idle_extension,
            calendar,
            disk,
        });
        let initiator = Initiator::new(initiator_config(negotiation, delivery));
        let mut stage = Stage {
            target,
            proxy,
            initiator,
            groups: GroupMap::new(u32::from(MEMBERS), u32::from(MEMBERS), 1)
                .expect("one group of nine"),
            proxy_effects: Vec::new(),
            target_effects: Vec::new(),
            initiator_effects: Vec::new(),
            alarm: Time::NEVER,
            term: Term::NONE,
            offered: None,
            progress: Progress::default(),
        };
        for _ in 0..2 {
            let Stage { initiator, groups, initiator_effects, .. } = &mut stage;
            initiator.put(Time::ZERO, CHUNK, SIZE, groups, initiator_effects);
        }
        for _ in 0..2 {
            let Stage { initiator, groups, initiator_effects, .. } = &mut stage;
            initiator.get(Time::ZERO, CHUNK, groups, initiator_effects);
        }
        stage.carry_out_initiator(Time::ZERO);
        stage
    }

    /// How far the machines got.
    pub(crate) fn progress(&self) -> Progress {
        self.progress
    }

    /// All machines hear `message` at `now`, and what they want is done at once. `now` never goes
    /// backwards.
    pub(crate) fn hear(&mut self, now: Time, message: &Message) {
        // A host wakes in time, or late, and then once.
        let in_time = now.as_ns().is_multiple_of(4);
        while self.alarm <= now {
            let at = if in_time { self.alarm } else { now };
            self.alarm = Time::NEVER;
            self.tell_initiator(at, InitiatorInput::Wake);
        }
        self.tell_proxy(now, ProxyInput::Wake);
        self.hear_once(now, message);
        // Chance alone does not accept what was offered, nor make a whole group answer.
        match *message {
            Message::PutAccept(accept) => {
                if let Some((request, round, grant)) = self.grant() {
                    let grants = [grant].into_iter().collect();
                    let accept = PutAccept { request, round, grants, ..accept };
                    self.hear_once(now, &Message::PutAccept(accept));
                }
            }
            Message::GetAccept(_) => {
                if let Some((request, round, grant)) = self.grant() {
                    let accept = GetAccept { request, round, grant: Some(grant) };
                    self.hear_once(now, &Message::GetAccept(accept));
                }
            }
            Message::Bid(bid) => {
                for position in 0..MEMBERS {
                    let request = under_way(bid.request.serial % 2);
                    let bid = Message::Bid(Bid { request, position, ..bid });
                    self.tell_initiator(now, InitiatorInput::Message(&bid));
                }
            }
            Message::Offer(offer) => {
                for position in 0..MEMBERS {
                    let request = under_way(2 + offer.request.serial % 2);
                    let offer = Message::Offer(Offer { request, position, ..offer });
                    self.tell_initiator(now, InitiatorInput::Message(&offer));
                }
            }
            Message::LateReject(reject) => {
                for position in 0..MEMBERS {
                    let request = under_way(reject.request.serial % 2);
                    let reject = Message::LateReject(LateReject { request, position, ..reject });
                    self.tell_initiator(now, InitiatorInput::Message(&reject));
                }
            }
            Message::ProxyReply(reply) => {
                for round in 0..4 {
                    let request = under_way(reply.request.serial % 2);
                    let term = Term { position: reply.term.position % MEMBERS, ..reply.term };
                    let reply = Message::ProxyReply(ProxyReply { request, round, term, ..reply });
                    self.tell_initiator(now, InitiatorInput::Message(&reply));
                }
            }
            Message::ProxyReport(report) => {
                for position in 0..MEMBERS {
                    let (group, term) = (GroupId(0), self.term);
                    let report = ProxyReport { group, term, position, ..report };
                    for occasion in [Occasion::Asked, report.occasion] {
                        let report = Message::ProxyReport(ProxyReport { occasion, ..report });
                        self.tell_proxy(now, ProxyInput::Message(&report));
                    }
                }
            }
            _ => {}
        }
    }

    /// What an initiator makes of the target's last offer: all of it, or its first half.
    fn grant(&self) -> Option<(RequestId, u8, Grant)> {
        let (request, round, offered) = self.offered?;
        let width = if request.serial % 2 == 0 { offered.width() } else { offered.width() / 2 };
        let window = Window::new(offered.start, width);
        Some((request, round, Grant { position: 0, window }))
    }

    fn hear_once(&mut self, now: Time, message: &Message) {
        self.tell_proxy(now, ProxyInput::Message(message));
        self.tell_target(now, TargetInput::Message(message));
        if let Message::ProxyNotice(notice) = *message {
            let (request, size) = (notice.request, notice.size);
            let intact = notice.round != 2;
            let received = TargetInput::Received { request, chunk: notice.chunk, size, intact };
            self.tell_target(now, received);
        }
        if let Message::PutAccept(PutAccept { request, round, .. }) = *message {
            // The accepted chunk, or one that nobody reserved anything for.
            let intact = round != 2;
            let received = TargetInput::Received { request, chunk: CHUNK, size: SIZE, intact };
            self.tell_target(now, received);
        }
        self.tell_initiator(now, InitiatorInput::Message(message));
        if let Message::Undelivered(Undelivered { request, position }) = *message {
            // A chunk from a sender that the initiator may have given up.
            let delivered = InitiatorInput::Delivered { request, intact: position > 4 };
            self.tell_initiator(now, delivered);
        }
    }

    fn tell_proxy(&mut self, now: Time, input: ProxyInput<'_>) {
        self.proxy.handle(now, input, &mut self.proxy_effects);
        for effect in std::mem::take(&mut self.proxy_effects) {
            match effect {
                ProxyEffect::Answer { message, .. } => can_be_sent(&message),
                ProxyEffect::Notify { message, .. } => {
                    can_be_sent(&message);
                    self.progress.granted += u32::from(matches!(message, Message::ProxyNotice(_)));
                    if let Message::ProxyQuery(query) = message {
                        self.term = query.term;
                    }
                    // Its own target hears it, whether named or not.
                    self.tell_target(now, TargetInput::Message(&message));
                }
                // The next message wakes it.
                ProxyEffect::WakeAt(_) => {}
            }
        }
    }

    fn tell_target(&mut self, now: Time, input: TargetInput<'_>) {
        self.target.handle(now, input, &Shelf, &mut self.target_effects);
        // What is done leads to more that is to be done: a write to an acknowledgement.
        while let Some(effect) = self.target_effects.pop() {
            let input = match effect {
                TargetEffect::Send { message, .. } => {
                    can_be_sent(&message);
                    if let Message::Bid(Bid {
                        round,
                        answer: BidAnswer::Window { window, .. },
                        ..
                    })
                    | Message::Offer(Offer {
                        round,
                        answer: OfferAnswer::Window { window, .. },
                        ..
                    }) = message
                    {
                        self.offered = Some((message.request(), round, window));
                    }
                    continue;
                }
                TargetEffect::Write { request, .. } | TargetEffect::Raise { request, .. } => {
                    self.progress.written += 1;
                    TargetInput::Written { request, stable: request.serial != 1 }
                }
                TargetEffect::Read { request, .. } => {
                    TargetInput::Read { request, intact: request.serial != 1 }
                }
                TargetEffect::Transfer { request, .. } => {
                    self.progress.sent += 1;
                    TargetInput::Sent { request }
                }
                TargetEffect::Report { message, .. } => {
                    can_be_sent(&message);
                    continue;
                }
            };
            self.target.handle(now, input, &Shelf, &mut self.target_effects);
        }
    }

    fn tell_initiator(&mut self, now: Time, input: InitiatorInput<'_>) {
        self.initiator.handle(now, input, &self.groups, &mut self.initiator_effects);
        self.carry_out_initiator(now);
    }

    fn carry_out_initiator(&mut self, now: Time) {
        for effect in self.initiator_effects.drain(..) {
            match effect {
                InitiatorEffect::Multicast { message, .. } => {
                    can_be_sent(&message);
                    let fetches = matches!(message, Message::GetAccept(m) if m.grant.is_some());
                    self.progress.fetches += u32::from(fetches);
                }
                InitiatorEffect::Transfer { start, .. } => {
                    assert!(start >= now, "a transfer in the past");
                    self.progress.transfers += 1;
                }
                InitiatorEffect::WakeAt(at) => self.alarm = at,
                InitiatorEffect::PutDone { .. }
                | InitiatorEffect::GetDone { .. }
                | InitiatorEffect::Failed { .. } => {}
            }
        }
    }
}

/// What a machine says passes the wire, unless somebody made it speak of the end of time.
fn can_be_sent(message: &Message) {
    let header = Header { epoch: 0, sender: 0, sent_at: Time::ZERO };
    let mut datagram = Vec::new();
    wire::encode(&header, message, &mut datagram);
    match wire::decode(&datagram) {
        Ok(decoded) => assert_eq!(decoded, (header, *message)),
        Err(WireError::Time(_)) => {}
        Err(error) => panic!("a machine said {message:?}: {error}"),
    }
}
