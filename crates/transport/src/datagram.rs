//! What a datagram says, and how it is written.
//!
//! Every number is unsigned and little-endian; nothing is padded. Header:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 0 | 16 | seal: keyed hash of all that follows |
//! | 16 | 2 | magic: the letters `SD` |
//! | 18 | 1 | version: 1 |
//! | 19 | 1 | kind of body: 1 to 5 |
//! | 20 | 4 | epoch: version of the sender's cluster map |
//! | 24 | 4 | sender: its node number |
//! | 28 | 8 | incarnation: when the sender started, nanoseconds since 1970 |
//! | 36 | 8 | sequence: counts all datagrams of this incarnation |
//! | 44 | 8 | sent at: time on the sender's clock |
//! | 52 | 8 | echo: the last `sent at` that came from the receiver; 0 for none |
//! | 60 | 4 | held: nanoseconds since that came |
//!
//! | kind | body from offset 64 on |
//! |---|---|
//! | 1 clock | answer wanted: 0 or 1 (1); groups whose multicast of the receiver is heard (4 each, at most 64) |
//! | 2 probe | the group to whose multicast address it was sent (4) |
//! | 3 control | to: 1 group, 2 initiator (1); group (4); set of positions (8); the message in its wire form |
//! | 4 data | purpose: 1 put, 2 get (1); last of its pass: 0 or 1 (1); pass (1); transfer (4); piece (2); length of a piece (2); length of the chunk (4); slack in microseconds (4); request (8); group (4); set of positions (8); name of the chunk (32); the piece |
//! | 5 report | transfer (4); pass (1); number of pieces (2); the missing ones, a bit each |

use alloc::vec::Vec;

use slotcast_protocol::wire::{self, WireError};
use slotcast_protocol::{ChunkId, GroupId, InitiatorId, Members, Message, RequestId};
use slotcast_units::{Span, Time};

use crate::key::{Key, SEAL_LEN};
use crate::pieces::Pieces;

const MAGIC: [u8; 2] = *b"SD";
const VERSION: u8 = 1;

/// Length of the header.
pub const HEADER_LEN: usize = 64;

const DATA_LEN: usize = 71;

/// What a datagram with a piece of a chunk has beside the piece.
pub const DATA_OVERHEAD: usize = HEADER_LEN + DATA_LEN;

/// The most pieces of one chunk: a report of all of them fits into the smallest datagram.
pub const MOST_PIECES: u32 = 1 << 13;

/// The most groups that a clock datagram names.
pub const MOST_GROUPS: usize = 64;

const CLOCK: u8 = 1;
const PROBE: u8 = 2;
const CONTROL: u8 = 3;
const DATA: u8 = 4;
const REPORT: u8 = 5;

const GROUP: u8 = 1;
const INITIATOR: u8 = 2;

const PUT: u8 = 1;
const GET: u8 = 2;

/// How long the pieces of a chunk are in datagrams of `datagram` bytes; none if there is no room for any.
pub fn piece_len(datagram: usize) -> Option<u16> {
    let room = datagram.checked_sub(DATA_OVERHEAD).filter(|room| *room > 0)?;
    u16::try_from(room).ok()
}

/// Who sent a datagram, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Version of the sender's cluster map.
    pub epoch: u32,
    /// The sender's node number.
    pub sender: u32,
    /// When the sender started, in nanoseconds since 1970: a later start has a higher one.
    pub incarnation: u64,
    /// Counts all datagrams of this incarnation.
    pub sequence: u64,
    /// When it was sent, on the sender's clock.
    pub sent_at: Time,
    /// The last stamp that came from the receiver, and for how long it was held.
    pub echo: Option<(Time, Span)>,
}

/// For whom a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// Members of a group that the receiving node has.
    Group(GroupId, Members),
    /// The initiator of the receiving node.
    Initiator,
}

