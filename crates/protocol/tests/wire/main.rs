//! The wire form from outside: what holds for every message and for every string of bytes, and that
//! no message that gets through stops a machine.

mod documentation;
mod machines;
mod strategies;

use machines::{NEGOTIATIONS, Stage};
use proptest::prelude::*;
use slotcast_protocol::Message;
use slotcast_protocol::wire::{self, MAX_ENCODED_LEN, WireError};
use slotcast_units::Time;
use strategies::{datagram_like, header, message, moments};

fn encoded(header: &wire::Header, message: &Message) -> Vec<u8> {
    let mut datagram = Vec::new();
    wire::encode(header, message, &mut datagram);
    datagram
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(header in header(), message in message()) {
        let datagram = encoded(&header, &message);
        prop_assert_eq!(datagram.len(), wire::encoded_len(&message));
        prop_assert!(datagram.len() <= MAX_ENCODED_LEN);
        prop_assert_eq!(wire::decode(&datagram), Ok((header, message)));
    }

    #[test]
    fn a_flipped_bit_anywhere_is_refused(header in header(), message in message()) {
        let mut datagram = encoded(&header, &message);
        for bit in 0..datagram.len() * 8 {
            datagram[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(wire::decode(&datagram).is_err(), "bit {bit}");
            datagram[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_datagram_of_any_other_length_is_refused(
        header in header(),
        message in message(),
        more in prop::collection::vec(any::<u8>(), 1..200),
    ) {
        let mut datagram = encoded(&header, &message);
        for len in 0..datagram.len() {
            let error = wire::decode(&datagram[..len]).unwrap_err();
            let expected = matches!(error, WireError::TooShort(_) | WireError::Length { .. });
            prop_assert!(expected, "{error:?} at {len}");
        }
        datagram.extend(more);
        let error = wire::decode(&datagram).unwrap_err();
        let expected = matches!(error, WireError::TooLong(_) | WireError::Length { .. });
        prop_assert!(expected, "{error:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn no_bytes_stop_the_decoder(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = wire::decode(&bytes);
    }

    /// Random bytes with a right header reach the fields of the messages. What is taken for a
    /// message there has only this one encoding.
    #[test]
    fn what_is_decoded_encodes_to_the_same_bytes(datagram in datagram_like()) {
        if let Ok((header, message)) = wire::decode(&datagram) {
            prop_assert_eq!(encoded(&header, &message), datagram);
        }
    }

    /// A target, a proxy and an initiator hear whatever the wire lets through, and do not panic.
    #[test]
    fn no_message_stops_a_machine(
        messages in prop::collection::vec(message(), 1..40),
        moments in moments(40),
        negotiation in prop::sample::select(&NEGOTIATIONS[..]),
    ) {
        let mut stage = Stage::new(negotiation);
        for (message, &now) in messages.iter().zip(&moments) {
            stage.hear(now, message);
        }
    }
}

/// Random bodies are rarely messages, and random messages rarely make sense; this makes sure that
/// the tests above see both.
#[test]
fn random_messages_make_sense_now_and_then() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut decoded = 0;
    for _ in 0..2_000 {
        let datagram = datagram_like().new_tree(&mut runner).unwrap().current();
        decoded += u32::from(wire::decode(&datagram).is_ok());
    }
    assert!(decoded > 200, "only {decoded} of 2000 are messages");

    let talk = (prop::collection::vec(message(), 40), moments(40));
    for negotiation in NEGOTIATIONS {
        let mut got = [0; 5];
        for _ in 0..500 {
            let (messages, moments) = talk.new_tree(&mut runner).unwrap().current();
            let mut stage = Stage::new(negotiation);
            messages.iter().zip(&moments).for_each(|(message, &now)| stage.hear(now, message));
            let progress = stage.progress();
            got[0] += progress.written;
            got[1] += progress.sent;
            got[2] += progress.transfers;
            got[3] += progress.fetches;
            got[4] += progress.granted;
        }
        assert!(got.iter().all(|&n| n > 10), "{negotiation:?}: {got:?}");
    }
}

/// One far-off time after the other, at a moment that is itself at the end of the clock's range.
#[test]
fn machines_bear_the_edges_of_time() {
    use slotcast_protocol::{ChunkId, Claim, GroupId, InitiatorId, Members, PutRequest, RequestId};
    use slotcast_units::{Size, Span};
    let last = wire::TIME_LIMIT.saturating_sub(Span::from_ns(1));
    for now in [Time::ZERO, last] {
        for negotiation in NEGOTIATIONS {
            let mut stage = Stage::new(negotiation);
            for serial in 0..200 {
                let request = RequestId { initiator: InitiatorId(1), serial };
                let message = Message::PutRequest(PutRequest {
                    request,
                    round: 0,
                    group: GroupId(0),
                    skip: Members::NONE,
                    chunk: ChunkId([0; 32]),
                    size: Size::from_mib(64),
                    not_before: last,
                    replicas: 3,
                    claim: Claim::Bare,
                });
                stage.hear(now, &message);
            }
        }
    }
}
