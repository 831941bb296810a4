//! Carries out what the worker asks for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, TryStreamExt, stream};
use slotcast_job::page::{begins_after, of_listing, of_numbers};
use slotcast_job::{
    Answer, Ask, Cursor, Item, JobId, JobText, Page, Range, Register, Selection, Source, Template,
    output, read, write,
};
use slotcast_object::{Entry, From, MAX_PAGE, Name, RequestKey, VersionId};

use tokio::sync::Semaphore;

use super::census::{Asked, Known};
use super::registers;
use super::sandbox::Sandbox;
use crate::node::Node;
use crate::objects::{FoundBucket, Listing, ObjectError, Objects};

/// Names that are read at a time.
const READS: usize = 32;

/// Texts that are remembered.
const MAX_TEXTS: usize = 256;

/// Carries out what a worker asks for.
#[derive(Debug)]
pub(super) struct Carrier {
    pub(super) objects: Objects,
    pub(super) sandbox: Sandbox,
    /// Places for commands.
    pub(super) processes: Semaphore,
    node: Arc<Node>,
    texts: Mutex<BTreeMap<JobId, Arc<JobText>>>,
    known: Arc<Known>,
}

/// A text that cannot be read.
const NO_TEXT: &str = "the text of the job cannot be read";

pub(super) type Failed = String;

fn failed(error: &ObjectError) -> Failed {
    error.to_string()
}

impl Carrier {
    pub(super) fn new(
        objects: Objects,
        sandbox: Sandbox,
        (transforms, known): (u32, Arc<Known>),
    ) -> Carrier {
        let (node, ..) = objects.parts();
        let processes = Semaphore::new(transforms as usize);
        Carrier { objects, sandbox, processes, node, texts: Mutex::default(), known }
    }

    pub(super) async fn carry_out(&self, ask: Ask) -> Answer {
        let asked = Asked::of(&ask);
        let answer = self.answer(ask).await;
        if let Some(asked) = asked {
            self.known.heard(asked, &answer);
        }
        answer
    }

    async fn answer(&self, ask: Ask) -> Answer {
        let answer = match ask {
            Ask::Jobs => {
                registers::jobs(&self.node).await.map(Answer::Jobs).map_err(|e| failed(&e))
            }
            Ask::Text(job) => {
                self.text(job).await.map(|text| Answer::Text(text.map(|text| (*text).clone())))
            }
            Ask::State(job) => self.said(job, Register::State).await.map(Answer::State),
            Ask::Unit(job, unit) => self.said(job, Register::Unit(unit)).await.map(Answer::Unit),
            Ask::SwapState(job, version, state) => {
                self.swap((job, Register::State), version, write(&state)).await
            }
            Ask::SwapUnit(job, unit, version, record) => {
                self.swap((job, Register::Unit(unit)), version, write(&record)).await
            }
            Ask::Page(job, range, cursor, limit) => self.page(job, (&range, &cursor), limit).await,
            Ask::Find(job, names) => match self.text(job).await {
                Ok(Some(text)) => {
                    let found = self.found(&text, names).await;
                    answered(found.map(|items| Page { items, cursor: Cursor::End }))
                }
                Ok(None) => Err(NO_TEXT.into()),
                Err(error) => Err(error),
            },
            Ask::Look(job, name, key) => self.look(job, &name, key).await,
            Ask::Make(job, item, make) => match self.text(job).await {
                Ok(Some(text)) => Ok(self.make(&text, item, make).await),
                Ok(None) => Err(NO_TEXT.into()),
                Err(error) => Err(error),
            },
        };
        answer.unwrap_or_else(Answer::Failed)
    }

    /// The text of a job, which never changes.
    async fn text(&self, job: JobId) -> Result<Option<Arc<JobText>>, Failed> {
        let lock = || self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = lock().get(&job) {
            return Ok(Some(text.clone()));
        }
        let said =
            registers::read(&self.node, job, Register::Text).await.map_err(|e| failed(&e))?;
        let Some(text) = said.and_then(|(_, bytes)| JobText::read(&bytes)) else { return Ok(None) };
        let text = Arc::new(text);
        let mut texts = lock();
        if texts.len() >= MAX_TEXTS {
            texts.pop_first();
        }
        texts.insert(job, text.clone());
        Ok(Some(text))
    }

    async fn said<T: serde::de::DeserializeOwned>(
        &self,
        job: JobId,
        register: Register,
    ) -> Result<Option<(VersionId, T)>, Failed> {
        let said = registers::read(&self.node, job, register).await.map_err(|e| failed(&e))?;
        let Some((version, bytes)) = said else { return Ok(None) };
        let record = read(&bytes).ok_or("the record cannot be read")?;
        Ok(Some((version, record)))
    }

    async fn swap(
        &self,
        register: (JobId, Register),
        version: Option<VersionId>,
        text: String,
    ) -> Result<Answer, Failed> {
        let swapped = registers::swap(&self.node, register, version, text).await;
        let swapped = swapped.map_err(|e| failed(&e))?;
        Ok(swapped.map_or(Answer::Lost, Answer::Swapped))
    }

