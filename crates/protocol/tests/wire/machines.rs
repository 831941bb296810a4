//! A target and an initiator that hear anything that the wire form lets through.
//!
//! The fuzz targets use this file as well.

use slotcast_protocol::wire::{self, Header, WireError};
use slotcast_protocol::{
    Backpressure, CalendarRules, ChunkId, Delivery, DiskForecast, GetRules, GroupId, GroupMap,
    Holdings, IdleExtension, Initiator, InitiatorConfig, InitiatorEffect, InitiatorId,
    InitiatorInput, Message, OfferRule, PutRules, Target, TargetConfig, TargetEffect, TargetInput,
    Timing, WindowRule, selection::SequenceRule,
};
use slotcast_units::{Rate, Size, Span, Time};

const CHUNK: ChunkId = ChunkId([2; 32]);
const SIZE: Size = Size::from_kib(128);

/// Holds every chunk whose name begins with an odd byte.
struct Shelf;

impl Holdings for Shelf {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        (chunk.0[0] % 2 == 1).then_some(SIZE)
    }
}

/// The target is member 0 of group 0, and initiator 0 has puts 0 and 1 and gets 2 and 3 under way.
pub(crate) struct Stage {
    target: Target,
    initiator: Initiator,
    groups: GroupMap,
    target_effects: Vec<TargetEffect>,
    initiator_effects: Vec<InitiatorEffect>,
    alarm: Time,
}

impl Stage {
    /// With the published rules for `delivery`.
    pub(crate) fn new(delivery: Delivery) -> Stage {
        let timing = Timing {
            control: Span::from_ns(2424),
            trip: Span::from_us(1),
            data_rate: Rate::from_bps(8_910_000_000),
            frame: Size::from_bytes(9000),
        };
        let window_rule = WindowRule::published(delivery);
        let (offer, backpressure, idle_extension) = match delivery {
            Delivery::Multicast => {
                (OfferRule::Queue, Backpressure::DrainFirst, IdleExtension::TwoTransfersByCoin)
            }
            Delivery::Unicast => {
                (OfferRule::FirstFit, Backpressure::KeepRoom, IdleExtension::TwoTrips)
            }
        };
        let disk = Rate::from_bytes_per_s(400 << 20);
        let target = Target::new(TargetConfig {
            group: GroupId(0),
            position: 0,
            timing,
            window_rule,
            idle_extension,
            calendar: CalendarRules {
                offer,
                gap: Span::ZERO,
                grace: Span::from_ms(1),
                capacity: 64,
            },
            disk: DiskForecast::new(disk, Size::from_kib(256), backpressure),
        });
        let initiator = Initiator::new(InitiatorConfig {
            id: InitiatorId(0),
            timing,
            put: PutRules {
                replicas: 3,
                window_rule,
                sequence: SequenceRule::published(&timing, true),
                consecutive_only: false,
                abandon_without_window: false,
            },
            get: GetRules { window_rule: WindowRule::published(Delivery::Unicast) },
            answer_timeout: Span::from_ms(1),
            ack_timeout: Span::from_ms(10),
            max_rounds: 5,
        });
        let mut stage = Stage {
            target,
            initiator,
            groups: GroupMap::new(9, 9, 1).expect("one group of nine"),
            target_effects: Vec::new(),
            initiator_effects: Vec::new(),
            alarm: Time::NEVER,
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

    /// Both machines hear `message` at `now`, and what they want is done at once. `now` never goes
    /// backwards.
    pub(crate) fn hear(&mut self, now: Time, message: &Message) {
        self.tell_target(now, TargetInput::Message(message));
        if let Message::PutAccept(accept) = message {
            // The accepted chunk, or one that nobody reserved anything for.
            self.tell_target(
                now,
                TargetInput::Received {
                    request: accept.request,
                    chunk: CHUNK,
                    size: SIZE,
                    intact: accept.round != 2,
                },
            );
        }
        if self.alarm <= now {
            self.alarm = Time::NEVER;
            self.tell_initiator(now, InitiatorInput::Wake);
        }
        self.tell_initiator(now, InitiatorInput::Message(message));
        if let Message::Undelivered(told) = message {
            // A chunk from a sender that the initiator may have given up.
            let intact = told.position > 4;
            let request = told.request;
            self.tell_initiator(now, InitiatorInput::Delivered { request, intact });
        }
    }

    fn tell_target(&mut self, now: Time, input: TargetInput<'_>) {
        self.target.handle(now, input, &Shelf, &mut self.target_effects);
        // What is done leads to more that is to be done: a write to an acknowledgement.
        while let Some(effect) = self.target_effects.pop() {
            let input = match effect {
                TargetEffect::Send { message, .. } => {
                    can_be_sent(&message);
                    continue;
                }
                TargetEffect::Write { request, .. } => {
                    TargetInput::Written { request, stable: request.serial != 1 }
                }
                TargetEffect::Read { request, .. } => {
                    TargetInput::Read { request, intact: request.serial != 1 }
                }
                TargetEffect::Transfer { request, .. } => TargetInput::Sent { request },
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
                InitiatorEffect::Multicast { message, .. } => can_be_sent(&message),
                InitiatorEffect::Transfer { start, .. } => assert!(start >= now, "in the past"),
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
