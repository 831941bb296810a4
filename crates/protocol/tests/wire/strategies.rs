//! Messages with field values all over their range, the ends of it included, and with names that
//! meet each other often enough for a conversation.

use proptest::prelude::*;
use proptest::sample::select;
use slotcast_protocol::wire::{self, HEADER_LEN, Header, MAX_CHUNK, TIME_LIMIT};
use slotcast_protocol::{
    AckOutcome, Bid, BidAnswer, ChunkId, Delivery, GetAccept, GetRequest, Grant, Grants, GroupId,
    InitiatorId, LateReject, MAX_REPLICAS, Members, Message, Offer, OfferAnswer, PutAccept,
    PutRequest, ReplicaAck, RequestId, Undelivered, Window,
};
use slotcast_units::{Size, Span, Time};

pub(crate) fn header() -> impl Strategy<Value = Header> {
    (any::<u32>(), any::<u32>(), time()).prop_map(|(epoch, sender, sent_at)| Header {
        epoch,
        sender,
        sent_at,
    })
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        3 => put_request(),
        2 => (request(), round(), position(), bid_answer()).prop_map(
            |(request, round, position, answer)| {
                Message::Bid(Bid { request, round, position, answer })
            }
        ),
        2 => (request(), round(), delivery(), grants()).prop_map(
            |(request, round, delivery, grants)| {
                Message::PutAccept(PutAccept { request, round, delivery, grants })
            }
        ),
        1 => (request(), position(), outcome()).prop_map(|(request, position, outcome)| {
            Message::ReplicaAck(ReplicaAck { request, position, outcome })
        }),
        2 => get_request(),
        2 => (request(), round(), position(), offer_answer()).prop_map(
            |(request, round, position, answer)| {
                Message::Offer(Offer { request, round, position, answer })
            }
        ),
        2 => (request(), round(), prop::option::of(grant())).prop_map(|(request, round, grant)| {
            Message::GetAccept(GetAccept { request, round, grant })
        }),
        1 => (request(), position()).prop_map(|(request, position)| {
            Message::Undelivered(Undelivered { request, position })
        }),
        1 => (request(), round(), position()).prop_map(|(request, round, position)| {
            Message::LateReject(LateReject { request, round, position })
        }),
    ]
}

/// `n` times that never go backwards.
pub(crate) fn moments(n: usize) -> impl Strategy<Value = Vec<Time>> {
    prop::collection::vec(time(), n).prop_map(|mut times| {
        times.sort_unstable();
        times
    })
}

/// Random bodies after a right header: of any length and kind, or a message with bytes replaced.
pub(crate) fn datagram_like() -> impl Strategy<Value = Vec<u8>> {
    let random = (0u8..11, prop::collection::vec(any::<u8>(), 0..150))
        .prop_map(|(kind, body)| sealed(kind, &body));
    let patched = (message(), any::<prop::sample::Index>(), any::<u8>()).prop_map(
        |(message, index, byte)| {
            let mut datagram = Vec::new();
            let header = Header { epoch: 1, sender: 2, sent_at: Time::from_ns(3) };
            wire::encode(&header, &message, &mut datagram);
            let kind = datagram[3];
            let body = &mut datagram[HEADER_LEN..];
            body[index.index(body.len())] = byte;
            sealed(kind, body)
        },
    );
    prop_oneof![random, patched]
}

/// The datagram of `kind` with this body, whatever it means.
fn sealed(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut datagram = b"RC\x02".to_vec();
    datagram.push(kind);
    datagram.extend(u16::try_from(body.len()).unwrap().to_le_bytes());
    datagram.extend([0; 16]);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&datagram);
    hasher.update(body);
    datagram.extend(hasher.finalize().to_le_bytes());
    datagram.extend(body);
    datagram
}

fn put_request() -> impl Strategy<Value = Message> {
    (request(), round(), group(), skip(), chunk(), size(), time()).prop_map(
        |(request, round, group, skip, chunk, size, not_before)| {
            Message::PutRequest(PutRequest { request, round, group, skip, chunk, size, not_before })
        },
    )
}

