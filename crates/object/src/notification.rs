//! Notifications: which changes of objects somebody wants to be told of, and what became of a change that was announced.
//!
//! Pure. An [`Announcement`] is written *before* a change is asked for, and says whom to tell if it takes effect. Whether it
//! did is said by the record of the name, to whoever reads it ([`Announcement::became`]): there is no second truth.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use crate::key::Name;
use crate::message::NameRecord;
use crate::object::{Entry, Object};
use crate::register::record::{MAX_RECENT, Outcome, RequestKey, Version, VersionId};

#[cfg(test)]
mod tests;

/// What happens to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// It was put.
    CreatedPut,
    /// It was put by a form.
    CreatedPost,
    /// It is a copy.
    CreatedCopy,
    /// It was completed from parts.
    CreatedComplete,
    /// It, or a version of it, was deleted.
    RemovedDelete,
    /// It was hidden by a marker of deletion.
    RemovedMarker,
    /// It was given tags.
    TaggingPut,
    /// Its tags were taken away.
    TaggingDelete,
    /// It, or a version of it, was deleted by a rule of its bucket.
    ExpirationDelete,
    /// It was hidden by a rule of its bucket.
    ExpirationMarker,
}

/// What names of events begin with where they are put.
const PREFIX: &str = "s3:";

impl EventKind {
    /// All of them.
    pub const ALL: [EventKind; 10] = [
        EventKind::CreatedPut,
        EventKind::CreatedPost,
        EventKind::CreatedCopy,
        EventKind::CreatedComplete,
        EventKind::RemovedDelete,
        EventKind::RemovedMarker,
        EventKind::TaggingPut,
        EventKind::TaggingDelete,
        EventKind::ExpirationDelete,
        EventKind::ExpirationMarker,
    ];

    /// As messages have it.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::CreatedPut => "ObjectCreated:Put",
            EventKind::CreatedPost => "ObjectCreated:Post",
            EventKind::CreatedCopy => "ObjectCreated:Copy",
            EventKind::CreatedComplete => "ObjectCreated:CompleteMultipartUpload",
            EventKind::RemovedDelete => "ObjectRemoved:Delete",
            EventKind::RemovedMarker => "ObjectRemoved:DeleteMarkerCreated",
            EventKind::TaggingPut => "ObjectTagging:Put",
            EventKind::TaggingDelete => "ObjectTagging:Delete",
            EventKind::ExpirationDelete => "LifecycleExpiration:Delete",
            EventKind::ExpirationMarker => "LifecycleExpiration:DeleteMarkerCreated",
        }
    }

    /// The event that messages call so.
    pub fn of_name(name: &str) -> Option<EventKind> {
        EventKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether a pattern as `s3:ObjectCreated:*` means it.
    pub fn is_meant_by(self, pattern: &str) -> bool {
        let Some(pattern) = pattern.strip_prefix(PREFIX) else { return false };
        match pattern.strip_suffix('*') {
            Some(begin) => begin.ends_with(':') && self.name().starts_with(begin),
            None => self.name() == pattern,
        }
    }

    /// What may come of a change that is announced as this: whether a deletion leaves a marker is known when it takes effect.
    pub fn possible(self) -> &'static [EventKind] {
        match self {
            EventKind::CreatedPut => &[EventKind::CreatedPut],
            EventKind::CreatedPost => &[EventKind::CreatedPost],
            EventKind::CreatedCopy => &[EventKind::CreatedCopy],
            EventKind::CreatedComplete => &[EventKind::CreatedComplete],
            EventKind::RemovedDelete | EventKind::RemovedMarker => {
                &[EventKind::RemovedDelete, EventKind::RemovedMarker]
            }
            EventKind::TaggingPut => &[EventKind::TaggingPut],
            EventKind::TaggingDelete => &[EventKind::TaggingDelete],
            EventKind::ExpirationDelete | EventKind::ExpirationMarker => {
                &[EventKind::ExpirationDelete, EventKind::ExpirationMarker]
            }
        }
    }

    /// The same of a deletion that left a marker.
    #[must_use]
    pub fn with_marker(self) -> EventKind {
        match self {
            EventKind::RemovedDelete => EventKind::RemovedMarker,
            EventKind::ExpirationDelete => EventKind::ExpirationMarker,
            kind => kind,
        }
    }
}

