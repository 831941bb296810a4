use super::*;
use crate::ids::InitiatorId;
use crate::timing::{Delivery, WindowRule};
use alloc::vec;
use proptest::prelude::*;
use slotcast_units::Size;

fn calendar(offer: OfferRule) -> Calendar {
    let rules = CalendarRules {
        offer,
        gap: Span::ZERO,
        grace: Span::from_ms(1),
        expected: Span::from_us(1),
        capacity: 64,
        hold: Span::from_ms(50),
        horizon: Span::from_secs(1),
    };
    Calendar::new(rules, Timing::published())
}

fn request(serial: u32) -> RequestId {
    RequestId { initiator: InitiatorId(1), serial }
}

fn ask(serial: u32) -> Ask {
    let size = WindowRule::published(Delivery::Multicast)
        .size_for(&Timing::published(), Size::from_kib(128));
    Ask {
        request: request(serial),
        round: 0,
        payload: Size::from_kib(128),
        wanted: None,
        not_before: Time::ZERO,
        size,
        disk_delay: Span::ZERO,
        idle_extension: size.transfer * 2,
    }
}

fn live(calendar: &Calendar, request: RequestId) -> Option<&Reservation> {
    let mut live = calendar
        .reservations()
        .iter()
        .filter(|slot| slot.request == request && slot.state != State::Cancelled);
    let found = live.next();
    assert!(live.next().is_none(), "{request} is in the calendar twice");
    found
}

fn us(ns: u64) -> Time {
    Time::from_ns(ns)
}

#[test]
fn an_idle_target_bids_at_once_and_wide() {
    let mut calendar = calendar(OfferRule::Queue);
    let window = calendar.offer(Time::ZERO, &ask(1)).unwrap();
    assert_eq!(window.start, us(5848));
    assert_eq!(window.width(), Span::from_ns(166_159 + 2 * 117_685));
}

#[test]
fn the_next_bid_follows_one_trip_later() {
    let mut calendar = calendar(OfferRule::Queue);
    let first = calendar.offer(Time::ZERO, &ask(1)).unwrap();
    let second = calendar.offer(Time::ZERO, &ask(2)).unwrap();
    assert_eq!(second.start, first.end + Span::from_us(1));
    assert_eq!(second.width(), Span::from_ns(166_159), "only an idle target extends");
}

#[test]
fn a_repeated_request_gets_the_same_window_and_a_later_round_a_new_one() {
    let mut calendar = calendar(OfferRule::Queue);
    let first = calendar.offer(Time::ZERO, &ask(1)).unwrap();
    assert_eq!(calendar.offer(us(100), &ask(1)), Some(first));
    let again = Ask { round: 1, not_before: us(1_000_000), ..ask(1) };
    let second = calendar.offer(us(200), &again).unwrap();
    assert!(second.start >= us(1_000_000));
    assert_eq!(live(&calendar, request(1)).unwrap().window, second);
}

#[test]
fn accepting_trims_and_cancelled_neighbours_grow() {
    let mut calendar = calendar(OfferRule::Queue);
    let first = calendar.offer(Time::ZERO, &ask(1)).unwrap();
    let second = calendar.offer(Time::ZERO, &ask(2)).unwrap();
    calendar.offer(Time::ZERO, &ask(3)).unwrap();
    calendar.cancel(request(1), 0);
    let trimmed = Window { start: second.start + Span::from_us(20), end: second.end };
    calendar.accept(request(2), 0, trimmed).unwrap();
    let before = calendar.reservations()[0];
    assert_eq!(before.state, State::Cancelled);
    assert_eq!(before.window, Window { start: first.start, end: trimmed.start });
}

#[test]
fn a_cancelled_window_is_offered_again() {
    let mut calendar = calendar(OfferRule::Queue);
    let first = calendar.offer(Time::ZERO, &ask(1)).unwrap();
    calendar.offer(Time::ZERO, &ask(2)).unwrap();
    calendar.cancel(request(1), 0);
    assert_eq!(calendar.offer(us(10), &ask(3)), Some(first));
}

#[test]
fn a_cancelled_window_is_not_offered_while_the_disk_is_behind() {
    let mut calendar = calendar(OfferRule::Queue);
    let first = calendar.offer(Time::ZERO, &ask(1)).unwrap();
    calendar.offer(Time::ZERO, &ask(2)).unwrap();
    calendar.cancel(request(1), 0);
    let late = Ask { disk_delay: Span::from_us(1), ..ask(3) };
    assert_ne!(calendar.offer(us(10), &late), Some(first));
}

