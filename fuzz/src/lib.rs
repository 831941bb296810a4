//! What the fuzz targets share.
//!
//! ```text
//! cargo install cargo-fuzz
//! mkdir -p fuzz/corpus/decode
//! cargo +nightly fuzz run decode fuzz/corpus/decode fuzz/seeds/decode -- -max_total_time=60
//! ```
//!
//! and the same for `conversation` and `datagram` (with `-malloc_limit_mb=64`). What is found goes to the corpus; the seeds, a message of each
//! kind and conversations that get somewhere, stay as they are.

#[path = "../../crates/protocol/tests/wire/machines.rs"]
#[expect(dead_code, reason = "the tests look at the progress, too")]
mod machines;

pub mod datagrams;

use slotcast_protocol::wire::{self, HEADER_LEN};
use slotcast_protocol::Message;
use slotcast_units::Time;

use machines::{NEGOTIATIONS, Stage};

/// Decodes, and demands that what is decoded encodes to the same bytes again.
///
/// # Panics
/// If it does not.
pub fn decode(datagram: &[u8]) -> Option<Message> {
    let (header, message) = wire::decode(datagram).ok()?;
    let mut again = Vec::new();
    wire::encode(&header, &message, &mut again);
    assert_eq!(again, datagram, "{message:?} has two encodings");
    assert_eq!(again.len(), wire::encoded_len(&message));
    Some(message)
}

/// Makes the header of `datagram` right, whatever kind and body it has. A fuzzer does not guess
/// checksums, and would never see a body otherwise.
pub fn seal(datagram: &mut [u8]) {
    let Some((header, body)) = datagram.split_first_chunk_mut::<HEADER_LEN>() else { return };
    let Ok(len) = u16::try_from(body.len()) else { return };
    header[..3].copy_from_slice(b"RC\x02");
    header[4..6].copy_from_slice(&len.to_le_bytes());
    // The time of sending: below the limit.
    header[21] &= 0x3f;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[..22]);
    hasher.update(body);
    header[22..].copy_from_slice(&hasher.finalize().to_le_bytes());
}

/// Lets fresh machines hear `message` at the edges of time, and in the middle.
pub fn hear(message: &Message) {
    let limit = wire::TIME_LIMIT.as_ns();
    for negotiation in NEGOTIATIONS {
        for now in [0, 5_000_000, limit / 2, limit - 1] {
            // Twice: the second is a repetition, of a message and of its consequences.
            let mut stage = Stage::new(negotiation);
            stage.hear(Time::from_ns(now), message);
            stage.hear(Time::from_ns(now), message);
        }
    }
}

/// Reads a conversation out of `script`, and lets machines hear it.
///
/// A script is a byte for the way of negotiation, and then, for each message: a byte that says by how
/// much time goes on, a length, the kind of message, and that much of its body.
pub fn converse(mut script: &[u8]) {
    let Some(&negotiation) = script.split_off_first() else { return };
    let mut stage = Stage::new(NEGOTIATIONS[usize::from(negotiation % 4)]);
    let mut now = 0u64;
    let mut datagram = Vec::new();
    while let Some((&[step, len, kind], rest)) = script.split_first_chunk::<3>() {
        let (body, rest) = rest.split_at(rest.len().min(usize::from(len)));
        script = rest;
        // From nothing, over nanoseconds, to half of all time.
        let step = if step == 0 { 0 } else { 1u64 << (step % 62) };
        now = (now + step).min(wire::TIME_LIMIT.as_ns() - 1);
        datagram.clear();
        datagram.resize(HEADER_LEN, 0);
        datagram[3] = kind;
        datagram.extend_from_slice(body);
        seal(&mut datagram);
        if let Some(message) = decode(&datagram) {
            stage.hear(Time::from_ns(now), &message);
        }
    }
}
