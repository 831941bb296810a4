//! What encrypted content looks like: runs of frames.
//!
//! ```text
//!   frame:   header (16 bytes) | up to 1 MiB of content, encrypted | tag (16 bytes)
//!   header:  number of the part (4 bytes, 0 of what is not in parts) | salt (12 random bytes)
//!   nonce:   1 in the last frame of its run, else 0 | 0 0 0 | place of the frame in its run (8 bytes)
//! ```
//!
//! All frames of a run have the same header, and their key is derived from that of the object and the header. So a frame is
//! opened in its place only: in its object, its part, its version of the part, and its position; and a run ends with its last
//! frame. All but the last frame of a run are of one length, so what a range needs follows from the lengths of runs. A chunk
//! is one frame. Content without bytes has none.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use ring::aead::{Aad, LessSafeKey, NONCE_LEN, Nonce};

use super::EncryptionError;
use super::keys::{ObjectKey, random};
use crate::http::CHUNK_SIZE;

/// Bytes of content of a frame, but for the last one of a run.
pub(super) const PLAIN: u64 = CHUNK_SIZE as u64;

const HEADER: usize = 16;
const SALT: usize = 12;
const TAG: usize = 16;

/// Bytes of a frame beside those of its content.
const OVERHEAD: u64 = (HEADER + TAG) as u64;

/// Bytes of a frame, but for the last one of a run.
pub(crate) const FRAME: u64 = PLAIN + OVERHEAD;

/// Bytes of a run of so many bytes of content.
pub(crate) fn stored_length(plain: u64) -> u64 {
    plain.saturating_add(plain.div_ceil(PLAIN).saturating_mul(OVERHEAD))
}

/// Bytes of content of a run of so many bytes; none if no run has so many.
pub(crate) fn plain_length(stored: u64) -> Option<u64> {
    let last = stored % FRAME;
    let is_whole = last == 0 || last > OVERHEAD;
    is_whole.then(|| stored - stored.div_ceil(FRAME) * OVERHEAD)
}

fn nonce(place: u64, is_last: bool) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[0] = u8::from(is_last);
    nonce[4..].copy_from_slice(&place.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

/// Encrypts a run.
pub(super) struct Encryptor {
    header: [u8; HEADER],
    key: LessSafeKey,
    /// Of the frame that is next.
    place: u64,
    /// That frame, as far as it has come; nothing before it begins.
    frame: BytesMut,
}

impl Encryptor {
    /// Of a part of an object, or of all of it, which is part 0.
    pub(super) fn new(key: &ObjectKey, part: u32) -> Result<Encryptor, EncryptionError> {
        let mut header = [0; HEADER];
        header[..HEADER - SALT].copy_from_slice(&part.to_be_bytes());
        header[HEADER - SALT..].copy_from_slice(&*random::<SALT>()?);
        let key = key.of_run(&header);
        Ok(Encryptor { header, key, place: 0, frame: BytesMut::new() })
    }

    /// Takes of `content` what fits into the frame that is next; gives that frame if there is more.
    pub(super) fn push(&mut self, content: &mut Bytes) -> Option<Bytes> {
        if content.is_empty() {
            return None;
        }
        if self.frame.len() as u64 == HEADER as u64 + PLAIN {
            return Some(self.seal(false));
        }
        if self.frame.is_empty() {
            // A frame is one chunk, whose size is one of memory.
            self.frame.reserve((FRAME as usize).min(content.len() + OVERHEAD as usize));
            self.frame.extend_from_slice(&self.header);
        }
        let room = HEADER + CHUNK_SIZE - self.frame.len();
        let taken = content.split_to(content.len().min(room));
        self.frame.extend_from_slice(&taken);
        None
    }

    /// The last frame, unless there is no content at all.
    pub(super) fn finish(&mut self) -> Option<Bytes> {
        (!self.frame.is_empty()).then(|| self.seal(true))
    }

    fn seal(&mut self, is_last: bool) -> Bytes {
        let nonce = nonce(self.place, is_last);
        self.place += 1;
        let content = &mut self.frame[HEADER..];
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::empty(), content);
        self.frame.extend_from_slice(tag.expect("a frame is not too long").as_ref());
        std::mem::take(&mut self.frame).freeze()
    }
}

/// All of short content, as a run.
pub(super) fn run(key: &ObjectKey, content: &Bytes) -> Result<Bytes, EncryptionError> {
    let mut encryptor = Encryptor::new(key, 0)?;
    let (mut rest, mut all) = (content.clone(), Vec::new());
    while !rest.is_empty() {
        all.extend(encryptor.push(&mut rest));
    }
    all.extend(encryptor.finish());
    Ok(match &all[..] {
        [one] => one.clone(),
        frames => Bytes::from(frames.concat()),
    })
}

