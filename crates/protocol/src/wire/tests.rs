//! Golden bytes, and one refusal of every sort. What holds for all messages is in `tests/wire`.

mod claims;

use alloc::vec;
use alloc::vec::Vec;

use slotcast_units::{Rate, Size, Span, Time};

use super::*;
use crate::claim::Claim;
use crate::group::Members;
use crate::ids::{ChunkId, GroupId, InitiatorId, RequestId, Term};
use crate::message::{
    AckOutcome, Bid, BidAnswer, FindAnswer, FindReply, FindRequest, GetAccept, GetRequest, Grant,
    Grants, LateReject, MAX_REPLICAS, MAX_TAKEN, Message, Occasion, Offer, OfferAnswer,
    ProxyAnswer, ProxyNotice, ProxyQuery, ProxyReply, ProxyReport, ProxyRequest, PutAccept,
    PutRequest, ReplicaAck, Undelivered,
};
use crate::timing::Delivery;
use crate::window::Window;

/// No two bytes of a field are the same, so that a change of order shows.
const HEADER: Header = Header {
    epoch: 0x0403_0201,
    sender: 0x0807_0605,
    sent_at: Time::from_ns(0x1817_1615_1413_1211),
};
const REQUEST: RequestId = RequestId { initiator: InitiatorId(0x2423_2221), serial: 0x2827_2625 };
const WINDOW: Window = Window {
    start: Time::from_ns(0x3837_3635_3433_3231),
    end: Time::from_ns(0x3857_5655_5453_5251),
};
/// Beyond all times and waits that are believed.
const BACKLOG: Span = Span::from_ns(0x9897_9695_9493_9291);
const LATE: Time = Time::from_ns(0x2867_6665_6463_6261);
const WAIT: Span = Span::from_ns(0x2877_7675_7473_7271);
const SIZE: Size = Size::from_bytes(0x0003_0201);
const GROUP: GroupId = GroupId(0x4443_4241);
const TERM: Term = Term { count: 0x4847_4645, position: 62 };
const MEMBERS: Members = Members::from_bits(0xf8f7_f6f5_f4f3_f2f1);

fn chunk() -> ChunkId {
    ChunkId(core::array::from_fn(|i| 0x80 + u8::try_from(i).unwrap()))
}

fn put_request() -> Message {
    Message::PutRequest(PutRequest {
        request: REQUEST,
        round: 3,
        group: GROUP,
        skip: Members::from_bits(0xf8f7_f6f5_f4f3_f2f1),
        chunk: chunk(),
        size: SIZE,
        not_before: LATE,
        replicas: 6,
        claim: Claim::Bare,
    })
}

fn put_accept(grants: usize) -> Message {
    let grants: Grants = (0..grants)
        .map(|position| Grant { position: u8::try_from(position).unwrap(), window: WINDOW })
        .collect();
    Message::PutAccept(PutAccept {
        request: REQUEST,
        round: 3,
        delivery: Delivery::Unicast,
        grants,
    })
}

fn proxy_request(taken: usize) -> Message {
    Message::ProxyRequest(ProxyRequest {
        request: REQUEST,
        round: 3,
        group: GROUP,
        skip: MEMBERS,
        chunk: chunk(),
        size: SIZE,
        not_before: LATE,
        replicas: 7,
        over: TERM,
        taken: (0..taken).map(|_| WINDOW).collect(),
    })
}

fn proxy_report(occasion: Occasion) -> Message {
    Message::ProxyReport(ProxyReport {
        request: REQUEST,
        group: GROUP,
        position: 63,
        term: TERM,
        occasion,
        free_from: WINDOW.start,
        disk_done: WINDOW.end,
        disk_rate: Rate::from_bps(WAIT.as_ns()),
    })
}

