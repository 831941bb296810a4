//! What a member heard and did, to be played to another one: a member that is told the same at the same times does the
//! same, whoever hosts it. So no host has state of its own that decides anything.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;

use slotcast_object::{Rosters, RowsError, RowsOpId, RowsOutput};
use slotcast_protocol::{ChunkId, GroupId, TargetId};
use slotcast_store::{DiskError, OpId, Output, Work};
use slotcast_transport::{Datagram, Key};
use slotcast_units::Time;

use crate::config::MemberConfig;
use crate::effect::Effect;
use crate::input::{Input, Request, RequestNumber};
use crate::map::ClusterMap;
use crate::member::Member;

/// An [`Input`] that is kept.
#[derive(Debug, Clone, PartialEq)]
enum Heard {
    Request(RequestNumber, Box<Request>),
    /// As it is on the wire, sealed with a key that is no secret.
    Datagram {
        from: SocketAddr,
        via: Option<GroupId>,
        bytes: Vec<u8>,
    },
    Left(u32),
    Disk(TargetId, OpId, Result<Output, DiskError>),
    /// Who plays it does the work anew.
    Worked(TargetId),
    Rows(TargetId, RowsOpId, Result<RowsOutput, RowsError>),
    Rosters(Rosters),
    DiskGone(TargetId),
    Remove(TargetId, ChunkId),
    UploadEnded(u64),
    Collect,
    Map(Box<ClusterMap>),
    Wake,
}

/// All that one incarnation of a node heard and did, from its beginning.
#[derive(Debug, Clone)]
pub struct Tape {
    key: Key,
    began: Time,
    config: MemberConfig,
    first: Vec<Effect>,
    entries: Vec<(Time, Heard, Vec<Effect>)>,
}

/// Where a member did something else than is on a tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Of which entry, counted from 0; none of the beginning.
    pub entry: Option<usize>,
    /// What was heard.
    pub heard: String,
    /// What was done about it then.
    pub then: String,
    /// What is done about it now.
    pub now: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { entry, heard, then, now } = self;
        match entry {
            Some(entry) => write!(f, "entry {entry}, {heard}: {then} then, and {now} now"),
            None => write!(f, "at its beginning: {then} then, and {now} now"),
        }
    }
}

impl Tape {
    /// Of a member of this configuration that began at `now`, and wanted this.
    pub fn new(now: Time, config: MemberConfig, did: &[Effect]) -> Tape {
        let (key, first) = (Key::new(&[0; 32]), did.to_vec());
        Tape { key, began: now, config, first, entries: Vec::new() }
    }

    /// The member is told something. What it wants follows with [`Tape::did`].
    pub fn heard(&mut self, now: Time, input: &Input<'_>) {
        let heard = match input {
            Input::Request(number, request) => Heard::Request(*number, Box::new(request.clone())),
            Input::Datagram { from, via, datagram } => {
                let mut bytes = Vec::new();
                datagram.encode(&self.key, &mut bytes);
                Heard::Datagram { from: *from, via: *via, bytes }
            }
            Input::Left(transfer) => Heard::Left(*transfer),
            Input::Disk(target, op, result) => Heard::Disk(*target, *op, result.clone()),
            Input::Worked(target, _) => Heard::Worked(*target),
            Input::Rows(target, op, result) => Heard::Rows(*target, *op, result.clone()),
            Input::Rosters(rosters) => Heard::Rosters(rosters.clone()),
            Input::DiskGone(target) => Heard::DiskGone(*target),
            Input::Remove(target, chunk) => Heard::Remove(*target, *chunk),
            Input::UploadEnded(upload) => Heard::UploadEnded(*upload),
            Input::Collect => Heard::Collect,
            Input::Map(map) => Heard::Map(map.clone()),
            Input::Wake => Heard::Wake,
        };
        self.entries.push((now, heard, Vec::new()));
    }

    /// What the member wanted after what it was told last.
    pub fn did(&mut self, effects: &[Effect]) {
        if let Some((_, _, did)) = self.entries.last_mut() {
            did.extend_from_slice(effects);
        }
    }

    /// How many inputs it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was heard.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Plays it to a new member, which must do the same to the last field.
    ///
    /// # Errors
    /// The first difference.
    pub fn play(&self) -> Result<(), Box<Difference>> {
        self.play_to(self.config.clone())
    }

