use slotcast_units::{Rate, Size, Span, Time};

use super::encode::checksum;
use super::{HEADER_LEN, Header, MAX_CHUNK, MAX_ENCODED_LEN, TIME_LIMIT, WireError, layout};
use crate::claim::Wanted;
use crate::group::Members;
use crate::ids::{ChunkId, GroupId, InitiatorId, RequestId, Term};
use crate::message::{
    AckOutcome, Bid, BidAnswer, FindAnswer, FindReply, FindRequest, GetAccept, GetRequest, Grant,
    Grants, LateReject, MAX_REPLICAS, MAX_TAKEN, Message, Occasion, Offer, OfferAnswer,
    ProxyAnswer, ProxyNotice, ProxyQuery, ProxyReply, ProxyReport, ProxyRequest, PutAccept,
    PutRequest, ReplicaAck, Taken, Undelivered,
};
use crate::timing::Delivery;
use crate::window::Window;

/// Reads one datagram. Allocates nothing.
///
/// # Errors
/// If it is not exactly what [`encode`](super::encode) makes of some message within the bounds that
/// the [module](super) names.
pub fn decode(datagram: &[u8]) -> Result<(Header, Message), WireError> {
    let Some((header, body)) = datagram.split_first_chunk::<HEADER_LEN>() else {
        return Err(WireError::TooShort(datagram.len()));
    };
    if datagram.len() > MAX_ENCODED_LEN {
        return Err(WireError::TooLong(datagram.len()));
    }
    // The header has its full length, so reading it never runs short.
    let mut reader = Reader { rest: header, kind: header[3], len: HEADER_LEN };
    let magic = reader.u16()?;
    if magic != layout::MAGIC {
        return Err(WireError::Magic(magic));
    }
    let version = reader.u8()?;
    if version != layout::VERSION {
        return Err(WireError::Version(version));
    }
    let kind = reader.u8()?;
    let declared = reader.u16()?;
    if usize::from(declared) != body.len() {
        return Err(WireError::Length { declared, actual: body.len() });
    }
    let (epoch, sender, sent_at) = (reader.u32()?, reader.u32()?, reader.u64()?);
    let declared = reader.u32()?;
    let computed = checksum(datagram);
    if declared != computed {
        return Err(WireError::Checksum { declared, computed });
    }
    let sent_at = Time::from_ns(below_limit(sent_at)?);

    let mut reader = Reader { rest: body, kind, len: body.len() };
    let message = reader.message()?;
    if !reader.rest.is_empty() {
        return Err(WireError::TrailingBytes { kind, extra: reader.rest.len() });
    }
    Ok((Header { epoch, sender, sent_at }, message))
}

fn below_limit(ns: u64) -> Result<u64, WireError> {
    if ns < TIME_LIMIT.as_ns() { Ok(ns) } else { Err(WireError::Time(ns)) }
}

/// What is left to read of a header or a body.
struct Reader<'a> {
    rest: &'a [u8],
    kind: u8,
    /// How much there was at first, for errors.
    len: usize,
}

