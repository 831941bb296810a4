//! Reads a segment that has no footer, record by record.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::content::Content;
use crate::footer::Entry;
use crate::record::{HEADER, Identity, Kind, Record};

/// Records begin at multiples of this.
const LINE: u64 = HEADER as u64;

/// How much is read at a time, if no record is longer.
const STEP: u64 = 4 << 20;

/// The state of a scan: it asks for one read after another.
#[derive(Debug)]
pub(crate) struct Scan {
    size: u64,
    /// Where the next record may begin.
    at: u64,
    /// How much was asked for last.
    asked: u64,
    /// Where the last good record ends.
    pub(crate) end: u64,
    pub(crate) entries: Vec<Entry>,
    /// Records whose header is whole and whose content is not.
    pub(crate) damaged: u32,
}

impl Scan {
    pub(crate) fn new(size: u64) -> Scan {
        Scan { size, at: 0, asked: 0, end: 0, entries: Vec::new(), damaged: 0 }
    }

    /// What to read next, as offset and length; none when the scan is over.
    pub(crate) fn wants(&mut self) -> Option<(u64, u64)> {
        self.wants_for(STEP)
    }

    fn wants_for(&mut self, length: u64) -> Option<(u64, u64)> {
        let left = self.size.saturating_sub(self.at);
        self.asked = length.min(left);
        (left >= HEADER as u64).then_some((self.at, self.asked))
    }

    /// What was read at the place that was wanted. The result is what to read next.
    pub(crate) fn read(&mut self, bytes: &Bytes, identity: &Identity) -> Option<(u64, u64)> {
        let base = self.at;
        let is_short = (bytes.len() as u64) < self.asked;
        loop {
            let from = usize::try_from(self.at - base).expect("a segment is shorter than 4 GiB");
            let rest = bytes.get(from..).unwrap_or_default();
            if rest.len() < HEADER {
                return if is_short { None } else { self.wants() };
            }
            let Some(record) = Record::decode(rest, identity) else {
                self.at += LINE;
                continue;
            };
            let extent = record.extent();
            if self.at + extent > self.size {
                self.at += LINE;
                continue;
            }
            let content_end = HEADER + usize::try_from(record.length).expect("32 bits");
            if rest.len() < content_end {
                if is_short {
                    self.damaged += 1;
                    return None;
                }
                return self.wants_for(extent.max(STEP));
            }
            let content = bytes.slice(from + HEADER..from + content_end);
            if record.kind == Kind::Removal || Content::checked(record.chunk, content).is_some() {
                let offset = u32::try_from(self.at).expect("a segment is shorter than 4 GiB");
                self.entries.push(Entry { record, offset });
                self.at += extent;
                self.end = self.at;
            } else {
                // Its length is not to be trusted: when it was cut off, others were written over it.
                self.damaged += 1;
                self.at += LINE;
            }
        }
    }
}
