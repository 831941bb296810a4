use alloc::vec::Vec;

use slotcast_units::{Size, Span, Time};

use super::{Header, layout};
use crate::group::Members;
use crate::ids::{RequestId, Term};
use crate::message::{
    AckOutcome, Bid, BidAnswer, FindAnswer, Grant, Message, Occasion, Offer, OfferAnswer,
    ProxyAnswer, ProxyNotice, ProxyReply, ProxyReport, ProxyRequest,
};
use crate::timing::Delivery;
use crate::window::Window;

/// Makes `out` the datagram of `message`. What was in it is gone, so that one buffer serves one
/// datagram after another; within a capacity of [`MAX_ENCODED_LEN`](super::MAX_ENCODED_LEN) nothing
/// is allocated.
///
/// Nothing is checked: a message beyond the bounds that [`decode`](super::decode) keeps is encoded
/// as it is, and refused where it arrives.
pub fn encode(header: &Header, message: &Message, out: &mut Vec<u8>) {
    let len = encoded_len(message);
    let body_len =
        u16::try_from(len - layout::HEADER_LEN).expect("at most MAX_ENCODED_LEN, which is checked");
    out.clear();
    out.reserve(len);
    out.extend_from_slice(&layout::MAGIC.to_le_bytes());
    out.push(layout::VERSION);
    out.push(kind(message));
    out.extend_from_slice(&body_len.to_le_bytes());
    out.extend_from_slice(&header.epoch.to_le_bytes());
    out.extend_from_slice(&header.sender.to_le_bytes());
    time(header.sent_at, out);
    out.extend_from_slice(&[0; 4]);
    body(message, out);
    debug_assert_eq!(out.len(), len, "the layout and the encoder agree on a {}", message.name());

    let checksum = checksum(out);
    out[layout::CHECKED_LEN..layout::HEADER_LEN].copy_from_slice(&checksum.to_le_bytes());
}

/// The length of the datagram of `message`.
pub fn encoded_len(message: &Message) -> usize {
    layout::HEADER_LEN
        + match message {
            Message::PutRequest(_) => layout::PUT_REQUEST_LEN,
            Message::Bid(m) => {
                layout::ANSWER_LEN
                    + match m.answer {
                        BidAnswer::Window { .. } => layout::WINDOW_LEN + layout::TIME_LEN,
                        BidAnswer::AlreadyStored
                        | BidAnswer::Raising
                        | BidAnswer::Unavailable
                        | BidAnswer::Full => 0,
                        BidAnswer::NotNow { .. } => layout::TIME_LEN,
                    }
            }
            Message::PutAccept(m) => layout::PUT_ACCEPT_LEN + m.grants.len() * layout::GRANT_LEN,
            Message::ReplicaAck(_) => layout::REPLICA_ACK_LEN,
            Message::GetRequest(_) => layout::GET_REQUEST_LEN,
            Message::Offer(m) => {
                layout::ANSWER_LEN
                    + match m.answer {
                        OfferAnswer::Window { .. } => layout::WINDOW_LEN + layout::SIZE_LEN,
                        OfferAnswer::NotHeld | OfferAnswer::Unavailable => 0,
                        OfferAnswer::NotNow { .. } => layout::TIME_LEN,
                    }
            }
            Message::GetAccept(m) => {
                layout::GET_ACCEPT_LEN + m.grant.iter().len() * layout::GRANT_LEN
            }
            Message::Undelivered(_) => layout::UNDELIVERED_LEN,
            Message::LateReject(_) => layout::LATE_REJECT_LEN,
            Message::ProxyRequest(m) => {
                layout::PROXY_REQUEST_LEN + m.taken.len() * layout::WINDOW_LEN
            }
            Message::ProxyReply(m) => {
                layout::PROXY_REPLY_LEN
                    + match m.answer {
                        ProxyAnswer::Granted { .. } => layout::WINDOW_LEN + layout::MEMBERS_LEN,
                        ProxyAnswer::NotNow { .. } => layout::TIME_LEN,
                        ProxyAnswer::Moved => 0,
                    }
            }
            Message::ProxyNotice(_) => layout::PROXY_NOTICE_LEN,
            Message::ProxyQuery(_) => layout::PROXY_QUERY_LEN,
            Message::ProxyReport(_) => layout::PROXY_REPORT_LEN,
            Message::FindRequest(_) => layout::FIND_REQUEST_LEN,
            Message::FindReply(m) => {
                layout::FIND_REPLY_LEN
                    + match m.answer {
                        FindAnswer::Held { .. } => layout::SIZE_LEN + 1,
                        FindAnswer::NotHeld => 0,
                    }
            }
        }
}