/// The messages of proxies, as in [`golden`].
fn golden_proxied() -> Vec<(Message, u8, &'static str)> {
    let reply =
        |answer| Message::ProxyReply(ProxyReply { request: REQUEST, round: 3, term: TERM, answer });
    let notice = Message::ProxyNotice(ProxyNotice {
        request: REQUEST,
        round: 3,
        group: GROUP,
        term: TERM,
        skip: MEMBERS,
        chunk: chunk(),
        size: SIZE,
        window: WINDOW,
        members: MEMBERS,
    });
    vec![
        (
            proxy_request(2),
            10,
            "03 41424344 f1f2f3f4f5f6f7f8 \
             808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f \
             0102030000000000 6162636465666728 07 454647483e 02 \
             3132333435363738 5152535455565738 3132333435363738 5152535455565738",
        ),
        (
            reply(ProxyAnswer::Granted { window: WINDOW, members: MEMBERS }),
            11,
            "03 454647483e 01 3132333435363738 5152535455565738 f1f2f3f4f5f6f7f8",
        ),
        (reply(ProxyAnswer::Moved), 11, "03 454647483e 02"),
        (reply(ProxyAnswer::NotNow { retry_after: WAIT }), 11, "03 454647483e 03 7172737475767728"),
        (
            notice,
            12,
            "03 41424344 454647483e f1f2f3f4f5f6f7f8 \
             808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f \
             0102030000000000 3132333435363738 5152535455565738 f1f2f3f4f5f6f7f8",
        ),
        (
            Message::ProxyQuery(ProxyQuery { request: REQUEST, group: GROUP, term: TERM }),
            13,
            "41424344 454647483e",
        ),
        (
            proxy_report(Occasion::Received),
            14,
            "41424344 3f 454647483e 01 3132333435363738 5152535455565738 7172737475767728",
        ),
        (
            proxy_report(Occasion::Asked),
            14,
            "41424344 3f 454647483e 02 3132333435363738 5152535455565738 7172737475767728",
        ),
    ]
}

/// The messages of finders, as in [`golden`].
fn golden_found() -> Vec<(Message, u8, &'static str)> {
    let reply = |answer| Message::FindReply(FindReply { request: REQUEST, position: 63, answer });
    vec![
        (
            Message::FindRequest(FindRequest { request: REQUEST, group: GROUP, chunk: chunk() }),
            15,
            "41424344 808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
        ),
        (reply(FindAnswer::Held { size: SIZE, replicas: 5 }), 16, "3f 01 0102030000000000 05"),
        (reply(FindAnswer::NotHeld), 16, "3f 02"),
    ]
}

