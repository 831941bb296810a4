//! Which names a bucket has, in order.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use slotcast_protocol::GroupMap;

use super::{slots_of, voters_of};
use crate::key::{BucketId, Key, Name, SlotId};
use crate::message::{
    About, Asker, From, MAX_PAGE, NameRecord, PageAsk, PageRow, PageRows, Says, VoterQuestion,
};
use crate::object::Entry;
use crate::register::ballot::Ballot;
use crate::register::fence::{Fenced, Stamp};
use crate::register::record::Version;
use crate::register::row::Tag;
use crate::register::voters::{Voter, Voters};
use crate::roster::Rosters;

/// How often voters are asked for a further page before what there is is given, though it is less than was asked for:
/// where nearly all names were deleted, or are left out.
const MAX_ROUNDS: u32 = 64;

/// Which names are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRequest {
    /// Of which bucket.
    pub bucket: BucketId,
    /// How many slots it has.
    pub slots: u32,
    /// Only names that begin so.
    pub prefix: String,
    /// Of names that have this after the prefix, what comes before and with it is listed once instead of them.
    pub delimiter: Option<String>,
    /// Where to begin.
    pub from: From,
    /// At most so many names and common prefixes, 1 to [`MAX_PAGE`].
    pub limit: u32,
    /// All versions, and markers of deletion.
    pub versions: bool,
    /// No change takes effect any more that had the promises of voters before this began, unless it is listed. See
    /// [`Guard`](super::Guard).
    pub fences: bool,
}

/// Names, in the order of their bytes. Each change that was acknowledged before is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// Names, with their latest versions, or all.
    pub names: Vec<ListedName>,
    /// What several names have in common, up to the delimiter.
    pub prefixes: Vec<String>,
    /// Where it goes on, if there is more.
    pub next: Option<From>,
}

/// A name in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedName {
    /// The name.
    pub name: Name,
    /// The latest version, or all, newest first. Content that is in the register is left out.
    pub versions: Vec<Version<Entry>>,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListingStep {
    Waits,
    Asks,
    /// Voters hold different things of these registers: they are to be read.
    Reads(Vec<Key>),
    /// The same, so that no change takes effect any more that was promised before.
    Fences(Vec<Key>),
    NeedsMap(u64),
    Done(Listed),
}

/// One slot in one round.
#[derive(Debug)]
struct Part {
    slot: SlotId,
    voters: Voters,
    pages: BTreeMap<Voter, PageRows>,
    /// Once enough have answered.
    rows: Option<BTreeMap<Name, Vec<Version<Entry>>>>,
    up_to: Option<Name>,
    /// What is being read.
    reading: BTreeSet<Name>,
}

/// A listing, until it is done.
#[derive(Debug)]
pub(super) struct Listing {
    request: ListRequest,
    epoch: u64,
    from: From,
    round: u32,
    asks_all: bool,
    parts: Vec<Part>,
    listed: Listed,
}

impl Listing {
    /// None if it is not known yet who votes.
    pub(super) fn new(
        request: ListRequest,
        rosters: &Rosters,
        groups: &GroupMap,
    ) -> Option<Listing> {
        let parts = parts(&request, rosters, groups)?;
        let (epoch, from) = (rosters.epoch, request.from.clone());
        let listed = Listed::default();
        Some(Listing { request, epoch, from, round: 0, asks_all: false, parts, listed })
    }

    /// The epoch of the map that says whom it asks.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Begins the round anew, with what the map says now.
    pub(super) fn renew(&mut self, rosters: &Rosters, groups: &GroupMap) -> ListingStep {
        self.epoch = rosters.epoch;
        match parts(&self.request, rosters, groups) {
            Some(parts) => {
                self.parts = parts;
                self.round += 1;
                ListingStep::Asks
            }
            None => ListingStep::NeedsMap(rosters.epoch + 1),
        }
    }

    /// Some have not answered for a while: all are asked from now on.
    pub(super) fn ask_all(&mut self) {
        self.asks_all = true;
    }

    /// The tag of what is asked of a slot in this round.
    fn tag(&self, place: usize) -> Tag {
        let count = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
        Tag(self.round.wrapping_mul(count).wrapping_add(u32::try_from(place).unwrap_or(0)))
    }

