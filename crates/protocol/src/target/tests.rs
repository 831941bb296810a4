mod double_booking;
mod links;
mod raising;

use super::*;
use crate::group::Members;
use crate::message::{
    AckOutcome, BidAnswer, FindAnswer, FindReply, FindRequest, GetAccept, GetRequest, Grant,
    Grants, LateReject, OfferAnswer, PutAccept, PutRequest, ReplicaAck,
};
use crate::timing::Delivery;
use alloc::collections::BTreeMap;
use alloc::vec;
use slotcast_units::{Rate, Share, Span};

const SIZE: Size = Size::from_kib(128);
const CHUNK: ChunkId = ChunkId([5; 32]);

struct Shelf(BTreeMap<ChunkId, Size>);

impl Holdings for Shelf {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        self.0.get(chunk).copied()
    }
}

fn empty() -> Shelf {
    Shelf(BTreeMap::new())
}

fn target() -> Target {
    let timing = Timing::published();
    Target::new(TargetConfig {
        group: GroupId(2),
        position: 4,
        timing,
        window_rule: WindowRule {
            multiplier: Share::from_percent(140),
            delivery: Delivery::Multicast,
        },
        idle_extension: IdleExtension::TwoTransfers,
        calendar: CalendarRules {
            offer: OfferRule::Queue,
            gap: Span::ZERO,
            grace: Span::from_ms(1),
            expected: Span::from_us(1),
            hold: Span::from_ms(50),
            horizon: Span::from_secs(10),
            capacity: 64,
        },
        disk: DiskForecast::new(
            Rate::from_bytes_per_s(400 << 20),
            Size::from_kib(256),
            Backpressure::KeepRoom,
        ),
    })
}

fn request() -> RequestId {
    RequestId { initiator: InitiatorId(7), serial: 1 }
}

fn put_request() -> Message {
    Message::PutRequest(PutRequest {
        request: request(),
        round: 0,
        group: GroupId(2),
        skip: Members::NONE,
        chunk: CHUNK,
        size: SIZE,
        not_before: Time::ZERO,
        replicas: 3,
        claim: Claim::Bare,
    })
}

fn say(target: &mut Target, now: u64, message: &Message, shelf: &Shelf) -> Vec<TargetEffect> {
    let mut effects = vec![];
    target.handle(Time::from_ns(now), TargetInput::Message(message), shelf, &mut effects);
    effects
}

fn bid_of(effects: &[TargetEffect]) -> BidAnswer {
    match effects {
        [TargetEffect::Send { to: InitiatorId(7), message: Message::Bid(bid) }] => bid.answer,
        other => panic!("not one bid: {other:?}"),
    }
}

fn accept(window: Window) -> Message {
    let grants = [Grant { position: 4, window }].into_iter().collect();
    Message::PutAccept(PutAccept {
        request: request(),
        round: 0,
        delivery: Delivery::Multicast,
        grants,
    })
}

#[test]
fn a_put_goes_from_bid_to_acknowledgement() {
    let mut target = target();
    let BidAnswer::Window { window, .. } = bid_of(&say(&mut target, 0, &put_request(), &empty()))
    else {
        panic!("no window")
    };
    assert_eq!(say(&mut target, 10, &accept(window), &empty()), []);
    let mut effects = vec![];
    let received =
        TargetInput::Received { request: request(), chunk: CHUNK, size: SIZE, intact: true };
    target.handle(Time::from_ns(200_000), received, &empty(), &mut effects);
    assert_eq!(
        effects,
        [TargetEffect::Write {
            request: request(),
            chunk: CHUNK,
            size: SIZE,
            disk: 0,
            wanted: Some(Wanted::bare(3))
        }]
    );
    effects.clear();
    let written = TargetInput::Written { request: request(), stable: true };
    target.handle(Time::from_ns(600_000), written, &empty(), &mut effects);
    let ack = ReplicaAck { request: request(), position: 4, outcome: AckOutcome::Stored };
    assert_eq!(
        effects,
        [TargetEffect::Send { to: InitiatorId(7), message: Message::ReplicaAck(ack) }]
    );
    assert!(target.incoming().reservations().is_empty());
}

