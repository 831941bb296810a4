//! Requests about names while the cluster map says that others vote.

use slotcast_object::{
    BucketId, Key, Name, NameAnswer, NameFailure, NameRequest, NameTimes, Names, NamesEffect,
    Rosters, Voter, Voters,
};
use slotcast_protocol::{GroupId, GroupMap, TargetId};
use slotcast_units::{Span, Time};

const TIMES: NameTimes = NameTimes {
    patience: Span::from_ms(20),
    silence: Span::from_secs(1),
    most: Span::from_secs(5),
    stores: Span::from_secs(1),
    deletions: Span::from_secs(3600),
};

/// The requests of a node, in a cluster of one group.
struct Client {
    names: Names,
    groups: GroupMap,
    effects: Vec<NamesEffect>,
}

impl Client {
    fn new() -> Client {
        let groups = GroupMap::new(6, 6, 1).expect("a group");
        Client { names: Names::new(TIMES, 1, 0), groups, effects: Vec::new() }
    }

    fn learn(&mut self, now: Time, epoch: u64, targets: &[u32]) {
        let voter = |n: &u32| Voter { target: TargetId(*n), store: 7, joined: epoch };
        let voters: Vec<Voter> = targets.iter().map(voter).collect();
        let voters = Voters::alone(epoch, &voters).expect("voters");
        let rosters =
            Rosters { epoch, groups: [(GroupId(0), voters)].into(), ..Rosters::default() };
        self.names.learn(now, rosters, &self.groups, &mut self.effects);
    }

    fn read(&mut self, now: Time) {
        let key = Key::of(BucketId(3), 1, Name::new("name").expect("a name"));
        self.names.begin(now, 1, NameRequest::Read(key), &self.groups, &mut self.effects);
    }

    /// Lets it do all that is due until then.
    fn run(&mut self, until: Time) {
        while self.names.wakes_at() <= until {
            let now = self.names.wakes_at();
            self.names.wake(now, &self.groups, &mut self.effects);
        }
    }

    /// Whom it has asked since this was last asked, and what it has answered.
    fn did(&mut self) -> (Vec<u32>, Vec<NameAnswer>) {
        let (mut asked, mut answers) = (Vec::new(), Vec::new());
        for effect in self.effects.drain(..) {
            match effect {
                NamesEffect::Ask(question) => asked.push(question.to.target.0),
                NamesEffect::Answer(_, answer) => answers.push(answer),
                NamesEffect::Moved(..) | NamesEffect::Touch(..) => {}
            }
        }
        (asked, answers)
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(1000 + ms)
}

/// Those who voted before may be silent for good: they do not say that others vote now.
#[test]
fn a_request_asks_those_who_vote_by_now() {
    let mut client = Client::new();
    client.learn(at(0), 1, &[0, 1, 2]);
    client.read(at(0));
    assert_eq!(client.did(), (vec![0, 1, 2], vec![]));
    // Just before it would be given up.
    client.run(at(950));
    client.did();
    client.learn(at(950), 2, &[3, 4, 5]);
    client.run(at(1100));
    let (asked, answers) = client.did();
    assert!(asked.starts_with(&[3, 4, 5]) && answers.is_empty(), "{asked:?} {answers:?}");
    // They are silent, too.
    client.run(at(4000));
    let failed = NameAnswer::Failed(NameFailure::Unavailable);
    assert_eq!(client.did().1, [failed]);
}

/// Nobody was silent while it did not know whom to ask.
#[test]
fn a_request_that_has_waited_for_the_map_is_not_given_up_when_it_comes() {
    let mut client = Client::new();
    client.read(at(0));
    client.run(at(2000));
    assert_eq!(client.did(), (vec![], vec![]));
    client.learn(at(2000), 1, &[0, 1, 2]);
    client.run(at(2500));
    let (asked, answers) = client.did();
    assert!(asked.starts_with(&[0, 1, 2]) && answers.is_empty(), "{asked:?} {answers:?}");
}
