use slotcast_stripe::locked::{
    Client, ClientConfig, Disk, Effect, Input, LockConfig, LockServer, Message, Record, UnitConfig,
    UnitServer, Write,
};
use slotcast_stripe::{Load, Peer};
use slotcast_units::Time;

use super::block::Block;
use super::machines::Machines;
use super::scenario::Scenario;

/// The stripe-lock mode.
#[derive(Debug)]
pub(super) struct Locked;

#[derive(Debug)]
pub(super) enum Node {
    Client(Client<Block>),
    Lock(LockServer<Block>),
    Unit(UnitServer),
}

impl Machines for Locked {
    type Message = Message<Block>;
    type Write = Write<Block>;
    type Record = Record<Block>;
    type Disk = Disk<Block>;
    type Node = Node;

    fn servers(scenario: &Scenario) -> Vec<Peer> {
        let Ok(code) = scenario.code() else { return Vec::new() };
        let data = (0..code.data()).map(Peer::Data);
        data.chain((0..code.parity()).map(Peer::Parity)).chain([Peer::Lock]).collect()
    }

    fn created(scenario: &Scenario, peer: Peer) -> (Node, Disk<Block>) {
        let code = scenario.code().expect("the scenario was checked");
        let (unit_len, retry) = (Block::LEN, scenario.patience.retry);
        let (place, lineages) = match peer {
            Peer::Data(unit) => (unit, 1),
            Peer::Parity(parity) => (code.data() + parity, code.data()),
            Peer::Lock => {
                let lease = scenario.patience.lease;
                let config = LockConfig { code, incarnation: 0, lease, retry };
                return (Node::Lock(LockServer::created(config)), Disk::empty());
            }
            Peer::Client(id) => {
                let config = ClientConfig { id, code, unit_len, retry, max_retries: None };
                return (Node::Client(Client::new(config)), Disk::empty());
            }
        };
        let disk = Disk::created(lineages, Block::ZERO);
        let config = UnitConfig { place, lineages, unit_len, incarnation: 0, retry };
        // A server that has its content wants nothing at its start.
        let server = UnitServer::started(Time::ZERO, config, &disk, &mut Vec::new());
        (Node::Unit(server), disk)
    }

    fn handle(node: &mut Node, now: Time, input: Input<Block>, effects: &mut Vec<Effect<Block>>) {
        match node {
            Node::Client(client) => client.handle(now, input, effects),
            Node::Lock(server) => server.handle(now, input, effects),
            Node::Unit(server) => server.handle(now, input, effects),
        }
    }

    fn write(disk: &mut Disk<Block>, write: Write<Block>) {
        disk.write(write);
    }

    fn read(disk: &Disk<Block>, load: &Load) -> Option<Record<Block>> {
        disk.read(load)
    }

    fn sent(message: &mut Message<Block>) -> Option<&mut Block> {
        match message {
            Message::Write { content, .. } => Some(content),
            Message::Unit { content, .. } => content.as_mut(),
            _ => None,
        }
    }

    fn written(write: &mut Write<Block>) -> Option<&mut Block> {
        match write {
            Write::Unit(record) => Some(&mut record.content),
            Write::Fence(_) => None,
        }
    }

    fn unit(disk: &Disk<Block>) -> Option<Block> {
        disk.unit.as_ref().map(|record| record.content)
    }

    fn is_quiet(node: &Node) -> bool {
        match node {
            Node::Client(client) => !client.is_busy(),
            Node::Lock(server) => server.is_quiet(),
            Node::Unit(server) => server.is_quiet(),
        }
    }
}