#[test]
fn a_stored_chunk_is_not_asked_for_again() {
    let shelf = Shelf([(CHUNK, SIZE)].into());
    let mut target = target();
    assert_eq!(bid_of(&say(&mut target, 0, &put_request(), &shelf)), BidAnswer::AlreadyStored);
    assert!(target.incoming().reservations().is_empty());
}

#[test]
fn failures_are_told() {
    let mut target = target();
    let mut effects = vec![];
    let received =
        |intact| TargetInput::Received { request: request(), chunk: CHUNK, size: SIZE, intact };
    let outcome = |effects: &[TargetEffect]| match effects {
        [TargetEffect::Send { message: Message::ReplicaAck(ack), .. }] => ack.outcome,
        other => panic!("not one acknowledgement: {other:?}"),
    };
    target.handle(Time::ZERO, received(true), &empty(), &mut effects);
    assert_eq!(outcome(&effects), AckOutcome::NoReservation);

    let BidAnswer::Window { window, .. } = bid_of(&say(&mut target, 0, &put_request(), &empty()))
    else {
        panic!("no window")
    };
    say(&mut target, 10, &accept(window), &empty());
    effects.clear();
    target.handle(Time::from_ns(9), received(false), &empty(), &mut effects);
    assert_eq!(outcome(&effects), AckOutcome::Damaged);

    effects.clear();
    let written = TargetInput::Written { request: request(), stable: false };
    target.handle(Time::from_ns(10), written, &empty(), &mut effects);
    assert_eq!(outcome(&effects), AckOutcome::DiskFailed);

    let late = Window::new(Time::from_ns(1_000_000_000), Span::from_us(1));
    assert_eq!(outcome(&say(&mut target, 20, &accept(late), &empty())), AckOutcome::NoReservation);
}

#[test]
fn an_empty_acceptance_cancels() {
    let mut target = target();
    say(&mut target, 0, &put_request(), &empty());
    let none = Message::PutAccept(PutAccept {
        request: request(),
        round: 0,
        delivery: Delivery::Multicast,
        grants: Grants::NONE,
    });
    say(&mut target, 1, &none, &empty());
    assert!(
        target
            .incoming()
            .reservations()
            .iter()
            .all(|r| r.state == crate::calendar::State::Cancelled)
    );
}

#[test]
fn strangers_messages_are_counted_and_dropped() {
    let mut target = target();
    let Message::PutRequest(ask) = put_request() else { unreachable!() };
    let astray = Message::PutRequest(PutRequest { group: GroupId(3), ..ask });
    assert_eq!(say(&mut target, 0, &astray, &empty()), []);
    let empty_chunk = Message::PutRequest(PutRequest { size: Size::ZERO, ..ask });
    assert_eq!(say(&mut target, 0, &empty_chunk, &empty()), []);
    let ack = ReplicaAck { request: request(), position: 0, outcome: AckOutcome::Stored };
    assert_eq!(say(&mut target, 0, &Message::ReplicaAck(ack), &empty()), []);
    assert_eq!(target.rejected(), 3);
}

#[test]
fn a_skipped_member_stays_silent() {
    let mut target = target();
    let Message::PutRequest(ask) = put_request() else { unreachable!() };
    let skipped = Message::PutRequest(PutRequest { skip: Members::from_bits(1 << 4), ..ask });
    assert_eq!(say(&mut target, 0, &skipped, &empty()), []);
}

fn get_request() -> Message {
    Message::GetRequest(GetRequest {
        request: request(),
        round: 0,
        group: GroupId(2),
        skip: Members::NONE,
        chunk: CHUNK,
        not_before: Time::ZERO,
    })
}

fn offer_of(effects: &[TargetEffect]) -> OfferAnswer {
    match effects {
        [TargetEffect::Send { message: Message::Offer(offer), .. }] => offer.answer,
        other => panic!("not one offer: {other:?}"),
    }
}

