//! A window that was bid to two initiators.

use super::*;

/// The rival of the first request.
fn rival() -> RequestId {
    RequestId { initiator: InitiatorId(8), serial: 5 }
}

fn as_rival(message: Message) -> Message {
    match message {
        Message::PutRequest(m) => Message::PutRequest(PutRequest { request: rival(), ..m }),
        Message::PutAccept(m) => Message::PutAccept(PutAccept { request: rival(), ..m }),
        other => other,
    }
}

/// A target that has bid one window to two initiators.
fn booked_twice() -> (Target, Window) {
    let mut target = target();
    target.config.calendar.offer = OfferRule::DoubleBooking;
    target.incoming = Calendar::new(target.config.calendar, target.config.timing);
    let Message::PutRequest(ask) = put_request() else { unreachable!() };
    let ask = Message::PutRequest(PutRequest { not_before: Time::from_ns(50_000), ..ask });
    let BidAnswer::Window { window: first, .. } = bid_of(&say(&mut target, 0, &ask, &empty()))
    else {
        panic!("no window")
    };
    let effects = say(&mut target, 3000, &as_rival(ask), &empty());
    let [TargetEffect::Send { to: InitiatorId(8), message: Message::Bid(bid) }] = effects[..]
    else {
        panic!("not one bid: {effects:?}")
    };
    let BidAnswer::Window { window: second, .. } = bid.answer else { panic!("no window") };
    assert!(first.contains(&second));
    (target, second)
}

fn rejection(request: RequestId) -> TargetEffect {
    let message = Message::LateReject(LateReject { request, round: 0, position: 4 });
    TargetEffect::Send { to: request.initiator, message }
}

#[test]
fn who_accepts_second_is_rejected() {
    let (mut target, window) = booked_twice();
    assert_eq!(say(&mut target, 7000, &accept(window), &empty()), [rejection(rival())]);
    // The rejection and the acceptance cross, or the rejection is lost: it is sent once more.
    let late = as_rival(accept(window));
    assert_eq!(say(&mut target, 9000, &late, &empty()), [rejection(rival())]);
    assert_eq!(target.late_rejects(), 2);

    let (mut target, window) = booked_twice();
    let second_first = as_rival(accept(window));
    assert_eq!(say(&mut target, 7000, &second_first, &empty()), [rejection(request())]);
    assert_eq!(say(&mut target, 9000, &accept(window), &empty()), [rejection(request())]);
}

/// Both rejections are lost: the loser sends, and its chunk is refused. The winner's is not.
#[test]
fn the_losers_chunk_is_not_stored() {
    let (mut target, window) = booked_twice();
    say(&mut target, 7000, &accept(window), &empty());
    let mut effects = vec![];
    let received =
        |request| TargetInput::Received { request, chunk: CHUNK, size: SIZE, intact: true };
    target.handle(Time::from_ns(170_000), received(rival()), &empty(), &mut effects);
    let ack = ReplicaAck { request: rival(), position: 4, outcome: AckOutcome::NoReservation };
    let refused = TargetEffect::Send { to: InitiatorId(8), message: Message::ReplicaAck(ack) };
    assert_eq!(effects, [refused]);
    effects.clear();
    target.handle(Time::from_ns(170_000), received(request()), &empty(), &mut effects);
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
}

/// An acceptance that is repeated while the chunk is written is none of a loser.
#[test]
fn a_winner_that_repeats_itself_is_not_rejected() {
    let (mut target, window) = booked_twice();
    say(&mut target, 7000, &accept(window), &empty());
    assert_eq!(say(&mut target, 7100, &accept(window), &empty()), []);
    let mut effects = vec![];
    let received =
        TargetInput::Received { request: request(), chunk: CHUNK, size: SIZE, intact: true };
    target.handle(Time::from_ns(170_000), received, &empty(), &mut effects);
    assert_eq!(say(&mut target, 170_100, &accept(window), &empty()), []);
}
