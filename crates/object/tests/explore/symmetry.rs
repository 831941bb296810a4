//! Voters with the same part to play may change their names: of states that differ in nothing else one is visited.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use slotcast_protocol::TargetId;

use super::{Answer, Explored, Sent, State};
use crate::{Question, Voter};

/// The same for equals.
pub(super) fn hash(what: &impl Hash) -> u64 {
    let mut hasher = super::std::hash::DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

impl Explored {
    /// The state that stands for all that are the same but for the names of voters. A voter has the term of the set in
    /// which it is asked, so names are exchanged with what tells targets apart, and terms stay.
    pub(super) fn canonical(&self, mut state: State) -> State {
        let is_it =
            |voter: Voter, other: Voter| (voter.target, voter.store) == (other.target, other.store);
        // What there is of a voter, without its name.
        let of = |voter: Voter| {
            let mut host = state.hosts.iter().find(|host| host.is(voter)).expect("one").clone();
            host.voter = Voter { target: TargetId(0), store: 0, joined: 0 };
            let to_it = state.network.iter().filter(|sent| is_it(sent.1.to, voter));
            let asked: Vec<_> =
                to_it.map(|Sent(asker, q)| (asker, q.to.joined, q.tag, q.stamp, &q.ask)).collect();
            let by_it = state.answers.iter().filter(|answer| is_it(answer.1, voter));
            let answered: Vec<_> = by_it.map(|a| (a.0, a.1.joined, a.2, &a.3)).collect();
            let terms = (0..=state.epoch).map(|joined| Voter { joined, ..voter });
            let heard: Vec<_> = terms
                .map(|term| {
                    let clients: Vec<_> = state.clients.iter().map(|c| c.of(term)).collect();
                    let sync = state.sync.as_ref().map(|sync| hash(&sync.of(term)));
                    let forget = state.forget.as_ref().map(|forget| hash(&forget.of(term)));
                    (clients, sync, forget)
                })
                .collect();
            hash(&(host, asked, answered, heard))
        };
        let votes = |voter: Voter| -> Vec<bool> {
            let has = |set: &Vec<Voter>| set.iter().any(|other| is_it(*other, voter));
            self.voters.iter().map(has).collect()
        };
        // Within each part the voters are sorted by what there is of them.
        let mut names: Vec<Voter> = state.hosts.iter().map(|host| host.voter).collect();
        let mut sorted: Vec<_> =
            names.iter().map(|voter| (votes(*voter), of(*voter), *voter)).collect();
        sorted.sort_unstable();
        names.sort_by_cached_key(|voter| (votes(*voter), *voter));
        let renamed: Vec<(Voter, Voter)> =
            sorted.into_iter().map(|(_, _, voter)| voter).zip(names).collect();
        if renamed.iter().all(|(voter, name)| voter == name) {
            return state;
        }
        let to = |voter: Voter| {
            let found = renamed.iter().find(|(from, _)| is_it(*from, voter));
            let Voter { target, store, .. } = found.expect("all have a name").1;
            Voter { target, store, ..voter }
        };
        for host in &mut state.hosts {
            host.voter = to(host.voter);
        }
        state.hosts.sort_unstable_by_key(|host| host.voter);
        let network = core::mem::take(&mut state.network).into_iter();
        state.network =
            network.map(|Sent(asker, q)| Sent(asker, Question { to: to(q.to), ..q })).collect();
        let answers = core::mem::take(&mut state.answers).into_iter();
        state.answers =
            answers.map(|Answer(asker, v, tag, reply)| Answer(asker, to(v), tag, reply)).collect();
        for client in &mut state.clients {
            client.rename(&to);
        }
        if let Some(sync) = &mut state.sync {
            sync.rename(&to);
        }
        if let Some(forget) = &mut state.forget {
            forget.rename(&to);
        }
        state
    }
}