#[test]
fn a_get_is_read_and_sent_in_its_window() {
    let shelf = Shelf([(CHUNK, SIZE)].into());
    let mut target = target();
    let OfferAnswer::Window { window, size } =
        offer_of(&say(&mut target, 0, &get_request(), &shelf))
    else {
        panic!("no window")
    };
    assert_eq!(size, SIZE);
    assert_eq!(window.start, Time::from_ns(6848 + 312_500), "not before the disk has read it");
    let accept = Message::GetAccept(GetAccept {
        request: request(),
        round: 0,
        grant: Some(Grant { position: 4, window }),
    });
    assert_eq!(
        say(&mut target, 7000, &accept, &shelf),
        [TargetEffect::Read { request: request(), chunk: CHUNK, size: SIZE, disk: 0 }]
    );
    let mut effects = vec![];
    let read = TargetInput::Read { request: request(), intact: true };
    target.handle(Time::from_ns(319_500), read, &shelf, &mut effects);
    assert_eq!(
        effects,
        [TargetEffect::Transfer {
            request: request(),
            chunk: CHUNK,
            size: SIZE,
            start: Time::from_ns(319_500).max(window.start),
        }]
    );
    target.handle(
        Time::from_ns(500_000),
        TargetInput::Sent { request: request() },
        &shelf,
        &mut effects,
    );
    assert!(target.outgoing().reservations().is_empty());
}

#[test]
fn what_is_not_held_or_not_chosen_reserves_nothing() {
    let mut target = target();
    assert_eq!(offer_of(&say(&mut target, 0, &get_request(), &empty())), OfferAnswer::NotHeld);
    let shelf = Shelf([(CHUNK, SIZE)].into());
    say(&mut target, 0, &get_request(), &shelf);
    let refused = Message::GetAccept(GetAccept { request: request(), round: 0, grant: None });
    assert_eq!(say(&mut target, 10, &refused, &shelf), []);
    assert!(target.outgoing().reservations().is_empty());
    assert!(target.deliveries.is_empty());
}

#[test]
fn a_damaged_read_is_told() {
    let shelf = Shelf([(CHUNK, SIZE)].into());
    let mut target = target();
    let OfferAnswer::Window { window, .. } = offer_of(&say(&mut target, 0, &get_request(), &shelf))
    else {
        panic!("no window")
    };
    let accept = Message::GetAccept(GetAccept {
        request: request(),
        round: 0,
        grant: Some(Grant { position: 4, window }),
    });
    say(&mut target, 7000, &accept, &shelf);
    let mut effects = vec![];
    let read = TargetInput::Read { request: request(), intact: false };
    target.handle(Time::from_ns(319_500), read, &shelf, &mut effects);
    assert!(matches!(effects[..], [TargetEffect::Send { message: Message::Undelivered(_), .. }]));
    assert!(target.outgoing().reservations().is_empty());
}

fn get_in_round(round: u8) -> Message {
    let Message::GetRequest(ask) = get_request() else { unreachable!() };
    Message::GetRequest(GetRequest { round, ..ask })
}

fn accept_get(round: u8, window: Window) -> Message {
    Message::GetAccept(GetAccept {
        request: request(),
        round,
        grant: Some(Grant { position: 4, window }),
    })
}

#[test]
fn repeated_messages_of_a_get_do_nothing_twice() {
    let shelf = Shelf([(CHUNK, SIZE)].into());
    let mut target = target();
    let first = offer_of(&say(&mut target, 0, &get_request(), &shelf));
    let OfferAnswer::Window { window, .. } = first else { panic!("no window") };
    assert_eq!(say(&mut target, 7000, &accept_get(0, window), &shelf).len(), 1, "the read");
    assert_eq!(offer_of(&say(&mut target, 7100, &get_request(), &shelf)), first);
    assert_eq!(say(&mut target, 7200, &accept_get(0, window), &shelf), []);
    let mut effects = vec![];
    let read = TargetInput::Read { request: request(), intact: true };
    target.handle(Time::from_ns(319_500), read, &shelf, &mut effects);
    assert!(matches!(effects[..], [TargetEffect::Transfer { .. }]));
    let late = say(&mut target, 319_600, &accept_get(0, window), &shelf);
    assert!(matches!(late[..], [TargetEffect::Send { message: Message::Undelivered(_), .. }]));
}