    /// The same to a member of another configuration.
    ///
    /// # Errors
    /// The first difference.
    pub fn play_to(&self, config: MemberConfig) -> Result<(), Box<Difference>> {
        let mut effects = Vec::new();
        let mut member = Member::new(self.began, config, &mut effects);
        compare((None, ""), &self.first, &effects)?;
        for (entry, (now, heard, did)) in self.entries.iter().enumerate() {
            effects.clear();
            let input = match heard.clone() {
                Heard::Request(number, request) => Input::Request(number, *request),
                Heard::Datagram { from, via, ref bytes } => {
                    // It was sealed here, so it is read unless the tape is damaged.
                    let Ok(datagram) = Datagram::decode(&self.key, bytes) else {
                        return Err(Box::new(Difference {
                            entry: Some(entry),
                            heard: "a datagram".into(),
                            then: "it was believed".into(),
                            now: "it cannot be read".into(),
                        }));
                    };
                    member.handle(*now, Input::Datagram { from, via, datagram }, &mut effects);
                    compare((Some(entry), "a datagram"), did, &effects)?;
                    continue;
                }
                Heard::Left(transfer) => Input::Left(transfer),
                Heard::Disk(target, op, result) => Input::Disk(target, op, result),
                Heard::Worked(target) => match member.take_work(target).map(Work::run) {
                    Some(worked) => Input::Worked(target, worked),
                    None => {
                        let now = "there is none".into();
                        let (heard, then) = (heard.name().into(), "there was work".into());
                        let entry = Some(entry);
                        return Err(Box::new(Difference { entry, heard, then, now }));
                    }
                },
                Heard::Rows(target, op, result) => Input::Rows(target, op, result),
                Heard::Rosters(rosters) => Input::Rosters(rosters),
                Heard::DiskGone(target) => Input::DiskGone(target),
                Heard::Remove(target, chunk) => Input::Remove(target, chunk),
                Heard::UploadEnded(upload) => Input::UploadEnded(upload),
                Heard::Collect => Input::Collect,
                Heard::Map(map) => Input::Map(map),
                Heard::Wake => Input::Wake,
            };
            member.handle(*now, input, &mut effects);
            compare((Some(entry), heard.name()), did, &effects)?;
        }
        Ok(())
    }

    /// The configuration of its member.
    pub fn config(&self) -> &MemberConfig {
        &self.config
    }

    /// What was heard, and how often.
    pub fn kinds(&self) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        for (_, heard, _) in &self.entries {
            *kinds.entry(heard.name()).or_default() += 1;
        }
        kinds
    }

    /// The first entry in which something of this kind was heard, counted from 0: see [`Tape::kinds`].
    pub fn first(&self, kind: &str) -> Option<usize> {
        self.entries.iter().position(|(_, heard, _)| heard.name() == kind)
    }

    /// Without one of its entries, counted from 0: what was heard then has never been heard.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    pub fn without(mut self, entry: usize) -> Tape {
        self.entries.remove(entry);
        self
    }
}

impl Heard {
    fn name(&self) -> &'static str {
        match self {
            Heard::Request(..) => "a request",
            Heard::Datagram { .. } => "a datagram",
            Heard::Left(_) => "a transfer has left",
            Heard::Disk(..) => "a disk operation has ended",
            Heard::Worked(_) => "work is done",
            Heard::Rows(..) => "an operation on rows has ended",
            Heard::Rosters(_) => "who votes was kept",
            Heard::DiskGone(_) => "a disk is gone",
            Heard::Remove(..) => "a removal",
            Heard::UploadEnded(_) => "an upload has ended",
            Heard::Collect => "a wish to collect garbage",
            Heard::Map(_) => "a map",
            Heard::Wake => "its time has come",
        }
    }
}

/// Says which effect is another one, if any is.
fn compare(
    (entry, heard): (Option<usize>, &str),
    then: &[Effect],
    now: &[Effect],
) -> Result<(), Box<Difference>> {
    if then == now {
        return Ok(());
    }
    let first = then.iter().zip(now).take_while(|(then, now)| then == now).count();
    let said = |effects: &[Effect]| match effects.get(first) {
        Some(effect) => {
            let mut text = alloc::format!("{effect:?}");
            text.truncate(text.floor_char_boundary(400));
            text
        }
        None => "nothing more".to_string(),
    };
    let (then, now) = (said(then), said(now));
    Err(Box::new(Difference { entry, heard: heard.into(), then, now }))
}
