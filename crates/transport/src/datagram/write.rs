use alloc::vec::Vec;

use slotcast_protocol::wire;
use slotcast_protocol::{GroupId, Members};
use slotcast_units::Time;

use super::{
    Address, Body, CLOCK, CONTROL, DATA, DATA_OVERHEAD, Data, Datagram, FAILED, GET, GROUP,
    HEADER_LEN, Header, INITIATOR, LETTER, MAGIC, MAX_GROUPS, PIECES_OF_LETTER, PROBE, PUT,
    Purpose, REPORT, Report, SHORT, SURVEY, SURVEY_REPLY, Short,
};
use crate::key::{Key, SEAL_LEN};

impl Datagram<'_> {
    /// Appends the sealed datagram to `out`; gives its length.
    pub fn encode(&self, key: &Key, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        let len = self.encode_open(out);
        match &self.body {
            Body::Data(data) => key.seal(&mut out[start..start + DATA_OVERHEAD], &data.value.0),
            _ => key.seal(&mut out[start..], &[]),
        }
        len
    }

    /// Appends the datagram with zeros in the place of its seal, for whoever has another; gives its length.
    pub fn encode_open(&self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        let Header { version, epoch, sender, incarnation, sequence, sent_at, echo } = self.header;
        out.extend_from_slice(&[0; SEAL_LEN]);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[version, self.body.kind()]);
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
        if let Body::Data(data) = &self.body {
            out.extend_from_slice(data.bytes);
        }
        out.len() - start
    }
}

impl Body<'_> {
    fn kind(&self) -> u8 {
        match self {
            Body::Clock(_) => CLOCK,
            Body::Probe(_) => PROBE,
            Body::Control(..) => CONTROL,
            Body::Data(_) => DATA,
            Body::Report(_) => REPORT,
            Body::Failed(_) => FAILED,
            Body::Survey(_) => SURVEY,
            Body::SurveyReply(_) => SURVEY_REPLY,
            Body::Letter(_) => LETTER,
            Body::Short(_) => SHORT,
        }
    }

    fn encode(&self, header: &Header, out: &mut Vec<u8>) {
        match self {
            Body::Clock(clock) => clock.encode(header.version, out),
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
            Body::Survey(survey) => survey.encode(out),
            Body::SurveyReply(reply) => reply.encode(out),
            Body::Letter(letter) => out.extend_from_slice(letter),
            Body::Short(Short { view, chunks }) => {
                out.extend_from_slice(&view.to_le_bytes());
                out.push(u8::from(chunks.is_some()));
                out.extend_from_slice(&chunks.unwrap_or(0).to_le_bytes());
            }
            Body::Failed(failed) => {
                for (GroupId(group), members) in failed.iter().take(MAX_GROUPS) {
                    out.extend_from_slice(&group.to_le_bytes());
                    out.extend_from_slice(&members.bits().to_le_bytes());
                }
            }
        }
    }
}

impl Data<'_> {
    /// All but the piece.
    fn encode(&self, out: &mut Vec<u8>) {
        let slack = u32::try_from(self.slack.as_ns() / 1000).unwrap_or(u32::MAX);
        out.push(match self.purpose {
            Purpose::Put => PUT,
            Purpose::Get => GET,
            Purpose::Letter => PIECES_OF_LETTER,
        });
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
    }
}
