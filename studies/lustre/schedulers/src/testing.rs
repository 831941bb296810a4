//! Requests for unit tests.

use alloc::vec::Vec;

use slotcast_units::{Size, Time};

use crate::request::{ClassId, ClientId, Direction, ObjectId, Request, RequestId, TargetId};
use crate::scheduler::Scheduler;

/// A write of 4 KiB at `block` of `object`, by the client with the number of the object.
pub(crate) fn write(id: u64, object: u64, block: u64) -> Request {
    Request {
        id: RequestId(id),
        client: ClientId(u32::try_from(object).expect("a small number")),
        class: ClassId(0),
        target: TargetId(0),
        object: ObjectId(object),
        direction: Direction::Write,
        offset: block * 4096,
        length: Size::from_kib(4),
        arrived: Time::ZERO,
        within: None,
    }
}

/// What comes out at once, in order.
pub(crate) fn order(scheduler: &mut dyn Scheduler) -> Vec<u64> {
    core::iter::from_fn(|| scheduler.take(Time::ZERO)).map(|request| request.id.0).collect()
}