/// Every message, with its kind and its body after the request.
fn golden() -> Vec<(Message, u8, &'static str)> {
    let position = 63;
    let bid = |answer| Message::Bid(Bid { request: REQUEST, round: 3, position, answer });
    let offer = |answer| Message::Offer(Offer { request: REQUEST, round: 3, position, answer });
    let ack = |outcome| Message::ReplicaAck(ReplicaAck { request: REQUEST, position, outcome });
    let get_accept = |grant| Message::GetAccept(GetAccept { request: REQUEST, round: 3, grant });
    let get_request = Message::GetRequest(GetRequest {
        request: REQUEST,
        round: 3,
        group: GROUP,
        skip: Members::from_bits(0xf8f7_f6f5_f4f3_f2f1),
        chunk: chunk(),
        not_before: LATE,
    });
    let multicast = Message::PutAccept(PutAccept {
        request: REQUEST,
        round: 3,
        delivery: Delivery::Multicast,
        grants: Grants::NONE,
    });
    vec![
        (
            put_request(),
            1,
            "03 41424344 f1f2f3f4f5f6f7f8 \
             808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f \
             0102030000000000 6162636465666728 06",
        ),
        (
            bid(BidAnswer::Window { window: WINDOW, backlog: BACKLOG }),
            2,
            "033f 01 3132333435363738 5152535455565738 9192939495969798",
        ),
        (bid(BidAnswer::AlreadyStored), 2, "033f 02"),
        (bid(BidAnswer::NotNow { retry_after: WAIT }), 2, "033f 03 7172737475767728"),
        (multicast, 3, "03 01 00"),
        (
            put_accept(2),
            3,
            "03 02 02 00 3132333435363738 5152535455565738 01 3132333435363738 5152535455565738",
        ),
        (ack(AckOutcome::Stored), 4, "3f 01"),
        (ack(AckOutcome::NoReservation), 4, "3f 02"),
        (ack(AckOutcome::Damaged), 4, "3f 03"),
        (ack(AckOutcome::DiskFailed), 4, "3f 04"),
        (
            get_request,
            5,
            "03 41424344 f1f2f3f4f5f6f7f8 \
             808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f 6162636465666728",
        ),
        (
            offer(OfferAnswer::Window { window: WINDOW, size: SIZE }),
            6,
            "033f 01 3132333435363738 5152535455565738 0102030000000000",
        ),
        (offer(OfferAnswer::NotHeld), 6, "033f 02"),
        (offer(OfferAnswer::NotNow { retry_after: WAIT }), 6, "033f 03 7172737475767728"),
        (get_accept(None), 7, "03 00"),
        (
            get_accept(Some(Grant { position, window: WINDOW })),
            7,
            "03 01 3f 3132333435363738 5152535455565738",
        ),
        (Message::Undelivered(Undelivered { request: REQUEST, position }), 8, "3f"),
        (Message::LateReject(LateReject { request: REQUEST, round: 3, position }), 9, "033f"),
    ]
    .into_iter()
    .chain(golden_proxied())
    .chain(golden_found())
    .chain([
        (bid(BidAnswer::Raising), 2, "033f 04"),
        (bid(BidAnswer::Unavailable), 2, "033f 05"),
        (offer(OfferAnswer::Unavailable), 6, "033f 05"),
    ])
    .collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(char::is_ascii_hexdigit).collect();
    assert_eq!(digits.len() % 2, 0, "whole bytes");
    digits
        .chunks(2)
        .map(|pair| {
            pair.iter().fold(0, |n, d| n * 16 + u8::try_from(d.to_digit(16).unwrap()).unwrap())
        })
        .collect()
}

fn encoded(message: &Message) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&HEADER, message, &mut out);
    out
}

/// `datagram` with a length and a checksum that fit what it has become.
fn sealed(mut datagram: Vec<u8>) -> Vec<u8> {
    let len = u16::try_from(datagram.len() - HEADER_LEN).unwrap();
    datagram[4..6].copy_from_slice(&len.to_le_bytes());
    let mut checked = datagram[..22].to_vec();
    checked.extend_from_slice(&datagram[HEADER_LEN..]);
    datagram[22..HEADER_LEN].copy_from_slice(&crc32fast::hash(&checked).to_le_bytes());
    datagram
}

/// What becomes of `message` when the bytes from `offset` on are replaced and the rest is right.
fn refusal(message: &Message, offset: usize, patch: &[u8]) -> WireError {
    let mut datagram = encoded(message);
    datagram[offset..offset + patch.len()].copy_from_slice(patch);
    decode(&sealed(datagram)).unwrap_err()
}

#[test]
fn every_message_has_the_bytes_that_it_always_had() {
    for (message, kind, fields) in golden() {
        let body = [bytes("21222324 25262728"), bytes(fields)].concat();
        let mut expected = bytes("5243 02");
        expected.extend([kind, u8::try_from(body.len()).unwrap(), 0]);
        expected.extend(bytes("01020304 05060708 1112131415161718 00000000"));
        expected.extend(body);
        let expected = sealed(expected);
        assert_eq!(encoded(&message), expected, "{}", message.name());
        assert_eq!(decode(&expected), Ok((HEADER, message)), "{}", message.name());
    }
}