/// One piece of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// The chunk answers a get; otherwise it is a put.
    pub is_get: bool,
    /// The sender awaits a report when this has arrived.
    pub is_last: bool,
    /// Counts the times that pieces were repeated.
    pub pass: u8,
    /// Counts the transfers of the sender's incarnation.
    pub transfer: u32,
    /// Which piece.
    pub piece: u16,
    /// How long every piece but the last one is.
    pub piece_len: u16,
    /// How long the chunk is.
    pub length: u32,
    /// How long to wait for a further piece before a report.
    pub slack: Span,
    /// For which request.
    pub request: RequestId,
    /// The negotiating group.
    pub group: GroupId,
    /// The members that it is for; with a get, the one from which it comes.
    pub members: Members,
    /// The chunk's name.
    pub name: ChunkId,
    /// The piece.
    pub bytes: &'a [u8],
}

impl Data<'_> {
    /// How many pieces the chunk has.
    pub fn count(&self) -> u32 {
        self.length.div_ceil(u32::from(self.piece_len))
    }
}

/// What a receiver lacks of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Of which of the sender's transfers.
    pub transfer: u32,
    /// The last pass that it has seen.
    pub pass: u8,
    /// The missing pieces; if none is missing, the chunk is there.
    pub missing: Pieces,
}

/// What a datagram says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<'a> {
    /// Nothing but the stamps in the header.
    Clock {
        /// Whether an answer is wanted.
        wants_answer: bool,
        /// Groups whose multicast the sender hears from the receiver.
        heard: Vec<GroupId>,
    },
    /// Sent by multicast, to find out who hears it.
    Probe(GroupId),
    /// A message between machines.
    Control(Address, Message),
    /// A piece of a chunk.
    Data(Data<'a>),
    /// What is missing of a chunk.
    Report(Report),
}

/// Why a datagram is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Not even a header.
    #[error("a datagram of {0} bytes has no room for the header of {HEADER_LEN}")]
    TooShort(usize),
    /// Somebody else's datagram.
    #[error("it is not a datagram of Slotcast")]
    Foreign,
    /// A sender of another version.
    #[error("version {0} of datagrams is not known")]
    Version(u8),
    /// The seal is not that of this cluster's key.
    #[error("the seal is wrong: it was changed on the way, or sealed with another key")]
    Seal,
    /// An unknown kind of body.
    #[error("there is no body of kind {0}")]
    Kind(u8),
    /// The body is not of its kind.
    #[error("the body of kind {0} is malformed")]
    Body(u8),
    /// The message is malformed.
    #[error("the message is malformed: {0}")]
    Message(WireError),
}

/// A header and a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Who sent it, and when.
    pub header: Header,
    /// What it says.
    pub body: Body<'a>,
}

