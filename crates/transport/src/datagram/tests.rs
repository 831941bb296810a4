use super::*;
use crate::key::Key;
use alloc::borrow::ToOwned;
use alloc::vec;
use slotcast_protocol::{AckOutcome, InitiatorId, ReplicaAck};

fn header() -> Header {
    Header {
        epoch: 5,
        sender: 7,
        incarnation: 1_790_000_000_000_000_000,
        sequence: 9,
        sent_at: Time::from_ns(12),
        echo: Some((Time::from_ns(3), Span::from_ns(4))),
    }
}

fn data(bytes: &[u8]) -> Data<'_> {
    Data {
        is_get: true,
        is_last: true,
        pass: 2,
        transfer: 77,
        piece: 1,
        piece_len: 1024,
        length: 1027,
        slack: Span::from_us(250),
        request: RequestId { initiator: InitiatorId(7), serial: 1 },
        group: GroupId(2),
        members: Members::first(3),
        name: ChunkId([9; 32]),
        bytes,
        value: if bytes.is_empty() { PartValue::default() } else { Data::value_of(1, 1024, bytes) },
    }
}

fn bodies() -> Vec<Body<'static>> {
    let request = RequestId { initiator: InitiatorId(7), serial: 1 };
    let ack = ReplicaAck { request, position: 4, outcome: AckOutcome::Stored };
    let mut missing = Pieces::none(20);
    missing.insert(3);
    vec![
        Body::Clock { wants_answer: true, heard: vec![GroupId(0), GroupId(8)] },
        Body::Probe(GroupId(3)),
        Body::Control(Address::Group(GroupId(3), Members::first(2)), Message::ReplicaAck(ack)),
        Body::Control(Address::Initiator, Message::ReplicaAck(ack)),
        Body::Data(data(&[1, 2, 3])),
        Body::Report(Report { transfer: 77, pass: 2, missing }),
        Body::Failed(vec![(GroupId(0), Members::first(2)), (GroupId(8), Members::NONE)]),
    ]
}

#[test]
fn datagrams_are_read_as_they_are_written() {
    let key = Key::new(&[1; 32]);
    for body in bodies() {
        let datagram = Datagram { header: header(), body };
        let mut bytes = Vec::new();
        assert_eq!(datagram.encode(&key, &mut bytes), bytes.len());
        assert_eq!(Datagram::decode(&key, &bytes), Ok(datagram));
        let sealed = bytes.clone();
        bytes[..16].fill(0);
        Datagram::seal(&key, &mut bytes);
        assert_eq!(bytes, sealed);
        assert_eq!(Datagram::decode(&Key::new(&[2; 32]), &bytes), Err(Refused::Seal));
        for len in 0..bytes.len() {
            assert!(Datagram::decode(&key, &bytes[..len]).is_err(), "cut to {len}");
        }
    }
}

#[test]
fn pieces_that_do_not_fit_their_chunk_are_refused() {
    let key = Key::new(&[1; 32]);
    let refused = |data: Data<'_>| {
        let mut bytes = Vec::new();
        Datagram { header: header(), body: Body::Data(data) }.encode(&key, &mut bytes);
        assert_eq!(Datagram::decode(&key, &bytes), Err(Refused::Body(DATA)), "{data:?}");
    };
    refused(data(&[1, 2, 3, 4]));
    refused(data(&[1, 2]));
    refused(data(&[]));
    refused(Data { piece: 2, ..data(&[1, 2, 3]) });
    refused(Data { piece_len: 0, ..data(&[1, 2, 3]) });
    refused(Data { piece_len: 1000, length: 1003, ..data(&[1, 2, 3]) });
    refused(Data { length: 0, ..data(&[1, 2, 3]) });
    refused(Data { piece: 0, length: u32::MAX, ..data(&[1; 1024]) });
}

/// A piece is sealed by its value: one that is another, or elsewhere in the chunk, has another.
#[test]
fn a_changed_or_moved_piece_breaks_the_seal() {
    let key = Key::new(&[1; 32]);
    let piece = data(&[1, 2, 3]);
    let mut bytes = Vec::new();
    Datagram { header: header(), body: Body::Data(piece) }.encode(&key, &mut bytes);
    let last = bytes.len() - 1;
    for at in [last, last - 2, HEADER_LEN + 7, HEADER_LEN + DATA_LEN - 1] {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let refused = Datagram::decode(&key, &changed);
        assert!(matches!(refused, Err(Refused::Seal | Refused::Body(DATA))), "byte {at}");
    }
    let other = Data { value: Data::value_of(0, 1024, piece.bytes), ..piece };
    bytes.clear();
    Datagram { header: header(), body: Body::Data(other) }.encode(&key, &mut bytes);
    assert_eq!(Datagram::decode(&key, &bytes), Err(Refused::Seal));
}

#[test]
fn pieces_are_as_long_as_fits() {
    assert_eq!(piece_len(8952), Some(8192));
    assert_eq!(piece_len(1452), Some(1024));
    assert_eq!(piece_len(DATA_OVERHEAD + 1024), Some(1024));
    assert_eq!(piece_len(DATA_OVERHEAD + 1023), None);
    assert_eq!(piece_len(65_507), Some(32_768));
    assert_eq!(piece_len(10), None);
}

#[test]
fn strangers_are_told_from_forgers() {
    let key = Key::new(&[1; 32]);
    let mut bytes = Vec::new();
    Datagram { header: header(), body: Body::Probe(GroupId(0)) }.encode(&key, &mut bytes);
    bytes[18] = 1;
    assert_eq!(Datagram::decode(&key, &bytes), Err(Refused::Version(1)));
    bytes[16] = 0;
    assert_eq!(Datagram::decode(&key, &bytes), Err(Refused::Foreign));
    assert_eq!(Datagram::decode(&key, &[0; 63]), Err(Refused::TooShort(63)));
}

/// A change of a byte of the layout must not happen by accident: it takes a new version.
#[test]
fn the_layout_stays_what_it_is() {
    let hash = |bodies: &[Body<'static>]| {
        let mut bytes = Vec::new();
        for body in bodies.iter().cloned() {
            Datagram { header: header(), body }.encode(&Key::new(&[1; 32]), &mut bytes);
        }
        blake3::hash(&bytes).to_hex()[..16].to_owned()
    };
    // Kinds may be added.
    let (first, added) = (&bodies()[..6], &bodies()[6..]);
    assert_eq!(hash(first), "b8db0ca1ed4772e0");
    assert_eq!(hash(added), "58d2109d0f32e017");
}
