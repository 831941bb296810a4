//! Reads a segment that has no footer, record by record.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::footer::Entry;
use crate::record::{HEADER, Identity, Kind, Record};

/// Records begin at multiples of this.
const LINE: u64 = HEADER as u64;

/// How much is read at a time, if no record is longer.
const STEP: u64 = 4 << 20;

/// Length of the lines of zeros at the start of `bytes`.
fn blank_lines(bytes: &[u8]) -> u64 {
    let lines = bytes.chunks_exact(HEADER);
    let is_blank = |line: &&[u8]| line.iter().fold(0, |any, byte| any | byte) == 0;
    lines.take_while(is_blank).count() as u64 * LINE
}

/// The state of a scan: it asks for one read after another.
#[derive(Debug)]
pub(crate) struct Scan {
    size: u64,
    /// Where the next record may begin.
    at: u64,
    /// How much was asked for last.
    asked: u64,
    /// Zero bytes right before `at`.
    blank: u64,
    /// Where the last good record ends.
    pub(crate) end: u64,
    pub(crate) entries: Vec<Entry>,
    /// Records whose header is whole and whose content is not, with a good one of a later batch behind them. What lies
    /// in the last batch may have been written when the power failed, sector by sector in any order, and then was never
    /// acknowledged.
    pub(crate) damaged: u32,
    /// Where the damaged ones begin that may be in the last batch.
    torn: VecDeque<u64>,
    /// What begins so much later than a record is in a later batch.
    reach: u64,
}

impl Scan {
    /// Of a segment of `size` bytes, written in batches of at most `batch` bytes or of one record.
    pub(crate) fn new(size: u64, batch: u64) -> Scan {
        Scan {
            size,
            at: 0,
            asked: 0,
            blank: 0,
            end: 0,
            entries: Vec::new(),
            damaged: 0,
            torn: VecDeque::new(),
            reach: batch.max(size / 4 + LINE),
        }
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

    /// No record is longer: one whose header is lost may look blank for as long, and others may come
    /// after it. Where more is blank, nothing was written, or it was in one piece with what was torn.
    fn longest_record(&self) -> u64 {
        self.size / 4 + LINE
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
            let blank = blank_lines(rest);
            if blank > 0 {
                self.at += blank;
                self.blank += blank;
                if self.blank > self.longest_record() {
                    return None;
                }
                continue;
            }
            self.blank = 0;
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
                    return None;
                }
                return self.wants_for(extent.max(STEP));
            }
            let content = bytes.slice(from + HEADER..from + content_end);
            let is_right = || *blake3::hash(&content).as_bytes() == record.chunk.0;
            if record.kind == Kind::Removal || is_right() {
                let offset = u32::try_from(self.at).expect("a segment is shorter than 4 GiB");
                self.entries.push(Entry { record, offset });
                self.at += extent;
                self.end = self.at;
                while self
                    .torn
                    .pop_front_if(|torn| *torn + self.reach <= u64::from(offset))
                    .is_some()
                {
                    self.damaged += 1;
                }
            } else {
                // Its length is not to be trusted: when it was cut off, others were written over it.
                self.torn.push_back(self.at);
                self.at += LINE;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use slotcast_protocol::Wanted;

    use super::*;
    use crate::content::Content;

    const SIZE: usize = 32 << 20;
    const BATCH: u64 = 1 << 20;
    const IDENTITY: Identity = Identity([3; 32]);

    /// A segment with chunks of these lengths at these places, and where its scan finds chunks.
    fn found(chunks: &[(usize, usize)], spoil: impl Fn(&mut [u8])) -> (Vec<u32>, usize) {
        let scan = scanned(chunks, spoil);
        (scan.entries.iter().map(|entry| entry.offset).collect(), scan.at as usize)
    }

    /// The same: its scan.
    fn scanned(chunks: &[(usize, usize)], spoil: impl Fn(&mut [u8])) -> Scan {
        let mut segment = vec![0; SIZE];
        for &(place, length) in chunks {
            let content = Content::of(Bytes::from(vec![0; length]));
            let record = Record {
                kind: Kind::Put,
                chunk: content.chunk(),
                sequence: 1,
                length: u32::try_from(length).expect("short"),
                wanted: Wanted::bare(0),
            };
            segment[place..place + HEADER].copy_from_slice(&record.encode(&IDENTITY));
        }
        spoil(&mut segment);
        let mut scan = Scan::new(SIZE as u64, BATCH);
        let mut wanted = scan.wants();
        while let Some((offset, length)) = wanted {
            let range = offset as usize..(offset + length) as usize;
            wanted = scan.read(&Bytes::copy_from_slice(&segment[range]), &IDENTITY);
        }
        scan
    }

    #[test]
    fn a_scan_ends_where_more_is_blank_than_a_record_is_long() {
        let (found, end) = found(&[(0, 100), (192, 5000)], |_| {});
        assert_eq!(found, [0, 192]);
        assert!(end < SIZE / 2, "{end}");
    }

    #[test]
    fn no_record_is_hidden_by_one_that_has_lost_its_header() {
        let longest = SIZE / 4;
        let next = longest + HEADER;
        let (found, _) = found(&[(0, longest), (next, 10)], |segment| {
            segment[..HEADER].fill(0);
        });
        assert_eq!(found, [next as u32]);
    }

    #[test]
    fn what_may_be_in_the_last_batch_is_not_lost() {
        let reach = SIZE / 4 + HEADER;
        let damaged = |last: usize| {
            let chunks = [(0, 100), (4096, 100), (8192, 100), (last, 10)];
            let spoil = |segment: &mut [u8]| segment[4096 + HEADER] = 1;
            let scan = scanned(&chunks, spoil);
            (scan.entries.len(), scan.damaged)
        };
        assert_eq!(damaged(12288), (3, 0), "nobody knows whether that was acknowledged");
        assert_eq!(damaged(4096 + reach - HEADER), (3, 0));
        assert_eq!(damaged(4096 + reach), (3, 1), "it was: the next batch was begun");
    }
}