impl Reader<'_> {
    /// Here and below, fields are read in the order in which they are written.
    fn message(&mut self) -> Result<Message, WireError> {
        // Every message begins with its request, but an unknown kind is no message.
        if !(layout::PUT_REQUEST..=layout::FIND_REPLY).contains(&self.kind) {
            return Err(WireError::Kind(self.kind));
        }
        let request = self.request()?;
        Ok(match self.kind {
            layout::PUT_REQUEST => Message::PutRequest(self.put_request(request)?),
            layout::BID => Message::Bid(Bid {
                request,
                round: self.u8()?,
                position: self.position()?,
                answer: self.bid_answer()?,
            }),
            layout::PUT_ACCEPT => Message::PutAccept(PutAccept {
                request,
                round: self.u8()?,
                delivery: self.delivery()?,
                grants: self.grants()?,
            }),
            layout::REPLICA_ACK => Message::ReplicaAck(ReplicaAck {
                request,
                position: self.position()?,
                outcome: self.outcome()?,
            }),
            layout::GET_REQUEST => Message::GetRequest(self.get_request(request)?),
            layout::OFFER => Message::Offer(Offer {
                request,
                round: self.u8()?,
                position: self.position()?,
                answer: self.offer_answer()?,
            }),
            layout::GET_ACCEPT => Message::GetAccept(GetAccept {
                request,
                round: self.u8()?,
                grant: self.one_grant_at_most()?,
            }),
            layout::UNDELIVERED => {
                Message::Undelivered(Undelivered { request, position: self.position()? })
            }
            layout::LATE_REJECT => Message::LateReject(LateReject {
                request,
                round: self.u8()?,
                position: self.position()?,
            }),
            layout::PROXY_REQUEST => Message::ProxyRequest(self.proxy_request(request)?),
            layout::PROXY_REPLY => Message::ProxyReply(ProxyReply {
                request,
                round: self.u8()?,
                term: self.term()?,
                answer: self.proxy_answer()?,
            }),
            layout::PROXY_NOTICE => Message::ProxyNotice(self.proxy_notice(request)?),
            layout::PROXY_QUERY => Message::ProxyQuery(ProxyQuery {
                request,
                group: GroupId(self.u32()?),
                term: self.term()?,
            }),
            layout::PROXY_REPORT => Message::ProxyReport(self.proxy_report(request)?),
            layout::FIND_REQUEST => Message::FindRequest(FindRequest {
                request,
                group: GroupId(self.u32()?),
                chunk: ChunkId(self.take()?),
            }),
            _ => Message::FindReply(FindReply {
                request,
                position: self.position()?,
                answer: self.find_answer()?,
            }),
        })
    }

    fn put_request(&mut self, request: RequestId) -> Result<PutRequest, WireError> {
        let (round, group) = (self.u8()?, GroupId(self.u32()?));
        let (skip, chunk) = (Members::from_bits(self.u64()?), ChunkId(self.take()?));
        let (size, not_before) = (self.size()?, self.time()?);
        let Wanted { replicas, claim } = self.wanted()?;
        Ok(PutRequest { request, round, group, skip, chunk, size, not_before, replicas, claim })
    }

    fn get_request(&mut self, request: RequestId) -> Result<GetRequest, WireError> {
        Ok(GetRequest {
            request,
            round: self.u8()?,
            group: GroupId(self.u32()?),
            skip: Members::from_bits(self.u64()?),
            chunk: ChunkId(self.take()?),
            not_before: self.time()?,
        })
    }

    fn proxy_request(&mut self, request: RequestId) -> Result<ProxyRequest, WireError> {
        Ok(ProxyRequest {
            request,
            round: self.u8()?,
            group: GroupId(self.u32()?),
            skip: self.members()?,
            chunk: ChunkId(self.take()?),
            size: self.size()?,
            not_before: self.time()?,
            replicas: self.replicas()?,
            over: self.term()?,
            taken: self.taken()?,
        })
    }

    fn proxy_notice(&mut self, request: RequestId) -> Result<ProxyNotice, WireError> {
        Ok(ProxyNotice {
            request,
            round: self.u8()?,
            group: GroupId(self.u32()?),
            term: self.term()?,
            skip: self.members()?,
            chunk: ChunkId(self.take()?),
            size: self.size()?,
            window: self.window()?,
            members: self.members()?,
        })
    }

    fn proxy_report(&mut self, request: RequestId) -> Result<ProxyReport, WireError> {
        Ok(ProxyReport {
            request,
            group: GroupId(self.u32()?),
            position: self.position()?,
            term: self.term()?,
            occasion: self.occasion()?,
            free_from: self.time()?,
            disk_done: self.time()?,
            disk_rate: Rate::from_bps(self.u64()?),
        })
    }

    fn bid_answer(&mut self) -> Result<BidAnswer, WireError> {
        match self.u8()? {
            // A backlog is compared and nothing else, so no number is too large.
            layout::WINDOW => Ok(BidAnswer::Window {
                window: self.window()?,
                backlog: Span::from_ns(self.u64()?),
            }),
            layout::ALREADY_STORED => Ok(BidAnswer::AlreadyStored),
            layout::RAISING => Ok(BidAnswer::Raising),
            layout::UNAVAILABLE => Ok(BidAnswer::Unavailable),
            layout::FULL => Ok(BidAnswer::Full),
            layout::NOT_NOW => Ok(BidAnswer::NotNow { retry_after: self.span()? }),
            tag => Err(WireError::Tag { field: "answer of a bid", tag }),
        }
    }

    fn offer_answer(&mut self) -> Result<OfferAnswer, WireError> {
        match self.u8()? {
            layout::WINDOW => {
                Ok(OfferAnswer::Window { window: self.window()?, size: self.size()? })
            }
            layout::NOT_HELD => Ok(OfferAnswer::NotHeld),
            layout::NOT_NOW => Ok(OfferAnswer::NotNow { retry_after: self.span()? }),
            layout::UNAVAILABLE => Ok(OfferAnswer::Unavailable),
            tag => Err(WireError::Tag { field: "answer of an offer", tag }),
        }
    }

    fn find_answer(&mut self) -> Result<FindAnswer, WireError> {
        match self.u8()? {
            layout::HELD => Ok(FindAnswer::Held { size: self.size()?, replicas: self.replicas()? }),
            layout::NOT_HELD => Ok(FindAnswer::NotHeld),
            tag => Err(WireError::Tag { field: "answer of a find", tag }),
        }
    }

    fn delivery(&mut self) -> Result<Delivery, WireError> {
        match self.u8()? {
            layout::MULTICAST => Ok(Delivery::Multicast),
            layout::UNICAST => Ok(Delivery::Unicast),
            tag => Err(WireError::Tag { field: "delivery", tag }),
        }
    }

    fn outcome(&mut self) -> Result<AckOutcome, WireError> {
        match self.u8()? {
            layout::STORED => Ok(AckOutcome::Stored),
            layout::NO_RESERVATION => Ok(AckOutcome::NoReservation),
            layout::DAMAGED => Ok(AckOutcome::Damaged),
            layout::DISK_FAILED => Ok(AckOutcome::DiskFailed),
            tag => Err(WireError::Tag { field: "outcome", tag }),
        }
    }

    fn grants(&mut self) -> Result<Grants, WireError> {
        let count = self.u8()?;
        if usize::from(count) > MAX_REPLICAS {
            return Err(WireError::TooManyGrants(count));
        }
        let mut grants = Grants::NONE;
        for _ in 0..count {
            let grant = self.grant()?;
            if grants.of(grant.position).is_some() {
                return Err(WireError::DuplicateGrant(grant.position));
            }
            grants.push(grant);
        }
        Ok(grants)
    }

    fn one_grant_at_most(&mut self) -> Result<Option<Grant>, WireError> {
        match self.u8()? {
            0 => Ok(None),
            1 => Ok(Some(self.grant()?)),
            tag => Err(WireError::Tag { field: "number of grants for a get", tag }),
        }
    }

    fn grant(&mut self) -> Result<Grant, WireError> {
        Ok(Grant { position: self.position()?, window: self.window()? })
    }

    fn proxy_answer(&mut self) -> Result<ProxyAnswer, WireError> {
        match self.u8()? {
            layout::GRANTED => {
                Ok(ProxyAnswer::Granted { window: self.window()?, members: self.members()? })
            }
            layout::MOVED => Ok(ProxyAnswer::Moved),
            layout::NOT_NOW => Ok(ProxyAnswer::NotNow { retry_after: self.span()? }),
            tag => Err(WireError::Tag { field: "answer of a proxy", tag }),
        }
    }

    fn occasion(&mut self) -> Result<Occasion, WireError> {
        match self.u8()? {
            layout::RECEIVED => Ok(Occasion::Received),
            layout::ASKED => Ok(Occasion::Asked),
            tag => Err(WireError::Tag { field: "occasion", tag }),
        }
    }

    fn wanted(&mut self) -> Result<Wanted, WireError> {
        let tag = self.u8()?;
        let wanted = Wanted::from_byte(tag).filter(|wanted| wanted.replicas > 0);
        wanted.ok_or(WireError::Tag { field: "number of replicas", tag })
    }

    fn replicas(&mut self) -> Result<u8, WireError> {
        match self.u8()? {
            tag if tag == 0 || usize::from(tag) > MAX_REPLICAS => {
                Err(WireError::Tag { field: "number of replicas", tag })
            }
            replicas => Ok(replicas),
        }
    }

    fn taken(&mut self) -> Result<Taken, WireError> {
        let count = self.u8()?;
        if usize::from(count) > MAX_TAKEN {
            return Err(WireError::Tag { field: "number of taken windows", tag: count });
        }
        let mut taken = Taken::NONE;
        for _ in 0..count {
            taken.push(self.window()?);
        }
        Ok(taken)
    }

    fn members(&mut self) -> Result<Members, WireError> {
        self.u64().map(Members::from_bits)
    }

    fn term(&mut self) -> Result<Term, WireError> {
        Ok(Term { count: self.u32()?, position: self.position()? })
    }

    fn request(&mut self) -> Result<RequestId, WireError> {
        Ok(RequestId { initiator: InitiatorId(self.u32()?), serial: self.u32()? })
    }

    fn position(&mut self) -> Result<u8, WireError> {
        let position = self.u8()?;
        if usize::from(position) < Members::CAPACITY {
            Ok(position)
        } else {
            Err(WireError::Position(position))
        }
    }

    fn window(&mut self) -> Result<Window, WireError> {
        let window = Window { start: self.time()?, end: self.time()? };
        if window.start < window.end { Ok(window) } else { Err(WireError::Window(window)) }
    }

    fn size(&mut self) -> Result<Size, WireError> {
        let bytes = self.u64()?;
        if (1..=MAX_CHUNK.as_bytes()).contains(&bytes) {
            Ok(Size::from_bytes(bytes))
        } else {
            Err(WireError::ChunkSize(bytes))
        }
    }

    fn time(&mut self) -> Result<Time, WireError> {
        Ok(Time::from_ns(below_limit(self.u64()?)?))
    }

    fn span(&mut self) -> Result<Span, WireError> {
        Ok(Span::from_ns(below_limit(self.u64()?)?))
    }

    fn u64(&mut self) -> Result<u64, WireError> {
        self.take().map(u64::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, WireError> {
        self.take().map(u32::from_le_bytes)
    }

    fn u16(&mut self) -> Result<u16, WireError> {
        self.take().map(u16::from_le_bytes)
    }

    fn u8(&mut self) -> Result<u8, WireError> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (taken, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(WireError::BodyTooShort { kind: self.kind, len: self.len })?;
        self.rest = rest;
        Ok(*taken)
    }
}
