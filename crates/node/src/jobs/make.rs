//! Carries a job out on one object.

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use slotcast_job::{Answer, Item, JobText, Kind, Make, Place, Source, Transform};
use slotcast_object::notification::EventKind;
use slotcast_object::{Body, Name, Object, Outcome};

use super::carry::Carrier;
use super::process::{self, Process};
use super::shortened;
use crate::content_stream::ContentError;
use crate::encryption::{Encrypt, Encryption, plain_length};
use crate::objects::{
    self, Change, CopyObject, FoundBucket, FoundObject, Incoming, ObjectError, PutObject, now_ms,
};

/// Outputs up to so many bytes are stored as what is short.
const SHORT: usize = 256 << 10;

/// What came of it, if something failed.
fn answer(error: &ObjectError) -> Answer {
    match error {
        ObjectError::Condition(_) => Answer::ConditionFailed,
        ObjectError::NoObject(_)
        | ObjectError::NoVersion(..)
        | ObjectError::Deleted(..)
        | ObjectError::Marker(..) => Answer::Gone,
        ObjectError::Names(_) | ObjectError::BucketChanged(..) => Answer::Failed(error.to_string()),
        ObjectError::Content(content) => of_content(content),
        _ => Answer::Refused(error.to_string()),
    }
}

/// What cannot be had now may be had later; what is wrong stays wrong.
fn of_content(error: &ContentError) -> Answer {
    match error {
        ContentError::TooFewReplicas(_)
        | ContentError::TooFewAvailable(_)
        | ContentError::Uncertain(_)
        | ContentError::Undelivered(_)
        | ContentError::Stalled(_)
        | ContentError::Busy
        | ContentError::Stopped => Answer::Failed(error.to_string()),
        ContentError::BrokeOff(_)
        | ContentError::NotFound(_)
        | ContentError::NoList(_)
        | ContentError::WrongLength(_)
        | ContentError::Encryption(_)
        | ContentError::TooLong(_) => Answer::Refused(error.to_string()),
    }
}

/// Reads content to its end; gives how long it is.
async fn length_of(
    content: impl Stream<Item = Result<Bytes, ContentError>>,
) -> Result<u64, ContentError> {
    let mut content = std::pin::pin!(content);
    let mut length = 0;
    while let Some(piece) = content.next().await {
        length += piece?.len() as u64;
    }
    Ok(length)
}

impl Carrier {
    pub(super) async fn make(&self, text: &JobText, item: Item, make: Make) -> Answer {
        let Some(source) = item.source else { return Answer::Gone };
        let made = match &text.kind {
            Kind::Copy => self.copy(text, (&item.name, source), make).await,
            Kind::Delete => self.delete(text, (&item.name, source), make).await,
            Kind::Verify => self.verify(text, (&item.name, source)).await,
            Kind::Transform(transform) => {
                return match self.transform(text, transform, (&item.name, source), make).await {
                    Ok(answer) => answer,
                    Err(error) => answer(&error),
                };
            }
        };
        match made {
            Ok(bytes) => Answer::Made(bytes),
            Err(error) => answer(&error),
        }
    }

    async fn destination(&self, text: &JobText) -> Result<FoundBucket, ObjectError> {
        let place: &Place = text.to.as_ref().unwrap_or(&text.from);
        self.bucket(&place.bucket).await
    }

    async fn copy(
        &self,
        text: &JobText,
        (name, source): (&str, Source),
        make: Make,
    ) -> Result<u64, ObjectError> {
        let (node, memory, _) = self.objects.parts();
        let from = self.bucket(&text.from.bucket).await?;
        let to = self.destination(text).await?;
        let (name, output) = (Name::new(name)?, Name::new(&make.name[..])?);
        let Make { key, condition, .. } = make;
        let plan = self.objects.plan(Incoming::default());
        let source = (&from, &name, Some(source.version));
        let copy = CopyObject { key, condition, source, plan };
        let (_, copied) = objects::copy(&node, &memory, (&to, &output), copy).await?;
        Ok(copied.object.size)
    }

    async fn delete(
        &self,
        text: &JobText,
        (name, source): (&str, Source),
        make: Make,
    ) -> Result<u64, ObjectError> {
        let bucket = self.bucket(&text.from.bucket).await?;
        let change = Change::new(make.key, make.condition);
        let change = (change, EventKind::RemovedDelete.into());
        let done = self.objects.delete((&bucket, &Name::new(name)?), None, change).await?;
        match done {
            Outcome::Deleted(_) | Outcome::NothingToDelete => Ok(source.size),
            _ => Err(ObjectError::Condition(None)),
        }
    }

    async fn source(
        &self,
        text: &JobText,
        (name, source): (&str, Source),
    ) -> Result<FoundObject, ObjectError> {
        let (node, ..) = self.objects.parts();
        let bucket = self.bucket(&text.from.bucket).await?;
        objects::find(&node, &bucket, &Name::new(name)?, Some(source.version)).await
    }