fn get_request() -> impl Strategy<Value = Message> {
    (request(), round(), group(), skip(), chunk(), time()).prop_map(
        |(request, round, group, skip, chunk, not_before)| {
            Message::GetRequest(GetRequest { request, round, group, skip, chunk, not_before })
        },
    )
}

fn request() -> impl Strategy<Value = RequestId> {
    let initiator = prop_oneof![9 => 0u32..2, 1 => any::<u32>()];
    let serial = prop_oneof![9 => 0u32..4, 1 => any::<u32>()];
    (initiator, serial)
        .prop_map(|(initiator, serial)| RequestId { initiator: InitiatorId(initiator), serial })
}

fn round() -> impl Strategy<Value = u8> {
    prop_oneof![8 => 0u8..3, 1 => any::<u8>()]
}

fn group() -> impl Strategy<Value = GroupId> {
    prop_oneof![9 => 0u32..2, 1 => any::<u32>()].prop_map(GroupId)
}

fn position() -> impl Strategy<Value = u8> {
    prop_oneof![4 => 0u8..9, 1 => 0u8..64]
}

fn skip() -> impl Strategy<Value = Members> {
    prop_oneof![2 => Just(0), 1 => any::<u64>()].prop_map(Members::from_bits)
}

fn chunk() -> impl Strategy<Value = ChunkId> {
    prop_oneof![
        3 => (0u8..4).prop_map(|byte| ChunkId([byte; 32])),
        1 => any::<[u8; 32]>().prop_map(ChunkId),
    ]
}

fn size() -> impl Strategy<Value = Size> {
    let max = MAX_CHUNK.as_bytes();
    prop_oneof![select(vec![1, 9000, 128 << 10, max]), 1..=max].prop_map(Size::from_bytes)
}

/// Below the limit of times: close to the start, close to the end, or anywhere.
fn ns() -> impl Strategy<Value = u64> {
    let limit = TIME_LIMIT.as_ns();
    prop_oneof![4 => 0u64..10_000_000, 1 => limit - 10_000_000..limit, 1 => 0..limit]
}

fn time() -> impl Strategy<Value = Time> {
    ns().prop_map(Time::from_ns)
}

fn window() -> impl Strategy<Value = Window> {
    (ns(), ns(), 1u64..1_000_000).prop_map(|(a, b, width)| {
        let start = a.min(b).min(TIME_LIMIT.as_ns() - 1 - width);
        let end = if a == b { start + width } else { a.max(b).max(start + 1) };
        Window { start: Time::from_ns(start), end: Time::from_ns(end) }
    })
}

fn grant() -> impl Strategy<Value = Grant> {
    (position(), window()).prop_map(|(position, window)| Grant { position, window })
}

fn grants() -> impl Strategy<Value = Grants> {
    prop::collection::vec(grant(), 0..=MAX_REPLICAS).prop_map(|candidates| {
        let mut grants = Grants::NONE;
        for grant in candidates {
            if grants.of(grant.position).is_none() {
                grants.push(grant);
            }
        }
        grants
    })
}

fn delivery() -> impl Strategy<Value = Delivery> {
    select(vec![Delivery::Multicast, Delivery::Unicast])
}

fn outcome() -> impl Strategy<Value = AckOutcome> {
    select(vec![
        AckOutcome::Stored,
        AckOutcome::NoReservation,
        AckOutcome::Damaged,
        AckOutcome::DiskFailed,
    ])
}

fn bid_answer() -> impl Strategy<Value = BidAnswer> {
    prop_oneof![
        3 => window().prop_map(BidAnswer::Window),
        1 => Just(BidAnswer::AlreadyStored),
        1 => ns().prop_map(|ns| BidAnswer::NotNow { retry_after: Span::from_ns(ns) }),
    ]
}

fn offer_answer() -> impl Strategy<Value = OfferAnswer> {
    prop_oneof![
        3 => (window(), size()).prop_map(|(window, size)| OfferAnswer::Window { window, size }),
        1 => Just(OfferAnswer::NotHeld),
        1 => ns().prop_map(|ns| OfferAnswer::NotNow { retry_after: Span::from_ns(ns) }),
    ]
}