impl<'a> Datagram<'a> {
    /// Appends the sealed datagram to `out`; gives its length.
    pub fn encode(&self, key: &Key, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        let Header { epoch, sender, incarnation, sequence, sent_at, echo } = self.header;
        out.extend_from_slice(&[0; SEAL_LEN]);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[VERSION, self.body.kind()]);
        out.extend_from_slice(&epoch.to_le_bytes());
        out.extend_from_slice(&sender.to_le_bytes());
        out.extend_from_slice(&incarnation.to_le_bytes());
        out.extend_from_slice(&sequence.to_le_bytes());
        out.extend_from_slice(&sent_at.as_ns().to_le_bytes());
        // What was held too long to be told is no use as an echo.
        let held = echo.and_then(|(echo, held)| Some((echo, u32::try_from(held.as_ns()).ok()?)));
        let (echo, held) = held.unwrap_or((Time::ZERO, 0));
        out.extend_from_slice(&echo.as_ns().to_le_bytes());
        out.extend_from_slice(&held.to_le_bytes());
        debug_assert_eq!(out.len() - start, HEADER_LEN, "the header has its length");
        self.body.encode(&self.header, out);
        key.seal(&mut out[start..]);
        out.len() - start
    }

    /// Reads a datagram. Allocates at most 1 KiB, for the sets in it.
    ///
    /// # Errors
    /// If it is not sealed with `key`, or not what [`Datagram::encode`] makes.
    pub fn decode(key: &Key, bytes: &'a [u8]) -> Result<Datagram<'a>, Refused> {
        let Some((header, body)) = bytes.split_first_chunk::<HEADER_LEN>() else {
            return Err(Refused::TooShort(bytes.len()));
        };
        if header[16..18] != MAGIC {
            return Err(Refused::Foreign);
        }
        if header[18] != VERSION {
            return Err(Refused::Version(header[18]));
        }
        if !key.is_sealed(bytes) {
            return Err(Refused::Seal);
        }
        let kind = header[19];
        let wrong = Refused::Body(kind);
        let mut reader = Reader(&header[20..]);
        let header = reader.header().filter(|_| reader.0.is_empty()).ok_or(wrong)?;
        let mut reader = Reader(body);
        let body = match kind {
            CLOCK => reader.clock().ok_or(wrong)?,
            PROBE => Body::Probe(GroupId(reader.u32().ok_or(wrong)?)),
            CONTROL => {
                let to = reader.address().ok_or(wrong)?;
                let (_, message) =
                    wire::decode(core::mem::take(&mut reader.0)).map_err(Refused::Message)?;
                Body::Control(to, message)
            }
            DATA => Body::Data(reader.data().ok_or(wrong)?),
            REPORT => Body::Report(reader.report().ok_or(wrong)?),
            unknown => return Err(Refused::Kind(unknown)),
        };
        if !reader.0.is_empty() {
            return Err(wrong);
        }
        Ok(Datagram { header, body })
    }
}

impl Body<'_> {
    fn kind(&self) -> u8 {
        match self {
            Body::Clock { .. } => CLOCK,
            Body::Probe(_) => PROBE,
            Body::Control(..) => CONTROL,
            Body::Data(_) => DATA,
            Body::Report(_) => REPORT,
        }
    }

    fn encode(&self, header: &Header, out: &mut Vec<u8>) {
        match self {
            Body::Clock { wants_answer, heard } => {
                out.push(u8::from(*wants_answer));
                for GroupId(group) in heard.iter().take(MOST_GROUPS) {
                    out.extend_from_slice(&group.to_le_bytes());
                }
            }
            Body::Probe(GroupId(group)) => out.extend_from_slice(&group.to_le_bytes()),
            Body::Control(to, message) => {
                let (tag, GroupId(group), members) = match *to {
                    Address::Group(group, members) => (GROUP, group, members),
                    Address::Initiator => (INITIATOR, GroupId(0), Members::NONE),
                };
                out.push(tag);
                out.extend_from_slice(&group.to_le_bytes());
                out.extend_from_slice(&members.bits().to_le_bytes());
                let Header { epoch, sender, sent_at, .. } = *header;
                let mut encoded = Vec::with_capacity(wire::MAX_ENCODED_LEN);
                wire::encode(&wire::Header { epoch, sender, sent_at }, message, &mut encoded);
                out.extend_from_slice(&encoded);
            }
            Body::Data(data) => data.encode(out),
            Body::Report(Report { transfer, pass, missing }) => {
                out.extend_from_slice(&transfer.to_le_bytes());
                out.push(*pass);
                let count = u16::try_from(missing.count()).unwrap_or(u16::MAX);
                out.extend_from_slice(&count.to_le_bytes());
                out.extend(missing.bytes());
            }
        }
    }
}

