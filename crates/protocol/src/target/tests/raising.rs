//! Puts of what is held for fewer replicas, or with a lower claim.

use super::*;

/// A shelf with the chunk, for as many replicas as are asked for, with this claim.
struct Claimed(Claim);

impl Holdings for Claimed {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        (*chunk == CHUNK).then_some(SIZE)
    }

    fn claim_of(&self, _: &ChunkId) -> Claim {
        self.0
    }
}

#[test]
fn a_claim_is_raised_and_never_lowered() {
    let Message::PutRequest(ask) = put_request() else { unreachable!() };
    for (held, asked, is_raised) in [
        (Claim::Names, Claim::Bare, true),
        (Claim::Names, Claim::Names, false),
        (Claim::Bare, Claim::Names, false),
        (Claim::Bare, Claim::Bare, false),
    ] {
        let message = Message::PutRequest(PutRequest { claim: asked, ..ask });
        let mut effects = vec![];
        let input = TargetInput::Message(&message);
        target().handle(Time::ZERO, input, &Claimed(held), &mut effects);
        let wanted = Wanted { replicas: 3, claim: asked };
        let raise = TargetEffect::Raise { request: request(), chunk: CHUNK, wanted };
        assert_eq!(effects.contains(&raise), is_raised, "{held:?}, {asked:?}");
        let expected = if is_raised { BidAnswer::Raising } else { BidAnswer::AlreadyStored };
        assert_eq!(bid_of(&effects[usize::from(is_raised)..]), expected);
    }
}

/// It does not count as a replica before the number is on stable storage.
#[test]
fn a_chunk_that_is_held_for_fewer_replicas_is_raised() {
    let mut target = target();
    let Message::PutRequest(ask) = put_request() else { unreachable!() };
    let hear = |target: &mut Target, input: TargetInput<'_>| {
        let mut effects = vec![];
        target.handle(Time::ZERO, input, &ForTwo, &mut effects);
        effects
    };
    let fewer = Message::PutRequest(PutRequest { replicas: 2, ..ask });
    let effects = hear(&mut target, TargetInput::Message(&fewer));
    assert_eq!(bid_of(&effects), BidAnswer::AlreadyStored);
    let more = put_request();
    let effects = hear(&mut target, TargetInput::Message(&more));
    let raise = TargetEffect::Raise { request: request(), chunk: CHUNK, wanted: Wanted::bare(3) };
    assert_eq!(effects[0], raise);
    assert_eq!(bid_of(&effects[1..]), BidAnswer::Raising);
    // A repeated request finds that in hand.
    let effects = hear(&mut target, TargetInput::Message(&more));
    assert_eq!(bid_of(&effects), BidAnswer::Raising);
    for (stable, outcome) in [(true, AckOutcome::Stored), (false, AckOutcome::DiskFailed)] {
        let written = TargetInput::Written { request: request(), stable };
        let ack = ReplicaAck { request: request(), position: 4, outcome };
        let message = Message::ReplicaAck(ack);
        let told = TargetEffect::Send { to: InitiatorId(7), message };
        assert_eq!(hear(&mut target, written), [told]);
    }
}
