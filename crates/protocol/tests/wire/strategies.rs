//! Messages with field values all over their range, the ends of it included, and with names that
//! meet each other often enough for a conversation.

use proptest::prelude::*;
use proptest::sample::select;
use slotcast_protocol::wire::{self, HEADER_LEN, Header, MAX_CHUNK, TIME_LIMIT};
use slotcast_protocol::{
    AckOutcome, Bid, BidAnswer, ChunkId, Claim, Delivery, FindAnswer, FindReply, FindRequest,
    GetAccept, GetRequest, Grant, Grants, GroupId, InitiatorId, LateReject, MAX_REPLICAS,
    MAX_TAKEN, Members, Message, Occasion, Offer, OfferAnswer, ProxyAnswer, ProxyNotice,
    ProxyQuery, ProxyReply, ProxyReport, ProxyRequest, PutAccept, PutRequest, ReplicaAck,
    RequestId, Taken, Term, Undelivered, Window,
};
use slotcast_units::{Rate, Size, Span, Time};

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
        8 => proxied(),
        1 => (request(), group(), chunk()).prop_map(|(request, group, chunk)| {
            Message::FindRequest(FindRequest { request, group, chunk })
        }),
        1 => (request(), position(), find_answer()).prop_map(|(request, position, answer)| {
            Message::FindReply(FindReply { request, position, answer })
        }),
    ]
}

fn find_answer() -> impl Strategy<Value = FindAnswer> {
    prop_oneof![
        1 => (size(), replicas())
            .prop_map(|(size, replicas)| FindAnswer::Held { size, replicas }),
        1 => Just(FindAnswer::NotHeld),
    ]
}

fn proxied() -> impl Strategy<Value = Message> {
    let asked = (request(), round(), group(), skip(), chunk(), size(), time());
    let wanted = (1..=MAX_REPLICAS as u8, term(), taken());
    let request_ = (asked, wanted).prop_map(
        |((request, round, group, skip, chunk, size, not_before), (replicas, over, taken))| {
            Message::ProxyRequest(ProxyRequest {
                request,
                round,
                group,
                skip,
                chunk,
                size,
                not_before,
                replicas,
                over,
                taken,
            })
        },
    );
    let told = (request(), round(), group(), term(), skip());
    let notice = (told, (chunk(), size(), window(), members())).prop_map(
        |((request, round, group, term, skip), (chunk, size, window, members))| {
            Message::ProxyNotice(ProxyNotice {
                request,
                round,
                group,
                term,
                skip,
                chunk,
                size,
                window,
                members,
            })
        },
    );
    let reply =
        (request(), round(), term(), proxy_answer()).prop_map(|(request, round, term, answer)| {
            Message::ProxyReply(ProxyReply { request, round, term, answer })
        });
    let query = (request(), group(), term()).prop_map(|(request, group, term)| {
        Message::ProxyQuery(ProxyQuery { request, group, term })
    });
    let state = (occasion(), time(), time(), any::<u64>());
    let report = (request(), group(), position(), term(), state).prop_map(
        |(request, group, position, term, (occasion, free_from, disk_done, rate))| {
            let disk_rate = Rate::from_bps(rate);
            Message::ProxyReport(ProxyReport {
                request,
                group,
                position,
                term,
                occasion,
                free_from,
                disk_done,
                disk_rate,
            })
        },
    );
    prop_oneof![2 => request_, 2 => reply, 2 => notice, 1 => query, 2 => report]
}

/// Mostly those that follow each other from the beginning.
fn term() -> impl Strategy<Value = Term> {
    let count = prop_oneof![9 => 0u32..3, 1 => any::<u32>()];
    (count, position()).prop_map(|(count, position)| Term { count, position })
}

fn members() -> impl Strategy<Value = Members> {
    prop_oneof![4 => 0u64..512, 1 => any::<u64>()].prop_map(Members::from_bits)
}

fn taken() -> impl Strategy<Value = Taken> {
    prop::collection::vec(window(), 0..=MAX_TAKEN).prop_map(Taken::from_iter)
}

fn proxy_answer() -> impl Strategy<Value = ProxyAnswer> {
    prop_oneof![
        3 => (window(), members())
            .prop_map(|(window, members)| ProxyAnswer::Granted { window, members }),
        1 => Just(ProxyAnswer::Moved),
        1 => ns().prop_map(|ns| ProxyAnswer::NotNow { retry_after: Span::from_ns(ns) }),
    ]
}

fn occasion() -> impl Strategy<Value = Occasion> {
    select(vec![Occasion::Received, Occasion::Asked])
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
    let random = (0u8..18, prop::collection::vec(any::<u8>(), 0..150))
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
    let wanted = (replicas(), prop_oneof![Just(Claim::Names), Just(Claim::Bare)]);
    (request(), round(), group(), skip(), chunk(), size(), time(), wanted).prop_map(
        |(request, round, group, skip, chunk, size, not_before, (replicas, claim))| {
            Message::PutRequest(PutRequest {
                request,
                round,
                group,
                skip,
                chunk,
                size,
                not_before,
                replicas,
                claim,
            })
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

fn replicas() -> impl Strategy<Value = u8> {
    1u8..=8
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
        3 => (window(), any::<u64>()).prop_map(|(window, backlog)| {
            let backlog = Span::from_ns(backlog);
            BidAnswer::Window { window, backlog }
        }),
        1 => Just(BidAnswer::AlreadyStored),
        1 => Just(BidAnswer::Raising),
        1 => Just(BidAnswer::Full),
        1 => Just(BidAnswer::Unavailable),
        1 => ns().prop_map(|ns| BidAnswer::NotNow { retry_after: Span::from_ns(ns) }),
    ]
}

fn offer_answer() -> impl Strategy<Value = OfferAnswer> {
    prop_oneof![
        3 => (window(), size()).prop_map(|(window, size)| OfferAnswer::Window { window, size }),
        1 => Just(OfferAnswer::NotHeld),
        1 => Just(OfferAnswer::Unavailable),
        1 => ns().prop_map(|ns| OfferAnswer::NotNow { retry_after: Span::from_ns(ns) }),
    ]
}
