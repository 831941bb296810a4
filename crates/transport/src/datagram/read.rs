use alloc::borrow::Cow;
use alloc::vec::Vec;

use slotcast_protocol::wire;
use slotcast_protocol::{
    ChunkId, GroupId, InitiatorId, Members, PartValue, RequestId, is_part_len,
};
use slotcast_units::{Span, Time};

use super::{
    Address, Body, CLOCK, CONTROL, Clock, DATA, DATA_OVERHEAD, Data, Datagram, FAILED, GET, GROUP,
    HEADER_LEN, Header, INITIATOR, LETTER, MAGIC, MAX_GROUPS, MAX_PIECES, MAX_VERSION,
    PIECES_OF_LETTER, PROBE, PUT, Purpose, REPORT, Refused, Report, SHORT, SURVEY, SURVEY_REPLY,
    Short, Survey, SurveyReply, Versions,
};
use crate::key::Key;
use crate::pieces::Pieces;

impl<'a> Datagram<'a> {
    /// Reads a datagram. Allocates at most 2 KiB, for what it lists.
    ///
    /// # Errors
    /// If it is not sealed with `key`, or not what [`Datagram::encode`] makes.
    pub fn decode(key: &Key, bytes: &'a [u8]) -> Result<Datagram<'a>, Refused> {
        Datagram::read(bytes, |sealed, more| key.is_sealed(sealed, more))
    }

    /// Reads a datagram of which somebody else has found out that it comes from the cluster; what stands for its seal is not
    /// looked at.
    ///
    /// # Errors
    /// If it is not what [`Datagram::encode_open`] makes.
    pub fn decode_opened(bytes: &'a [u8]) -> Result<Datagram<'a>, Refused> {
        Datagram::read(bytes, |_, _| true)
    }

    fn read(
        bytes: &'a [u8],
        is_sealed: impl FnOnce(&[u8], &[u8]) -> bool,
    ) -> Result<Datagram<'a>, Refused> {
        let Some((header, body)) = bytes.split_first_chunk::<HEADER_LEN>() else {
            return Err(Refused::TooShort(bytes.len()));
        };
        if header[16..18] != MAGIC {
            return Err(Refused::Foreign);
        }
        let [version, kind] = [header[18], header[19]];
        let tells_versions = version > MAX_VERSION && kind == CLOCK;
        if !Versions::ALL.contains(version) && !tells_versions {
            return Err(Refused::Version(version));
        }
        let wrong = Refused::Body(kind);
        let mut reader = Reader(body);
        // Of which piece it is must be known before its value, and that before the seal can be checked.
        let data = if kind == DATA { Some(reader.data().ok_or(wrong)?) } else { None };
        let is_sealed = match &data {
            Some(data) => is_sealed(&bytes[..DATA_OVERHEAD], &data.value.0),
            None => is_sealed(bytes, &[]),
        };
        if !is_sealed {
            return Err(Refused::Seal);
        }
        let mut fields = Reader(&header[20..]);
        let header = fields.header(version).filter(|_| fields.0.is_empty()).ok_or(wrong)?;
        if let Some(data) = data {
            return Ok(Datagram { header, body: Body::Data(data) });
        }
        let body = match kind {
            CLOCK => Body::Clock(Clock::read(version, &mut reader).ok_or(wrong)?),
            PROBE => Body::Probe(GroupId(reader.u32().ok_or(wrong)?)),
            CONTROL => {
                let to = reader.address().ok_or(wrong)?;
                let (_, message) =
                    wire::decode(core::mem::take(&mut reader.0)).map_err(Refused::Message)?;
                Body::Control(to, message)
            }
            REPORT => Body::Report(reader.report().ok_or(wrong)?),
            FAILED => reader.failed().ok_or(wrong)?,
            SURVEY => Body::Survey(Survey::read(&mut reader).ok_or(wrong)?),
            SURVEY_REPLY => Body::SurveyReply(SurveyReply::read(&mut reader).ok_or(wrong)?),
            SHORT => Body::Short(reader.short().ok_or(wrong)?),
            LETTER => Body::Letter(Cow::Borrowed(reader.rest())),
            unknown => return Err(Refused::Kind(unknown)),
        };
        if !reader.0.is_empty() || !body.is_of(version) {
            return Err(wrong);
        }
        Ok(Datagram { header, body })
    }
}

impl Datagram<'_> {
    /// Seals what is a datagram but for its seal, whoever has put it together. Nobody believes one with a piece
    /// that makes no sense, however it is sealed.
    ///
    /// # Panics
    /// If it has no room for a header.
    pub fn seal(key: &Key, datagram: &mut [u8]) {
        let (header, body) = datagram.split_at(HEADER_LEN);
        let data = if header[19] == DATA { Reader(body).data() } else { None };
        match data.map(|data| data.value) {
            Some(value) => key.seal(&mut datagram[..DATA_OVERHEAD], &value.0),
            None => key.seal(datagram, &[]),
        }
    }
}

