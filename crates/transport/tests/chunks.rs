//! Chunks over a network that loses, reorders and repeats datagrams: they arrive, or it is said that they
//! did not; never with a wrong byte.

use std::collections::BTreeMap;

use proptest::prelude::*;
use slotcast_protocol::{ChunkId, GroupId, InitiatorId, Members, Parts, RequestId};
use slotcast_transport::{
    Arrived, Body, Data, Datagram, Header, Inbox, InboxLimits, Key, Next, Pace, Purpose, Refusal,
    Report, Sending, piece_len,
};
use slotcast_units::{Rate, Span, Time};

const DATAGRAM: usize = 1452;

/// What happens to one datagram.
#[derive(Debug, Clone, Copy)]
struct Fate {
    is_lost: bool,
    delay_us: u64,
    /// It comes once more, so much later.
    again_us: Option<u64>,
}

fn fate(loss: u32) -> impl Strategy<Value = Fate> {
    (0..100u32, 0..400u64, proptest::option::weighted(0.1, 0..5_000u64))
        .prop_map(move |(n, delay_us, again_us)| Fate { is_lost: n < loss, delay_us, again_us })
}

enum Packet {
    Data(u32, Vec<u8>),
    Report(u32, Report),
}

struct Network {
    fates: Vec<Fate>,
    used: usize,
    flying: BTreeMap<(Time, usize), Packet>,
    serial: usize,
}

impl Network {
    fn send(&mut self, now: Time, packet: impl Fn() -> Packet) {
        let fate = self.fates[self.used % self.fates.len()];
        self.used += 1;
        let mut fly = |delay: u64| {
            self.serial += 1;
            self.flying.insert((now + Span::from_us(delay), self.serial), packet());
        };
        if !fate.is_lost {
            fly(20 + fate.delay_us);
        }
        if let Some(again) = fate.again_us {
            fly(20 + again);
        }
    }
}

struct Outcome {
    /// By receiver.
    arrived: BTreeMap<u32, Arrived>,
    sender_is_sure: bool,
}

/// What came, if all of it did; the values of the pieces must be those of what came.
fn bytes_of(arrived: &Arrived) -> Option<&[u8]> {
    let (bytes, parts) = arrived.chunk.as_ref()?;
    assert_eq!(*parts, Parts::of(bytes, parts.len()));
    Some(bytes)
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// A sender, its receivers, and the network between them.
struct Rig<'a> {
    key: Key,
    content: Vec<u8>,
    piece_len: u16,
    pace: Pace,
    nodes: &'a [u32],
    sending: Sending,
    sender_is_over: bool,
    sequence: u64,
    inboxes: BTreeMap<u32, Inbox>,
    network: Network,
    outcome: Outcome,
}