/// Who is told of what happens in a bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct NotificationRule {
    /// What it is called.
    #[n(0)]
    pub id: String,
    /// Whom it names, as it was put.
    #[n(1)]
    pub arn: String,
    /// The webhook that this means.
    #[n(2)]
    pub webhook: String,
    /// As what it was put.
    #[n(3)]
    pub form: NotificationForm,
    /// Patterns of events, as they were put.
    #[n(4)]
    pub events: Vec<String>,
    /// Names that begin so.
    #[n(5)]
    pub prefix: Option<String>,
    /// Names that end so.
    #[n(6)]
    pub suffix: Option<String>,
}

/// As what a rule was put, to be given back so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum NotificationForm {
    /// As a queue.
    #[default]
    #[n(0)]
    Queue,
    /// As a topic.
    #[n(1)]
    Topic,
    /// As a function.
    #[n(2)]
    Function,
}

impl NotificationRule {
    /// Whether it is about this.
    pub fn is_about(&self, kind: EventKind, name: &Name) -> bool {
        let (begin, end) = self.ends();
        self.events.iter().any(|pattern| kind.is_meant_by(pattern))
            && name.as_str().starts_with(begin)
            && name.as_str().ends_with(end)
    }

    fn ends(&self) -> (&str, &str) {
        (self.prefix.as_deref().unwrap_or(""), self.suffix.as_deref().unwrap_or(""))
    }

    /// Whether some event of some name could be of both. (Of prefixes, and of suffixes, of which one is a part of the other
    /// AWS says so, too.)
    pub fn overlaps(&self, other: &NotificationRule) -> bool {
        let means = |rule: &NotificationRule, kind: EventKind| {
            rule.events.iter().any(|pattern| kind.is_meant_by(pattern))
        };
        let ((begin, end), (other_begin, other_end)) = (self.ends(), other.ends());
        EventKind::ALL.into_iter().any(|kind| means(self, kind) && means(other, kind))
            && (begin.starts_with(other_begin) || other_begin.starts_with(begin))
            && (end.ends_with(other_end) || other_end.ends_with(end))
    }
}

/// Who is to be told of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// The webhook.
    pub webhook: String,
    /// The rule that says so.
    pub rule: String,
}

/// A process that writes announcements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writer {
    /// The number of its node.
    pub node: u32,
    /// Tells this start of it from all others, as 64 random bits do.
    pub start: u64,
}

/// A change that is about to be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// The object.
    pub name: Name,
    /// Of the request that changes it.
    pub key: RequestKey,
    /// The version that is changed or deleted, where that is said.
    pub version: Option<VersionId>,
    /// As what it is announced.
    pub kind: EventKind,
    /// When, in milliseconds since 1970 on the clock of the writer.
    pub at: u64,
    /// Who is to be told of what may come of it.
    pub recipients: BTreeMap<EventKind, Recipient>,
    /// Who has written it, and answers for it as long as it is there.
    pub writer: Writer,
    /// Who asked for it, from where, in which request; empty if that is not known.
    pub user: String,
    /// The address of whoever asked.
    pub address: String,
    /// The number of the request.
    pub request: String,
    /// What became of it, where that was written down.
    pub became: Option<Happened>,
}

/// A change that took effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// What happened.
    pub kind: EventKind,
    /// Which change of its name it was.
    pub change: u64,
    /// The version that it is about; none where that is not known, or has no id of its own.
    pub version: Option<VersionId>,
    /// Size and entity tag of that, where it has content and is known still.
    pub content: Option<(u64, String)>,
}

