//! What a node does with the datagrams of others, short of its sockets.

use slotcast_protocol::Parts;
use slotcast_transport::{
    Body, Datagram, HEADER_LEN, Inbox, InboxLimits, Key, Next, Pace, Replay, Sending,
};
use slotcast_units::{Rate, Span, Time};

/// Small, so that a script reaches them.
const LIMITS: InboxLimits = InboxLimits { chunk: 1 << 16, bytes: 1 << 17, chunks: 8 };

/// Most bytes that may be on their way: of each of four senders.
const MOST: usize = 4 * LIMITS.chunks;

/// Reads datagrams out of `script`, and lets an inbox and a sender hear them.
///
/// A script is, for each datagram: a byte for the sender and how far time goes on, a length of two bytes, and
/// that much of the datagram from its kind on. Each is heard as it is, and with all before the body made right:
/// a fuzzer does not guess seals.
///
/// # Panics
/// If what is read is not written in the same way, or more is taken up than may be.
pub fn hear(mut script: &[u8]) {
    let key = Key::new(&[0; 32]);
    let mut inbox = Inbox::new(LIMITS);
    let mut replay = Replay::new();
    let mut now = Time::from_ns(1);
    let (mut reports, mut given_up, mut pieces) = (Vec::new(), Vec::new(), Vec::new());
    let pace = Pace {
        start: now,
        rate: Rate::from_bytes_per_s(1 << 30),
        slack: Span::from_us(100),
        give_up: Time::from_ns(1 << 40),
    };
    let mut sending = Sending::new(pace, 20, 1000, &[0, 1]);
    while let Some((&[step, low, high], rest)) = script.split_first_chunk::<3>() {
        let length = usize::from(u16::from_le_bytes([low, high]));
        let (given, rest) = rest.split_at(rest.len().min(length));
        script = rest;
        let (sender, step) = (u32::from(step & 3), step >> 2);
        now = now + Span::from_ns(if step == 0 { 0 } else { 1 << (step % 40) });
        // As it is: refused, or the seal is right by a miracle.
        let _ = Datagram::decode(&key, given);
        let mut datagram = vec![0; 16];
        datagram.extend_from_slice(b"SD\x02");
        datagram.extend_from_slice(given);
        if datagram.len() < HEADER_LEN {
            continue;
        }
        // Times below the limit.
        datagram[51] &= 0x3f;
        datagram[59] &= 0x3f;
        Datagram::seal(&key, &mut datagram);
        let Ok(read) = Datagram::decode(&key, &datagram) else { continue };
        let mut again = Vec::new();
        read.encode(&key, &mut again);
        // The message inside repeats the header's fields, and they are not looked at; an echo of nothing was
        // held for no time.
        if !matches!(read.body, Body::Control(..)) && read.header.echo.is_some() {
            assert_eq!(again, datagram, "{read:?} has two encodings");
        }
        replay.is_new(read.header.sequence);
        match &read.body {
            Body::Data(data) => {
                if let Ok(Some(arrived)) = inbox.piece(now, sender, data, &mut reports) {
                    let (bytes, parts) = arrived.chunk.expect("all of it");
                    assert_eq!(parts, Parts::of(&bytes, parts.len()));
                    assert_eq!(bytes.len(), data.length as usize);
                    assert!(bytes.len() <= LIMITS.chunk as usize);
                }
            }
            Body::Report(report) => sending.reported(now, sender, report),
            _ => {}
        }
        assert!(inbox.len() <= MOST, "{} chunks on their way", inbox.len());
        if inbox.due() <= now {
            inbox.wake(now, &mut reports, &mut given_up);
        }
        if let Next::Send { .. } = sending.next(now, 7, &mut pieces) {
            assert!(!pieces.is_empty() && pieces.iter().all(|piece| *piece < 20));
        }
        for (_, report) in reports.drain(..) {
            assert!(report.missing.len() <= report.missing.count());
        }
    }
}
