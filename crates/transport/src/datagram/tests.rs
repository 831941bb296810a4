use super::*;
use crate::key::Key;
use alloc::borrow::ToOwned;
use alloc::vec;
use slotcast_protocol::{
    AckOutcome, Claim, InitiatorId, LayoutDigest, PutRequest, ReplicaAck, Wanted,
};
use slotcast_units::Size;

fn header() -> Header {
    Header {
        version: 2,
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
        purpose: Purpose::Get,
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

fn survey(about: SurveyAbout) -> Body<'static> {
    Body::Survey(Survey { number: 0x0102_0304, group: GroupId(5), about })
}

fn reply(says: SurveySays) -> Body<'static> {
    Body::SurveyReply(SurveyReply { number: 0x0102_0304, group: GroupId(5), position: 6, says })
}

fn clock(versions: Option<Versions>, layout: Option<LayoutDigest>) -> Body<'static> {
    let heard = vec![GroupId(0), GroupId(8)];
    Body::Clock(Clock { wants_answer: true, versions, layout, heard })
}

/// In version 3, which differs from version 2 in clock datagrams alone.
fn clock_3() -> Datagram<'static> {
    let header = Header { version: 3, ..header() };
    let body = clock(Some(Versions { lowest: 2, highest: 3 }), Some(LayoutDigest(*b"a layout")));
    Datagram { header, body }
}

fn bodies() -> Vec<Body<'static>> {
    let request = RequestId { initiator: InitiatorId(7), serial: 1 };
    let ack = ReplicaAck { request, position: 4, outcome: AckOutcome::Stored };
    let mut missing = Pieces::none(20);
    missing.insert(3);
    vec![
        clock(None, None),
        Body::Probe(GroupId(3)),
        Body::Control(Address::Group(GroupId(3), Members::first(2)), Message::ReplicaAck(ack)),
        Body::Control(Address::Initiator, Message::ReplicaAck(ack)),
        Body::Data(data(&[1, 2, 3])),
        Body::Report(Report { transfer: 77, pass: 2, missing }),
        Body::Failed(vec![(GroupId(0), Members::first(2)), (GroupId(8), Members::NONE)]),
        survey(SurveyAbout::Ranges { bits: 8, first: 192, count: 64 }),
        survey(SurveyAbout::Chunks(vec![
            (ChunkId([1; 32]), Wanted::bare(3)),
            (ChunkId([2; 32]), Wanted::bare(8)),
        ])),
        reply(SurveySays::Nothing),
        reply(SurveySays::Sums(vec![7, u64::MAX])),
        reply(SurveySays::Held(0x8000_0001)),
        Body::Letter(Cow::Borrowed(b"a letter")),
        Body::Data(Data { purpose: Purpose::Letter, ..data(&[1, 2, 3]) }),
        Body::Short(Short { view: 7, chunks: Some(0) }),
        Body::Short(Short { view: u64::MAX, chunks: None }),
    ]
}