    pub(super) fn questions(&self, id: u64) -> Vec<VoterQuestion> {
        let count = u32::try_from(self.parts.len()).unwrap_or(u32::MAX).max(1);
        // Of several slots each has about its share of the next names; some more, so that one round will do.
        let limit = match count {
            1 => self.request.limit.saturating_add(1),
            _ => self.request.limit.div_ceil(count) * 5 / 4 + 16,
        };
        let mut questions = Vec::new();
        for (place, part) in self.parts.iter().enumerate().filter(|(_, part)| part.rows.is_none()) {
            let asker = Asker { id, tag: self.tag(place) };
            let stamp = Stamp { voters: part.voters.epoch(), began: self.epoch, upload: None };
            let ask = PageAsk {
                slot: part.slot,
                from: self.from.clone(),
                prefix: self.request.prefix.clone(),
                limit: limit.min(MAX_PAGE),
                versions: self.request.versions,
                promises: self.request.fences,
            };
            for to in part.to_ask(self.asks_all) {
                let about = About::Page(ask.clone());
                questions.push(VoterQuestion { to, asker, stamp, about });
            }
        }
        questions
    }

    pub(super) fn answered(&mut self, from: Voter, tag: Tag, says: Says) -> ListingStep {
        let Some(place) = (0..self.parts.len()).find(|place| self.tag(*place) == tag) else {
            return ListingStep::Waits;
        };
        let page = match says {
            // Who does not say its promises cannot be believed about them.
            Says::Page(page) if self.request.fences && !page.promises => return ListingStep::Waits,
            Says::Page(page) => page,
            Says::Fenced(Fenced::Later(epoch) | Fenced::TooOld(epoch)) => {
                return ListingStep::NeedsMap(epoch);
            }
            Says::Fenced(Fenced::Behind | Fenced::Outdated(_))
            | Says::Register(_)
            | Says::Keys(_)
            | Says::Roots(_) => {
                return ListingStep::Waits;
            }
        };
        let part = &mut self.parts[place];
        if part.rows.is_some() {
            return ListingStep::Waits;
        }
        part.pages.insert(from, page);
        if !part.voters.is_quorum(|voter| part.pages.contains_key(&voter)) {
            return ListingStep::Waits;
        }
        let disputed = part.compare();
        match (disputed.is_empty(), self.request.fences) {
            (true, _) => self.collect(),
            (false, true) => ListingStep::Fences(disputed),
            (false, false) => ListingStep::Reads(disputed),
        }
    }

    /// A register about which voters disagreed says this.
    pub(super) fn was_read(&mut self, key: &Key, record: Option<&NameRecord>) -> ListingStep {
        for part in self.parts.iter_mut().filter(|part| part.slot == key.slot) {
            let Some(rows) = part.rows.as_mut().filter(|_| part.reading.remove(&key.name)) else {
                continue;
            };
            let count = if self.request.versions { usize::MAX } else { 1 };
            let versions = record.map(|record| record.versions.iter());
            let versions = versions.into_iter().flatten().take(count).map(Version::without_content);
            rows.insert(key.name.clone(), versions.collect());
        }
        self.collect()
    }

    /// Takes what is known of all slots.
    fn collect(&mut self) -> ListingStep {
        let is_known = |part: &Part| part.rows.is_some() && part.reading.is_empty();
        if !self.parts.iter().all(is_known) {
            return ListingStep::Waits;
        }
        // Beyond the first end of a page other names of that slot may come between.
        let up_to = self.parts.iter().filter_map(|part| part.up_to.clone()).min();
        let mut rows = BTreeMap::new();
        for part in &mut self.parts {
            let all = part.rows.take().unwrap_or_default().into_iter();
            rows.extend(all.filter(|(name, _)| up_to.as_ref().is_none_or(|up_to| name <= up_to)));
        }
        let last_prefix = self.take_rows(rows);
        if self.listed.next.is_some() {
            return ListingStep::Done(core::mem::take(&mut self.listed));
        }
        let Some(up_to) = up_to else {
            return ListingStep::Done(core::mem::take(&mut self.listed));
        };
        // What has a prefix that is listed already is passed over.
        self.from = match last_prefix.filter(|prefix| up_to.as_str().starts_with(prefix.as_str())) {
            Some(prefix) => after_prefix(&prefix),
            None => From::After(up_to),
        };
        self.round += 1;
        if self.round >= MAX_ROUNDS {
            self.listed.next = Some(self.from.clone());
            return ListingStep::Done(core::mem::take(&mut self.listed));
        }
        for part in &mut self.parts {
            (part.rows, part.up_to) = (None, None);
            part.pages.clear();
        }
        ListingStep::Asks
    }

