//! Jobs of a node: carries out what its [`Worker`](slotcast_job::Worker) asks for, and answers for all jobs of the cluster.
//!
//! ```text
//!   HTTP --> Jobs --> registers of names <-- carry <-- host <--> Worker (slotcast-job), which decides
//!                     objects, processes <----'
//! ```

mod answers;
mod carry;
mod census;
mod host;
mod http;
mod make;
mod process;
mod registers;
mod sandbox;

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use slotcast_job::{
    JobId, JobText, MAX_REASON, NoJob, Order, Range, Register, Selection, StateRecord, Status,
    UnitRecord, read, write,
};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

pub use self::answers::{CountsAnswer, FailureAnswer, JobAnswer, JobLogAnswer, JobsAnswer};
pub(crate) use self::census::Census;
pub(crate) use self::http::routes;
use crate::node::Node;
use crate::objects::{ObjectError, Objects};

/// Units of a job that are read at a time.
const READS: usize = 32;

/// The most bytes of names in one part of a list.
const MAX_PART: usize = 12 << 10;

/// The most names of one part of a list.
const MAX_PART_NAMES: usize = 64;

/// Why something about a job was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    #[error("there is no job {0}: `slotcast job ls` lists them")]
    NoJob(JobId),
    #[error("job {0} is {1}: it is over")]
    Over(JobId, Status),
    #[error("job {0} is {1}: abort it first")]
    NotOver(JobId, Status),
    #[error("there is another job {0}")]
    Exists(JobId),
    #[error("job {0} was written by a later version of the program, or is damaged")]
    Unreadable(JobId),
    #[error(transparent)]
    Text(#[from] NoJob),
    #[error("a name in the list: {0}")]
    Name(slotcast_object::NoName),
    #[error("others change job {0} all the time: ask again")]
    Contended(JobId),
    #[error(
        "this node carries out no commands: `slotcast serve --transforms 2` lets it, two at a time"
    )]
    NoTransforms,
    #[error(transparent)]
    Names(#[from] ObjectError),
}

type Result<T> = std::result::Result<T, JobError>;

/// How often a change of a job is tried while others change it.
const MAX_ATTEMPTS: u32 = 32;

/// All jobs of the cluster, as one of its nodes knows them. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Jobs {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    node: Arc<Node>,
    /// The worker is to look now.
    kick: Arc<Notify>,
    stop: watch::Sender<bool>,
    transforms: u32,
    known: Arc<census::Known>,
}

/// A job with all that is known of it.
#[derive(Debug)]
struct Whole {
    id: JobId,
    text: JobText,
    state: StateRecord,
    units: Vec<(u32, UnitRecord)>,
}

impl Jobs {
    /// Begins to work on jobs, with at most so many commands at a time.
    pub(crate) fn start(objects: &Objects, transforms: u32) -> (Jobs, JoinHandle<()>) {
        let (node, ..) = objects.parts();
        let kick = Arc::new(Notify::new());
        let (stop, stopped) = watch::channel(false);
        let known = Arc::<census::Known>::default();
        let carried = (transforms, known.clone());
        let host = host::run(objects.clone(), carried, kick.clone(), stopped);
        let jobs = Jobs { inner: Arc::new(Inner { node, kick, stop, transforms, known }) };
        (jobs, tokio::spawn(host))
    }

    /// Jobs by status, as the worker was told last; none while they are not known.
    pub(crate) fn census(&self) -> Option<Census> {
        self.inner.known.census()
    }

    /// Lets the worker end. Units that it holds are taken by others.
    pub(crate) fn stop(&self) {
        self.inner.stop.send_replace(true);
    }

    /// Starts a job; with the names of its list, if it has one. When this returns the job does not need this node any more.
    async fn begin(&self, id: JobId, mut text: JobText, names: &[String]) -> Result<JobId> {
        let Inner { node, kick, transforms, .. } = &*self.inner;
        let parts = parts(names)?;
        if let Selection::List(count) = &mut text.select {
            *count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        }
        text.check()?;
        if matches!(text.kind, slotcast_job::Kind::Transform(_)) && *transforms == 0 {
            return Err(JobError::NoTransforms);
        }
        for place in std::iter::once(&text.from).chain(&text.to) {
            let name = slotcast_object::Name::new(&place.bucket[..]).map_err(ObjectError::from)?;
            crate::objects::bucket(node, &name).await?;
        }
        // Whoever repeats the request meets what was written the first time.
        for (part, number) in parts.iter().zip(0..) {
            let register = (id, Register::List(number));
            registers::swap(node, register, None, part.join("\n")).await?;
        }
        let plan = write(&UnitRecord::new(Range::Plan));
        registers::swap(node, (id, Register::Unit(0)), None, plan).await?;
        registers::swap(node, (id, Register::State), None, write(&StateRecord::new())).await?;
        // From here on it is there.
        let begun = registers::swap(node, (id, Register::Text), None, text.write()).await?;
        if begun.is_none() {
            let there = self.text(id).await?;
            let same = JobText { started: there.started, ..text };
            if same != there {
                return Err(JobError::Exists(id));
            }
        }
        kick.notify_one();
        Ok(id)
    }

