//! Whether targets that are left alone offer windows as near as they would if they had just started.

use slotcast_member::StorageTarget;
use slotcast_protocol::{
    Bid, BidAnswer, ChunkId, Claim, GetRequest, GroupId, Holdings, InitiatorId, Intake, Members,
    Message, Offer, OfferAnswer, PutRequest, RequestId, Target, TargetEffect, TargetInput,
};
use slotcast_units::{Size, Time};

use super::cluster::Cluster;

const HELD: ChunkId = ChunkId([0; 32]);
const NEW: ChunkId = ChunkId([1; 32]);

/// A target with one chunk.
struct Shelf;

impl Holdings for Shelf {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        (*chunk == HELD).then_some(Size::from_kib(4))
    }
}

impl Cluster {
    /// Asks a copy of every target that is up, at a time when all that it has promised is over, for a put and
    /// for a get: the windows begin no later than those of a copy that was restarted, and nothing else is
    /// promised any more.
    pub(super) fn check_windows(&mut self, now: Time) {
        let hosts = self.nodes.iter().map(|host| (host.member.as_ref(), host.clock.local(now)));
        let targets = hosts.flat_map(|(member, local)| {
            member.into_iter().flat_map(|m| m.targets()).map(move |target| (target, local))
        });
        let checked = targets.filter_map(|(target, local)| self.check_target(local, target));
        let found = checked.into_iter().next();
        if let Some(found) = found {
            self.report.violated(found);
        }
    }

    fn check_target(&self, now: Time, storage: &StorageTarget) -> Option<String> {
        let (target, number) = (storage.negotiator(), storage.id().0);
        let calendars = [target.incoming(), target.outgoing()];
        let promised = calendars.into_iter().flat_map(|calendar| calendar.reservations());
        let quiet =
            promised.map(|slot| slot.window.end).fold(now, Time::max) + self.plan.pace.quiet;
        let mut new = target.clone();
        new.restart(now);
        new.set_intake(Intake::Open);
        let mut target = target.clone();
        target.set_intake(Intake::Open);
        let (group, _) = self.groups.find(storage.id())?;
        for ask in [ask_put(group), ask_get(group)] {
            let found = begins(&mut target.clone(), quiet, &ask);
            let new = begins(&mut new.clone(), quiet, &ask);
            if found > new {
                return Some(format!(
                    "target {number} is idle at {quiet}, and a window begins at {found}, not at {new}: {ask:?}"
                ));
            }
        }
        for ask in [ask_put(group), ask_get(group)] {
            begins(&mut target, quiet, &ask);
        }
        let left = [target.incoming(), target.outgoing()].map(|of| of.reservations().len());
        (left.into_iter().any(|left| left > 1)).then(|| {
            format!("target {number} is idle at {quiet}, and still has {left:?} reservations")
        })
    }
}

/// When the window begins that `target` offers; never, if it offers none.
fn begins(target: &mut Target, now: Time, ask: &Message) -> Time {
    let mut effects = Vec::new();
    target.handle(now, TargetInput::Message(ask), &Shelf, &mut effects);
    let windows = effects.iter().filter_map(|effect| match effect {
        TargetEffect::Send {
            message:
                Message::Bid(Bid { answer: BidAnswer::Window { window, .. }, .. })
                | Message::Offer(Offer { answer: OfferAnswer::Window { window, .. }, .. }),
            ..
        } => Some(window.start),
        _ => None,
    });
    windows.fold(Time::NEVER, Time::min)
}

/// A request that nobody else makes.
const REQUEST: RequestId = RequestId { initiator: InitiatorId(u32::MAX), serial: 0 };

fn ask_put(group: GroupId) -> Message {
    Message::PutRequest(PutRequest {
        request: REQUEST,
        round: 0,
        group,
        skip: Members::NONE,
        chunk: NEW,
        size: Size::from_kib(4),
        not_before: Time::ZERO,
        replicas: 1,
        claim: Claim::Bare,
    })
}

fn ask_get(group: GroupId) -> Message {
    Message::GetRequest(GetRequest {
        request: REQUEST,
        round: 0,
        group,
        skip: Members::NONE,
        chunk: HELD,
        not_before: Time::ZERO,
    })
}