impl Data<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        let slack = u32::try_from(self.slack.as_ns() / 1000).unwrap_or(u32::MAX);
        out.push(if self.is_get { GET } else { PUT });
        out.push(u8::from(self.is_last));
        out.push(self.pass);
        out.extend_from_slice(&self.transfer.to_le_bytes());
        out.extend_from_slice(&self.piece.to_le_bytes());
        out.extend_from_slice(&self.piece_len.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.extend_from_slice(&slack.to_le_bytes());
        out.extend_from_slice(&self.request.initiator.0.to_le_bytes());
        out.extend_from_slice(&self.request.serial.to_le_bytes());
        out.extend_from_slice(&self.group.0.to_le_bytes());
        out.extend_from_slice(&self.members.bits().to_le_bytes());
        out.extend_from_slice(&self.name.0);
        out.extend_from_slice(self.bytes);
    }
}

/// What is left to read; every read gives none if there is too little.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take().map(|[byte]: [u8; 1]| byte)
    }

    fn bool(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn time(&mut self) -> Option<Time> {
        let time = Time::from_ns(self.u64()?);
        (time < wire::TIME_LIMIT).then_some(time)
    }

    fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.0)
    }

    fn header(&mut self) -> Option<Header> {
        let (epoch, sender) = (self.u32()?, self.u32()?);
        let (incarnation, sequence) = (self.u64()?, self.u64()?);
        let (sent_at, echo) = (self.time()?, self.time()?);
        let held = Span::from_ns(u64::from(self.u32()?));
        let echo = (echo > Time::ZERO).then_some((echo, held));
        Some(Header { epoch, sender, incarnation, sequence, sent_at, echo })
    }

    fn clock(&mut self) -> Option<Body<'a>> {
        let wants_answer = self.bool()?;
        if self.0.len() > 4 * MOST_GROUPS {
            return None;
        }
        let mut heard = Vec::with_capacity(self.0.len() / 4);
        while !self.0.is_empty() {
            heard.push(GroupId(self.u32()?));
        }
        Some(Body::Clock { wants_answer, heard })
    }

    fn address(&mut self) -> Option<Address> {
        let (tag, group, members) = (self.u8()?, GroupId(self.u32()?), self.u64()?);
        match tag {
            GROUP => Some(Address::Group(group, Members::from_bits(members))),
            INITIATOR if group == GroupId(0) && members == 0 => Some(Address::Initiator),
            _ => None,
        }
    }

    fn data(&mut self) -> Option<Data<'a>> {
        let is_get = match self.u8()? {
            PUT => false,
            GET => true,
            _ => return None,
        };
        let (is_last, pass, transfer) = (self.bool()?, self.u8()?, self.u32()?);
        let (piece, piece_len) = (self.u16()?, self.u16()?);
        let (length, slack) = (self.u32()?, self.u32()?);
        let request = RequestId { initiator: InitiatorId(self.u32()?), serial: self.u32()? };
        let (group, members) = (GroupId(self.u32()?), Members::from_bits(self.u64()?));
        let (name, slack) = (ChunkId(self.take()?), Span::from_us(u64::from(slack)));
        let bytes = self.rest();
        if piece_len == 0 || length == 0 {
            return None;
        }
        let data = Data {
            is_get,
            is_last,
            pass,
            transfer,
            piece,
            piece_len,
            length,
            slack,
            request,
            group,
            members,
            name,
            bytes,
        };
        let before = u64::from(piece) * u64::from(piece_len);
        let left = u64::from(length).checked_sub(before)?;
        let fits = bytes.len() as u64 == left.min(u64::from(piece_len)) && !bytes.is_empty();
        (fits && data.count() <= MOST_PIECES).then_some(data)
    }

    fn report(&mut self) -> Option<Report> {
        let (transfer, pass, count) = (self.u32()?, self.u8()?, u32::from(self.u16()?));
        if count == 0 || count > MOST_PIECES {
            return None;
        }
        let missing = Pieces::read(count, self.rest())?;
        Some(Report { transfer, pass, missing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use slotcast_protocol::{AckOutcome, ReplicaAck};

    fn header() -> Header {
        Header {
            epoch: 5,
            sender: 7,
            incarnation: 1_790_000_000_000_000_000,
            sequence: 9,
            sent_at: Time::from_ns(12),
            echo: Some((Time::from_ns(3), Span::from_ns(4))),
        }
    }

    fn data(bytes: &[u8]) -> Data<'_> {
        Data {
            is_get: true,
            is_last: true,
            pass: 2,
            transfer: 77,
            piece: 1,
            piece_len: 8,
            length: 11,
            slack: Span::from_us(250),
            request: RequestId { initiator: InitiatorId(7), serial: 1 },
            group: GroupId(2),
            members: Members::first(3),
            name: ChunkId([9; 32]),
            bytes,
        }
    }

    fn bodies() -> Vec<Body<'static>> {
        let request = RequestId { initiator: InitiatorId(7), serial: 1 };
        let ack = ReplicaAck { request, position: 4, outcome: AckOutcome::Stored };
        let mut missing = Pieces::none(20);
        missing.insert(3);
        vec![
            Body::Clock { wants_answer: true, heard: vec![GroupId(0), GroupId(8)] },
            Body::Probe(GroupId(3)),
            Body::Control(Address::Group(GroupId(3), Members::first(2)), Message::ReplicaAck(ack)),
            Body::Control(Address::Initiator, Message::ReplicaAck(ack)),
            Body::Data(data(&[1, 2, 3])),
            Body::Report(Report { transfer: 77, pass: 2, missing }),
        ]
    }

    #[test]
    fn datagrams_are_read_as_they_are_written() {
        let key = Key::new(&[1; 32]);
        for body in bodies() {
            let datagram = Datagram { header: header(), body };
            let mut bytes = Vec::new();
            assert_eq!(datagram.encode(&key, &mut bytes), bytes.len());
            assert_eq!(Datagram::decode(&key, &bytes), Ok(datagram));
            assert_eq!(Datagram::decode(&Key::new(&[2; 32]), &bytes), Err(Refused::Seal));
            for len in 0..bytes.len() {
                assert!(Datagram::decode(&key, &bytes[..len]).is_err(), "cut to {len}");
            }
        }
    }

    #[test]
    fn pieces_that_do_not_fit_their_chunk_are_refused() {
        let key = Key::new(&[1; 32]);
        let refused = |data: Data<'_>| {
            let mut bytes = Vec::new();
            Datagram { header: header(), body: Body::Data(data) }.encode(&key, &mut bytes);
            assert_eq!(Datagram::decode(&key, &bytes), Err(Refused::Body(DATA)), "{data:?}");
        };
        refused(data(&[1, 2, 3, 4]));
        refused(data(&[1, 2]));
        refused(data(&[]));
        refused(Data { piece: 2, ..data(&[1, 2, 3]) });
        refused(Data { piece_len: 0, ..data(&[1, 2, 3]) });
        refused(Data { length: 0, ..data(&[1, 2, 3]) });
        refused(Data { piece: 0, length: u32::MAX, piece_len: 1, ..data(&[1]) });
    }

    #[test]
    fn strangers_are_told_from_forgers() {
        let key = Key::new(&[1; 32]);
        let mut bytes = Vec::new();
        Datagram { header: header(), body: Body::Probe(GroupId(0)) }.encode(&key, &mut bytes);
        bytes[18] = 2;
        assert_eq!(Datagram::decode(&key, &bytes), Err(Refused::Version(2)));
        bytes[16] = 0;
        assert_eq!(Datagram::decode(&key, &bytes), Err(Refused::Foreign));
        assert_eq!(Datagram::decode(&key, &[0; 63]), Err(Refused::TooShort(63)));
    }

    /// A change of a byte of the layout must not happen by accident: it takes a new version.
    #[test]
    fn the_layout_stays_what_it_is() {
        let mut bytes = Vec::new();
        for body in bodies() {
            Datagram { header: header(), body }.encode(&Key::new(&[1; 32]), &mut bytes);
        }
        let hash = blake3::hash(&bytes).to_hex();
        assert_eq!(&hash[..16], "6244c2f62ec4f59b");
    }
}