    async fn text(&self, id: JobId) -> Result<JobText> {
        let said = registers::read(&self.inner.node, id, Register::Text).await?;
        let (_, bytes) = said.ok_or(JobError::NoJob(id))?;
        JobText::read(&bytes).ok_or(JobError::Unreadable(id))
    }

    async fn state(&self, id: JobId) -> Result<(slotcast_object::VersionId, StateRecord)> {
        let said = registers::read(&self.inner.node, id, Register::State).await?;
        let (version, bytes) = said.ok_or(JobError::NoJob(id))?;
        Ok((version, read(&bytes).ok_or(JobError::Unreadable(id))?))
    }

    async fn unit(&self, id: JobId, unit: u32) -> Result<(u32, UnitRecord)> {
        let said = registers::read(&self.inner.node, id, Register::Unit(unit)).await?;
        let (_, bytes) = said.ok_or(JobError::NoJob(id))?;
        Ok((unit, read(&bytes).ok_or(JobError::Unreadable(id))?))
    }

    /// A job with all of its units.
    async fn whole(&self, id: JobId) -> Result<Whole> {
        let text = self.text(id).await?;
        // Before its units: what they say is as far as this, or further.
        let (_, state) = self.state(id).await?;
        let plan = self.unit(id, 0).await?;
        let units = stream::iter(1..=plan.1.units).map(|unit| self.unit(id, unit));
        let mut units: Vec<_> = units.buffered(READS).try_collect().await?;
        units.insert(0, plan);
        Ok(Whole { id, text, state, units })
    }

    /// All jobs, in the order of their beginning. Those that this version cannot read are left out.
    async fn all(&self) -> Result<Vec<Whole>> {
        let ids = registers::jobs(&self.inner.node).await?;
        let mut all = Vec::new();
        for id in ids {
            match self.whole(id).await {
                Ok(whole) => all.push(whole),
                // It was removed meanwhile.
                Err(JobError::NoJob(_) | JobError::Unreadable(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Pauses, resumes or aborts a job.
    async fn order(&self, id: JobId, order: Order) -> Result<()> {
        let text = self.text(id).await?;
        for _ in 0..MAX_ATTEMPTS {
            let (version, state) = self.state(id).await?;
            let next = state.ordered(order, text.check);
            let Some(next) = next.map_err(|status| JobError::Over(id, status))? else {
                return Ok(());
            };
            let register = (id, Register::State);
            let swapped =
                registers::swap(&self.inner.node, register, Some(version), write(&next)).await?;
            if swapped.is_some() {
                self.inner.kick.notify_one();
                return Ok(());
            }
        }
        Err(JobError::Contended(id))
    }

    /// Forgets a job that is over.
    async fn remove(&self, id: JobId) -> Result<()> {
        let text = self.text(id).await?;
        let (_, state) = self.state(id).await?;
        match state.is_over(text.check) {
            true => Ok(registers::remove(&self.inner.node, id).await?),
            false => Err(JobError::NotOver(id, state.status)),
        }
    }
}

/// A list of names in parts, each of which fits into a register.
fn parts(names: &[String]) -> Result<Vec<Vec<String>>> {
    let (mut parts, mut bytes) = (Vec::<Vec<String>>::new(), usize::MAX);
    for name in names {
        // Two lines of a part would otherwise be one name.
        if name.contains('\n') {
            return Err(JobError::Name(slotcast_object::NoName::Empty));
        }
        slotcast_object::Name::new(&name[..]).map_err(JobError::Name)?;
        let is_full = parts.last().is_none_or(|part| part.len() >= MAX_PART_NAMES);
        if is_full || bytes + name.len() > MAX_PART {
            parts.push(Vec::new());
            bytes = 0;
        }
        bytes += name.len() + 1;
        if let Some(part) = parts.last_mut() {
            part.push(name.clone());
        }
    }
    Ok(parts)
}

/// The end of a text that may be long, as a reason has it.
fn shortened(text: &str) -> String {
    let begin = text.len().saturating_sub(MAX_REASON);
    let begin = (begin..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[begin..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_cut_into_parts_that_fit() {
        let names: Vec<String> = (0..1000).map(|n| format!("{n:0>200}")).collect();
        let cut = parts(&names).expect("they are names");
        assert!(cut.iter().all(|part| part.len() <= MAX_PART_NAMES));
        assert!(cut.iter().all(|part| part.join("\n").len() <= MAX_PART));
        assert_eq!(cut.concat(), names);
        assert!(parts(&[]).expect("nothing").is_empty());
        assert!(parts(&["a\nb".into()]).is_err() && parts(&[String::new()]).is_err());
    }

    #[test]
    fn reasons_keep_their_end() {
        let text = "ü".repeat(MAX_REASON) + "end";
        let short = shortened(&text);
        assert!(short.ends_with("end") && short.len() <= MAX_REASON);
        assert_eq!(shortened("short"), "short");
    }
}
