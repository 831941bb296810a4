use alloc::vec::Vec;

use proptest::prelude::*;
use slotcast_units::Size;

use super::*;
use crate::calendar::{CalendarRules, OfferRule};
use crate::ids::InitiatorId;
use crate::timing::{Delivery, Timing, WindowRule, WindowSize};

const CAPACITY: usize = 12;

fn calendar() -> Calendar {
    let rules = CalendarRules {
        offer: OfferRule::DoubleBooking,
        gap: Span::ZERO,
        grace: Span::from_ms(1),
        expected: Span::from_us(1),
        capacity: CAPACITY,
        hold: Span::from_ms(50),
        horizon: Span::from_secs(1),
    };
    Calendar::new(rules, Timing::published())
}

/// The request of an initiator of its own.
fn request(n: u32) -> RequestId {
    RequestId { initiator: InitiatorId(n), serial: 0 }
}

fn size() -> WindowSize {
    WindowRule::published(Delivery::Unicast).size_for(&Timing::published(), Size::from_kib(128))
}

/// For a window far enough ahead that its loser can be told.
fn ask(n: u32) -> Ask {
    Ask {
        request: request(n),
        round: 0,
        payload: Size::from_kib(128),
        wanted: None,
        not_before: at(100_000),
        size: size(),
        disk_delay: Span::ZERO,
        idle_extension: Span::ZERO,
    }
}

fn at(ns: u64) -> Time {
    Time::from_ns(ns)
}

/// The windows of two initiators that are bid the same one.
fn booked_twice() -> (Calendar, Window) {
    let mut calendar = calendar();
    let first = calendar.offer(Time::ZERO, &ask(1)).unwrap();
    let second = calendar.offer(at(2424), &ask(2)).unwrap();
    assert_eq!(first, second);
    assert_eq!(calendar.double_bookings(), 1);
    (calendar, first)
}

fn holders(calendar: &Calendar) -> Vec<(u32, State)> {
    let all = calendar.reservations().iter().chain(calendar.second_bookings());
    all.map(|r| (r.request.initiator.0, r.state)).collect()
}

#[test]
fn a_window_is_offered_twice_and_not_three_times() {
    let (mut calendar, window) = booked_twice();
    let third = calendar.offer(at(2424), &ask(3)).unwrap();
    assert_eq!(third.start, window.end + Span::from_us(1));
    // The third is a first of its own, and is booked twice in turn.
    assert_eq!(calendar.offer(at(4848), &ask(4)), Some(third));
}

#[test]
fn a_bid_as_young_as_a_control_message_is_not_shared() {
    let mut calendar = calendar();
    let first = calendar.offer(Time::ZERO, &ask(1)).unwrap();
    assert!(calendar.offer(at(2423), &ask(2)).unwrap().start > first.end);
}

#[test]
fn nothing_is_shared_while_the_disk_is_behind() {
    let mut calendar = calendar();
    let first = calendar.offer(Time::ZERO, &ask(1)).unwrap();
    let late = Ask { disk_delay: Span::from_ns(1), ..ask(2) };
    assert!(calendar.offer(at(2424), &late).unwrap().start > first.end);
}

/// Three messages and five trips after the first bid, the loser knows.
#[test]
fn there_must_be_time_to_reject() {
    let last = 3 * 3424 + 2000;
    for (not_before, shared) in [(last, true), (last - 1, false)] {
        let mut calendar = calendar();
        let near = |n| Ask { not_before: at(not_before), ..ask(n) };
        let first = calendar.offer(Time::ZERO, &near(1)).unwrap();
        assert_eq!(first.start, at(not_before));
        let second = calendar.offer(at(2424), &near(2)).unwrap();
        assert_eq!(second == first, shared, "{not_before}");
    }
}

#[test]
fn an_initiator_does_not_compete_with_itself() {
    let mut calendar = calendar();
    let first = calendar.offer(Time::ZERO, &ask(1)).unwrap();
    let other = RequestId { serial: 1, ..request(1) };
    let own = Ask { request: other, ..ask(1) };
    assert!(calendar.offer(at(2424), &own).unwrap().start > first.end);
}

