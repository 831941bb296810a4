//! Changes whose chunk is still on its way when a voter refuses them for an earlier round of collection.

use slotcast_object::garbage::Root;
use slotcast_object::{
    About, Ask, Body, BucketId, Collection, Condition, Entry, Fenced, Key, Name, NameTimes, Names,
    NamesEffect, Object, Operation, Reply, Request, RequestKey, Rosters, Says, Versioning, Voter,
    VoterAnswer, VoterQuestion, Voters,
};
use slotcast_protocol::{ChunkId, GroupId, GroupMap, TargetId};
use slotcast_units::{Span, Time};

const CHUNK: ChunkId = ChunkId([7; 32]);
const ROUND: u64 = 9;

fn key() -> Key {
    Key::of(BucketId(3), 2, Name::new("name").expect("a name"))
}

/// A node that knows of the round before the voters', and which voters there are.
fn names(groups: &GroupMap) -> Names {
    let times = NameTimes {
        patience: Span::from_ms(20),
        silence: Span::from_secs(1),
        most: Span::from_secs(5),
        stores: Span::from_secs(1),
        deletions: Span::from_secs(3600),
    };
    let voters: Vec<Voter> =
        (0..3).map(|n| Voter { target: TargetId(n), store: u64::from(n), joined: 1 }).collect();
    let rosters = Rosters {
        epoch: 1,
        groups: [(GroupId(0), Voters::alone(1, &voters).expect("three"))].into(),
        collection: Collection { round: ROUND - 2, by: 0 },
    };
    let mut names = Names::new(times, 1, 1);
    names.learn(Time::ZERO, rosters.clone(), groups, &mut Vec::new());
    names
}

fn put() -> Request<Entry> {
    Request {
        key: RequestKey(5),
        operation: Operation::Put(Entry::Object(Object {
            size: 100,
            body: Body::Chunk(CHUNK),
            ..Object::default()
        })),
        condition: Condition::Always,
        versioning: Versioning::Off,
        permit: slotcast_object::Permit::default(),
    }
}

/// The same with a held put, what it asks, and what the cluster map says next: that the voters' round has begun.
fn prepared(groups: &GroupMap) -> (Names, Rosters, Vec<NamesEffect>) {
    let mut names = names(groups);
    let collection = Collection { round: ROUND, by: 0 };
    let later = Rosters { collection, epoch: 2, ..names.rosters().clone() };
    let mut effects = Vec::new();
    names.prepare(Time::ZERO, 1, (key(), put(), None), groups, &mut effects);
    (names, later, effects)
}

/// All voters say that they know of a later round.
fn refuse(questions: Vec<NamesEffect>, names: &mut Names, groups: &GroupMap) -> Vec<NamesEffect> {
    let mut effects = Vec::new();
    for question in questions {
        let NamesEffect::Ask(VoterQuestion { to, asker, about, .. }) = question else { continue };
        assert!(matches!(about, About::Register(_, Ask::Prepare(..))), "{about:?}");
        let says = Says::Register(Reply::Fenced(Fenced::Outdated(ROUND)));
        names.answered(Time::ZERO, VoterAnswer { from: to, asker, says }, groups, &mut effects);
    }
    effects
}

fn touches(effects: &[NamesEffect]) -> Vec<(u64, Root)> {
    let touch = |effect: &NamesEffect| match effect {
        NamesEffect::Touch(id, root) => Some((*id, *root)),
        _ => None,
    };
    effects.iter().filter_map(touch).collect()
}

/// It is nowhere before it is stored: who looked for it would find that, and refuse a put with which nothing is wrong.
#[test]
fn what_is_on_its_way_is_touched_when_it_is_stored() {
    let groups = GroupMap::new(3, 3, 1).expect("a group");
    let (mut names, later, effects) = prepared(&groups);
    assert!(!effects.is_empty(), "voters are asked while the chunk is on its way");
    let effects = refuse(effects, &mut names, &groups);
    assert_eq!(touches(&effects), [], "it is on its way");
    names.learn(Time::ZERO, later, &groups, &mut Vec::new());
    let mut effects = Vec::new();
    // A chunk may take long.
    names.wake(Time::ZERO + Span::from_secs(60), &groups, &mut effects);
    assert_eq!(effects, [], "it is not given up");
    names.release(Time::ZERO + Span::from_secs(60), 1, &groups, &mut effects);
    let [(id, root)] = touches(&effects)[..] else { panic!("it is touched: {effects:?}") };
    assert_eq!(root, Root { chunk: CHUNK, is_list: false });
    let mut effects = Vec::new();
    names.touched(Time::ZERO + Span::from_secs(61), id, Ok(ROUND), &groups, &mut effects);
    assert!(matches!(effects[..], [NamesEffect::Ask(_), ..]), "voters are asked anew: {effects:?}");
}

#[test]
fn what_is_stored_is_touched_at_once() {
    let groups = GroupMap::new(3, 3, 1).expect("a group");
    let (mut names, later, effects) = prepared(&groups);
    names.release(Time::ZERO, 1, &groups, &mut Vec::new());
    let effects = refuse(effects, &mut names, &groups);
    assert_eq!(touches(&effects), [], "its node knows of no such round yet");
    let mut effects = Vec::new();
    names.learn(Time::ZERO, later, &groups, &mut effects);
    assert_eq!(touches(&effects).len(), 1, "{effects:?}");
}
