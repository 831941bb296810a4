use super::*;
use crate::address::Address;
use crate::list::{self, Part};

fn chunk(n: u8) -> ChunkId {
    ChunkId([n; 32])
}

/// Two nodes: one may hold all chunks, the other those with even numbers.
fn nodes(chunk: &ChunkId) -> (BTreeSet<u32>, bool) {
    ((0..2).filter(|node| *node == 0 || chunk.0[0].is_multiple_of(2)).collect(), true)
}

#[test]
fn all_that_lists_list_is_told() {
    let part = |n, is_list| {
        let address = if is_list { Address::List(chunk(n)) } else { Address::Chunk(chunk(n)) };
        Part { address, length: 1 }
    };
    let lists = [
        (chunk(10), list::encode(&[part(11, true), part(1, false)])),
        (chunk(11), list::encode(&[part(2, false), part(3, false)])),
    ];
    let mut walk = Walk::new(7, WalkKind::Touch, Span::from_ms(1));
    walk.add(Root { chunk: chunk(10), is_list: true });
    let (mut effects, mut told) = (Vec::new(), BTreeSet::new());
    walk.go_on(Time::ZERO, nodes, |_| false, &mut effects);
    while !effects.is_empty() {
        for effect in mem::take(&mut effects) {
            match effect {
                WalkEffect::Fetch(list) => {
                    let (_, content) = lists.iter().find(|(n, _)| *n == list).expect("a list");
                    walk.fetched(list, Some(content.clone()), &mut effects);
                }
                WalkEffect::Say(node, GarbageMessage::Touch(wave, Chunks(chunks))) => {
                    told.extend(chunks.iter().map(|chunk| (node, chunk.0[0])));
                    walk.answered(node, wave, &[1, 1].repeat(chunks.len()));
                }
                other => panic!("{other:?}"),
            }
        }
        walk.go_on(Time::ZERO, nodes, |_| false, &mut effects);
    }
    assert!(walk.is_done() && !walk.has_failed());
    let all: BTreeSet<_> = [(0, 1), (0, 2), (0, 3), (0, 10), (0, 11), (1, 2), (1, 10)].into();
    assert_eq!(told, all);
}

#[test]
fn a_list_that_is_lost_is_told_with_its_name() {
    let name = crate::Name::new("a/b").expect("a name");
    let key = Arc::new(Key::of(crate::BucketId(7), 1, name));
    let part = Part { address: Address::List(chunk(11)), length: 1 };
    let mut walk = Walk::new(7, WalkKind::Mark(1, 1), Span::from_ms(1));
    walk.add_named(Root { chunk: chunk(10), is_list: true }, Some(key.clone()));
    let (mut effects, mut fetched) = (Vec::new(), 0);
    walk.go_on(Time::ZERO, nodes, |_| false, &mut effects);
    while let Some(effect) = effects.pop() {
        if let WalkEffect::Fetch(list) = effect {
            fetched += 1;
            let content = (list == chunk(10)).then(|| list::encode(&[part]));
            walk.fetched(list, content, &mut effects);
            walk.go_on(Time::ZERO, nodes, |_| false, &mut effects);
        }
    }
    assert!(walk.has_failed());
    assert_eq!(fetched, 1 + TRIES);
    assert_eq!(walk.lost(), Some(&LostList { list: chunk(11), key }));
}

#[test]
fn what_is_nowhere_is_not_touched() {
    for (held, kind, has_failed) in [
        ([0, 0], WalkKind::Touch, true),
        ([1, 1], WalkKind::Touch, false),
        ([0, 0], WalkKind::TouchAgain, false),
    ] {
        let mut walk = Walk::new(7, kind, Span::from_ms(1));
        walk.add(Root { chunk: chunk(1), is_list: false });
        walk.go_on(Time::ZERO, nodes, |_| false, &mut Vec::new());
        assert!(!walk.is_done());
        walk.answered(1, WaveId { walk: 7, wave: 1 }, &[1, 1]);
        walk.answered(0, WaveId { walk: 7, wave: 2 }, &[1, 1]);
        assert!(!walk.is_done(), "nobody was asked that");
        walk.answered(0, WaveId { walk: 7, wave: 1 }, &held);
        assert!(walk.is_done());
        assert_eq!(walk.has_failed(), has_failed, "{kind:?}");
    }
}

#[test]
fn what_is_on_too_few_targets_is_put_again() {
    let mut walk = Walk::new(7, WalkKind::Touch, Span::from_ms(1));
    walk.add(Root { chunk: chunk(2), is_list: false });
    let mut effects = Vec::new();
    walk.go_on(Time::ZERO, nodes, |_| false, &mut effects);
    effects.clear();
    let wave = WaveId { walk: 7, wave: 1 };
    walk.answered(0, wave, &[1, 3]);
    // The other one stays silent.
    for n in 1..100 {
        walk.wake(Time::ZERO + Span::from_ms(n), &mut effects);
    }
    walk.go_on(Time::ZERO, nodes, |_| false, &mut effects);
    assert_eq!(effects.last(), Some(&WalkEffect::Restore(chunk(2), 3)));
    assert!(!walk.is_done() && !walk.has_failed());
    walk.restored(chunk(2), true);
    assert!(walk.is_done() && !walk.has_failed());
}

#[test]
fn who_is_not_there_any_more_is_not_awaited() {
    let mut walk = Walk::new(7, WalkKind::TouchAgain, Span::from_ms(1));
    walk.add(Root { chunk: chunk(2), is_list: false });
    walk.go_on(Time::ZERO, nodes, |_| true, &mut Vec::new());
    walk.answered(0, WaveId { walk: 7, wave: 1 }, &[1, 1]);
    assert!(!walk.is_done(), "one that is down may be back");
    walk.retain(|node| node == 0);
    assert!(walk.is_done());
}

#[test]
fn what_no_node_can_be_asked_about_is_read_and_put_again() {
    // All that may hold it are of an older program.
    let nobody = |_: &ChunkId| (BTreeSet::new(), false);
    let mut walk = Walk::new(7, WalkKind::Touch, Span::from_ms(1));
    let all: Vec<_> = (0..10).map(chunk).collect();
    all.iter().for_each(|chunk| walk.add(Root { chunk: *chunk, is_list: false }));
    let (mut effects, mut again) = (Vec::new(), Vec::new());
    walk.go_on(Time::ZERO, nobody, |_| false, &mut effects);
    assert!(!walk.is_done() && !walk.has_failed());
    while let Some(effect) = effects.pop() {
        let WalkEffect::Restore(chunk, 0) = effect else { panic!("{effect:?}") };
        again.push(chunk);
        walk.restored(chunk, true);
        walk.go_on(Time::ZERO, nobody, |_| false, &mut effects);
    }
    again.sort_unstable();
    assert_eq!(again, all);
    assert!(walk.is_done() && !walk.has_failed());
}