/// What is known of an announced change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Became {
    /// It took effect.
    Happened(Happened),
    /// It has not taken effect.
    Nothing,
    /// It may have taken effect: the record has seen more changes since than it keeps.
    Unknown(Happened),
}

/// The change that the latest of so many requests but `later` was.
fn change_of(record: &NameRecord, later: usize) -> u64 {
    record.change.saturating_sub(later as u64)
}

impl Announcement {
    /// Who is to be told of what may come of a change, as the rules of a bucket say.
    pub fn recipients(
        rules: &[NotificationRule],
        kind: EventKind,
        name: &Name,
    ) -> BTreeMap<EventKind, Recipient> {
        let rule_of = |kind| rules.iter().find(|rule| rule.is_about(kind, name));
        let recipient = |kind: &EventKind| {
            let NotificationRule { webhook, id, .. } = rule_of(*kind)?;
            Some((*kind, Recipient { webhook: webhook.clone(), rule: id.clone() }))
        };
        kind.possible().iter().filter_map(recipient).collect()
    }

    /// What became of the change by a record of its name; `tag` gives the entity tag of an object.
    pub fn became(&self, record: Option<&NameRecord>, tag: impl Fn(&Object) -> String) -> Became {
        let Some(record) = record else { return Became::Nothing };
        let mut recent = record.recent.iter().rev().enumerate();
        let done = recent.find(|(_, (key, _))| *key == self.key);
        if let Some((later, (_, outcome))) = done {
            let change = change_of(record, later);
            return match outcome {
                Outcome::Stored(version) | Outcome::Deleted(Some(version)) => {
                    let kind = match outcome {
                        Outcome::Deleted(_) => self.kind.with_marker(),
                        _ => self.kind,
                    };
                    Became::Happened(self.happened(record, (kind, change), Some(*version), tag))
                }
                Outcome::Deleted(None) => {
                    let what = (self.kind, change);
                    Became::Happened(self.happened(record, what, self.version, tag))
                }
                _ => Became::Nothing,
            };
        }
        // Of what made a version that is there still, more changes may have come since.
        #[expect(clippy::cast_possible_truncation, reason = "half of it")]
        let salt = self.key.0 as u64;
        if let Some(made) = record.versions.iter().find(|version| version.id.salt == salt) {
            let kind = if made.object.is_some() { self.kind } else { self.kind.with_marker() };
            let what = (kind, made.id.change);
            return Became::Happened(self.happened(record, what, Some(made.id), tag));
        }
        match record.recent.len() < MAX_RECENT {
            true => Became::Nothing,
            false => {
                let what = (self.kind, change_of(record, MAX_RECENT));
                Became::Unknown(self.happened(record, what, self.version, tag))
            }
        }
    }

    fn happened(
        &self,
        record: &NameRecord,
        (kind, change): (EventKind, u64),
        version: Option<VersionId>,
        tag: impl Fn(&Object) -> String,
    ) -> Happened {
        let is_it = |found: &&Version<Entry>| Some(found.id) == version;
        let found = record.versions.iter().find(is_it);
        let object = found.and_then(|found| found.object.as_ref()?.object());
        Happened {
            kind,
            change,
            // The null version has no id that a client would know.
            version: version.filter(|_| found.is_none_or(|found| !found.is_null)),
            content: object.map(|object| (object.size, tag(object))),
        }
    }
}

