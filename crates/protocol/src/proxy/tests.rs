//! The proxy alone: whom it chooses, how long it takes, whom it believes. What a cluster makes of it
//! is in `tests/proxy.rs`.

mod choice;

use alloc::vec;
use alloc::vec::Vec;

use slotcast_units::{Rate, Share};

use super::*;
use crate::calendar::OfferRule;
use crate::ids::ChunkId;
use crate::message::{Occasion, ProxyReport, Taken};
use crate::target::Backpressure;
use crate::timing::{Delivery, WindowRule};

const SIZE: Size = Size::from_kib(128);
const TIMEOUT: Span = Span::from_us(200);

fn config(choice: ProxyChoice) -> ProxyConfig {
    let timing = Timing::published();
    let rate = Rate::from_bytes_per_s(400 << 20);
    ProxyConfig {
        group: GroupId(2),
        position: 0,
        domains: (0..9).collect(),
        timing,
        choice,
        service: timing.control * 4,
        calendar: CalendarRules {
            offer: OfferRule::FirstFit,
            gap: Span::ZERO,
            grace: Span::from_ms(10),
            expected: Span::from_us(1),
            hold: Span::from_ms(1),
            horizon: Span::from_secs(10),
            capacity: 64,
        },
        disk: DiskForecast::new(rate, Size::from_kib(256), Backpressure::KeepRoom),
        answer_timeout: TIMEOUT,
    }
}

fn request(serial: u32) -> ProxyRequest {
    ProxyRequest {
        request: RequestId { initiator: InitiatorId(7), serial },
        round: 0,
        group: GroupId(2),
        skip: Members::NONE,
        chunk: ChunkId([serial as u8; 32]),
        size: SIZE,
        not_before: Time::ZERO,
        replicas: 3,
        over: Term::NONE,
        taken: Taken::NONE,
    }
}

fn report(position: u8, occasion: Occasion, term: Term) -> ProxyReport {
    ProxyReport {
        request: request(0).request,
        group: GroupId(2),
        position,
        term,
        occasion,
        free_from: Time::ZERO,
        disk_done: Time::ZERO,
        disk_rate: Rate::from_bytes_per_s(400 << 20),
    }
}

fn say(proxy: &mut Proxy, ns: u64, message: Message) -> Vec<ProxyEffect> {
    let mut effects = vec![];
    proxy.handle(Time::from_ns(ns), ProxyInput::Message(&message), &mut effects);
    effects
}

/// A proxy that knows its members, at time zero.
fn serving() -> Proxy {
    let mut proxy = Proxy::new(config(ProxyChoice::EarliestWrite));
    say(&mut proxy, 0, Message::ProxyRequest(request(0)));
    let term = proxy.term;
    for occasion in [Occasion::Asked, Occasion::Received] {
        for position in 0..9 {
            say(&mut proxy, 0, Message::ProxyReport(report(position, occasion, term)));
        }
    }
    assert_eq!((proxy.role, proxy.queued()), (Role::Serving, 0));
    proxy
}

fn answers(effects: &[ProxyEffect]) -> Vec<ProxyAnswer> {
    let answer = |effect: &ProxyEffect| match effect {
        ProxyEffect::Answer { message: Message::ProxyReply(reply), .. } => Some(reply.answer),
        _ => None,
    };
    effects.iter().filter_map(answer).collect()
}

fn granted(effects: &[ProxyEffect]) -> (Window, Members) {
    match answers(effects)[..] {
        [ProxyAnswer::Granted { window, members }] => (window, members),
        _ => panic!("not one grant: {effects:?}"),
    }
}

/// The first request makes a member the proxy; it is answered when everybody has reported.
#[test]
fn nothing_is_granted_before_all_members_have_reported() {
    let mut proxy = Proxy::new(config(ProxyChoice::EarliestWrite));
    let effects = say(&mut proxy, 0, Message::ProxyRequest(request(0)));
    let everybody = Members::first(9);
    assert!(matches!(
        effects[..],
        [
            ProxyEffect::Notify { to, message: Message::ProxyQuery(_) },
            ProxyEffect::WakeAt(at),
        ] if to == everybody && at == Time::ZERO + TIMEOUT
    ));
    let term = proxy.term;
    for position in 0..9 {
        let stale = Message::ProxyReport(report(position, Occasion::Asked, Term::NONE));
        assert_eq!(say(&mut proxy, 6000, stale), [], "meant for an earlier proxy");
    }
    for position in 0..8 {
        let message = Message::ProxyReport(report(position, Occasion::Asked, term));
        assert_eq!(say(&mut proxy, 7000, message), []);
    }
    let last = Message::ProxyReport(report(8, Occasion::Asked, term));
    let effects = say(&mut proxy, 7100, last);
    let (window, members) = granted(&effects);
    assert_eq!(window.start, Time::from_ns(7100 + 3424), "when the answer is there");
    assert_eq!(members.len(), 3);
    assert!(matches!(
        effects[1],
        ProxyEffect::Notify { to, message: Message::ProxyNotice(notice) }
            if to == members && (notice.window, notice.members) == (window, members)
    ));
}

