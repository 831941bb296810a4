//! What clients are told about names, and what must hold of it.

use slotcast_engine::Agenda;
use slotcast_member::{Input, Request, RequestNumber};
use slotcast_object::history::{Asked, What, is_explained, is_explained_with_lives};
use slotcast_object::{
    Body, Condition, Entry, ListRequest, Listed, NameAnswer, NameFailure, NameRecord, NameRequest,
    Outcome,
};
use slotcast_protocol::{ChunkId, Failure, TargetId};
use slotcast_units::Time;

use super::catalogue::Known;
use super::cluster::Cluster;
use super::event::Event;
use super::names::{Ask, BUCKET, SLOTS, Wanted};
use super::node::Purpose;

impl Cluster {
    /// Asks a node that keeps names, any of them.
    pub(super) fn try_name(&mut self, now: Time, ask: usize, agenda: &mut Agenda<Event>) {
        let up = self.nodes_with_names();
        let which = self.names.chance.below(up.len().max(1) as u64);
        let of = &mut self.names.asks[ask];
        let Some(&node) = up.get(usize::try_from(which).expect("an index")) else {
            of.is_void |= !of.may_be_done;
            return;
        };
        of.node = node;
        of.tries += 1;
        of.part = 0;
        if !of.parts.is_empty() {
            return self.go_on_uploading(now, ask, agenda);
        }
        let key = self.names.histories[of.name].key.clone();
        let request = match &of.wanted {
            Wanted::Change(change, None) => {
                Request::Names(NameRequest::Update(key, (**change).clone(), None))
            }
            Wanted::Change(change, Some((content, replicas))) => {
                let change = Box::new((key, (**change).clone(), None));
                Request::PutNamed(content.clone(), Some(*replicas), change)
            }
            Wanted::Read => Request::Names(NameRequest::Read(key)),
            Wanted::List(from, limit) => Request::Names(NameRequest::List(ListRequest {
                bucket: BUCKET,
                slots: SLOTS,
                prefix: String::new(),
                delimiter: None,
                from: from.clone(),
                limit: *limit,
                versions: false,
                fences: false,
            })),
        };
        self.asked += 1;
        let number = RequestNumber(self.asked);
        self.names.running.insert(number, ask);
        self.tell(now, node, Input::Request(number, request), agenda);
    }

    /// A request about a name is answered.
    pub(super) fn name_answered(
        &mut self,
        now: Time,
        (node, number): (u32, RequestNumber),
        answer: NameAnswer,
        agenda: &mut Agenda<Event>,
    ) {
        let Some(ask) = self.names.running.remove(&number) else {
            let what = format!("node {node} at {now} answers request {} once more", number.0);
            return self.report.violated(what);
        };
        let failure = match &answer {
            NameAnswer::Failed(failure) => Some(*failure),
            _ => None,
        };
        self.report.names_answered += u64::from(failure.is_none());
        self.end_upload(now, ask, agenda);
        match answer {
            NameAnswer::Changed(outcome) => self.name_changed(now, ask, outcome),
            NameAnswer::Says(record) => self.name_says(now, ask, record),
            NameAnswer::Listed(listed) => self.listed(now, ask, listed, agenda),
            NameAnswer::Roots(_) => {
                self.report.violated(format!("at {now} node {node} tells a client its roots"));
            }
            NameAnswer::Failed(failure) => {
                // What nobody named any more may be gone before it gets another name; and a disk that fails may have given
                // up some of it a moment ago.
                let may_miss = self.names.is_copying(ask)
                    || failure == NameFailure::Missing && self.has_dead();
                if failure == NameFailure::Unknown || !may_miss {
                    self.check_name_failed(now, node, ask, &failure.to_string());
                }
                let of = &mut self.names.asks[ask];
                match failure {
                    NameFailure::Unavailable | NameFailure::Missing | NameFailure::Overtaken => {
                        of.is_void = !of.may_be_done;
                    }
                    NameFailure::Unknown => self.answer_lost(now, ask, agenda),
                }
            }
        }
    }

    /// The chunk of an object could not be put: its name is not changed. False if the request was about no name.
    pub(super) fn chunk_of_name_failed(
        &mut self,
        now: Time,
        (node, number): (u32, RequestNumber),
        why: Failure,
    ) -> bool {
        let Some(ask) = self.names.running.remove(&number) else { return false };
        self.name_failed(now, node, ask, why);
        true
    }