/// What an announcement is kept as: an object without content, so that lists of names have all of it.
mod kept {
    pub(super) const NAME: &str = "name";
    pub(super) const KEY: &str = "key";
    pub(super) const VERSION: &str = "version";
    pub(super) const KIND: &str = "kind";
    pub(super) const AT: &str = "at";
    pub(super) const NODE: &str = "node";
    pub(super) const START: &str = "start";
    pub(super) const USER: &str = "user";
    pub(super) const ADDRESS: &str = "address";
    pub(super) const REQUEST: &str = "request";
    pub(super) const BECAME: &str = "became";
    pub(super) const CHANGE: &str = "change";
    pub(super) const OF: &str = "of";
    pub(super) const SIZE: &str = "size";
    pub(super) const TAG: &str = "tag";
    /// Before the name of an event: whom to tell of it.
    pub(super) const TELL: &str = "tell ";
}

fn version_text(version: VersionId) -> String {
    crate::client::text_of(version)
}

impl Announcement {
    /// As it is kept.
    pub fn object(&self) -> Object {
        let mut said = BTreeMap::new();
        let mut say = |key: &str, text: String| drop(said.insert(key.to_string(), text));
        say(kept::NAME, self.name.to_string());
        say(kept::KEY, alloc::format!("{:032x}", self.key.0));
        say(kept::KIND, self.kind.name().into());
        say(kept::AT, self.at.to_string());
        say(kept::NODE, self.writer.node.to_string());
        say(kept::START, alloc::format!("{:016x}", self.writer.start));
        let others = [
            (kept::USER, &self.user),
            (kept::ADDRESS, &self.address),
            (kept::REQUEST, &self.request),
        ];
        for (key, text) in others.into_iter().filter(|(_, text)| !text.is_empty()) {
            say(key, text.clone());
        }
        if let Some(version) = self.version {
            say(kept::VERSION, version_text(version));
        }
        for (kind, Recipient { webhook, rule }) in &self.recipients {
            let key = alloc::format!("{}{}", kept::TELL, kind.name());
            say(&key, alloc::format!("{webhook} {rule}"));
        }
        if let Some(Happened { kind, change, version, content }) = &self.became {
            say(kept::BECAME, kind.name().into());
            say(kept::CHANGE, change.to_string());
            if let Some(version) = version {
                say(kept::OF, version_text(*version));
            }
            if let Some((size, tag)) = content {
                say(kept::SIZE, size.to_string());
                say(kept::TAG, tag.clone());
            }
        }
        Object { metadata: said, modified: self.at, ..Object::default() }
    }

    /// What was kept so; none of what a later program wrote in another way.
    pub fn read(object: &Object) -> Option<Announcement> {
        let get = |key: &str| object.metadata.get(key);
        let text = |key: &str| get(key).cloned().unwrap_or_default();
        let version = |key: &str| get(key).and_then(|text| crate::client::version_of(text));
        let kind = |key: &str| EventKind::of_name(get(key)?);
        let recipient = |(key, text): (&String, &String)| {
            let kind = EventKind::of_name(key.strip_prefix(kept::TELL)?)?;
            let (webhook, rule) = text.split_once(' ')?;
            Some((kind, Recipient { webhook: webhook.into(), rule: rule.into() }))
        };
        let became = || {
            let size = get(kept::SIZE).and_then(|size| size.parse().ok());
            Some(Happened {
                kind: kind(kept::BECAME)?,
                change: get(kept::CHANGE)?.parse().ok()?,
                version: version(kept::OF),
                content: size.map(|size| (size, text(kept::TAG))),
            })
        };
        Some(Announcement {
            name: Name::new(&get(kept::NAME)?[..]).ok()?,
            key: RequestKey(u128::from_str_radix(get(kept::KEY)?, 16).ok()?),
            version: version(kept::VERSION),
            kind: kind(kept::KIND)?,
            at: get(kept::AT)?.parse().ok()?,
            recipients: object.metadata.iter().filter_map(recipient).collect(),
            writer: Writer {
                node: get(kept::NODE)?.parse().ok()?,
                start: u64::from_str_radix(get(kept::START)?, 16).ok()?,
            },
            user: text(kept::USER),
            address: text(kept::ADDRESS),
            request: text(kept::REQUEST),
            became: became(),
        })
    }
}
