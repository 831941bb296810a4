//! Instructions that the protocol's machines need.
//!
//! ```text
//! cargo install gungraun-runner --version 0.20.0
//! cargo bench -p slotcast-protocol --bench instructions
//! ```
#![allow(missing_docs, reason = "the macros make public items")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the macros read files")]

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use slotcast_protocol::{
    Backpressure, Bid, BidAnswer, CalendarRules, ChunkId, Claim, Delivery, DiskForecast, Grant,
    GroupId, Holdings, IdleExtension, InitiatorId, Members, Message, OfferRule, PutAccept,
    PutRequest, RequestId, Target, TargetConfig, TargetEffect, TargetInput, Timing, WindowRule,
    wire,
};
use slotcast_units::{Rate, Size, Span, Time};

const REQUESTS: u32 = 1_000;

struct Nothing;

impl Holdings for Nothing {
    fn size_of(&self, _chunk: &ChunkId) -> Option<Size> {
        None
    }
}

fn target(offer: OfferRule) -> Target {
    Target::new(TargetConfig {
        group: GroupId(0),
        position: 4,
        timing: Timing::published(),
        window_rule: WindowRule::published(Delivery::Multicast),
        idle_extension: IdleExtension::TwoTransfers,
        calendar: CalendarRules {
            offer,
            gap: Span::ZERO,
            grace: Span::from_ms(1),
            expected: Span::from_us(1),
            hold: Span::from_ms(1),
            horizon: Span::from_secs(10),
            capacity: 1024,
        },
        disk: DiskForecast::new(
            Rate::from_bytes_per_s(400 << 20),
            Size::from_kib(256),
            Backpressure::KeepRoom,
        ),
    })
}

// Put requests in groups of nine, of which each target wins three: bid, then accepted and received,
// or cancelled.
#[library_benchmark]
#[bench::first_fit(target(OfferRule::FirstFit))]
#[bench::queue(target(OfferRule::Queue))]
fn bids(mut target: Target) -> Target {
    let mut effects = Vec::new();
    let mut now = Time::ZERO;
    for serial in 0..REQUESTS {
        let request = RequestId { initiator: InitiatorId(serial % 90), serial };
        let chunk = ChunkId([u8::try_from(serial % 256).expect("below 256"); 32]);
        let (group, size) = (GroupId(0), Size::from_kib(128));
        let ask = PutRequest {
            request,
            round: 0,
            group,
            skip: Members::NONE,
            chunk,
            size,
            not_before: Time::ZERO,
            replicas: 3,
            claim: Claim::Bare,
        };
        effects.clear();
        let message = Message::PutRequest(ask);
        let input = TargetInput::Message(black_box(&message));
        target.handle(now, input, &Nothing, &mut effects);
        let window = match effects[..] {
            [
                TargetEffect::Send {
                    message: Message::Bid(Bid { answer: BidAnswer::Window { window, .. }, .. }),
                    ..
                },
            ] => window,
            _ => unreachable!("a target with room bids"),
        };
        let won = serial % 3 == 0;
        let grants = won.then_some(Grant { position: 4, window }).into_iter().collect();
        let accept = PutAccept { request, round: 0, delivery: Delivery::Multicast, grants };
        let message = Message::PutAccept(accept);
        let input = TargetInput::Message(black_box(&message));
        target.handle(now, input, &Nothing, &mut effects);
        if won {
            let received = TargetInput::Received { request, chunk, size, intact: true };
            target.handle(window.end, received, &Nothing, &mut effects);
            now = window.end;
        }
        now += Span::from_us(50);
    }
    target
}

fn accept() -> Message {
    let window = slotcast_protocol::Window::new(Time::from_ns(1_000_000), Span::from_us(126));
    Message::PutAccept(PutAccept {
        request: RequestId { initiator: InitiatorId(7), serial: 9 },
        round: 0,
        delivery: Delivery::Multicast,
        grants: (0..3).map(|position| Grant { position, window }).collect(),
    })
}

// One put-accept to the wire and back.
#[library_benchmark]
#[bench::put_accept(accept())]
fn round_trip(message: Message) -> Message {
    let header = wire::Header { epoch: 1, sender: 2, sent_at: Time::from_ns(3) };
    let mut datagram = Vec::with_capacity(wire::MAX_ENCODED_LEN);
    wire::encode(&header, black_box(&message), &mut datagram);
    wire::decode(&datagram).expect("what was encoded").1
}

library_benchmark_group!(name = protocol, benchmarks = [bids, round_trip]);

main!(library_benchmark_groups = protocol);
