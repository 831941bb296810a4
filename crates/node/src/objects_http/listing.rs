//! Listings over HTTP.

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use slotcast_object::{From, ListRequest, ListedName, MAX_PAGE};

use super::{bad_request, name};
use crate::http::{App, Keys, Problem};
use crate::objects::{self, FoundBucket, text_of};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    #[serde(default)]
    prefix: String,
    delimiter: Option<String>,
    /// Names after this one.
    after: Option<String>,
    /// Where an answer before said that it goes on.
    from: Option<String>,
    limit: Option<u32>,
    /// All versions, and markers of deletion.
    #[serde(default)]
    versions: bool,
}

/// Names of a bucket, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct NamesAnswer {
    /// Objects, in the order of their names; versions of one with the newest first.
    pub objects: Vec<ObjectAnswer>,
    /// What several names have in common, up to the delimiter.
    pub prefixes: Vec<String>,
    /// What to give as `from` for the names that follow; none if there are no more.
    pub next: Option<String>,
}

/// An object, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct ObjectAnswer {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Bytes of content.
    pub size: u64,
    /// When it was put, or deleted, in milliseconds since 1970; 0 of a marker that an earlier program has made.
    pub modified: u64,
    /// In a listing of all versions: whether the name stands for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<bool>,
    /// In a listing of all versions: whether it is a marker of deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<bool>,
}

/// What a listing says of a name, newest first.
fn answers(listed: ListedName, all: bool) -> impl Iterator<Item = ObjectAnswer> {
    let ListedName { name, versions } = listed;
    let count = if all { versions.len() } else { 1 };
    versions.into_iter().take(count).enumerate().filter_map(move |(place, version)| {
        let object = match &version.object {
            Some(entry) => Some(entry.object()?),
            None if all => None,
            None => return None,
        };
        Some(ObjectAnswer {
            name: name.to_string(),
            version: text_of(version.id),
            size: object.map_or(0, |object| object.size),
            modified: object.map_or(version.deleted_at.unwrap_or(0), |object| object.modified),
            latest: all.then_some(place == 0),
            deleted: all.then_some(object.is_none()),
        })
    })
}

/// Where a listing goes on, as clients give it back: `a` and a name, or `t` and a text.
fn token_of(from: From) -> Option<String> {
    match from {
        From::Start => None,
        From::After(name) => Some(format!("a{name}")),
        From::At(text) => Some(format!("t{text}")),
    }
}

fn begin(query: &ListQuery) -> Result<From, Problem> {
    match (&query.after, &query.from) {
        (None, None) => Ok(From::Start),
        (Some(after), None) if after.is_empty() => Ok(From::Start),
        (Some(after), None) => Ok(From::After(name(after.clone())?)),
        (None, Some(from)) => match from.split_at_checked(1) {
            Some(("a", after)) => Ok(From::After(name(after.into())?)),
            Some(("t", text)) => Ok(From::At(text.into())),
            _ => Err(bad_request("from is what an answer before has as next")),
        },
        (Some(_), Some(_)) => Err(bad_request("after and from exclude each other")),
    }
}

pub(super) async fn list_names(
    State(App { node, .. }): State<App>,
    Keys(query): Keys<ListQuery>,
    Path(bucket): Path<String>,
) -> Result<Json<NamesAnswer>, Problem> {
    let from = begin(&query)?;
    let limit = query.limit.unwrap_or(MAX_PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(bad_request(format!("limit is from 1 to {MAX_PAGE}, not {limit}")));
    }
    let bucket = objects::believed(&node, &name(bucket)?).await?;
    let read = |bucket: FoundBucket| {
        let request = ListRequest {
            bucket: bucket.bucket.id,
            slots: bucket.bucket.slots,
            prefix: query.prefix.clone(),
            delimiter: query.delimiter.clone(),
            from: from.clone(),
            limit,
            versions: query.versions,
            fences: false,
        };
        objects::list(&node, request)
    };
    let (listed, _) = objects::within(&node, &bucket, read).await?;
    let all = query.versions;
    let objects = listed.names.into_iter().flat_map(|listed| answers(listed, all));
    let (objects, next) = (objects.collect(), listed.next.and_then(token_of));
    Ok(Json(NamesAnswer { objects, prefixes: listed.prefixes, next }))
}