/// The checksum is that of Ethernet and zip, and covers the header and the body: these four bytes
/// were computed by other software.
#[test]
fn the_checksum_is_the_one_that_it_always_was() {
    let datagram = encoded(&Message::Undelivered(Undelivered { request: REQUEST, position: 63 }));
    assert_eq!(datagram[22..26], bytes("fc13cd98"));
}

#[test]
fn the_longest_message_is_a_full_put_accept() {
    let longest = encoded(&put_accept(MAX_REPLICAS));
    assert_eq!(longest.len(), MAX_ENCODED_LEN);
    assert_eq!(MAX_ENCODED_LEN, 173);
    assert!(golden().iter().all(|(m, _, _)| encoded_len(m) < MAX_ENCODED_LEN));
}

#[test]
fn encoding_replaces_what_was_in_the_buffer() {
    let mut out = vec![0xff; 500];
    let capacity = out.capacity();
    encode(&HEADER, &put_request(), &mut out);
    assert_eq!(out, encoded(&put_request()));
    assert_eq!(out.capacity(), capacity);
}

#[test]
fn what_is_no_datagram_of_this_version_is_refused() {
    let good = encoded(&put_request());
    assert_eq!(decode(&[]), Err(WireError::TooShort(0)));
    assert_eq!(decode(&good[..25]), Err(WireError::TooShort(25)));
    assert_eq!(decode(&[0; 174]), Err(WireError::TooLong(174)));
    assert_eq!(refusal(&put_request(), 0, b"CR"), WireError::Magic(0x5243));
    for version in [0, 1, 3] {
        assert_eq!(refusal(&put_request(), 2, &[version]), WireError::Version(version));
    }
    assert_eq!(decode(&good[..90]), Err(WireError::Length { declared: 70, actual: 64 }));
    let longer = [&good[..], &[0]].concat();
    assert_eq!(decode(&longer), Err(WireError::Length { declared: 70, actual: 71 }));
    assert_eq!(refusal(&put_request(), 3, &[0]), WireError::Kind(0));
    assert_eq!(refusal(&put_request(), 3, &[17]), WireError::Kind(17));
}

#[test]
fn a_body_that_does_not_fit_its_kind_is_refused() {
    let mut short = encoded(&put_request());
    short.pop();
    assert_eq!(decode(&sealed(short)), Err(WireError::BodyTooShort { kind: 1, len: 69 }));
    let mut long = encoded(&put_request());
    long.extend([0, 0]);
    assert_eq!(decode(&sealed(long)), Err(WireError::TrailingBytes { kind: 1, extra: 2 }));
    // A put-accept that announces more grants than it brings.
    let error = refusal(&put_accept(2), 36, &[3]);
    assert_eq!(error, WireError::BodyTooShort { kind: 3, len: 45 });
}