/// The checksum of a datagram: of everything but the checksum itself. `datagram` has a whole header.
pub(super) fn checksum(datagram: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&datagram[..layout::CHECKED_LEN]);
    hasher.update(&datagram[layout::HEADER_LEN..]);
    hasher.finalize()
}

fn kind(message: &Message) -> u8 {
    match message {
        Message::PutRequest(_) => layout::PUT_REQUEST,
        Message::Bid(_) => layout::BID,
        Message::PutAccept(_) => layout::PUT_ACCEPT,
        Message::ReplicaAck(_) => layout::REPLICA_ACK,
        Message::GetRequest(_) => layout::GET_REQUEST,
        Message::Offer(_) => layout::OFFER,
        Message::GetAccept(_) => layout::GET_ACCEPT,
        Message::Undelivered(_) => layout::UNDELIVERED,
        Message::LateReject(_) => layout::LATE_REJECT,
        Message::ProxyRequest(_) => layout::PROXY_REQUEST,
        Message::ProxyReply(_) => layout::PROXY_REPLY,
        Message::ProxyNotice(_) => layout::PROXY_NOTICE,
        Message::ProxyQuery(_) => layout::PROXY_QUERY,
        Message::ProxyReport(_) => layout::PROXY_REPORT,
        Message::FindRequest(_) => layout::FIND_REQUEST,
        Message::FindReply(_) => layout::FIND_REPLY,
    }
}

fn body(message: &Message, out: &mut Vec<u8>) {
    request(message.request(), out);
    match message {
        Message::PutRequest(m) => {
            out.push(m.round);
            out.extend_from_slice(&m.group.0.to_le_bytes());
            out.extend_from_slice(&m.skip.bits().to_le_bytes());
            out.extend_from_slice(&m.chunk.0);
            size(m.size, out);
            time(m.not_before, out);
            out.push(m.wanted().to_byte());
        }
        Message::Bid(m) => bid(m, out),
        Message::PutAccept(m) => {
            out.push(m.round);
            out.push(match m.delivery {
                Delivery::Multicast => layout::MULTICAST,
                Delivery::Unicast => layout::UNICAST,
            });
            grants(&m.grants, out);
        }
        Message::ReplicaAck(m) => {
            out.push(m.position);
            out.push(match m.outcome {
                AckOutcome::Stored => layout::STORED,
                AckOutcome::NoReservation => layout::NO_RESERVATION,
                AckOutcome::Damaged => layout::DAMAGED,
                AckOutcome::DiskFailed => layout::DISK_FAILED,
            });
        }
        Message::GetRequest(m) => {
            out.push(m.round);
            out.extend_from_slice(&m.group.0.to_le_bytes());
            out.extend_from_slice(&m.skip.bits().to_le_bytes());
            out.extend_from_slice(&m.chunk.0);
            time(m.not_before, out);
        }
        Message::Offer(m) => offer(m, out),
        Message::GetAccept(m) => {
            out.push(m.round);
            grants(m.grant.as_slice(), out);
        }
        Message::Undelivered(m) => out.push(m.position),
        Message::LateReject(m) => out.extend_from_slice(&[m.round, m.position]),
        Message::ProxyRequest(m) => proxy_request(m, out),
        Message::ProxyReply(m) => proxy_reply(m, out),
        Message::ProxyNotice(m) => proxy_notice(m, out),
        Message::ProxyQuery(m) => {
            out.extend_from_slice(&m.group.0.to_le_bytes());
            term(m.term, out);
        }
        Message::ProxyReport(m) => proxy_report(m, out),
        Message::FindRequest(m) => {
            out.extend_from_slice(&m.group.0.to_le_bytes());
            out.extend_from_slice(&m.chunk.0);
        }
        Message::FindReply(m) => {
            out.push(m.position);
            match m.answer {
                FindAnswer::Held { size: held, replicas } => {
                    out.push(layout::HELD);
                    size(held, out);
                    out.push(replicas);
                }
                FindAnswer::NotHeld => out.push(layout::NOT_HELD),
            }
        }
    }
}