/// Who stays silent is not chosen, and is asked again.
#[test]
fn the_silent_are_left_out() {
    let mut proxy = Proxy::new(config(ProxyChoice::EarliestWrite));
    say(&mut proxy, 0, Message::ProxyRequest(request(0)));
    for position in [2, 3, 8] {
        let message = Message::ProxyReport(report(position, Occasion::Asked, proxy.term));
        say(&mut proxy, 7000, message);
    }
    let mut effects = vec![];
    proxy.handle(Time::ZERO + TIMEOUT, ProxyInput::Wake, &mut effects);
    let (_, members) = granted(&effects);
    assert_eq!(members, Members::from_bits(0b1_0000_1100));
    let silent = Members::from_bits(0b0_1111_0011);
    assert!(effects.iter().any(|effect| matches!(
        effect,
        ProxyEffect::Notify { to, message: Message::ProxyQuery(_) } if *to == silent
    )));
}

/// One request after another, each with its time; a repeated one learns how long it takes.
#[test]
fn requests_are_answered_at_the_rate_of_the_port() {
    let mut proxy = serving();
    let service = proxy.config.service;
    let begin = 1_000_000;
    assert_eq!(answers(&say(&mut proxy, begin, Message::ProxyRequest(request(1)))).len(), 1);
    for serial in 2..5 {
        assert_eq!(answers(&say(&mut proxy, begin, Message::ProxyRequest(request(serial)))), []);
    }
    let again = say(&mut proxy, begin, Message::ProxyRequest(request(4)));
    let wait = service * 4;
    assert_eq!(answers(&again), [ProxyAnswer::NotNow { retry_after: wait }]);
    let mut at = Time::from_ns(begin) + service + proxy.config.timing.control;
    for _ in 0..3 {
        let mut effects = vec![];
        proxy.handle(at, ProxyInput::Wake, &mut effects);
        granted(&effects);
        at += service;
    }
    assert_eq!(proxy.queued(), 0);
}

#[test]
fn a_full_queue_says_when_to_come_again() {
    let mut proxy = serving();
    let service = proxy.config.service;
    for serial in 1..=QUEUE as u32 {
        let effects = say(&mut proxy, 0, Message::ProxyRequest(request(serial)));
        // Who would wait longer than initiators do is told so.
        let retry_after = service * (u64::from(serial) + 1);
        match answers(&effects)[..] {
            [] => assert!(retry_after <= TIMEOUT),
            [answer] => assert_eq!(answer, ProxyAnswer::NotNow { retry_after }),
            _ => panic!("{effects:?}"),
        }
    }
    assert_eq!(proxy.queued(), QUEUE);
    let effects = say(&mut proxy, 0, Message::ProxyRequest(request(1_000_000)));
    let retry_after = service * (QUEUE as u64 + 1);
    assert_eq!(answers(&effects), [ProxyAnswer::NotNow { retry_after }]);
    assert_eq!(proxy.queued(), QUEUE);
}

/// The same round gets the same answer; a later one another, and its predecessor is taken back.
#[test]
fn rounds_repeat_and_replace() {
    let mut proxy = serving();
    let first = granted(&say(&mut proxy, 100_000, Message::ProxyRequest(request(1))));
    let again = granted(&say(&mut proxy, 200_000, Message::ProxyRequest(request(1))));
    assert_eq!(first, again);
    let later = ProxyRequest { round: 1, skip: first.1, ..request(1) };
    let effects = say(&mut proxy, 300_000, Message::ProxyRequest(later));
    let second = granted(&effects);
    assert!(second.1.iter().all(|position| !first.1.contains(position)), "they are skipped");
    let replace = ProxyRequest { round: 2, ..request(1) };
    let effects = say(&mut proxy, 400_000, Message::ProxyRequest(replace));
    let third = granted(&effects);
    let told = first.1.union(second.1).union(third.1);
    assert!(matches!(effects[1], ProxyEffect::Notify { to, .. } if to == told));
    let overtaken = say(&mut proxy, 500_000, Message::ProxyRequest(later));
    assert_eq!(answers(&overtaken), []);
}

/// Messages leave the port one after another, and a window begins when its answer is there.
#[test]
fn a_window_waits_for_the_messages_before_its_answer() {
    let mut proxy = serving();
    let timing = proxy.config.timing;
    let begin = Time::from_ns(1_000_000);
    let (window, _) = granted(&say(&mut proxy, begin.as_ns(), Message::ProxyRequest(request(1))));
    assert_eq!(window.start, begin + timing.one_way());
    proxy.config.service = Span::ZERO;
    proxy.free_at = begin;
    // The answer and the notice of the first are ahead of it, on another member's link.
    let second = ProxyRequest { skip: Members::first(3), replicas: 1, ..request(2) };
    let (window, _) = granted(&say(&mut proxy, begin.as_ns(), Message::ProxyRequest(second)));
    assert_eq!(window.start, begin + timing.control * 2 + timing.one_way());
}

