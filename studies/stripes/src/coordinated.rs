use slotcast_stripe::coordinated::{
    Client, ClientConfig, DataConfig, DataServer, Disk, Effect, Input, Message, ParityConfig,
    ParityServer, Record, Write,
};
use slotcast_stripe::{Load, Peer};
use slotcast_units::Time;

use super::block::Block;
use super::machines::Machines;
use super::scenario::Scenario;

/// The coordinated mode.
#[derive(Debug)]
pub(super) struct Coordinated;

#[derive(Debug)]
pub(super) enum Node {
    Client(Client<Block>),
    Data(DataServer<Block>),
    Parity(ParityServer<Block>),
}

impl Machines for Coordinated {
    type Message = Message<Block>;
    type Write = Write<Block>;
    type Record = Record<Block>;
    type Disk = Disk<Block>;
    type Node = Node;

    fn servers(scenario: &Scenario) -> Vec<Peer> {
        let Ok(code) = scenario.code() else { return Vec::new() };
        let data = (0..code.data()).map(Peer::Data);
        data.chain((0..code.parity()).map(Peer::Parity)).collect()
    }

    fn created(scenario: &Scenario, peer: Peer) -> (Node, Disk<Block>) {
        let code = scenario.code().expect("the scenario was checked");
        let (unit_len, retry) = (Block::LEN, scenario.patience.retry);
        match peer {
            Peer::Data(unit) => {
                let prefetch = scenario.cache.prefetch;
                let config = DataConfig { code, unit, unit_len, incarnation: 0, retry, prefetch };
                (Node::Data(DataServer::created(config)), Disk::created_data(Block::ZERO))
            }
            Peer::Parity(parity) => {
                let hold = retry * 8;
                let config = ParityConfig { code, parity, unit_len, incarnation: 0, retry, hold };
                let disk = Disk::created_parity(code.data(), Block::ZERO);
                (Node::Parity(ParityServer::created(config)), disk)
            }
            Peer::Client(id) => {
                let config = ClientConfig {
                    id,
                    code,
                    unit_len,
                    retry,
                    max_retries: None,
                    rebuild_after: None,
                };
                (Node::Client(Client::new(config)), Disk::empty())
            }
            Peer::Lock => unreachable!("this mode has no locks"),
        }
    }

    fn handle(node: &mut Node, now: Time, input: Input<Block>, effects: &mut Vec<Effect<Block>>) {
        match node {
            Node::Client(client) => client.handle(now, input, effects),
            Node::Data(server) => server.handle(now, input, effects),
            Node::Parity(server) => server.handle(now, input, effects),
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
            Message::Write { content, .. }
            | Message::Content { content, .. }
            | Message::Delta { content, .. } => Some(content),
            Message::Copy { slot, .. } => Some(&mut slot.content),
            Message::Image { image, .. } => Some(&mut image.content),
            _ => None,
        }
    }

    fn written(write: &mut Write<Block>) -> Option<&mut Block> {
        match write {
            Write::Slot(slot) => Some(&mut slot.content),
            Write::Log(entry) => Some(&mut entry.content),
            Write::Image { image, .. } => Some(&mut image.content),
            Write::Discard { .. } | Write::Fence { .. } | Write::Wipe => None,
        }
    }

    fn unit(disk: &Disk<Block>) -> Option<Block> {
        let data = disk.slots.last().map(|slot| slot.content);
        data.or(disk.image.as_ref().map(|(_, image)| image.content))
    }

    fn is_quiet(node: &Node) -> bool {
        match node {
            Node::Client(client) => !client.is_busy(),
            Node::Data(server) => server.is_quiet(),
            Node::Parity(server) => server.is_quiet(),
        }
    }
}
