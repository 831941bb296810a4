//! Moves the times of messages from one clock to another.
//!
//! On the wire a window is on the clock of the target that keeps it. So only initiators translate: what a
//! target offers when it comes, and what they grant, by exactly the same shift, when it goes. A grant then
//! lies inside the offer to the nanosecond, whatever is known about the clocks.

use slotcast_protocol::{
    BidAnswer, GetAccept, GetRequest, Grant, Message, OfferAnswer, PutAccept, PutRequest, Window,
};
use slotcast_units::{Span, Time};

/// `time` on a clock that is ahead by `ahead` nanoseconds. The clock has neither past nor end: what is
/// beyond is moved to its edge.
pub fn shifted(time: Time, ahead: i64) -> Time {
    if time == Time::NEVER {
        return time;
    }
    let span = Span::from_ns(ahead.unsigned_abs());
    if ahead < 0 { time.saturating_sub(span) } else { time.saturating_add(span) }
}

fn window(window: Window, ahead: i64) -> Window {
    Window { start: shifted(window.start, ahead), end: shifted(window.end, ahead) }
}

/// What a target answers, on a clock that is ahead of the target's by `ahead`.
#[must_use]
pub fn answer(message: &Message, ahead: i64) -> Message {
    let mut message = *message;
    match &mut message {
        Message::Bid(bid) => {
            if let BidAnswer::Window { window: offered, .. } = &mut bid.answer {
                *offered = window(*offered, ahead);
            }
        }
        Message::Offer(offer) => {
            if let OfferAnswer::Window { window: offered, .. } = &mut offer.answer {
                *offered = window(*offered, ahead);
            }
        }
        _ => {}
    }
    message
}

/// What an initiator grants, on the clocks of those to whom it is granted: `ahead` says by how much the clock
/// of the target at a position is ahead of the initiator's.
#[must_use]
pub fn acceptance(message: &Message, ahead: impl Fn(u8) -> i64) -> Message {
    let granted = |grant: &Grant| {
        let Grant { position, window: accepted } = *grant;
        Grant { position, window: window(accepted, ahead(position)) }
    };
    match *message {
        Message::PutAccept(accept) => {
            let grants = accept.grants.iter().map(granted).collect();
            Message::PutAccept(PutAccept { grants, ..accept })
        }
        Message::GetAccept(accept) => {
            let grant = accept.grant.as_ref().map(granted);
            Message::GetAccept(GetAccept { grant, ..accept })
        }
        other => other,
    }
}

/// What an initiator asks, on the target's clock: a request that left at `sent_at` and came at `received`.
/// What it may not be before is so far from its arrival as it was from its leaving, so no estimate of the
/// clocks is needed; it is later than meant by the time of the way.
#[must_use]
pub fn request(message: &Message, sent_at: Time, received: Time) -> Message {
    let not_before = |time: Time| received.saturating_add(time.saturating_since(sent_at));
    match *message {
        Message::PutRequest(asked) => {
            Message::PutRequest(PutRequest { not_before: not_before(asked.not_before), ..asked })
        }
        Message::GetRequest(asked) => {
            Message::GetRequest(GetRequest { not_before: not_before(asked.not_before), ..asked })
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slotcast_protocol::{Bid, Delivery, Grants, InitiatorId, RequestId};

    const REQUEST: RequestId = RequestId { initiator: InitiatorId(1), serial: 2 };

    proptest! {
        #[test]
        fn a_grant_comes_back_to_where_the_offer_was(
            start in 1u64 << 60..1 << 61, width in 1u64..1_000_000_000, ahead in -(1i64 << 59)..1 << 59,
        ) {
            let offered = Window::new(Time::from_ns(start), Span::from_ns(width));
            let answered = BidAnswer::Window { window: offered, backlog: Span::from_us(5) };
            let bid = Bid { request: REQUEST, round: 0, position: 3, answer: answered };
            let Message::Bid(heard) = answer(&Message::Bid(bid), -ahead) else { unreachable!() };
            let BidAnswer::Window { window: heard, backlog } = heard.answer else { unreachable!() };
            prop_assert_eq!(backlog, Span::from_us(5), "a length of time is the same on all clocks");
            let grants = Grants::from_iter([Grant { position: 3, window: heard }]);
            let accept = PutAccept { request: REQUEST, round: 0, delivery: Delivery::Unicast, grants };
            let sent = acceptance(&Message::PutAccept(accept), |_| ahead);
            let Message::PutAccept(sent) = sent else { unreachable!() };
            prop_assert_eq!(sent.grants[0].window, offered);
        }
    }

    #[test]
    fn times_stay_on_the_clock() {
        assert_eq!(shifted(Time::from_ns(5), -9), Time::ZERO);
        assert_eq!(shifted(Time::NEVER, -9), Time::NEVER);
        assert_eq!(shifted(Time::from_ns(5), 9), Time::from_ns(14));
    }
}