#[test]
fn adjacent_cancelled_windows_merge() {
    let mut calendar = calendar(OfferRule::Queue);
    let windows: vec::Vec<Window> =
        (1..=4).map(|i| calendar.offer(Time::ZERO, &ask(i)).unwrap()).collect();
    calendar.cancel(request(1), 0);
    calendar.cancel(request(3), 0);
    calendar.cancel(request(2), 0);
    assert_eq!(calendar.reservations().len(), 2);
    assert_eq!(
        calendar.reservations()[0].window,
        Window { start: windows[0].start, end: windows[2].end }
    );
}

#[test]
fn first_fit_uses_the_first_hole() {
    let mut calendar = calendar(OfferRule::FirstFit);
    let first = calendar.offer(Time::ZERO, &ask(1)).unwrap();
    let second = calendar.offer(Time::ZERO, &ask(2)).unwrap();
    calendar.cancel(request(1), 0);
    assert_eq!(calendar.reservations().len(), 1, "a cancelled window vanishes");
    let third = calendar.offer(Time::ZERO, &ask(3)).unwrap();
    assert_eq!(third.start, first.start);
    assert!(third.end <= second.start);
    let fourth = calendar.offer(Time::ZERO, &ask(4)).unwrap();
    assert_eq!(
        fourth.start,
        third.end + Span::from_us(1),
        "a second one fits before the hole ends"
    );
}

#[test]
fn what_is_overdue_is_forgotten() {
    let mut calendar = calendar(OfferRule::FirstFit);
    let first = calendar.offer(Time::ZERO, &ask(1)).unwrap();
    calendar.accept(request(1), 0, first).unwrap();
    calendar.offer(Time::ZERO, &ask(2)).unwrap();
    calendar.offer(first.end + Span::from_ms(10), &ask(3)).unwrap();
    assert_eq!(calendar.reservations().len(), 1, "{:?}", calendar.reservations());
}

#[test]
fn an_old_cancellation_leaves_a_later_round_alone() {
    for rule in [OfferRule::FirstFit, OfferRule::Queue] {
        let mut calendar = calendar(rule);
        let later = Ask { round: 2, ..ask(1) };
        let window = calendar.offer(Time::ZERO, &later).unwrap();
        calendar.cancel(request(1), 1);
        assert_eq!(live(&calendar, request(1)).unwrap().window, window);
        calendar.cancel(request(1), 2);
        assert!(live(&calendar, request(1)).is_none());
    }
}

#[test]
fn a_bid_is_not_kept_open_for_ever() {
    let mut calendar = calendar(OfferRule::FirstFit);
    let far = Ask { not_before: us(900_000_000), ..ask(1) };
    let window = calendar.offer(Time::ZERO, &far).unwrap();
    calendar.offer(us(51_000_000), &ask(2)).unwrap();
    assert!(live(&calendar, request(1)).is_none(), "dropped long before its window");
    assert_eq!(calendar.accept(request(1), 0, window), Err(NoReservation));
}

#[test]
fn nobody_can_take_the_years_to_come() {
    for rule in [OfferRule::FirstFit, OfferRule::Queue] {
        let mut calendar = calendar(rule);
        let beyond = Ask { not_before: Time::from_ns(1 << 62), ..ask(1) };
        assert_eq!(calendar.offer(Time::ZERO, &beyond), None);
        assert_eq!(calendar.offer(Time::ZERO, &ask(2)).unwrap().start, us(5848));
    }
}

#[test]
fn a_full_calendar_offers_nothing() {
    let mut calendar = calendar(OfferRule::Queue);
    for i in 0..64 {
        assert!(calendar.offer(Time::ZERO, &ask(i)).is_some());
    }
    assert_eq!(calendar.offer(Time::ZERO, &ask(64)), None);
}

#[test]
fn what_was_not_bid_cannot_be_accepted() {
    let mut calendar = calendar(OfferRule::Queue);
    let window = calendar.offer(Time::ZERO, &ask(1)).unwrap();
    let beyond = Window { start: window.start, end: window.end + Span::from_ns(1) };
    assert_eq!(calendar.accept(request(1), 0, beyond), Err(NoReservation));
    assert_eq!(calendar.accept(request(1), 1, window), Err(NoReservation));
    assert_eq!(calendar.accept(request(2), 0, window), Err(NoReservation));
    assert_eq!(calendar.accept(request(1), 0, window), Ok(None));
    assert_eq!(calendar.accept(request(1), 0, window), Ok(None), "a repeated message");
}

