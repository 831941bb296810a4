//! Which targets the start of a node waits for.

use slotcast_member::{Effect, Input, Member, MemberConfig, Rules, TargetSetup, Times};
use slotcast_protocol::{GroupMap, TargetId};
use slotcast_store::{Config, DiskError, Identity, Op, OpId};
use slotcast_units::{Span, Time};

/// A node of two targets that begin to open, and what it asks of their disks.
fn member() -> (Member, Vec<(TargetId, OpId)>) {
    let groups = GroupMap::new(2, 2, 1).expect("two targets make a group");
    let rules = Rules::of_process(None, 1);
    let target = |id| TargetSetup {
        id,
        target: rules.target(&groups, id, None),
        store: Config::new(Identity([7; 32])),
        repair: rules.repair_of(2),
        queue: Some(rules.queue),
        records: false,
    };
    let config = MemberConfig {
        node: 0,
        began: Time::ZERO,
        targets: [0, 1].map(|number| target(TargetId(number))).to_vec(),
        initiator: rules.initiator(0),
        groups,
        first_serial: 0,
        cache_memory: 0,
        links: None,
        network: None,
        names: None,
        repairs: true,
        times: Times::production(Span::from_ms(100)),
        mistake: None,
    };
    let mut effects = Vec::new();
    let member = Member::new(Time::ZERO, config, &mut effects);
    let asked = effects.into_iter().filter_map(|effect| match effect {
        Effect::Disk(target, id, Op::List) => Some((target, id)),
        _ => None,
    });
    (member, asked.collect())
}

/// One that opens is waited for as long as its disk works; then the others serve without it.
#[test]
fn a_target_whose_disk_does_not_answer_is_not_waited_for() {
    let (mut member, asked) = member();
    let [(a, list_a), (b, list_b)] = asked[..] else { panic!("two lists: {asked:?}") };
    let mut effects = Vec::new();
    let mut now = Time::ZERO + Span::from_ms(10);
    member.handle(now, Input::Disk(a, list_a, Err(DiskError::Gone)), &mut effects);
    assert!(!member.is_open(), "the other one opens");
    while now < Time::ZERO + Span::from_secs(9) {
        now = member.wakes_at().min(now + Span::from_secs(1)).max(now + Span::from_ns(1));
        member.handle(now, Input::Wake, &mut effects);
        assert!(!member.is_open(), "its disk may be slow");
    }
    now = Time::ZERO + Span::from_secs(11);
    member.handle(now, Input::Wake, &mut effects);
    assert!(member.is_open(), "its disk has stalled");
    // It answers after all, and what it says counts.
    member.handle(now, Input::Disk(b, list_b, Err(DiskError::Gone)), &mut effects);
    assert!(member.is_open());
}
