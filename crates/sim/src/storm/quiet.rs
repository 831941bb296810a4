//! Whether targets that are left alone offer windows as near as they would if they had just started.

use slotcast_protocol::{
    Bid, BidAnswer, ChunkId, GetRequest, GroupId, Holdings, InitiatorId, Members, Message, Offer,
    OfferAnswer, PutRequest, RequestId, Target, TargetEffect, TargetId, TargetInput,
};
use slotcast_units::{Size, Span, Time};

use super::cluster::Storm;

/// By then no target remembers when its offers were accepted.
const QUIET: Span = Span::from_secs(2);

const HELD: ChunkId = ChunkId([0; 32]);
const NEW: ChunkId = ChunkId([1; 32]);

/// A target with one chunk.
struct Shelf;

impl Holdings for Shelf {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        (*chunk == HELD).then_some(Size::from_kib(4))
    }
}

impl Storm {
    /// Asks a copy of every target that is up, at a time when all that it has promised is over, for a put and
    /// for a get: the windows begin no later than those of a copy that was restarted.
    pub(super) fn check_windows(&mut self, now: Time) {
        for (number, host) in (0..).zip(&self.targets) {
            let Some(target) = host.machine.as_ref().map(|machine| machine.machine()) else {
                continue;
            };
            let calendars = [target.incoming(), target.outgoing()];
            let promised = calendars.into_iter().flat_map(|calendar| calendar.reservations());
            let quiet = promised.map(|slot| slot.window.end).fold(now, Time::max) + QUIET;
            let mut new = target.clone();
            new.restart(now);
            let (group, _) = self.groups.seat(TargetId(number));
            for ask in [ask_put(group), ask_get(group)] {
                let (found, new) = (begins(target, quiet, &ask), begins(&new, quiet, &ask));
                if found > new {
                    let what = format!(
                        "target {number} is idle at {quiet}, and a window begins at {found}, not at {new}: {ask:?}"
                    );
                    return self.report.violated(what);
                }
            }
        }
    }
}

/// When the window begins that `target` offers; never, if it offers none.
fn begins(target: &Target, now: Time, ask: &Message) -> Time {
    let (mut target, mut effects) = (target.clone(), Vec::new());
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