#[test]
fn a_hole_that_comes_first_is_better() {
    let mut calendar = calendar();
    calendar.offer(Time::ZERO, &ask(1)).unwrap();
    let small =
        WindowRule::published(Delivery::Unicast).size_for(&Timing::published(), Size::from_kib(16));
    let early = Ask { not_before: Time::ZERO, size: small, ..ask(2) };
    assert_eq!(calendar.offer(at(3000), &early).unwrap().start, at(3000 + 5848));
    assert_eq!(calendar.double_bookings(), 0);
}

#[test]
fn the_first_to_accept_has_the_window() {
    for (winner, loser) in [(1, 2), (2, 1)] {
        let (mut calendar, window) = booked_twice();
        let rejected = calendar.accept(request(winner), 0, window).unwrap();
        assert_eq!(rejected.map(|r| r.request), Some(request(loser)));
        assert_eq!(holders(&calendar), [(winner, State::Accepted)]);
        assert_eq!(calendar.accept(request(loser), 0, window), Err(NoReservation));
        let repeated = calendar.accept(request(winner), 0, window);
        assert_eq!(repeated, Ok(None), "a repeated message rejects nobody");
    }
}

#[test]
fn the_other_keeps_the_window_when_one_cancels() {
    for (gone, stays) in [(1, 2), (2, 1)] {
        let (mut calendar, window) = booked_twice();
        calendar.cancel(request(gone), 0);
        assert_eq!(holders(&calendar), [(stays, State::Tentative)]);
        assert_eq!(calendar.accept(request(stays), 0, window), Ok(None));
    }
}

#[test]
fn a_later_round_gives_the_window_to_the_other() {
    for (again, stays) in [(1, 2), (2, 1)] {
        let (mut calendar, window) = booked_twice();
        // Repeated and overtaken messages change nothing.
        assert_eq!(calendar.offer(at(3000), &ask(again)), Some(window));
        let later = Ask { round: 1, ..ask(again) };
        let new = calendar.offer(at(3000), &later).unwrap();
        // The bid of 2 is too young to be shared, that of 1 is not.
        assert_eq!(new == window, again == 2);
        assert_eq!(calendar.offer(at(3000), &ask(again)), None);
        let rejected = calendar.accept(request(stays), 0, window).unwrap();
        assert_eq!(rejected.map(|r| r.request), (again == 2).then_some(request(2)));
    }
}

#[test]
fn what_was_not_bid_twice_cannot_be_accepted() {
    let (mut calendar, window) = booked_twice();
    let beyond = Window { end: window.end + Span::from_ns(1), ..window };
    let nothing = Window { end: window.start, ..window };
    assert_eq!(calendar.accept(request(2), 0, beyond), Err(NoReservation));
    assert_eq!(calendar.accept(request(2), 0, nothing), Err(NoReservation));
    assert_eq!(calendar.accept(request(2), 1, window), Err(NoReservation));
    assert_eq!(holders(&calendar), [(1, State::Tentative), (2, State::Tentative)]);
}

#[test]
fn what_expires_makes_room_for_its_second() {
    let mut calendar = calendar();
    let far = |n| Ask { not_before: at(60_000_000), ..ask(n) };
    let window = calendar.offer(Time::ZERO, &far(1)).unwrap();
    assert_eq!(calendar.offer(at(30_000_000), &far(2)), Some(window));
    // The first bid is no longer kept open, the second is.
    calendar.offer(at(50_000_000), &ask(3)).unwrap();
    assert_eq!(calendar.accept(request(1), 0, window), Err(NoReservation));
    assert_eq!(calendar.accept(request(2), 0, window), Ok(None));
}

