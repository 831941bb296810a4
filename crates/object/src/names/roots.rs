//! Which content the registers of a group name.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use slotcast_protocol::GroupId;

use super::machine::Next;
use super::{NameAnswer, NameFailure};
use crate::acceptor::roots::named;
use crate::garbage::Root;
use crate::key::Key;
use crate::message::{About, Asker, KeysAsk, MAX_PAGE, NameRecord, RootsPage, Says, VoterQuestion};
use crate::register::ballot::Ballot;
use crate::register::fence::{Fenced, Stamp};
use crate::register::row::Tag;
use crate::register::voters::{Voter, Voters};

/// Asks all voters of a group what their registers name, one page of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootsRequest {
    /// The group.
    pub group: GroupId,
    /// Who votes in it.
    pub voters: Voters,
    /// An epoch of which they are to know when they answer.
    pub began: u64,
    /// Where the page begins.
    pub from: Vec<u8>,
    /// A mistake: the first voter is believed.
    #[doc(hidden)]
    pub believes_one: bool,
}

/// What a page of the registers of a group names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    /// In no order, each with the register that names it.
    pub roots: Vec<(Root, Arc<Key>)>,
    /// Where the next page begins; none after the last.
    pub next: Option<Vec<u8>>,
}

impl Roots {
    fn add(&mut self, roots: Vec<Root>, key: Key) {
        let key = Arc::new(key);
        self.roots.extend(roots.into_iter().map(|root| (root, key.clone())));
    }
}

/// Such a page, until it is known.
///
/// Where all voters have accepted the same ballot of a register, that is what it says, and whatever follows begins later. A
/// register of which they say different things is read so that all voters promise, and what was accepted last by any of them
/// is brought to an end: after that nothing else that was accepted before can take effect. (That one of them names something
/// is not enough: it may be written to a voter that has answered before, and be overwritten where it was.)
#[derive(Debug)]
pub(super) struct RootsRead {
    request: RootsRequest,
    pages: BTreeMap<Voter, RootsPage>,
    /// Of which voters say different things.
    reading: BTreeSet<Key>,
    found: Roots,
}

impl RootsRead {
    pub(super) fn new(request: RootsRequest) -> RootsRead {
        let (pages, reading) = (BTreeMap::new(), BTreeSet::new());
        RootsRead { request, pages, reading, found: Roots::default() }
    }

    fn asked(&self) -> Vec<Voter> {
        let all = self.request.voters.all();
        let count = if self.request.believes_one { 1 } else { all.len() };
        all.into_iter().take(count).collect()
    }

    pub(super) fn questions(&self, id: u64) -> Vec<VoterQuestion> {
        let RootsRequest { voters, began, from, .. } = &self.request;
        if !self.reading.is_empty() {
            return Vec::new();
        }
        let stamp = Stamp { voters: voters.epoch(), began: *began, upload: None };
        let asker = Asker { id, tag: Tag(0) };
        let silent = self.asked().into_iter().filter(|voter| !self.pages.contains_key(voter));
        let question = |to| {
            let about = About::Roots(KeysAsk { from: from.clone(), limit: MAX_PAGE });
            VoterQuestion { to, asker, stamp, about }
        };
        silent.map(question).collect()
    }

    pub(super) fn answered(&mut self, from: Voter, says: Says) -> Next {
        match says {
            Says::Roots(page) if self.reading.is_empty() && self.asked().contains(&from) => {
                self.pages.insert(from, page);
            }
            // Others vote: whoever asks begins anew.
            Says::Fenced(Fenced::Later(_) | Fenced::TooOld(_)) => {
                return Next::Done(NameAnswer::Failed(NameFailure::Unavailable));
            }
            _ => return Next::Waits,
        }
        if self.asked().iter().any(|voter| !self.pages.contains_key(voter)) {
            return Next::Waits;
        }
        self.compare();
        match self.reading.is_empty() {
            true => self.done(),
            false => Next::Agrees(self.reading.iter().cloned().collect()),
        }
    }

    /// What all say of each register up to where the first of them has looked.
    fn compare(&mut self) {
        let count = self.pages.len();
        let pages = core::mem::take(&mut self.pages);
        let next = pages.values().filter_map(|page| page.next.clone()).min();
        let mut all: BTreeMap<Key, Vec<(Ballot, Vec<Root>)>> = BTreeMap::new();
        for row in pages.into_values().flat_map(|page| page.rows) {
            if next.as_ref().is_none_or(|next| row.key.bytes() < *next) {
                all.entry(row.key).or_default().push((row.ballot, row.roots));
            }
        }
        for (key, said) in all {
            let agree = said.len() == count && said.iter().all(|(ballot, _)| *ballot == said[0].0);
            match said.into_iter().next().filter(|_| agree) {
                Some((_, roots)) => self.found.add(roots, key),
                None => drop(self.reading.insert(key)),
            }
        }
        self.found.next = next;
    }

    fn done(&mut self) -> Next {
        Next::Done(NameAnswer::Roots(core::mem::take(&mut self.found)))
    }

    /// A register was read so that all agree.
    pub(super) fn was_read(&mut self, key: &Key, record: Option<&NameRecord>) -> Next {
        if !self.reading.remove(key) {
            return Next::Waits;
        }
        self.found.add(record.map(named).unwrap_or_default(), key.clone());
        if self.reading.is_empty() { self.done() } else { Next::Waits }
    }
}