/// Who comes back for another window is not sent to the end of the queue.
#[test]
fn a_later_round_does_not_queue_again() {
    let mut proxy = serving();
    let begin = 1_000_000;
    granted(&say(&mut proxy, begin, Message::ProxyRequest(request(1))));
    for serial in 2..9 {
        say(&mut proxy, begin, Message::ProxyRequest(request(serial)));
    }
    let again = ProxyRequest { round: 1, ..request(1) };
    assert_eq!(answers(&say(&mut proxy, begin, Message::ProxyRequest(again))), []);
    let mut effects = vec![];
    proxy.handle(proxy.free_at, ProxyInput::Wake, &mut effects);
    let answered = |effect: &ProxyEffect| match effect {
        ProxyEffect::Answer { message: Message::ProxyReply(reply), .. } => {
            Some((reply.request.serial, reply.round))
        }
        _ => None,
    };
    assert_eq!(effects.iter().find_map(answered), Some((1, 1)));
}

/// What has come is known by its report, and what has not by its absence.
#[test]
fn an_overdue_report_makes_a_member_suspect() {
    let mut proxy = serving();
    let (window, members) = granted(&say(&mut proxy, 100_000, Message::ProxyRequest(request(1))));
    let mut reported = members.iter();
    let silent = reported.next().unwrap();
    for position in reported {
        let received = ProxyReport {
            request: request(1).request,
            ..report(position, Occasion::Received, proxy.term)
        };
        say(&mut proxy, window.end.as_ns() + 5000, Message::ProxyReport(received));
    }
    let later = window.end.as_ns() + TIMEOUT.as_ns();
    let effects = say(&mut proxy, later, Message::ProxyRequest(request(2)));
    assert!(!granted(&effects).1.contains(silent));
    assert!(effects.iter().any(|effect| matches!(
        effect,
        ProxyEffect::Notify { to, message: Message::ProxyQuery(_) }
            if to.len() == 1 && to.contains(silent)
    )));
    let term = proxy.term;
    say(&mut proxy, later, Message::ProxyReport(report(silent, Occasion::Asked, term)));
    assert!(proxy.members[usize::from(silent)].heard);
}

#[test]
fn strangers_messages_are_counted_and_dropped() {
    let mut proxy = serving();
    let term = proxy.term;
    for message in [
        Message::ProxyRequest(ProxyRequest { group: GroupId(3), ..request(1) }),
        Message::ProxyRequest(ProxyRequest { size: Size::ZERO, ..request(1) }),
        Message::ProxyRequest(ProxyRequest { replicas: 0, ..request(1) }),
        Message::ProxyRequest(ProxyRequest { replicas: 9, ..request(1) }),
        Message::ProxyReport(report(9, Occasion::Asked, term)),
        Message::ProxyReport(ProxyReport { group: GroupId(3), ..report(1, Occasion::Asked, term) }),
        Message::Undelivered(crate::message::Undelivered {
            request: request(1).request,
            position: 0,
        }),
    ] {
        let before = proxy.rejected();
        assert_eq!(say(&mut proxy, 0, message), [], "{message:?}");
        assert_eq!(proxy.rejected(), before + 1, "{message:?}");
    }
}

/// A report of a disk that takes centuries is cut to something that can be computed with.
#[test]
fn reports_are_believed_within_bounds() {
    let mut proxy = serving();
    for position in 0..9 {
        let nonsense = ProxyReport {
            free_from: Time::from_ns(1 << 61),
            disk_done: Time::from_ns(1 << 61),
            disk_rate: Rate::from_bps(0),
            ..report(position, Occasion::Asked, proxy.term)
        };
        say(&mut proxy, 0, Message::ProxyReport(nonsense));
    }
    let effects = say(&mut proxy, 100_000, Message::ProxyRequest(request(1)));
    let far = Time::from_ns(100_000) + proxy.config.calendar.horizon;
    assert!(granted(&effects).0.start <= far);
}

/// The width of a window is that of the smallest published one: a chunk and a frame.
#[test]
fn a_window_holds_the_chunk_and_a_frame() {
    let mut proxy = serving();
    let (window, _) = granted(&say(&mut proxy, 100_000, Message::ProxyRequest(request(1))));
    let narrow = WindowRule { multiplier: Share::ONE, delivery: Delivery::Multicast };
    let published = narrow.size_for(&Timing::published(), SIZE);
    assert_eq!(window.width(), published.accepted);
}
