//! Claims on the wire, and what refusals say.

use super::*;

/// A bit in the byte of the number, so that a message without it is what it was before there were claims.
#[test]
fn a_claim_of_names_is_a_bit() {
    let Message::PutRequest(bare) = put_request() else { unreachable!() };
    let named = Message::PutRequest(PutRequest { claim: Claim::Names, ..bare });
    let bytes = |message: &Message| {
        let mut bytes = Vec::new();
        encode(&HEADER, message, &mut bytes);
        bytes
    };
    let (of_bare, of_named) = (bytes(&put_request()), bytes(&named));
    assert_eq!((of_bare[95], of_named[95]), (6, 0x16));
    assert_eq!(decode(&of_named).unwrap().1, named);
}

#[test]
fn refusals_say_what_was_wrong() {
    use alloc::string::ToString;
    for (error, text) in [
        (WireError::TooShort(3), "a datagram of 3 bytes has no room for the header of 26"),
        (WireError::Magic(0x4854), "the magic 0x4854 is not that of Replicast"),
        (WireError::ChunkSize(0), "a chunk of 0 bytes is not between 1 byte and 64MiB"),
        (
            WireError::Time(u64::MAX),
            "18446744073709551615 ns is not below the limit of times, 4611686018427387904 ns",
        ),
        (
            WireError::Window(Window { start: Time::from_ns(5), end: Time::from_ns(4) }),
            "the window 5ns..4ns does not end after it starts",
        ),
    ] {
        assert_eq!(error.to_string(), text);
    }
}
