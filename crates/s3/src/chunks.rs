//! Content in chunks (`aws-chunked`) on its way to `s3s`, which has a whole chunk in memory before it gives any of it.
//!
//! A chunk may have 4 GiB, and some clients send all of their content as one. So chunks that are not signed are cut into
//! smaller ones here, which means the same; and those that are signed, which cannot be cut, have a bound.

use std::collections::VecDeque;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};

/// The most bytes of a signed chunk. Clients send 64 KiB to 1 MiB.
pub(crate) const MAX_SIGNED: u64 = 1 << 20;

/// The most bytes of a chunk that is not signed, when it goes on.
const PIECE: usize = 64 << 10;

/// The most bytes of the line before a chunk.
const MAX_HEAD: usize = 1 << 10;

/// What is wrong with chunks.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoChunks {
    /// The line before a chunk cannot be read, or something else than a line ends it.
    #[error("the content is not in chunks as aws-chunked has them")]
    Malformed,
    /// A chunk is too long.
    #[error("ChunkTooLong")]
    TooLong,
    /// The client has gone.
    #[error("{0}")]
    BrokeOff(axum::Error),
}

/// How a request signs its content, as `x-amz-content-sha256` says; none if it is not in chunks.
pub(crate) fn is_signed(hash: &str) -> Option<bool> {
    let kind = hash.strip_prefix("STREAMING-")?;
    Some(!kind.starts_with("UNSIGNED-"))
}

enum State {
    /// In the line before a chunk.
    Head(Vec<u8>),
    /// So much of a chunk is to come.
    Data(u64),
    /// So much of the end of a line is to come.
    End(u8),
    /// After the last chunk.
    Rest,
}

struct Cutter {
    is_signed: bool,
    state: State,
    ready: VecDeque<Bytes>,
}

impl Cutter {
    /// These bytes come next.
    fn take(&mut self, mut bytes: Bytes) -> Result<(), NoChunks> {
        while !bytes.is_empty() {
            match &mut self.state {
                State::Head(line) => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let taken = bytes.split_to(end.map_or(bytes.len(), |end| end + 1));
                    line.extend_from_slice(&taken);
                    if line.len() > MAX_HEAD {
                        return Err(NoChunks::Malformed);
                    }
                    if end.is_some() {
                        let line = std::mem::take(line);
                        self.begin(line)?;
                    }
                }
                State::Data(left) => {
                    let length = bytes.len().min(PIECE);
                    let length = usize::try_from(*left).map_or(length, |left| left.min(length));
                    *left -= length as u64;
                    let piece = bytes.split_to(length);
                    if *left == 0 {
                        self.state = State::End(2);
                    }
                    match self.is_signed {
                        true => self.ready.push_back(piece),
                        false => {
                            self.ready.push_back(format!("{length:x}\r\n").into());
                            self.ready.extend([piece, Bytes::from_static(b"\r\n")]);
                        }
                    }
                }
                State::End(left) => {
                    let byte = bytes.split_to(1);
                    let expected = if *left == 2 { b'\r' } else { b'\n' };
                    if byte[0] != expected {
                        return Err(NoChunks::Malformed);
                    }
                    *left -= 1;
                    if *left == 0 {
                        self.state = State::Head(Vec::new());
                    }
                    if self.is_signed {
                        self.ready.push_back(byte);
                    }
                }
                State::Rest => self.ready.push_back(bytes.split_to(bytes.len())),
            }
        }
        Ok(())
    }

    /// A chunk begins with this line.
    fn begin(&mut self, line: Vec<u8>) -> Result<(), NoChunks> {
        let text = str::from_utf8(&line).map_err(|_| NoChunks::Malformed)?;
        let size = text.trim_end().split(';').next().unwrap_or("");
        let is_number = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_hexdigit());
        let size = u64::from_str_radix(size, 16).ok().filter(|_| is_number);
        let size = size.ok_or(NoChunks::Malformed)?;
        if self.is_signed && size > MAX_SIGNED {
            return Err(NoChunks::TooLong);
        }
        self.state = if size == 0 { State::Rest } else { State::Data(size) };
        if self.is_signed || size == 0 {
            self.ready.push_back(line.into());
        }
        Ok(())
    }
}