    /// Reads all of an object. What is read is compared with its hashes on the way.
    async fn verify(&self, text: &JobText, item: (&str, Source)) -> Result<u64, ObjectError> {
        let found = self.source(text, item).await?;
        let object = &found.object;
        if let Body::Inline(bytes, Some(hash)) = &object.body
            && blake3::hash(bytes) != *hash
        {
            let wrong = "its content does not have the hash that its record says";
            return Err(ObjectError::Refused(wrong.into()));
        }
        let length = match Encryption::of(object) {
            // Without its key what is stored is all that can be looked at.
            Some(Encryption::Customer { .. } | Encryption::Unknown) => {
                let stored = length_of(self.objects.read_stored(&object.body).await?).await?;
                match object.parts {
                    0 => plain_length(stored).unwrap_or(0),
                    _ => self.objects.part_sizes(object).await?.into_iter().sum(),
                }
            }
            Some(Encryption::Server { .. }) | None => {
                length_of(self.objects.read(object, None, 0..object.size).await?).await?
            }
        };
        match length == object.size {
            true => Ok(length),
            false => {
                let wrong = format!("it has {length} bytes, and its record says {}", object.size);
                Err(ObjectError::Refused(wrong.into()))
            }
        }
    }

    /// Stores what a command makes of an object. Nobody sees it before the command has ended well.
    async fn transform(
        &self,
        text: &JobText,
        transform: &Transform,
        item: (&str, Source),
        make: Make,
    ) -> Result<Answer, ObjectError> {
        // The worker keeps within this, but for what it makes again of changed objects.
        let Ok(_place) = self.processes.acquire().await else {
            return Ok(Answer::Failed("the node stops".into()));
        };
        let found = self.source(text, item).await?;
        let to = self.destination(text).await?;
        let output = Name::new(&make.name[..])?;
        let object = &found.object;
        let content = self.objects.read(object, None, 0..object.size).await?;
        let about = (item.0, &text.from.bucket[..]);
        let process = match Process::start(&self.sandbox, transform, about, content) {
            Ok(process) => process,
            Err(error) => return Ok(Answer::Failed(format!("no process: {error}"))),
        };
        let reason = process.reason();
        // What is made of what is encrypted is, too.
        let encrypt = match Encryption::of(object) {
            Some(_) => Encrypt::Server,
            None => Encrypt::AsBucket,
        };
        let stored = self.store((&to, &output), (make, encrypt), process.output()).await;
        // What is wrong with the process comes first: that the output broke off follows from it.
        Ok(match (reason.take(), stored) {
            (Some(process::Failure::Input(reason)), _) => Answer::Failed(shortened(&reason)),
            (Some(process::Failure::Command(reason)), _) => Answer::Refused(shortened(&reason)),
            (None, Ok(size)) => Answer::Made(size),
            (None, Err(error)) => answer(&error),
        })
    }

    async fn store(
        &self,
        place: (&FoundBucket, &Name),
        (make, encrypt): (Make, Encrypt),
        output: impl Stream<Item = Result<Bytes, String>>,
    ) -> Result<u64, ObjectError> {
        let Make { key, condition, .. } = make;
        let object = Object { modified: now_ms(), ..Object::default() };
        let cause = EventKind::CreatedPut.into();
        let put = PutObject { key, condition, object, seal: None, encrypt, cause };
        let mut output = std::pin::pin!(output.fuse());
        let mut first = BytesMut::new();
        let mut is_all = false;
        while first.len() <= SHORT {
            match output.next().await {
                Some(Ok(piece)) => first.extend_from_slice(&piece),
                Some(Err(error)) => return Err(ContentError::BrokeOff(error).into()),
                None => {
                    is_all = true;
                    break;
                }
            }
        }
        let buffered = first.len() as u64;
        let length = is_all.then_some(buffered);
        let content = stream::iter([Ok(first.freeze())]).chain(output);
        let stored = self.objects.put(place, put, Incoming { length, buffered }, content).await?;
        Ok(stored.object.size)
    }
}

#[cfg(test)]
mod tests {
    use slotcast_object::NameFailure;
    use slotcast_protocol::ChunkId;

    use super::*;

    #[test]
    fn what_may_be_had_later_is_asked_for_again_and_what_is_wrong_is_not() {
        let chunk = ChunkId([7; 32]);
        let is_later = |error: ObjectError| matches!(answer(&error), Answer::Failed(_));
        assert!(is_later(ObjectError::Names(NameFailure::Unavailable)));
        assert!(is_later(ContentError::Uncertain(chunk).into()));
        assert!(!is_later(ContentError::NotFound(chunk).into()));
        let name = Name::new("a").expect("a name");
        assert_eq!(answer(&ObjectError::NoObject(name)), Answer::Gone);
        assert_eq!(answer(&ObjectError::Condition(None)), Answer::ConditionFailed);
    }
}