fn bid(m: &Bid, out: &mut Vec<u8>) {
    out.extend_from_slice(&[m.round, m.position]);
    match m.answer {
        BidAnswer::Window { window: offered, backlog } => {
            out.push(layout::WINDOW);
            window(offered, out);
            span(backlog, out);
        }
        BidAnswer::AlreadyStored => out.push(layout::ALREADY_STORED),
        BidAnswer::Raising => out.push(layout::RAISING),
        BidAnswer::Unavailable => out.push(layout::UNAVAILABLE),
        BidAnswer::Full => out.push(layout::FULL),
        BidAnswer::NotNow { retry_after } => {
            out.push(layout::NOT_NOW);
            span(retry_after, out);
        }
    }
}

fn offer(m: &Offer, out: &mut Vec<u8>) {
    out.extend_from_slice(&[m.round, m.position]);
    match m.answer {
        OfferAnswer::Window { window: offered, size: held } => {
            out.push(layout::WINDOW);
            window(offered, out);
            size(held, out);
        }
        OfferAnswer::NotHeld => out.push(layout::NOT_HELD),
        OfferAnswer::Unavailable => out.push(layout::UNAVAILABLE),
        OfferAnswer::NotNow { retry_after } => {
            out.push(layout::NOT_NOW);
            span(retry_after, out);
        }
    }
}

fn proxy_request(m: &ProxyRequest, out: &mut Vec<u8>) {
    out.push(m.round);
    out.extend_from_slice(&m.group.0.to_le_bytes());
    members(m.skip, out);
    out.extend_from_slice(&m.chunk.0);
    size(m.size, out);
    time(m.not_before, out);
    out.push(m.replicas);
    term(m.over, out);
    out.push(u8::try_from(m.taken.len()).expect("at most MAX_TAKEN"));
    m.taken.iter().for_each(|&taken| window(taken, out));
}

fn proxy_reply(m: &ProxyReply, out: &mut Vec<u8>) {
    out.push(m.round);
    term(m.term, out);
    match m.answer {
        ProxyAnswer::Granted { window: granted, members: chosen } => {
            out.push(layout::GRANTED);
            window(granted, out);
            members(chosen, out);
        }
        ProxyAnswer::NotNow { retry_after } => {
            out.push(layout::NOT_NOW);
            span(retry_after, out);
        }
        ProxyAnswer::Moved => out.push(layout::MOVED),
    }
}

fn proxy_notice(m: &ProxyNotice, out: &mut Vec<u8>) {
    out.push(m.round);
    out.extend_from_slice(&m.group.0.to_le_bytes());
    term(m.term, out);
    members(m.skip, out);
    out.extend_from_slice(&m.chunk.0);
    size(m.size, out);
    window(m.window, out);
    members(m.members, out);
}

fn proxy_report(m: &ProxyReport, out: &mut Vec<u8>) {
    out.extend_from_slice(&m.group.0.to_le_bytes());
    out.push(m.position);
    term(m.term, out);
    out.push(match m.occasion {
        Occasion::Received => layout::RECEIVED,
        Occasion::Asked => layout::ASKED,
    });
    time(m.free_from, out);
    time(m.disk_done, out);
    out.extend_from_slice(&m.disk_rate.as_bps().to_le_bytes());
}

fn members(members: Members, out: &mut Vec<u8>) {
    out.extend_from_slice(&members.bits().to_le_bytes());
}

fn term(term: Term, out: &mut Vec<u8>) {
    out.extend_from_slice(&term.count.to_le_bytes());
    out.push(term.position);
}

fn request(request: RequestId, out: &mut Vec<u8>) {
    out.extend_from_slice(&request.initiator.0.to_le_bytes());
    out.extend_from_slice(&request.serial.to_le_bytes());
}

fn grants(grants: &[Grant], out: &mut Vec<u8>) {
    out.push(u8::try_from(grants.len()).expect("at most MAX_REPLICAS"));
    for grant in grants {
        out.push(grant.position);
        window(grant.window, out);
    }
}

fn window(window: Window, out: &mut Vec<u8>) {
    time(window.start, out);
    time(window.end, out);
}

fn time(time: Time, out: &mut Vec<u8>) {
    out.extend_from_slice(&time.as_ns().to_le_bytes());
}

fn span(span: Span, out: &mut Vec<u8>) {
    out.extend_from_slice(&span.as_ns().to_le_bytes());
}

fn size(size: Size, out: &mut Vec<u8>) {
    out.extend_from_slice(&size.as_bytes().to_le_bytes());
}