/// The same content in chunks of which each can be in memory.
pub(crate) fn cut(
    is_signed: bool,
    content: impl Stream<Item = Result<Bytes, axum::Error>> + Send + Unpin,
) -> impl Stream<Item = Result<Bytes, NoChunks>> + Send {
    let state = State::Head(Vec::new());
    let cutter = Cutter { is_signed, state, ready: VecDeque::new() };
    stream::try_unfold((content, cutter), async |(mut content, mut cutter)| {
        loop {
            if let Some(ready) = cutter.ready.pop_front() {
                return Ok(Some((ready, (content, cutter))));
            }
            match content.next().await {
                None => return Ok(None),
                Some(piece) => cutter.take(piece.map_err(NoChunks::BrokeOff)?)?,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_all(is_signed: bool, content: &[u8], piece: usize) -> Result<Vec<Bytes>, NoChunks> {
        let state = State::Head(Vec::new());
        let mut cutter = Cutter { is_signed, state, ready: VecDeque::new() };
        for piece in content.chunks(piece) {
            cutter.take(Bytes::copy_from_slice(piece))?;
        }
        Ok(cutter.ready.into())
    }

    /// The content of chunks that are not signed, and what follows them.
    fn joined(frames: &[Bytes]) -> (Vec<u8>, Vec<u8>) {
        let all = frames.concat();
        let (mut rest, mut content) = (&all[..], Vec::new());
        loop {
            let end = rest.windows(2).position(|two| two == b"\r\n").expect("a line");
            let size = str::from_utf8(&rest[..end]).expect("text");
            let size = usize::from_str_radix(size, 16).expect("a number");
            if size == 0 {
                return (content, rest.to_vec());
            }
            assert!(size <= PIECE);
            content.extend_from_slice(&rest[end + 2..end + 2 + size]);
            assert_eq!(&rest[end + 2 + size..end + 4 + size], b"\r\n");
            rest = &rest[end + 4 + size..];
        }
    }

    #[test]
    fn a_chunk_that_is_not_signed_is_cut_and_means_the_same() {
        let content: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
        let mut sent = format!("{:x}\r\n", content.len()).into_bytes();
        sent.extend_from_slice(&content);
        let end = b"0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n";
        sent.extend_from_slice(b"\r\n");
        sent.extend_from_slice(end);
        for piece in [1, 7, 65_537, sent.len()] {
            let frames = cut_all(false, &sent, piece).expect("chunks");
            assert!(frames.iter().all(|frame| frame.len() <= PIECE));
            assert!(joined(&frames) == (content.clone(), end.to_vec()), "by {piece}");
        }
    }

    #[test]
    fn signed_chunks_are_not_changed_and_have_a_bound() {
        let sent = b"5;chunk-signature=abc\r\nhello\r\n0;chunk-signature=def\r\n\r\n";
        for piece in [1, 3, sent.len()] {
            let frames = cut_all(true, sent, piece).expect("chunks");
            assert_eq!(frames.concat(), sent);
        }
        let long = format!("{:x};chunk-signature=abc\r\n", MAX_SIGNED + 1);
        assert!(matches!(cut_all(true, long.as_bytes(), 99), Err(NoChunks::TooLong)));
        let most = format!("{MAX_SIGNED:x};chunk-signature=abc\r\n");
        assert!(cut_all(true, most.as_bytes(), 99).is_ok());
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for wrong in [&b"\r\nx"[..], b"x\r\n", b"-1\r\n", b"+5\r\n", b"2\r\nabc", &[b'1'; 2000]] {
            let cut = cut_all(false, wrong, 5);
            assert!(matches!(cut, Err(NoChunks::Malformed)), "{wrong:?}");
        }
    }
}