#[test]
fn datagrams_are_read_as_they_are_written() {
    let key = Key::new(&[1; 32]);
    let of_2 = |body| Datagram { header: header(), body };
    let with_range = of_2(clock(Some(Versions { lowest: 2, highest: 9 }), None));
    let of_3 = |body| Datagram { header: Header { version: 3, ..header() }, body };
    let all = bodies().into_iter().map(of_2).chain(bodies().into_iter().skip(1).map(of_3));
    for datagram in all.chain([with_range, clock_3()]) {
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

/// A put-request and a survey with these claims.
fn claiming(claim: Claim) -> [Body<'static>; 2] {
    let asked = PutRequest {
        request: RequestId { initiator: InitiatorId(7), serial: 1 },
        round: 0,
        group: GroupId(3),
        skip: Members::NONE,
        chunk: ChunkId([1; 32]),
        size: Size::from_kib(4),
        not_before: Time::ZERO,
        replicas: 3,
        claim,
    };
    let to = Address::Group(GroupId(3), Members::first(2));
    let wanted = Wanted { replicas: 3, claim };
    [
        Body::Control(to, Message::PutRequest(asked)),
        survey(SurveyAbout::Chunks(vec![
            (ChunkId([1; 32]), Wanted::bare(2)),
            (ChunkId([2; 32]), wanted),
        ])),
    ]
}

/// Nodes that know no claims are told none, and refuse what has one.
#[test]
fn claims_are_told_from_version_4_on() {
    let key = Key::new(&[1; 32]);
    for (named, bare) in claiming(Claim::Names).into_iter().zip(claiming(Claim::Bare)) {
        for version in MIN_VERSION..=MAX_VERSION {
            let tells = version >= TELLS_CLAIMS;
            let expected = if tells { &named } else { &bare };
            assert_eq!(named.clone().in_version(version), *expected);
            assert_eq!(bare.clone().in_version(version), bare);
            let header = Header { version, ..header() };
            let mut bytes = Vec::new();
            Datagram { header, body: named.clone() }.encode(&key, &mut bytes);
            let refused = Err(Refused::Body(bytes[19]));
            let read = Datagram::decode(&key, &bytes).map(|datagram| datagram.body);
            assert_eq!(read, if tells { Ok(named.clone()) } else { refused });
        }
    }
    for body in bodies() {
        assert_eq!(body.clone().in_version(MIN_VERSION), body);
    }
}

/// What a program that knows version 2 alone reads of a clock datagram with a range: groups, of which it has none with
/// the last number.
#[test]
fn a_range_of_versions_is_a_group_to_those_that_do_not_know_it() {
    let key = Key::new(&[1; 32]);
    let encoded = |body| {
        let mut bytes = Vec::new();
        Datagram { header: header(), body }.encode(&key, &mut bytes);
        bytes
    };
    let with_range = encoded(clock(Some(Versions { lowest: 2, highest: 3 }), None));
    assert_eq!(with_range[HEADER_LEN..], [1, 0, 0, 0, 0, 8, 0, 0, 0, 3, 2, 0xff, 0xff]);
    // What makes no sense as a range is a group.
    for wrong in [0xffff_0003, 0xffff_0302] {
        let clock = Clock {
            wants_answer: true,
            versions: None,
            layout: None,
            heard: vec![GroupId(1), GroupId(wrong)],
        };
        let bytes = encoded(Body::Clock(clock.clone()));
        let read = Datagram::decode(&key, &bytes).expect("it is sealed");
        assert_eq!(read.body, Body::Clock(clock));
    }
    // A list that is full has room for it.
    let heard: Vec<GroupId> = (0..64).map(GroupId).collect();
    let versions = Some(Versions::ALL);
    let full = Clock { wants_answer: true, versions, layout: None, heard };
    let bytes = encoded(Body::Clock(full));
    let Ok(Datagram { body: Body::Clock(read), .. }) = Datagram::decode(&key, &bytes) else {
        panic!("it is a clock datagram")
    };
    assert_eq!((read.versions, read.heard.len()), (versions, 63));
}

/// Whatever is in them otherwise: clock datagrams of later versions say which ones their senders speak.
#[test]
fn later_versions_say_so() {
    let key = Key::new(&[1; 32]);
    let mut bytes = Vec::new();
    clock_3().encode(&key, &mut bytes);
    bytes[18] = MAX_VERSION + 3;
    bytes[HEADER_LEN + 1..HEADER_LEN + 3].copy_from_slice(&[6, 7]);
    bytes.extend_from_slice(b"what is there from version 6 on");
    assert_eq!(Datagram::decode(&key, &bytes), Err(Refused::Seal));
    Datagram::seal(&key, &mut bytes);
    let read = Datagram::decode(&key, &bytes).expect("it is sealed");
    let versions = Some(Versions { lowest: 6, highest: 7 });
    let clock = Clock { wants_answer: false, versions, layout: None, heard: Vec::new() };
    assert_eq!((read.header.version, read.body), (7, Body::Clock(clock)));
}

#[test]
fn two_ranges_have_their_highest_version_in_common() {
    let range = |lowest, highest| Versions { lowest, highest };
    assert_eq!(range(2, 3).in_common(range(2, 2)), Some(2));
    assert_eq!(range(2, 3).in_common(range(3, 5)), Some(3));
    assert_eq!(range(2, 5).in_common(range(1, 4)), Some(4));
    assert_eq!(range(2, 3).in_common(range(4, 5)), None);
    assert_eq!(range(4, 5).in_common(range(2, 3)), None);
}

/// What a datagram of this cluster says must make sense, too: it could be of a node that errs.
#[test]
fn surveys_that_make_no_sense_are_refused() {
    let key = Key::new(&[1; 32]);
    let is_refused = |body: Body<'static>| {
        let mut bytes = Vec::new();
        Datagram { header: header(), body }.encode(&key, &mut bytes);
        matches!(Datagram::decode(&key, &bytes), Err(Refused::Body(7 | 8)))
    };
    let ranges = |bits, first, count| survey(SurveyAbout::Ranges { bits, first, count });
    assert!(!is_refused(ranges(0, 0, 1)) && !is_refused(ranges(14, 16_320, 64)));
    for wrong in [ranges(15, 0, 1), ranges(3, 0, 9), ranges(3, 8, 1), ranges(7, 0, 65)] {
        assert!(is_refused(wrong.clone()), "{wrong:?}");
    }
    assert!(is_refused(ranges(4, 0, 0)) && is_refused(ranges(4, u32::MAX, 1)));
    assert!(is_refused(survey(SurveyAbout::Chunks(Vec::new()))));
    assert!(is_refused(reply(SurveySays::Sums(Vec::new()))));
    // The fullest ones fit into the smallest datagram.
    let chunks = vec![(ChunkId([1; 32]), Wanted::bare(3)); MAX_SURVEYED_CHUNKS];
    for body in [survey(SurveyAbout::Chunks(chunks)), reply(SurveySays::Sums(vec![1; 64]))] {
        let mut bytes = Vec::new();
        Datagram { header: header(), body }.encode(&key, &mut bytes);
        assert!(bytes.len() <= DATA_OVERHEAD + 1024, "{}", bytes.len());
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
    for version in [1, MAX_VERSION + 1] {
        bytes[18] = version;
        assert_eq!(Datagram::decode(&key, &bytes), Err(Refused::Version(version)));
    }
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
    let bodies = bodies();
    assert_eq!(hash(&bodies[..6]), "b8db0ca1ed4772e0");
    assert_eq!(hash(&bodies[6..7]), "58d2109d0f32e017");
    assert_eq!(hash(&bodies[7..12]), "ddf1e24c982938ef");
    assert_eq!(hash(&bodies[12..14]), "6851e8f7a188041f");
    assert_eq!(hash(&bodies[14..]), "c0908f925243ac3f");
    let mut bytes = Vec::new();
    clock_3().encode(&Key::new(&[1; 32]), &mut bytes);
    assert_eq!(blake3::hash(&bytes).to_hex()[..16], *"59d08bcf3285f072");
    bytes.clear();
    for body in claiming(Claim::Names) {
        let header = Header { version: 4, ..header() };
        Datagram { header, body }.encode(&Key::new(&[1; 32]), &mut bytes);
    }
    assert_eq!(blake3::hash(&bytes).to_hex()[..16], *"a284162854c81466");
}