#[test]
fn a_later_round_of_a_get_replaces_an_accepted_one() {
    let shelf = Shelf([(CHUNK, SIZE)].into());
    let mut target = target();
    let window_of = |effects: &[TargetEffect]| match offer_of(effects) {
        OfferAnswer::Window { window, .. } => window,
        other => panic!("no window: {other:?}"),
    };
    let first = window_of(&say(&mut target, 0, &get_in_round(0), &shelf));
    say(&mut target, 7000, &accept_get(0, first), &shelf);
    let second = window_of(&say(&mut target, 8000, &get_in_round(1), &shelf));
    let read = say(&mut target, 15_000, &accept_get(1, second), &shelf);
    assert!(matches!(read[..], [TargetEffect::Read { .. }]), "{read:?}");
    assert_eq!(target.outgoing().reservations().len(), 1);
}

#[test]
fn half_of_the_idle_bids_are_stretched_by_coin() {
    let stretched = |n: u8| {
        let mut target = target();
        target.config.idle_extension = IdleExtension::TwoTransfersByCoin;
        let Message::PutRequest(ask) = put_request() else { unreachable!() };
        let message = Message::PutRequest(PutRequest { chunk: ChunkId([n; 32]), ..ask });
        let BidAnswer::Window { window, .. } = bid_of(&say(&mut target, 0, &message, &empty()))
        else {
            panic!("no window")
        };
        window.width() > Span::from_ns(166_159)
    };
    let heads = (0..=255).filter(|&n| stretched(n)).count();
    assert!((90..=166).contains(&heads), "{heads} of 256");
}

#[test]
fn a_restart_forgets_what_was_promised_but_not_what_is_stored() {
    let mut target = target();
    let BidAnswer::Window { window, .. } = bid_of(&say(&mut target, 0, &put_request(), &empty()))
    else {
        panic!("no window")
    };
    say(&mut target, 10, &accept(window), &empty());
    target.restart(Time::from_ns(20));
    assert!(target.incoming().reservations().is_empty());
    let shelf = Shelf([(CHUNK, SIZE)].into());
    assert_eq!(bid_of(&say(&mut target, 30, &put_request(), &shelf)), BidAnswer::AlreadyStored);
}

/// A shelf with the chunk, for two replicas.
struct ForTwo;

impl Holdings for ForTwo {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        (*chunk == CHUNK).then_some(SIZE)
    }

    fn replicas_of(&self, _: &ChunkId) -> u8 {
        2
    }
}

#[test]
fn a_late_read_is_sent_in_the_next_window_if_the_target_does_so() {
    let shelf = Shelf([(CHUNK, SIZE)].into());
    for sends in [false, true] {
        let target = target();
        let mut target = if sends { target.sending_late_reads() } else { target };
        let OfferAnswer::Window { window, .. } =
            offer_of(&say(&mut target, 0, &get_request(), &shelf))
        else {
            panic!("no window")
        };
        say(&mut target, 1, &accept_get(0, window), &shelf);
        let late = window.end + Span::from_ms(3);
        let mut effects = vec![];
        let read = TargetInput::Read { request: request(), intact: true };
        target.handle(late, read, &shelf, &mut effects);
        match (sends, &effects[..]) {
            (true, [TargetEffect::Transfer { start, .. }]) => {
                assert!(*start >= late);
                assert_eq!(target.outgoing().reservations().len(), 1, "the link is reserved");
            }
            (false, [TargetEffect::Send { message: Message::Undelivered(_), .. }]) => {}
            other => panic!("{other:?}"),
        }
    }
}

fn put_of(serial: u32, not_before: Time) -> Message {
    let Message::PutRequest(first) = put_request() else { unreachable!() };
    let request = RequestId { serial, ..request() };
    Message::PutRequest(PutRequest { request, not_before, ..first })
}

fn window_of(effects: &[TargetEffect]) -> Window {
    match bid_of(effects) {
        BidAnswer::Window { window, .. } => window,
        other => panic!("not a window: {other:?}"),
    }
}