    /// Lists names until there are as many as were asked for; gives the last common prefix.
    fn take_rows(&mut self, rows: BTreeMap<Name, Vec<Version<Entry>>>) -> Option<String> {
        let limit = self.request.limit.clamp(1, MAX_PAGE) as usize;
        for (name, versions) in rows {
            let is_object = versions.first().is_some_and(|version| version.object.is_some());
            if versions.is_empty() || !(is_object || self.request.versions) {
                continue;
            }
            let common = self.common_prefix(&name);
            let is_listed = common.is_some() && self.listed.prefixes.last() == common.as_ref();
            if is_listed {
                continue;
            }
            if self.listed.names.len() + self.listed.prefixes.len() >= limit {
                self.listed.next = Some(From::At(common.unwrap_or(name.as_str().into())));
                break;
            }
            match common {
                Some(prefix) => self.listed.prefixes.push(prefix),
                None => self.listed.names.push(ListedName { name, versions }),
            }
        }
        self.listed.prefixes.last().cloned()
    }

    /// The beginning of `name` that is listed in its place.
    fn common_prefix(&self, name: &Name) -> Option<String> {
        let delimiter = self.request.delimiter.as_ref().filter(|text| !text.is_empty())?;
        let after = self.request.prefix.len();
        let at = name.as_str().get(after..)?.find(delimiter.as_str())?;
        Some(name.as_str()[..after + at + delimiter.len()].into())
    }
}

/// After all names that begin so, but for some that nobody gives: those are passed over where they are met.
fn after_prefix(prefix: &str) -> From {
    let mut text = String::from(prefix);
    text.push(char::MAX);
    From::At(text)
}

fn parts(request: &ListRequest, rosters: &Rosters, groups: &GroupMap) -> Option<Vec<Part>> {
    let part = |slot| {
        voters_of(rosters, groups, slot).map(|voters| Part {
            slot,
            voters: voters.clone(),
            pages: BTreeMap::new(),
            rows: None,
            up_to: None,
            reading: BTreeSet::new(),
        })
    };
    slots_of(request.bucket, request.slots).map(part).collect()
}

impl Part {
    /// Whom to ask: so many as are enough, or all who have not answered.
    fn to_ask(&self, all: bool) -> Vec<Voter> {
        let mut asked = Vec::new();
        for voter in self.voters.all() {
            let is_enough = self.voters.is_quorum(|v| asked.contains(&v));
            if all || !is_enough {
                asked.push(voter);
            }
        }
        asked.retain(|voter| !self.pages.contains_key(voter));
        asked
    }

    /// Enough have answered. Gives the registers about which they disagree: what a majority holds in the same ballot was
    /// decided, all else may be or not. Where promises are asked for, more may be decided of those that have some.
    fn compare(&mut self) -> Vec<Key> {
        let up_to = self.pages.values().filter_map(|page| page.up_to.clone()).min();
        let mut rows: BTreeMap<&Name, BTreeMap<Voter, &PageRow>> = BTreeMap::new();
        for (voter, page) in &self.pages {
            for row in &page.rows {
                if up_to.as_ref().is_none_or(|up_to| row.name <= *up_to) {
                    rows.entry(&row.name).or_default().insert(*voter, row);
                }
            }
        }
        let mut known = BTreeMap::new();
        let mut disputed = Vec::new();
        for (name, held) in rows {
            let latest = held.values().map(|row| row.ballot).max().unwrap_or(Ballot::ZERO);
            let agrees = |voter| held.get(&voter).is_some_and(|row| row.ballot == latest);
            let is_promised = held.values().any(|row| row.is_promised);
            match held.values().find(|row| row.ballot == latest) {
                Some(row) if self.voters.is_quorum(agrees) && !is_promised => {
                    known.insert(name.clone(), row.versions.clone());
                }
                _ => disputed.push(Key { slot: self.slot, name: name.clone() }),
            }
        }
        self.reading = disputed.iter().map(|key| key.name.clone()).collect();
        (self.rows, self.up_to) = (Some(known), up_to);
        disputed
    }
}