impl Rig<'_> {
    fn new(length: usize, nodes: &[u32], fates: Vec<Fate>) -> Rig<'_> {
        let piece_len = piece_len(DATAGRAM).expect("room for a piece");
        let count = u32::try_from(length.div_ceil(usize::from(piece_len))).expect("few");
        let start = Time::from_ns(1_000_000_000);
        let pace = Pace {
            start,
            rate: Rate::from_bytes_per_s(100_000_000),
            slack: Span::from_ms(1),
            give_up: start + Span::from_secs(2),
        };
        let limits = InboxLimits { chunk: 1 << 23, bytes: 1 << 24, chunks: 4 };
        Rig {
            key: Key::new(&[3; 32]),
            content: content(length),
            piece_len,
            pace,
            nodes,
            sending: Sending::new(pace, count, piece_len, nodes),
            sender_is_over: false,
            sequence: 0,
            inboxes: nodes.iter().map(|node| (*node, Inbox::new(limits))).collect(),
            network: Network { fates, used: 0, flying: BTreeMap::new(), serial: 0 },
            outcome: Outcome { arrived: BTreeMap::new(), sender_is_sure: false },
        }
    }

    /// Sends what may leave now. Returns when more may.
    fn send(&mut self, now: Time) -> Time {
        let mut pieces = Vec::new();
        while !self.sender_is_over {
            match self.sending.next(now, 7, &mut pieces) {
                Next::Send { pass, ends_pass } => {
                    assert!(!pieces.is_empty());
                    for (i, &piece) in pieces.iter().enumerate() {
                        self.send_piece(now, piece, pass, ends_pass && i + 1 == pieces.len());
                    }
                }
                Next::Wait(until) => {
                    assert!(until > now, "waiting takes time");
                    return until;
                }
                Next::Over(sure) => {
                    self.sender_is_over = true;
                    self.outcome.sender_is_sure = sure;
                }
            }
        }
        Time::NEVER
    }

    fn send_piece(&mut self, now: Time, piece: u32, pass: u8, is_last: bool) {
        let (piece_len, length) = (self.piece_len, self.content.len());
        let at = piece as usize * usize::from(piece_len);
        let bytes = &self.content[at..length.min(at + usize::from(piece_len))];
        let data = Data {
            purpose: Purpose::Put,
            is_last,
            pass,
            transfer: 5,
            piece: piece as u16,
            piece_len,
            length: length as u32,
            slack: self.pace.slack,
            request: RequestId { initiator: InitiatorId(0), serial: 1 },
            group: GroupId(0),
            members: Members::first(1),
            name: ChunkId([1; 32]),
            bytes,
            value: Data::value_of(piece as u16, piece_len, bytes),
        };
        self.sequence += 1;
        let header = Header {
            version: 3,
            epoch: 1,
            sender: 0,
            incarnation: 1,
            sequence: self.sequence,
            sent_at: now,
            echo: None,
        };
        let mut datagram = Vec::new();
        Datagram { header, body: Body::Data(data) }.encode(&self.key, &mut datagram);
        assert!(datagram.len() <= DATAGRAM);
        for node in self.nodes {
            self.network.send(now, || Packet::Data(*node, datagram.clone()));
        }
    }

    /// A datagram with data arrives. Returns what its receiver reports.
    fn arrive(&mut self, now: Time, node: u32, datagram: &[u8]) -> Vec<(u32, Report)> {
        let datagram = Datagram::decode(&self.key, datagram).expect("nobody changed it");
        let Body::Data(data) = datagram.body else { unreachable!("only data is sent") };
        let mut reports = Vec::new();
        let inbox = self.inboxes.get_mut(&node).expect("it has one");
        let arrived = inbox.piece(now, 0, &data, &mut reports).expect("room");
        if let Some(arrived) = arrived {
            let before = self.outcome.arrived.insert(node, arrived);
            assert!(before.is_none_or(|a| a.chunk.is_none()), "it arrives once");
        }
        reports.into_iter().map(|(_, report)| (node, report)).collect()
    }

    /// What has flown until now arrives, and receivers wake that are due.
    fn receive(&mut self, now: Time) {
        let mut said = Vec::new();
        while let Some(entry) = self.network.flying.first_entry()
            && entry.key().0 <= now
        {
            match entry.remove() {
                Packet::Report(node, report) => self.sending.reported(now, node, &report),
                Packet::Data(node, datagram) => said.extend(self.arrive(now, node, &datagram)),
            }
        }
        for (node, inbox) in &mut self.inboxes {
            if inbox.due() <= now {
                let (mut reports, mut given_up) = (Vec::new(), Vec::new());
                inbox.wake(now, &mut reports, &mut given_up);
                said.extend(reports.into_iter().map(|(_, report)| (*node, report)));
                for arrived in given_up {
                    self.outcome.arrived.insert(*node, arrived);
                }
            }
        }
        for (node, report) in said {
            self.network.send(now, || Packet::Report(node, report.clone()));
        }
    }
}