#[test]
fn a_disk_that_is_measured_slower_bids_later() {
    let mut target = target();
    let mut effects = vec![];
    for serial in 10..14 {
        let message = put_of(serial, Time::ZERO);
        let window = window_of(&say(&mut target, 0, &message, &empty()));
        let accept = Message::PutAccept(PutAccept {
            request: message.request(),
            round: 0,
            delivery: Delivery::Multicast,
            grants: [Grant { position: 4, window }].into_iter().collect(),
        });
        say(&mut target, 0, &accept, &empty());
        let request = message.request();
        let received = TargetInput::Received { request, chunk: CHUNK, size: SIZE, intact: true };
        target.handle(Time::ZERO, received, &empty(), &mut effects);
    }
    let mut slow = target.clone();
    let rate = Rate::from_bytes_per_s(40 << 20);
    let measured = TargetInput::DiskRate { rate, queue_limit: Size::from_kib(256) };
    slow.handle(Time::ZERO, measured, &empty(), &mut effects);
    let ask = put_of(99, Time::ZERO);
    let bids = [&mut target, &mut slow].map(|t| window_of(&say(t, 0, &ask, &empty())).start);
    // Four chunks wait, one of which may: three take 312.5 us each, or ten times as long.
    assert_eq!(bids, [Time::from_ns(937_500), Time::from_ns(9_375_000)]);
}

/// What is accepted counts before it has come, what is only bid does not, and what is written no more.
#[test]
fn a_bid_tells_the_backlog_of_the_disk() {
    for (disks, backlogs) in [(1, [0, 1, 2, 1]), (2, [0, 0, 1, 0])] {
        let mut config = target().config;
        config.disk = config.disk.with_disks(disks);
        let mut target = Target::new(config);
        let mut effects = vec![];
        let backlog = |target: &mut Target, now: u64, serial: u32| match bid_of(&say(
            target,
            now,
            &put_of(serial, Time::ZERO),
            &empty(),
        )) {
            BidAnswer::Window { window, backlog } => (window, backlog),
            other => panic!("not a window: {other:?}"),
        };
        let accept = |serial: u32, window: Window| {
            Message::PutAccept(PutAccept {
                request: RequestId { serial, ..request() },
                round: 0,
                delivery: Delivery::Multicast,
                grants: [Grant { position: 4, window }].into_iter().collect(),
            })
        };
        let (first, idle) = backlog(&mut target, 0, 10);
        let (second, also_idle) = backlog(&mut target, 0, 11);
        assert_eq!(idle, also_idle, "a bid that nobody has accepted is no work");
        say(&mut target, 0, &accept(10, first), &empty());
        let (_, one_promised) = backlog(&mut target, 0, 12);
        let request = RequestId { serial: 10, ..request() };
        let received = TargetInput::Received { request, chunk: CHUNK, size: SIZE, intact: true };
        target.handle(Time::ZERO, received, &empty(), &mut effects);
        say(&mut target, 0, &accept(11, second), &empty());
        let (_, one_written_one_promised) = backlog(&mut target, 0, 13);
        let written = TargetInput::Written { request, stable: true };
        target.handle(Time::from_ns(200_000), written, &empty(), &mut effects);
        let (_, one_left) = backlog(&mut target, 200_000, 14);
        let service = Span::from_ns(312_500);
        let told = [idle, one_promised, one_written_one_promised, one_left];
        // Two disks share what is promised.
        let half = |n: u64| service * n / u64::from(disks);
        let expected = match disks {
            1 => backlogs.map(|n| service * n),
            _ => [Span::ZERO, half(1), service, half(1)],
        };
        assert_eq!(told, expected, "{disks} disks");
    }
}

#[test]
fn a_find_is_answered_and_reserves_nothing() {
    let mut target = target();
    let ask = |group| {
        Message::FindRequest(FindRequest {
            request: request(),
            group: GroupId(group),
            chunk: CHUNK,
        })
    };
    let told = |answer| TargetEffect::Send {
        to: InitiatorId(7),
        message: Message::FindReply(FindReply { request: request(), position: 4, answer }),
    };
    assert_eq!(say(&mut target, 0, &ask(2), &empty()), [told(FindAnswer::NotHeld)]);
    let holding = Shelf([(CHUNK, SIZE)].into());
    let held = told(FindAnswer::Held { size: SIZE, replicas: 8 });
    assert_eq!(say(&mut target, 5, &ask(2), &holding), [held]);
    assert_eq!(say(&mut target, 5, &ask(2), &holding), [held], "as often as it is asked");
    assert_eq!(say(&mut target, 5, &ask(3), &holding), [], "another group's");
    assert_eq!(target.rejected(), 1);
    assert!(target.incoming().reservations().is_empty());
    assert!(target.outgoing().reservations().is_empty());
}
