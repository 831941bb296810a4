//! Invariant: a target that was left alone offers what a new one offers.
//!
//! Whatever was asked, accepted, lost, received and written before: when all promised windows are over and the
//! disk has done what it was given, windows begin as soon as those of a new target with the same holdings and
//! measured rates; and when promises have expired, too, every answer is the same.

use alloc::collections::BTreeMap;
use alloc::vec;

use proptest::prelude::*;
use slotcast_units::Span;

use super::*;
use crate::message::{
    BidAnswer, GetAccept, GetRequest, Grant, Grants, OfferAnswer, PutAccept, PutRequest,
};
use crate::timing::Delivery;

const HELD: ChunkId = ChunkId([1; 32]);
const NEW: ChunkId = ChunkId([2; 32]);
const SIZE: Size = Size::from_kib(16);
const GRACE: Span = Span::from_secs(5);
/// By then no acceptance is remembered.
const QUIET: Span = Span::from_secs(1);

struct Shelf;

impl Holdings for Shelf {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        (*chunk == HELD).then_some(SIZE)
    }

    fn replicas_of(&self, _chunk: &ChunkId) -> u8 {
        2
    }
}

fn config(offer: OfferRule, backpressure: Backpressure, disks: u16) -> TargetConfig {
    let timing = Timing::published();
    TargetConfig {
        group: GroupId(0),
        position: 0,
        timing,
        window_rule: WindowRule::published(Delivery::Multicast),
        idle_extension: IdleExtension::TwoTransfers,
        calendar: CalendarRules {
            offer,
            gap: Span::ZERO,
            grace: GRACE,
            expected: timing.trip,
            hold: Span::from_ms(20),
            horizon: Span::from_secs(10),
            capacity: 256,
        },
        disk: DiskForecast::new(Rate::from_bytes_per_s(4 << 20), Size::from_kib(64), backpressure)
            .with_disks(disks),
    }
}

/// One thing that happens to a target, `pause` after the one before, to one of a few requests.
#[derive(Debug, Clone, Copy)]
struct Step {
    pause: Span,
    serial: u32,
    round: u8,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    AskPut(ChunkId),
    AcceptPut(bool),
    Receive { intact: bool },
    Write { stable: bool },
    AskGet,
    AcceptGet(bool),
    Read { intact: bool },
    Send,
    DiskRate(u64),
    ReadRate(u64),
    LinkRate(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let what = prop_oneof![
        4 => prop::sample::select(&[HELD, NEW][..]).prop_map(What::AskPut),
        4 => any::<bool>().prop_map(What::AcceptPut),
        2 => any::<bool>().prop_map(|intact| What::Receive { intact }),
        2 => any::<bool>().prop_map(|stable| What::Write { stable }),
        4 => Just(What::AskGet),
        4 => any::<bool>().prop_map(What::AcceptGet),
        2 => any::<bool>().prop_map(|intact| What::Read { intact }),
        1 => Just(What::Send),
        1 => (1u64..100).prop_map(What::DiskRate),
        1 => (1u64..100).prop_map(What::ReadRate),
        1 => (1u64..2000).prop_map(What::LinkRate),
    ];
    (0u64..5_000_000, 0u32..8, 0u8..3, what).prop_map(|(pause, serial, round, what)| Step {
        pause: Span::from_ns(pause),
        serial,
        round,
        what,
    })
}

fn of(serial: u32) -> RequestId {
    RequestId { initiator: InitiatorId(1), serial }
}

/// A target, and what its host has in hand for it.
struct Host {
    target: Target,
    now: Time,
    bids: BTreeMap<(u32, u8), Window>,
    offers: BTreeMap<(u32, u8), Window>,
    writing: Vec<RequestId>,
    reading: Vec<RequestId>,
    sending: Vec<RequestId>,
}

impl Host {
    fn new(target: Target) -> Host {
        let (bids, offers) = (BTreeMap::new(), BTreeMap::new());
        let (writing, reading, sending) = (Vec::new(), Vec::new(), Vec::new());
        Host { target, now: Time::ZERO, bids, offers, writing, reading, sending }
    }