fn transfer(length: usize, nodes: &[u32], fates: Vec<Fate>) -> Outcome {
    let mut rig = Rig::new(length, nodes, fates);
    let mut now = rig.pace.start;
    loop {
        let mut wake = rig.send(now);
        for inbox in rig.inboxes.values() {
            wake = wake.min(inbox.due());
        }
        if let Some(((at, _), _)) = rig.network.flying.first_key_value() {
            wake = wake.min(*at);
        }
        if wake == Time::NEVER {
            return rig.outcome;
        }
        now = now.max(wake);
        rig.receive(now);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_chunk_arrives_over_a_bad_network(
        length in 1usize..60_000,
        nodes in 1u32..4,
        fates in proptest::collection::vec(fate(20), 50..200),
    ) {
        let nodes: Vec<u32> = (10..10 + nodes).collect();
        let outcome = transfer(length, &nodes, fates);
        prop_assert!(outcome.sender_is_sure);
        for node in &nodes {
            let arrived = &outcome.arrived[node];
            prop_assert!(bytes_of(arrived) == Some(&content(length)[..]), "right bytes at {node}");
        }
    }

    #[test]
    fn over_a_worse_one_it_arrives_or_it_is_said_that_it_did_not(
        length in 1usize..20_000,
        nodes in 1u32..4,
        fates in proptest::collection::vec(fate(85), 50..200),
    ) {
        let nodes: Vec<u32> = (10..10 + nodes).collect();
        let outcome = transfer(length, &nodes, fates);
        for node in &nodes {
            let bytes = outcome.arrived.get(node).and_then(bytes_of);
            prop_assert!(bytes.is_none_or(|bytes| bytes == content(length)), "right bytes at {node}");
            // The sender is sure only of what is there.
            prop_assert!(!outcome.sender_is_sure || bytes.is_some());
        }
    }
}

#[test]
fn without_loss_every_piece_is_sent_once_and_in_time() {
    let fate = Fate { is_lost: false, delay_us: 0, again_us: None };
    let outcome = transfer(1 << 20, &[10], vec![fate]);
    assert!(outcome.sender_is_sure);
    let mut sending = Sending::new(
        Pace {
            start: Time::from_ns(1000),
            rate: Rate::from_bytes_per_s(1_000_000_000),
            slack: Span::from_ms(1),
            give_up: Time::from_ns(1 << 40),
        },
        100,
        1000,
        &[1],
    );
    let (mut now, mut sent, mut pieces) = (Time::ZERO, 0, Vec::new());
    loop {
        match sending.next(now, 10, &mut pieces) {
            Next::Send { ends_pass, .. } => {
                sent += pieces.len();
                if ends_pass {
                    break;
                }
            }
            Next::Wait(until) => now = until,
            Next::Over(_) => unreachable!("nobody has reported"),
        }
    }
    assert_eq!(sent, 100);
    // Nine batches of 10 µs before the last one.
    assert_eq!(now, Time::from_ns(1000 + 90_000));
}

#[test]
fn an_inbox_takes_no_more_than_it_may() {
    let limits = InboxLimits { chunk: 1 << 20, bytes: 3 << 20, chunks: 2 };
    let mut inbox = Inbox::new(limits);
    let bytes = vec![1; 1024];
    let data = |transfer, length| Data {
        purpose: Purpose::Put,
        is_last: false,
        pass: 0,
        transfer,
        piece: 0,
        piece_len: 1024,
        length,
        slack: Span::from_ms(1),
        request: RequestId { initiator: InitiatorId(0), serial: 1 },
        group: GroupId(0),
        members: Members::first(1),
        name: ChunkId([1; 32]),
        bytes: &bytes,
        value: Data::value_of(0, 1024, &bytes),
    };
    let mut reports = Vec::new();
    let mut offer = |sender, transfer, length| {
        inbox.piece(Time::ZERO, sender, &data(transfer, length), &mut reports)
    };
    assert_eq!(offer(1, 1, (1 << 20) + 1), Err(Refusal::TooLong));
    assert_eq!(offer(1, 1, 1 << 20), Ok(None));
    assert_eq!(offer(1, 2, 1 << 20), Ok(None));
    assert_eq!(offer(1, 3, 1 << 20), Err(Refusal::Full));
    assert_eq!(offer(2, 3, 1 << 20), Ok(None), "another sender has room of its own");
    inbox.forget(1);
    assert_eq!(inbox.len(), 1);
}
