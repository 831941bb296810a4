//! Changes of what is there: deletions, and of what is said beside content.

use slotcast_object::client;
use slotcast_object::notification::Happened;
use slotcast_object::{Name, Object, Outcome, VersionId};

use super::{Change, FoundBucket, FoundObject, Result};
use crate::node::Node;
use crate::notifications::{Announcing, Cause, Ended};

/// Deletes an object, or one version of it, and tells it to those who want to know.
pub(crate) async fn delete(
    node: &Node,
    (bucket, name): (&FoundBucket, &Name),
    version: Option<VersionId>,
    (change, cause): (Change, Cause),
) -> Result<Outcome> {
    let announcing = Announcing::new(node, (name, version), change.key, &cause);
    let delete = async {
        announcing.before(bucket).await?;
        client::delete(node, bucket, name, version, change).await
    };
    let outcome = delete.await;
    let ended = match &outcome {
        Ok(Outcome::Deleted(Some(marker))) => Ended::Happened(Happened {
            kind: cause.kind.with_marker(),
            change: marker.change,
            version: Some(*marker),
            content: None,
        }),
        Ok(Outcome::Deleted(None)) => Ended::Recorded,
        Ok(_) => Ended::Nothing,
        Err(error) => Ended::of(error),
    };
    announcing.ended(ended).await;
    outcome
}

/// Changes what is said of a version beside its content, in place; those are told of it who want to know, if there is a cause.
pub(crate) async fn amend(
    node: &Node,
    (bucket, name): (&FoundBucket, &Name),
    version: Option<VersionId>,
    (when, cause): (Change, Option<Cause>),
    change: impl Fn(&mut Object),
) -> Result<FoundObject> {
    let Some(cause) = cause else {
        return client::amend(node, bucket, name, version, when, change).await;
    };
    let announcing = Announcing::new(node, (name, version), when.key, &cause);
    let amend = async {
        announcing.before(bucket).await?;
        client::amend(node, bucket, name, version, when, change).await
    };
    let amended = amend.await;
    let ended = amended.as_ref().map_or_else(Ended::of, |_| Ended::Recorded);
    announcing.ended(ended).await;
    amended
}