    pub(super) async fn bucket(&self, name: &str) -> Result<FoundBucket, ObjectError> {
        self.objects.believed(&Name::new(name)?).await
    }

    async fn page(
        &self,
        job: JobId,
        (range, cursor): (&Range, &Cursor),
        limit: u32,
    ) -> Result<Answer, Failed> {
        let text = self.text(job).await?.ok_or(NO_TEXT)?;
        let names: Vec<String> = match (range, &text.select) {
            (Range::Plan | Range::Names { .. }, _) => {
                let listed = self.listed(&text, (range, cursor), limit).await;
                let page = |(items, has_more)| of_listing(&text, range, items, has_more);
                return answered(listed.map(page));
            }
            (Range::Numbers { from, end }, Selection::Template(template)) => {
                let template = Template::new(template).map_err(|error| error.to_string())?;
                (*from..*end).map_while(|number| template.name(number)).collect()
            }
            (Range::List(part), _) => {
                let said = registers::read(&self.node, job, Register::List(*part)).await;
                let (_, bytes) =
                    said.map_err(|e| failed(&e))?.ok_or("a part of its list is gone")?;
                let text = str::from_utf8(&bytes).map_err(|error| error.to_string())?;
                text.lines().map(str::to_owned).collect()
            }
            (Range::Numbers { .. }, _) => return Err("the unit is of another job".into()),
        };
        let (wanted, cursor) = of_numbers(cursor, names.len() as u64, u64::from(limit));
        let wanted = names.into_iter().skip(wanted.start as usize);
        let wanted = wanted.take(limit as usize).map(|rest| text.from.prefix.clone() + &rest);
        let found = self.found(&text, wanted.collect()).await;
        answered(found.map(|items| Page { items, cursor }))
    }

    /// Names of the source after the cursor, and whether there are more.
    async fn listed(
        &self,
        text: &JobText,
        (range, cursor): (&Range, &Cursor),
        limit: u32,
    ) -> Result<(Vec<Item>, bool), ObjectError> {
        let bucket = self.bucket(&text.from.bucket).await?;
        let mut from = match begins_after(range, cursor) {
            Some(name) => From::After(Name::new(name)?),
            None => From::Start,
        };
        let limit = limit.clamp(1, MAX_PAGE);
        loop {
            let listing = Listing {
                prefix: text.listed_prefix(),
                delimiter: None,
                from,
                limit,
                versions: false,
            };
            let listed = self.objects.list(&bucket, listing).await?;
            let items: Vec<Item> = listed
                .names
                .into_iter()
                .filter_map(|of| {
                    let version = of.versions.first()?;
                    let object = version.object.as_ref()?.object()?;
                    let source = Source { version: version.id, size: object.size };
                    Some(Item { name: of.name.to_string(), source: Some(source) })
                })
                .collect();
            match listed.next {
                // All that was looked at was deleted.
                Some(next) if items.is_empty() => from = next,
                next => return Ok((items, next.is_some())),
            }
        }
    }

    /// What names stand for.
    async fn found(&self, text: &JobText, names: Vec<String>) -> Result<Vec<Item>, ObjectError> {
        let bucket = self.bucket(&text.from.bucket).await?;
        let bucket = &bucket;
        let find = |name: String| async move {
            let found = self.objects.record(bucket, &Name::new(&name[..])?).await;
            let (record, _) = found?;
            let head = record.as_ref().and_then(|record| record.head());
            let source = head.and_then(|head| {
                let size = head.object.as_ref().and_then(Entry::object)?.size;
                Some(Source { version: head.id, size })
            });
            Ok::<_, ObjectError>(Item { name, source })
        };
        stream::iter(names).map(find).buffered(READS).try_collect().await
    }

    async fn look(&self, job: JobId, name: &str, key: RequestKey) -> Result<Answer, Failed> {
        let text = self.text(job).await?.ok_or(NO_TEXT)?;
        let place = text.to.as_ref().unwrap_or(&text.from);
        let name = match Name::new(name) {
            Ok(name) => name,
            Err(error) => return Ok(Answer::Refused(format!("its output has no name: {error}"))),
        };
        let looked = async {
            let bucket = self.bucket(&place.bucket).await?;
            self.objects.record(&bucket, &name).await
        };
        match looked.await {
            Ok((record, _)) => Ok(Answer::Looked(output::Seen::of(record.as_ref(), key))),
            Err(error @ ObjectError::NoBucket(_)) => Ok(Answer::Refused(failed(&error))),
            Err(error) => Err(failed(&error)),
        }
    }
}

/// A page; or that there cannot be one any more, if the bucket of the sources is gone.
fn answered(page: Result<Page, ObjectError>) -> Result<Answer, Failed> {
    match page {
        Ok(page) => Ok(Answer::Page(page)),
        Err(error @ ObjectError::NoBucket(_)) => Ok(Answer::Refused(failed(&error))),
        Err(error) => Err(failed(&error)),
    }
}