    fn tell(&mut self, input: TargetInput<'_>) {
        let mut effects = Vec::new();
        self.target.handle(self.now, input, &Shelf, &mut effects);
        for effect in effects {
            match effect {
                TargetEffect::Send { message: Message::Bid(bid), .. } => {
                    if let BidAnswer::Window { window, .. } = bid.answer {
                        self.bids.insert((bid.request.serial, bid.round), window);
                    }
                }
                TargetEffect::Send { message: Message::Offer(offer), .. } => {
                    if let OfferAnswer::Window { window, .. } = offer.answer {
                        self.offers.insert((offer.request.serial, offer.round), window);
                    }
                }
                TargetEffect::Write { request, .. } | TargetEffect::Raise { request, .. } => {
                    self.writing.push(request);
                }
                TargetEffect::Read { request, .. } => self.reading.push(request),
                TargetEffect::Transfer { request, .. } => self.sending.push(request),
                _ => {}
            }
        }
    }

    fn say(&mut self, message: &Message) {
        self.tell(TargetInput::Message(message));
    }

    fn step(&mut self, Step { pause, serial, round, what }: Step) {
        self.now += pause;
        let request = of(serial);
        match what {
            What::AskPut(chunk) => self.say(&ask_put(serial, round, chunk)),
            What::AcceptPut(takes) => {
                let window = self.bids.get(&(serial, round)).filter(|_| takes);
                self.say(&accept_put(serial, round, window.copied()));
            }
            What::Receive { intact } => {
                self.tell(TargetInput::Received { request, chunk: NEW, size: SIZE, intact });
            }
            What::Write { stable } => {
                if let Some(request) = self.writing.pop() {
                    self.tell(TargetInput::Written { request, stable });
                }
            }
            What::AskGet => self.say(&ask_get(serial, round)),
            What::AcceptGet(takes) => {
                let window = self.offers.get(&(serial, round)).filter(|_| takes);
                let grant = window.map(|window| Grant { position: 0, window: *window });
                self.say(&Message::GetAccept(GetAccept { request, round, grant }));
            }
            What::Read { intact } => {
                if let Some(request) = self.reading.pop() {
                    self.tell(TargetInput::Read { request, intact });
                }
            }
            What::Send => {
                if let Some(request) = self.sending.pop() {
                    self.tell(TargetInput::Sent { request });
                }
            }
            What::DiskRate(_) | What::ReadRate(_) | What::LinkRate(_) => self.measured(what),
        }
    }

    fn measured(&mut self, what: What) {
        let mb = |rate: u64| Rate::from_bytes_per_s(rate << 20);
        match what {
            What::DiskRate(rate) => {
                let queue_limit = Size::from_kib(64);
                self.tell(TargetInput::DiskRate { rate: mb(rate), queue_limit });
            }
            What::ReadRate(rate) => self.tell(TargetInput::ReadRate(mb(rate))),
            What::LinkRate(rate) => self.tell(TargetInput::LinkRate(mb(rate))),
            _ => {}
        }
    }

    /// The disk does what it was given, and what was read leaves.
    fn finish(&mut self) {
        while let Some(request) = self.writing.pop() {
            self.tell(TargetInput::Written { request, stable: true });
        }
        while let Some(request) = self.reading.pop() {
            self.tell(TargetInput::Read { request, intact: true });
        }
        while let Some(request) = self.sending.pop() {
            self.tell(TargetInput::Sent { request });
        }
    }