#[test]
fn damage_is_found() {
    let mut datagram = encoded(&put_request());
    let declared = u32::from_le_bytes(datagram[22..26].try_into().unwrap());
    datagram[60] ^= 0x10;
    match decode(&datagram) {
        Err(WireError::Checksum { declared: d, computed }) => {
            assert_eq!(d, declared);
            assert_ne!(computed, declared);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn unknown_alternatives_are_refused() {
    let messages = golden();
    let of_kind = |kind| messages.iter().find(|(_, k, _)| *k == kind).unwrap().0;
    for (kind, offset, field, tags) in [
        (1, 95, "number of replicas", [0, 9, 255]),
        (1, 95, "number of replicas", [0x10, 0x19, 0x23]),
        (2, 36, "answer of a bid", [0, 7, 255]),
        (3, 35, "delivery", [0, 3, 255]),
        (4, 35, "outcome", [0, 5, 255]),
        (6, 36, "answer of an offer", [0, 4, 255]),
        (7, 35, "number of grants for a get", [2, 3, 255]),
        (10, 95, "number of replicas", [0, 9, 255]),
        (10, 101, "number of taken windows", [5, 6, 255]),
        (11, 40, "answer of a proxy", [0, 4, 255]),
        (14, 44, "occasion", [0, 3, 255]),
        (16, 35, "answer of a find", [0, 3, 255]),
        (16, 44, "number of replicas", [0, 9, 255]),
    ] {
        for tag in tags {
            let error = refusal(&of_kind(kind), offset, &[tag]);
            assert_eq!(error, WireError::Tag { field, tag }, "kind {kind}");
        }
    }
}

#[test]
fn impossible_positions_and_grants_are_refused() {
    let messages = golden();
    for (index, offset) in [
        (1, 35),
        (5, 37),
        (6, 34),
        (11, 35),
        (15, 36),
        (16, 34),
        (17, 35),
        (18, 100),
        (19, 39),
        (22, 43),
        (23, 42),
        (24, 38),
        (25, 43),
        (27, 34),
    ] {
        let message = messages[index].0;
        assert_eq!(refusal(&message, offset, &[64]), WireError::Position(64), "{message:?}");
    }
    assert_eq!(refusal(&put_accept(2), 36, &[9]), WireError::TooManyGrants(9));
    assert_eq!(refusal(&put_accept(2), 37 + 17, &[0]), WireError::DuplicateGrant(0));
}

#[test]
fn impossible_windows_times_and_sizes_are_refused() {
    let bid = golden()[1].0;
    let empty = Window { start: WINDOW.start, end: WINDOW.start };
    let reversed = Window { start: WINDOW.start, end: Time::from_ns(WINDOW.start.as_ns() - 1) };
    for wrong in [empty, reversed] {
        let error = refusal(&bid, 45, &wrong.end.as_ns().to_le_bytes());
        assert_eq!(error, WireError::Window(wrong));
    }

    let limit = TIME_LIMIT.as_ns();
    for late in [limit, u64::MAX] {
        for (message, offset) in [
            (put_request(), 14),
            (put_request(), 87),
            (bid, 37),
            (bid, 45),
            (golden()[3].0, 37),
            (golden()[10].0, 79),
            (golden()[13].0, 37),
            (proxy_request(1), 87),
            (proxy_request(1), 110),
            (golden()[21].0, 41),
            (proxy_report(Occasion::Asked), 45),
            (proxy_report(Occasion::Asked), 53),
        ] {
            let error = refusal(&message, offset, &late.to_le_bytes());
            assert_eq!(error, WireError::Time(late), "{message:?} at {offset}");
        }
    }

    for (message, offset) in [(put_request(), 79), (golden()[11].0, 53), (golden()[27].0, 36)] {
        for bytes in [0, MAX_CHUNK.as_bytes() + 1, u64::MAX] {
            let error = refusal(&message, offset, &bytes.to_le_bytes());
            assert_eq!(error, WireError::ChunkSize(bytes), "{message:?}");
        }
    }
}

#[test]
fn the_bounds_themselves_are_allowed() {
    let last = TIME_LIMIT.saturating_sub(Span::from_ns(1));
    for message in [
        Message::PutRequest(PutRequest {
            request: REQUEST,
            round: u8::MAX,
            group: GroupId(u32::MAX),
            skip: Members::first(Members::CAPACITY),
            chunk: chunk(),
            size: MAX_CHUNK,
            not_before: last,
            replicas: 8,
            claim: Claim::Bare,
        }),
        Message::Offer(Offer {
            request: REQUEST,
            round: 0,
            position: 0,
            answer: OfferAnswer::Window {
                window: Window { start: Time::ZERO, end: last },
                size: Size::from_bytes(1),
            },
        }),
        put_accept(MAX_REPLICAS),
        proxy_request(MAX_TAKEN),
    ] {
        let header = Header { epoch: u32::MAX, sender: u32::MAX, sent_at: last };
        let mut out = Vec::new();
        encode(&header, &message, &mut out);
        assert_eq!(decode(&out), Ok((header, message)));
    }
}
