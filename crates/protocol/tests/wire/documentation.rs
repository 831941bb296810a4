//! The documents say what the code does: the tables of the module and of
//! `docs/understand/wire.md` are the same, leave no byte out, and are as long as the messages; the
//! example is what is encoded.

use slotcast_protocol::wire::{HEADER_LEN, Header, MAX_ENCODED_LEN, decode, encode};
use slotcast_protocol::{
    Bid, BidAnswer, ChunkId, Claim, GroupId, InitiatorId, MAX_REPLICAS, MAX_TAKEN, Members,
    Message, PutRequest, RequestId, Window,
};
use slotcast_units::{Size, Span, Time};

const MODULE: &str = include_str!("../../src/wire/mod.rs");
const PAGE: &str = include_str!("../../../../docs/understand/wire.md");

/// Tables with a header of `offset | size | field`, as rows of these three.
fn tables(text: &str) -> Vec<Vec<[String; 3]>> {
    let mut tables: Vec<Vec<[String; 3]>> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.trim_start_matches("//!").trim();
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells[..] {
            ["", "offset", "size", "field", ""] => {
                tables.push(Vec::new());
                inside = true;
            }
            ["", "---:", "---:", "---", ""] => {}
            ["", offset, size, field, ""] if inside => {
                let row = [offset, size, field].map(str::to_owned);
                tables.last_mut().expect("a table has begun").push(row);
            }
            _ => inside = false,
        }
    }
    tables
}

/// Adds up a table: each field begins where one before it ends. Gives the end of the longest.
fn end_of(table: &[[String; 3]], start: usize) -> usize {
    let mut ends = vec![start];
    for [offset, size, field] in table {
        let offset: usize = offset.parse().unwrap();
        assert!(ends.contains(&offset), "{field} begins at {offset}, after {ends:?}");
        let size = match size.strip_suffix('n') {
            Some(each) if field.contains("the grants") => {
                each.parse::<usize>().unwrap() * MAX_REPLICAS
            }
            Some(each) if field.contains("the taken windows") => {
                each.parse::<usize>().unwrap() * MAX_TAKEN
            }
            Some(each) => each.parse().unwrap(),
            None => size.parse().unwrap(),
        };
        ends.push(offset + size);
    }
    ends.into_iter().max().unwrap()
}

#[test]
fn both_documents_have_the_same_tables() {
    assert_eq!(tables(MODULE), tables(PAGE));
}

#[test]
fn the_tables_are_as_long_as_the_messages() {
    let tables = tables(MODULE);
    assert_eq!(tables.len(), 17, "the header and sixteen messages");
    assert_eq!(end_of(&tables[0], 0), HEADER_LEN);
    let longest: Vec<usize> = tables[1..].iter().map(|table| end_of(table, HEADER_LEN)).collect();
    assert_eq!(longest, [96, 61, 173, 36, 87, 61, 53, 35, 36, 166, 65, 116, 43, 69, 70, 45]);
    assert_eq!(longest.iter().max(), Some(&MAX_ENCODED_LEN));
}

/// A question of initiator 7 on node 7, and the answer of the target on node 22.
fn conversation() -> [(Header, Message); 2] {
    let request = RequestId { initiator: InitiatorId(7), serial: 1 };
    let ask = Message::PutRequest(PutRequest {
        request,
        round: 0,
        group: GroupId(2),
        skip: Members::NONE,
        chunk: ChunkId(core::array::from_fn(|i| 0xe0 + u8::try_from(i).unwrap())),
        size: Size::from_kib(128),
        not_before: Time::from_ns(12_000_000),
        replicas: 3,
        claim: Claim::Bare,
    });
    let start = Time::from_ns(12_345_678);
    let answer = Message::Bid(Bid {
        request,
        round: 0,
        position: 4,
        answer: BidAnswer::Window {
            window: Window::new(start, Span::from_ns(166_159)),
            backlog: Span::from_ns(312_500),
        },
    });
    [
        (Header { epoch: 5, sender: 7, sent_at: Time::from_ns(12_000_000) }, ask),
        (Header { epoch: 5, sender: 22, sent_at: Time::from_ns(12_003_424) }, answer),
    ]
}

/// The bytes of an annotated example: lines of an offset, two spaces, bytes, two spaces, remarks.
fn example(block: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in block.lines() {
        let mut columns = line.split("  ").map(str::trim).filter(|column| !column.is_empty());
        let (Some(offset), Some(hex)) = (columns.next(), columns.next()) else { continue };
        assert_eq!(offset.parse(), Ok(bytes.len()), "{line}");
        bytes.extend(hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()));
    }
    bytes
}

#[test]
fn the_examples_are_what_is_encoded() {
    let blocks: Vec<&str> = PAGE.split("```").skip(1).step_by(2).collect();
    let examples: Vec<Vec<u8>> =
        blocks.iter().filter_map(|block| block.strip_prefix("text\n")).map(example).collect();
    let expected = conversation().map(|(header, message)| {
        let mut datagram = Vec::new();
        encode(&header, &message, &mut datagram);
        assert_eq!(decode(&datagram), Ok((header, message)));
        datagram
    });
    for (shown, right) in examples.iter().zip(&expected) {
        assert_eq!(shown, right, "\nright: {right:02x?}");
    }
    assert_eq!(examples.len(), expected.len());
}