    /// When the last promised window is over.
    fn promised_until(&self) -> Time {
        let calendars = [self.target.incoming(), self.target.outgoing()];
        let ends = calendars.into_iter().flat_map(Calendar::reservations).map(|r| r.window.end);
        ends.fold(self.now, Time::max)
    }
}

fn ask_put(serial: u32, round: u8, chunk: ChunkId) -> Message {
    Message::PutRequest(PutRequest {
        request: of(serial),
        round,
        group: GroupId(0),
        skip: crate::group::Members::NONE,
        chunk,
        size: SIZE,
        not_before: Time::ZERO,
        replicas: 3,
        claim: Claim::Bare,
    })
}

fn accept_put(serial: u32, round: u8, window: Option<Window>) -> Message {
    let grants: Grants = window.map(|window| Grant { position: 0, window }).into_iter().collect();
    let delivery = Delivery::Multicast;
    Message::PutAccept(PutAccept { request: of(serial), round, delivery, grants })
}

fn ask_get(serial: u32, round: u8) -> Message {
    Message::GetRequest(GetRequest {
        request: of(serial),
        round,
        group: GroupId(0),
        skip: crate::group::Members::NONE,
        chunk: HELD,
        not_before: Time::ZERO,
    })
}

/// What `target` answers at `now` to a put and a get, each asked for itself.
fn answers(target: &Target, now: Time) -> (BidAnswer, OfferAnswer) {
    let ask = |message: &Message| {
        let (mut target, mut effects) = (target.clone(), Vec::new());
        target.handle(now, TargetInput::Message(message), &Shelf, &mut effects);
        effects
    };
    match (&ask(&ask_put(100, 0, NEW))[..], &ask(&ask_get(101, 0))[..]) {
        (
            [TargetEffect::Send { message: Message::Bid(bid), .. }],
            [TargetEffect::Send { message: Message::Offer(offer), .. }],
        ) => (bid.answer, offer.answer),
        other => panic!("not one answer each: {other:?}"),
    }
}

/// When the windows of the answers begin, and the backlog that the bid tells.
fn begins(answers: (BidAnswer, OfferAnswer)) -> (Time, Span, Time) {
    match answers {
        (BidAnswer::Window { window, backlog }, OfferAnswer::Window { window: offered, .. }) => {
            (window.start, backlog, offered.start)
        }
        other => panic!("no windows: {other:?}"),
    }
}

proptest! {
    #[test]
    fn a_target_that_was_left_alone_offers_what_a_new_one_offers(
        offer in prop::sample::select(
            &[OfferRule::Queue, OfferRule::FirstFit, OfferRule::DoubleBooking][..],
        ),
        backpressure in prop::sample::select(
            &[
                Backpressure::KeepRoom,
                Backpressure::ArriveIntoRoom,
                Backpressure::DrainFirst,
            ][..],
        ),
        disks in 1u16..4,
        sends_late in any::<bool>(),
        steps in prop::collection::vec(step(), 0..80),
    ) {
        let new = || {
            let target = Target::new(config(offer, backpressure, disks));
            Host::new(if sends_late { target.sending_late_reads() } else { target })
        };
        let (mut old, mut new) = (new(), new());
        for step in steps {
            old.step(step);
            new.measured(step.what);
        }
        old.finish();
        let quiet = old.promised_until() + QUIET;
        prop_assert_eq!(
            begins(answers(&old.target, quiet)),
            begins(answers(&new.target, quiet)),
            "when all windows are over"
        );
        let long = quiet + GRACE;
        prop_assert_eq!(answers(&old.target, long), answers(&new.target, long));
        // Nor does anything show when the next chunk is written, sooner than foretold.
        for host in [&mut old, &mut new] {
            host.now = long;
            host.say(&ask_put(102, 0, NEW));
            let window = host.bids.get(&(102, 0)).copied();
            host.say(&accept_put(102, 0, window));
            let (request, chunk) = (of(102), NEW);
            host.tell(TargetInput::Received { request, chunk, size: SIZE, intact: true });
            host.finish();
        }
        prop_assert_eq!(answers(&old.target, long), answers(&new.target, long));
    }
}

#[test]
fn a_chunk_that_does_not_come_keeps_no_read_waiting() {
    let config = config(OfferRule::FirstFit, Backpressure::KeepRoom, 1);
    let mut host = Host::new(Target::new(config.clone()));
    for serial in 0..10 {
        host.say(&ask_put(serial, 0, NEW));
        let window = host.bids.get(&(serial, 0)).copied();
        host.say(&accept_put(serial, 0, window));
    }
    let end = host.promised_until();
    let (_, _, promised) = begins(answers(&host.target, end));
    let over = end + config.timing.trip * 2;
    let (_, _, start) = begins(answers(&host.target, over));
    let (_, _, new) = begins(answers(&Target::new(config), over));
    assert_eq!(start, new);
    assert!(promised > start + Span::from_ms(3), "{promised}: behind the chunk that comes now");
}