    pub(super) fn name_failed(&mut self, now: Time, node: u32, ask: usize, why: Failure) {
        self.check_name_failed(now, node, ask, &format!("{why:?}"));
        let of = &mut self.names.asks[ask];
        of.is_void = !of.may_be_done;
    }

    fn check_name_failed(&mut self, now: Time, node: u32, ask: usize, why: &str) {
        let of = &self.names.asks[ask];
        let key = &self.names.histories[of.name].key;
        if of.must_end_well && self.has_all_majorities(of) {
            let what = format!(
                "at {now} node {node}: a request about {key:?} fails in a calm: {why}: {}: {:?}; {}",
                self.voters_of(key),
                of.wanted,
                of.parts
                    .iter()
                    .map(|(c, _)| self.states_of(&c.chunk()))
                    .collect::<Vec<_>>()
                    .join("; ")
            );
            return self.report.violated(what);
        }
        self.report.given_up += 1;
    }

    /// Whether enough of all those can be asked whom a request is about.
    fn has_all_majorities(&self, ask: &Ask) -> bool {
        match ask.wanted {
            Wanted::List(..) => self.names.histories.iter().all(|of| self.has_majority(&of.key)),
            _ => self.has_majority(&self.names.histories[ask.name].key),
        }
    }

    fn name_changed(&mut self, now: Time, ask: usize, outcome: Outcome) {
        let of = &mut self.names.asks[ask];
        of.asked.ended = now;
        if let What::Change(_, told) = &mut of.asked.what {
            *told = Some(outcome);
        }
        let history = &mut self.names.histories[of.name];
        history.seen = match outcome {
            Outcome::Stored(version) | Outcome::ConditionFailed(Some(version)) => Some(version),
            _ => history.seen,
        };
        history.is_fresh |= of.purpose == Purpose::Check;
        if let (Outcome::Stored(_), Wanted::Change(_, Some((content, _)))) = (outcome, &of.wanted) {
            let chunk = content.chunk();
            self.catalogue.stored_again(&chunk);
            self.check_named(now, &chunk);
            self.report.acknowledged += 1;
        }
    }

    fn name_says(&mut self, now: Time, ask: usize, record: Option<NameRecord>) {
        let head = record.as_ref().and_then(|record| record.head().cloned());
        let of = &mut self.names.asks[ask];
        of.asked.ended = now;
        of.asked.what = What::Read(head.clone());
        let history = &mut self.names.histories[of.name];
        history.seen = head.as_ref().map(|version| version.id).or(history.seen);
        if of.purpose == Purpose::Check {
            history.calm = Some(record);
        }
        let object = head.and_then(|version| version.object);
        if let Some(Entry::Object(object)) = object
            && let Body::Chunk(chunk) = object.body
        {
            self.check_named(now, &chunk);
        }
    }

    /// A name says that its content is this chunk: it is stored, and stays so.
    fn check_named(&mut self, now: Time, chunk: &ChunkId) {
        // Where garbage is collected it may be gone when a client hears of it: it is looked at in a calm.
        if self.catalogue.known(chunk) != Known::Asked || self.collects() {
            return;
        }
        let replicas = self.names.chunks.get(chunk).copied().unwrap_or(1);
        let has_it = |target: &&TargetId| {
            let host = self.nodes.get(self.node_of(**target));
            let disk = host.and_then(|host| host.disks.get(target));
            disk.is_some_and(|disk| disk.harmed || disk.disk.has_flushed(chunk))
        };
        let members = self.groups.members(self.groups.group_of(chunk)).iter();
        let found = members.filter(has_it).count();
        if found < usize::from(replicas) {
            let what = format!(
                "at {now} a name says that its content is {chunk}, which is on {found} of {replicas} targets"
            );
            return self.report.violated(what);
        }
        self.catalogue.acknowledge(chunk, slotcast_protocol::Wanted::named(replicas));
    }

    fn listed(&mut self, now: Time, ask: usize, listed: Listed, agenda: &mut Agenda<Event>) {
        let of = &mut self.names.asks[ask];
        of.asked.ended = now;
        self.report.names_listed += 1;
        if of.purpose != Purpose::Check {
            return;
        }
        let (name, limit) = match of.wanted {
            Wanted::List(_, limit) => (of.name, limit),
            _ => return,
        };
        self.names.listed.0.extend(listed.names.into_iter().map(|listed| listed.name));
        match listed.next {
            Some(from) => {
                let wanted = (Wanted::List(from, limit), Vec::new());
                self.begin_name(now, name, wanted, Purpose::Check, agenda);
            }
            None => self.names.listed.1 = true,
        }
    }