/// What is left to read; every read gives none if there is too little.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take().map(|[byte]: [u8; 1]| byte)
    }

    pub(super) fn bool(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn time(&mut self) -> Option<Time> {
        let time = Time::from_ns(self.u64()?);
        (time < wire::TIME_LIMIT).then_some(time)
    }

    fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.0)
    }

    fn header(&mut self, version: u8) -> Option<Header> {
        let (epoch, sender) = (self.u32()?, self.u32()?);
        let (incarnation, sequence) = (self.u64()?, self.u64()?);
        let (sent_at, echo) = (self.time()?, self.time()?);
        let held = Span::from_ns(u64::from(self.u32()?));
        let echo = (echo > Time::ZERO).then_some((echo, held));
        Some(Header { version, epoch, sender, incarnation, sequence, sent_at, echo })
    }

    fn failed(&mut self) -> Option<Body<'a>> {
        let each = 4 + 8;
        if self.0.len() > each * MAX_GROUPS {
            return None;
        }
        let mut failed = Vec::with_capacity(self.0.len() / each);
        while !self.0.is_empty() {
            failed.push((GroupId(self.u32()?), Members::from_bits(self.u64()?)));
        }
        Some(Body::Failed(failed))
    }

    fn short(&mut self) -> Option<Short> {
        let (view, is_known, chunks) = (self.u64()?, self.bool()?, self.u64()?);
        let is_right = is_known || chunks == 0;
        is_right.then_some(Short { view, chunks: is_known.then_some(chunks) })
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
        let purpose = match self.u8()? {
            PUT => Purpose::Put,
            GET => Purpose::Get,
            PIECES_OF_LETTER => Purpose::Letter,
            _ => return None,
        };
        let (is_last, pass, transfer) = (self.bool()?, self.u8()?, self.u32()?);
        let (piece, piece_len) = (self.u16()?, self.u16()?);
        let (length, slack) = (self.u32()?, self.u32()?);
        let request = RequestId { initiator: InitiatorId(self.u32()?), serial: self.u32()? };
        let (group, members) = (GroupId(self.u32()?), Members::from_bits(self.u64()?));
        let (name, slack) = (ChunkId(self.take()?), Span::from_us(u64::from(slack)));
        let bytes = self.rest();
        if !is_part_len(u32::from(piece_len)) || length == 0 {
            return None;
        }
        let mut data = Data {
            purpose,
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
            value: PartValue::default(),
        };
        let before = u64::from(piece) * u64::from(piece_len);
        let left = u64::from(length).checked_sub(before)?;
        let fits = bytes.len() as u64 == left.min(u64::from(piece_len)) && !bytes.is_empty();
        if !fits || data.count() > MAX_PIECES {
            return None;
        }
        data.value = Data::value_of(piece, piece_len, bytes);
        Some(data)
    }

    fn report(&mut self) -> Option<Report> {
        let (transfer, pass, count) = (self.u32()?, self.u8()?, u32::from(self.u16()?));
        if count == 0 || count > MAX_PIECES {
            return None;
        }
        let missing = Pieces::read(count, self.rest())?;
        Some(Report { transfer, pass, missing })
    }
}