#[derive(Debug, Clone)]
enum Step {
    Ask { n: u32, round: u8, not_before: u64, delay: u64, kib: u64, stretch: u64 },
    Accept { n: u32, round: u8, from: u64, width: u64 },
    AcceptAll { n: u32 },
    Cancel { n: u32, round: u8 },
    Receive { n: u32 },
    Pass { ns: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let n = 0u32..8;
    let delay = prop_oneof![4 => Just(0), 1 => 0u64..400_000];
    let ask = (n.clone(), 0u8..3, 0u64..400_000, delay, 1u64..300, 0u64..400_000);
    let step = prop_oneof![
        8 => ask.prop_map(|(n, round, not_before, delay, kib, stretch)| Step::Ask {
            n, round, not_before, delay, kib, stretch
        }),
        2 => (n.clone(), 0u8..3, 0u64..100_000, 0u64..400_000)
            .prop_map(|(n, round, from, width)| Step::Accept { n, round, from, width }),
        3 => n.clone().prop_map(|n| Step::AcceptAll { n }),
        2 => (n.clone(), 0u8..3).prop_map(|(n, round)| Step::Cancel { n, round }),
        2 => n.prop_map(|n| Step::Receive { n }),
        4 => prop_oneof![4 => 0u64..10_000, 1 => 0u64..400_000].prop_map(|ns| Step::Pass { ns }),
    ];
    prop::collection::vec(step, 1..120)
}

/// What a calendar has promised, kept apart from its own lists.
#[derive(Debug, Default)]
struct Promises {
    bids: Vec<(RequestId, u8, Window)>,
    accepted: Vec<(RequestId, Window)>,
}

impl Promises {
    fn bid(&self, request: RequestId) -> Option<(u8, Window)> {
        self.bids.iter().find(|(r, ..)| *r == request).map(|&(_, round, window)| (round, window))
    }

    fn forget(&mut self, request: RequestId) {
        self.bids.retain(|(r, ..)| *r != request);
        self.accepted.retain(|(r, _)| *r != request);
    }

