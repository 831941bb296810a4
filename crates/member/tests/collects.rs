//! When a node begins a round of the collection of garbage.

use slotcast_member::{
    CollectionRules, Effect, Input, Member, MemberConfig, NamesConfig, Rules, Times,
};
use slotcast_object::{Collection, NameTimes, Rosters, Voter, Voters};
use slotcast_protocol::{GroupId, GroupMap, TargetId};
use slotcast_units::{Span, Time};

/// A cluster in one process that begins rounds when it is told to.
struct Host {
    member: Member,
    now: Time,
    effects: Vec<Effect>,
}

const LIMIT: Span = Span::from_secs(60);

impl Host {
    fn new() -> Host {
        let groups = GroupMap::new(1, 1, 1).expect("a target makes a group");
        let rules = Rules::of_process(None, 1);
        let voter = Voter { target: TargetId(0), store: 5, joined: 1 };
        let times = Times::production(Span::from_ms(100));
        let names = NamesConfig {
            times: NameTimes {
                patience: Span::from_ms(100),
                silence: Span::from_secs(1),
                most: Span::from_secs(5),
                stores: Span::from_secs(1),
                deletions: Span::from_secs(3600),
            },
            salt: 3,
            rosters: Rosters {
                epoch: 1,
                groups: [(GroupId(0), Voters::alone(1, &[voter]).expect("one"))].into(),
                collection: Collection::default(),
            },
            collection: CollectionRules { every: None, ..CollectionRules::PRODUCTION },
        };
        let config = MemberConfig {
            node: 0,
            began: Time::ZERO,
            targets: Vec::new(),
            initiator: rules.initiator(0),
            groups,
            first_serial: 0,
            cache_memory: 0,
            links: None,
            network: None,
            names: Some(names),
            repairs: true,
            times,
            mistake: None,
        };
        let mut effects = Vec::new();
        let member = Member::new(Time::ZERO, config, &mut effects);
        Host { member, now: Time::ZERO, effects }
    }

    fn tell(&mut self, input: Input<'_>) {
        self.member.handle(self.now, input, &mut self.effects);
    }

    fn collect(&mut self) {
        self.tell(Input::Collect);
    }

    /// Lets time pass.
    fn wait(&mut self, span: Span) {
        let until = self.now + span;
        while self.now < until {
            self.now = self.member.wakes_at().max(self.now + Span::from_ns(1)).min(until);
            self.tell(Input::Wake);
        }
    }

    /// The rosters that it has wanted to be kept since this was asked.
    fn wanted(&mut self) -> Vec<Rosters> {
        let rosters = self.effects.drain(..).filter_map(|effect| match effect {
            Effect::KeepRosters(rosters) => Some(rosters),
            _ => None,
        });
        rosters.collect()
    }
}

/// A full disk, say. The collection of garbage is what makes room again.
#[test]
fn a_round_that_could_not_be_kept_is_begun_again() {
    let mut host = Host::new();
    host.collect();
    let first = host.wanted();
    assert_eq!(first.len(), 1, "{first:?}");
    assert_eq!((first[0].epoch, first[0].collection.round), (2, 1));
    host.wait(LIMIT / 2);
    assert_eq!(host.wanted(), [], "the host has been told");
    host.wait(LIMIT);
    host.collect();
    let second = host.wanted();
    assert_eq!(second.len(), 1, "the first is given up: {second:?}");
    assert_eq!((second[0].epoch, second[0].collection.round), (2, 1));
    host.tell(Input::Rosters(second[0].clone()));
    let status = host.member.collection_status().expect("it keeps names");
    assert_eq!(status.round, 1);
}
