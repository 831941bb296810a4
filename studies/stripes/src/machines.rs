use core::fmt::Debug;

use slotcast_stripe::{Effect, Input, Load, Peer};
use slotcast_units::Time;

use super::block::Block;
use super::scenario::Scenario;

/// The machines of one mode, as the host sees them.
pub(super) trait Machines {
    type Message: Debug;
    type Write: Debug;
    type Record: Debug;
    type Disk: Debug;
    type Node: Debug;

    /// The places of a stripe's servers, those of its units first, each by its order.
    fn servers(scenario: &Scenario) -> Vec<Peer>;

    /// A machine of a stripe that has just been created, and its disk.
    fn created(scenario: &Scenario, peer: Peer) -> (Self::Node, Self::Disk);

    fn handle(
        node: &mut Self::Node,
        now: Time,
        input: InputOf<Self>,
        effects: &mut Vec<EffectOf<Self>>,
    );
    fn write(disk: &mut Self::Disk, write: Self::Write);
    fn read(disk: &Self::Disk, load: &Load) -> Option<Self::Record>;

    /// The content of a unit in a message.
    fn sent(message: &mut Self::Message) -> Option<&mut Block>;

    /// The content of a unit in a write.
    fn written(write: &mut Self::Write) -> Option<&mut Block>;

    /// The content of the unit on a server's disk.
    fn unit(disk: &Self::Disk) -> Option<Block>;

    /// Whether a server has nothing to finish.
    fn is_quiet(node: &Self::Node) -> bool;
}

pub(super) type InputOf<M> = Input<<M as Machines>::Message, <M as Machines>::Record, Block>;
pub(super) type EffectOf<M> = Effect<<M as Machines>::Message, <M as Machines>::Write, Block>;