    /// An acceptance, and what must come of it: nothing, or who loses.
    fn accept(
        &mut self,
        request: RequestId,
        round: u8,
        window: Window,
    ) -> Result<Option<RequestId>, NoReservation> {
        if self.accepted.contains(&(request, window)) {
            return Ok(None);
        }
        let (bid_round, bid) = self.bid(request).ok_or(NoReservation)?;
        if bid_round != round || !bid.contains(&window) || window.width() == Span::ZERO {
            return Err(NoReservation);
        }
        let rival = |&&(r, _, w): &&(RequestId, u8, Window)| r != request && w.overlaps(&bid);
        let loser = self.bids.iter().find(rival).map(|&(r, ..)| r);
        self.forget(request);
        loser.into_iter().for_each(|r| self.forget(r));
        self.accepted.push((request, window));
        Ok(loser)
    }
}

/// Offers a window, as the calendar should.
fn offer(
    calendar: &mut Calendar,
    promises: &mut Promises,
    now: Time,
    ask: &Ask,
) -> Result<(), TestCaseError> {
    let all = || calendar.reservations().iter().chain(calendar.second_bookings());
    let known = all().find(|r| r.request == ask.request).map(|r| (r.round, r.window));
    let full = all().count() >= CAPACITY;
    let offered = calendar.offer(now, ask);
    match known {
        Some((known, window)) if known == ask.round => {
            prop_assert_eq!(offered, Some(window));
        }
        Some((known, _)) if known > ask.round => prop_assert_eq!(offered, None),
        _ => {
            promises.forget(ask.request);
            match offered {
                Some(window) => {
                    prop_assert!(window.width() >= ask.size.bid);
                    prop_assert!(window.start >= ask.not_before.max(now + ask.disk_delay));
                    promises.bids.push((ask.request, ask.round, window));
                }
                None => prop_assert!(full),
            }
        }
    }
    Ok(())
}

/// The calendar has booked what was promised, and nothing else.
fn check(calendar: &Calendar, promises: &Promises) -> Result<(), TestCaseError> {
    calendar.check();
    for (i, (a, wa)) in promises.accepted.iter().enumerate() {
        let rest = &promises.accepted[i + 1..];
        prop_assert!(rest.iter().all(|(_, wb)| !wa.overlaps(wb)), "{a} meets another");
        prop_assert!(promises.bids.iter().all(|(.., bid)| !wa.overlaps(bid)), "{a} meets a bid");
        let slot = calendar.reservations().iter().find(|r| r.request == *a);
        prop_assert!(
            slot.is_some_and(|s| s.state == State::Accepted && s.window == *wa),
            "an accepted window was lost: {a} {wa}"
        );
    }
    for (a, _, wa) in &promises.bids {
        let rivals = promises.bids.iter().filter(|(b, _, wb)| a != b && wa.overlaps(wb));
        prop_assert!(rivals.count() <= 1, "{a} has more than one rival: {promises:?}");
        let all = calendar.reservations().iter().chain(calendar.second_bookings());
        let mut of = all.filter(|r| r.request == *a);
        let booking = of.next();
        prop_assert!(
            booking.is_some_and(|b| b.state == State::Tentative && b.window == *wa),
            "a bid was lost: {a} {wa}"
        );
        prop_assert!(of.next().is_none(), "{a} is booked twice itself");
    }
    let held = calendar.reservations().len() + calendar.second_bookings().len();
    prop_assert_eq!(held, promises.bids.len() + promises.accepted.len());
    prop_assert!(held <= CAPACITY);
    Ok(())
}

fn run(steps: Vec<Step>) -> Result<u64, TestCaseError> {
    let mut calendar = calendar();
    let mut promises = Promises::default();
    let mut now = Time::ZERO;
    for step in steps {
        match step {
            Step::Ask { n, round, not_before, delay, kib, stretch } => {
                let payload = Size::from_kib(kib);
                let ask = Ask {
                    round,
                    payload,
                    not_before: now + Span::from_ns(not_before),
                    size: WindowRule::published(Delivery::Unicast)
                        .size_for(&Timing::published(), payload),
                    disk_delay: Span::from_ns(delay),
                    idle_extension: Span::from_ns(stretch),
                    ..ask(n)
                };
                offer(&mut calendar, &mut promises, now, &ask)?;
            }
            Step::Accept { n, round, from, width } => {
                if let Some((_, bid)) = promises.bid(request(n)) {
                    let window = Window::new(bid.start + Span::from_ns(from), Span::from_ns(width));
                    let expected = promises.accept(request(n), round, window);
                    let accepted = calendar.accept(request(n), round, window);
                    prop_assert_eq!(accepted.map(|loser| loser.map(|r| r.request)), expected);
                }
            }
            Step::AcceptAll { n } => {
                if let Some((round, bid)) = promises.bid(request(n)) {
                    let expected = promises.accept(request(n), round, bid);
                    prop_assert!(expected.is_ok());
                    let accepted = calendar.accept(request(n), round, bid);
                    prop_assert_eq!(accepted.map(|loser| loser.map(|r| r.request)), expected);
                }
            }
            Step::Cancel { n, round } => {
                calendar.cancel(request(n), round);
                if promises.bid(request(n)).is_some_and(|(bid, _)| bid <= round) {
                    promises.forget(request(n));
                }
            }
            Step::Receive { n } => {
                if calendar.release(request(n)).is_some() {
                    promises.accepted.retain(|(r, _)| *r != request(n));
                }
            }
            Step::Pass { ns } => {
                now += Span::from_ns(ns);
                // The calendar forgets what has passed when the next request comes: so do we.
                calendar.expire(now, Span::ZERO);
                promises.bids.retain(|(.., window)| window.end > now);
                promises.accepted.retain(|(_, window)| window.end + Span::from_ms(1) > now);
            }
        }
        check(&calendar, &promises)?;
    }
    let doubled = calendar.double_bookings();
    // Long after, one request finds an empty calendar: nothing leaked.
    calendar.offer(now + Span::from_secs(10), &ask(99));
    prop_assert_eq!(calendar.reservations().len(), 1);
    prop_assert!(calendar.second_bookings().is_empty());
    Ok(doubled)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Over any sequence of requests, acceptances, cancellations and times: accepted windows meet
    /// nothing, a bid has at most one rival, who accepts first wins and the rival is named, nothing
    /// is lost and nothing leaks.
    #[test]
    fn a_window_is_promised_to_two_and_given_to_one(steps in steps()) {
        run(steps)?;
    }
}

/// Makes sure that the property sees what it is about.
#[test]
fn random_requests_meet_now_and_then() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut doubled = 0;
    for _ in 0..200 {
        doubled += run(steps().new_tree(&mut runner).unwrap().current()).unwrap();
    }
    assert!(doubled > 200, "only {doubled} windows were booked twice");
}