/// Decrypts some bytes of the content of an object, from the frames that they are in.
pub(super) struct Decryptor {
    key: ObjectKey,
    /// Bytes of the runs that are not read yet, that which is being read among them.
    runs: VecDeque<u64>,
    /// Of the frame that is next, in the first of them.
    place: u64,
    /// The header of that run, where one of its frames was read, and the key.
    run: Option<([u8; HEADER], LessSafeKey)>,
    /// The number of the part before; none of what is not in parts.
    part: Option<u32>,
    /// Bytes of the frame that is next before those that are wanted.
    skip: u64,
    /// Bytes that are wanted still.
    left: u64,
}

impl Decryptor {
    /// Of an object whose runs have these lengths; `size` bytes of content together, of which `range` is wanted. Gives which
    /// bytes of the runs it has to be given, too.
    pub(super) fn new(
        key: ObjectKey,
        (runs, is_in_parts): (&[u64], bool),
        (size, range): (u64, Range<u64>),
    ) -> Result<(Decryptor, Range<u64>), EncryptionError> {
        let mut all = 0_u64;
        for stored in runs {
            let plain = plain_length(*stored).ok_or(EncryptionError::Altered)?;
            all = all.checked_add(plain).ok_or(EncryptionError::Altered)?;
        }
        if all != size || range.end > size || range.start > range.end {
            return Err(EncryptionError::Altered);
        }
        let mut decryptor = Decryptor {
            key,
            runs: runs.iter().copied().filter(|stored| *stored > 0).collect(),
            place: 0,
            run: None,
            part: is_in_parts.then_some(0),
            skip: 0,
            left: range.end - range.start,
        };
        if decryptor.left == 0 {
            return Ok((decryptor, 0..0));
        }
        let at = |position: u64| {
            let (mut plain, mut stored) = (0, 0);
            for (n, run) in decryptor.runs.iter().enumerate() {
                let length = run - run.div_ceil(FRAME) * OVERHEAD;
                if position < plain + length {
                    let place = (position - plain) / PLAIN;
                    let end = stored + (*run).min((place + 1) * FRAME);
                    return (n, place, (position - plain) % PLAIN, stored + place * FRAME, end);
                }
                (plain, stored) = (plain + length, stored + run);
            }
            (0, 0, 0, 0, 0)
        };
        let (run, place, skip, begin, _) = at(range.start);
        let (.., end) = at(range.end - 1);
        decryptor.runs.drain(..run);
        (decryptor.place, decryptor.skip) = (place, skip);
        Ok((decryptor, begin..end))
    }

    /// Bytes of the frame that is next; none if there is nothing to read any more.
    pub(super) fn next_length(&self) -> Option<usize> {
        let run = self.runs.front().filter(|_| self.left > 0)?;
        // At most a frame, whose size is one of memory.
        Some((run - self.place * FRAME).min(FRAME) as usize)
    }

    /// Decrypts the frame that is next, in place; gives which of its bytes are wanted.
    pub(super) fn open(&mut self, frame: &mut [u8]) -> Result<Range<usize>, EncryptionError> {
        let wrong = EncryptionError::Altered;
        let run = *self.runs.front().ok_or(wrong.clone())?;
        let (header, sealed) = frame.split_first_chunk_mut::<HEADER>().ok_or(wrong.clone())?;
        let header = *header;
        match &self.run {
            Some((before, _)) if *before != header => return Err(wrong),
            Some(_) => {}
            None => {
                let number = header.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
                // Parts are in the order of their numbers.
                match &mut self.part {
                    Some(before) if *before < number => *before = number,
                    None if number == 0 => {}
                    Some(_) | None => return Err(wrong),
                }
                self.run = Some((header, self.key.of_run(&header)));
            }
        }
        let is_last = (self.place + 1) * FRAME >= run;
        let (_, key) = self.run.as_ref().ok_or(wrong.clone())?;
        let nonce = nonce(self.place, is_last);
        let length =
            key.open_in_place(nonce, Aad::empty(), sealed).map_err(|_| wrong)?.len() as u64;
        let begin = self.skip.min(length);
        let end = length.min(begin + self.left);
        (self.skip, self.left) = (0, self.left - (end - begin));
        match is_last {
            true => {
                self.runs.pop_front();
                (self.place, self.run) = (0, None);
            }
            false => self.place += 1,
        }
        // All of them are within the frame.
        Ok(HEADER + begin as usize..HEADER + end as usize)
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