    /// In a calm every name is changed: what nobody has answered before has been carried out by then, or never will be.
    pub(super) fn change_names(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        for name in 0..self.names.histories.len() {
            let history = &mut self.names.histories[name];
            (history.calm, history.is_fresh) = (None, false);
            let key = history.key.clone();
            if self.plan.names.is_some() && self.has_majority(&key) {
                self.put_name(now, name, Condition::Always, Purpose::Check, agenda);
            }
        }
    }

    /// Then every name is read, and all are listed.
    pub(super) fn read_names(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        self.names.listed = Default::default();
        if self.plan.names.is_none() {
            return;
        }
        let mut all = true;
        for name in 0..self.names.histories.len() {
            let key = self.names.histories[name].key.clone();
            let can_be_asked = self.has_majority(&key);
            all &= can_be_asked;
            if can_be_asked {
                let wanted = (Wanted::Read, Vec::new());
                self.begin_name(now, name, wanted, Purpose::Check, agenda);
            }
        }
        if all {
            let limit = 1 + u32::try_from(self.names.chance.below(5)).expect("small");
            let wanted = Wanted::List(slotcast_object::From::Start, limit);
            self.begin_name(now, 0, (wanted, Vec::new()), Purpose::Check, agenda);
        }
    }

    /// What clients were told can be explained, and the listing has the names that say something.
    pub(super) fn check_names(&mut self, now: Time) {
        if self.names.listed.1 {
            for history in &self.names.histories {
                let says = history.calm.as_ref().and_then(Option::as_ref);
                let is_there = says.is_some_and(|record| record.head().is_some());
                let is_listed = self.names.listed.0.contains(&history.key.name);
                if history.calm.is_some() && is_there != is_listed {
                    self.report.violated(format!(
                        "at {now} {:?} is {is_listed} in the listing, and says {says:?}",
                        history.key.name
                    ));
                }
            }
        }
        for name in 0..self.names.histories.len() {
            self.check_history(now, name);
        }
    }

    fn check_history(&mut self, now: Time, name: usize) {
        let history = &mut self.names.histories[name];
        let asks = history.asks.iter().map(|n| &self.names.asks[*n]);
        let says_something = |ask: &&Ask| {
            let is_answered = ask.asked.ended != Time::NEVER;
            !ask.is_void && (is_answered || matches!(ask.wanted, Wanted::Change(..)))
        };
        let asked: Vec<Asked<Entry>> =
            asks.filter(says_something).map(|a| a.asked.clone()).collect();
        // Where a name may have several lives there is more that can have been: some histories are not judged.
        let explained = match self.plan.forgets() {
            true => is_explained_with_lives(history.first.as_ref(), &asked).or(Ok(true)),
            false => is_explained(history.first.as_ref(), &asked),
        };
        if explained != Ok(true) {
            let told: Vec<String> = asked.iter().map(line).collect();
            let why = match explained {
                Err(error) => format!("is not judged, {error}"),
                Ok(_) => "cannot be explained".into(),
            };
            self.report.violated(format!(
                "at {now} what clients were told of {:?} {why}, from {:?} on:\n{}",
                history.key.name,
                history.first.as_ref().map(|record| record.versions.first().map(|of| of.id)),
                told.join("\n")
            ));
        }
        if let (Some(calm), true) = (history.calm.take(), history.is_fresh) {
            history.first = calm;
            history.asks.clear();
        }
    }
}

/// One request of a history, for people.
fn line(asked: &Asked<Entry>) -> String {
    let what = match &asked.what {
        What::Change(request, told) => {
            let operation = match &request.operation {
                slotcast_object::Operation::Put(_) => "put",
                slotcast_object::Operation::Delete(_) => "delete",
                slotcast_object::Operation::DeleteVersion(_) => "delete version",
                slotcast_object::Operation::Replace(..) => "replace",
            };
            #[expect(clippy::cast_possible_truncation, reason = "half of it")]
            let salt = request.key.0 as u64;
            format!("{operation} {salt} if {:?}: {told:?}", request.condition)
        }
        What::Read(version) => format!("read: {:?}", version.as_ref().map(|of| of.id)),
    };
    format!("  {} to {}: {what}", asked.began, asked.ended)
}