#[derive(Debug, Clone)]
enum Step {
    Ask { serial: u32, round: u8, not_before: u64, delay: u64, kib: u64 },
    Accept { serial: u32, round: u8, from: u64, width: u64 },
    AcceptAll { serial: u32 },
    Cancel { serial: u32, round: u8 },
    Receive { serial: u32 },
    Pass { ns: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let serial = 0u32..12;
    let step = prop_oneof![
        4 => (serial.clone(), 0u8..3, 0u64..1_000_000, prop_oneof![Just(0), 0u64..400_000], 1u64..1024)
            .prop_map(|(serial, round, not_before, delay, kib)| Step::Ask {
                serial, round, not_before, delay, kib
            }),
        2 => (serial.clone(), 0u8..3, 0u64..100_000, 0u64..400_000)
            .prop_map(|(serial, round, from, width)| Step::Accept { serial, round, from, width }),
        3 => serial.clone().prop_map(|serial| Step::AcceptAll { serial }),
        3 => (serial.clone(), 0u8..3).prop_map(|(serial, round)| Step::Cancel { serial, round }),
        2 => serial.prop_map(|serial| Step::Receive { serial }),
        3 => (0u64..300_000).prop_map(|ns| Step::Pass { ns }),
    ];
    prop::collection::vec(step, 1..200)
}

/// What was promised is accepted in the calendar, and overlaps nothing.
fn check(calendar: &Calendar, promised: &[(RequestId, Window)]) -> Result<(), TestCaseError> {
    for (i, (ra, a)) in promised.iter().enumerate() {
        for (rb, b) in &promised[i + 1..] {
            prop_assert!(ra == rb || !a.overlaps(b), "{ra}: {a} and {rb}: {b}");
        }
        let slot = live(calendar, *ra);
        prop_assert!(
            slot.is_some_and(|s| s.state == State::Accepted && s.window == *a),
            "an accepted window was lost: {ra} {a}"
        );
    }
    prop_assert!(calendar.reservations().len() <= 64);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Over any sequence of requests, acceptances, cancellations and times: accepted windows never
    /// overlap, nothing outlives its time, the calendar stays bounded, and nothing panics.
    #[test]
    fn accepted_windows_never_overlap_and_nothing_leaks(steps in steps(), queue: bool) {
        let mut calendar = calendar(if queue { OfferRule::Queue } else { OfferRule::FirstFit });
        let mut now = Time::ZERO;
        // Every window ever accepted and not yet forgotten, kept apart from the calendar's own list.
        let mut promised: Vec<(RequestId, Window)> = Vec::new();
        for step in steps {
            match step {
                Step::Ask { serial, round, not_before, delay, kib } => {
                    let size = WindowRule::published(Delivery::Multicast)
                        .size_for(&Timing::published(), Size::from_kib(kib));
                    let ask = Ask {
                        request: request(serial),
                        round,
                        payload: Size::from_kib(kib),
                        wanted: None,
                        not_before: now + Span::from_ns(not_before),
                        size,
                        disk_delay: Span::from_ns(delay),
                        idle_extension: size.transfer * 2,
                    };
                    let before = live(&calendar, request(serial)).copied();
                    let offered = calendar.offer(now, &ask);
                    match before.map(|slot| (round.cmp(&slot.round), slot.window)) {
                        Some((Ordering::Equal, window)) => prop_assert_eq!(offered, Some(window)),
                        Some((Ordering::Less, _)) => prop_assert_eq!(offered, None),
                        Some((Ordering::Greater, _)) | None => {
                            promised.retain(|(r, _)| *r != request(serial));
                            let window = offered.expect("twelve requests do not fill a calendar");
                            prop_assert!(window.end.saturating_since(now) >= size.bid);
                            prop_assert!(window.width() >= size.bid);
                        }
                    }
                }
                Step::Accept { serial, round, from, width } => {
                    if let Some(slot) = live(&calendar, request(serial)).copied() {
                        let window =
                            Window::new(slot.window.start + Span::from_ns(from), Span::from_ns(width));
                        let legal = slot.state == State::Tentative
                            && slot.round == round
                            && slot.window.contains(&window)
                            && width > 0;
                        let accepted = calendar.accept(request(serial), round, window);
                        if legal {
                            prop_assert!(accepted.is_ok());
                            promised.push((request(serial), window));
                        }
                    }
                }
                Step::AcceptAll { serial } => {
                    if let Some(slot) = live(&calendar, request(serial)).copied() {
                        let first = slot.state == State::Tentative;
                        calendar.accept(request(serial), slot.round, slot.window).unwrap();
                        if first {
                            promised.push((request(serial), slot.window));
                        }
                    }
                }
                Step::Cancel { serial, round } => calendar.cancel(request(serial), round),
                Step::Receive { serial } => {
                    let held = calendar.release(request(serial)).is_some();
                    if held {
                        promised.retain(|(r, _)| *r != request(serial));
                    }
                }
                Step::Pass { ns } => now += Span::from_ns(ns),
            }
            promised.retain(|(_, w)| w.end + Span::from_ms(1) > now);
            check(&calendar, &promised)?;
        }
        // Long after, one request finds an empty calendar: nothing leaked.
        let later = now + Span::from_secs(10);
        calendar.offer(later, &Ask { round: 9, ..ask(99) });
        prop_assert_eq!(calendar.reservations().len(), 1);
    }
}
