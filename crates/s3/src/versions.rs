//! ListObjectVersions; and how listings of several entries for a name go on within a name.

use s3s::dto::{
    DeleteMarkerEntry, ETag, ListObjectVersionsInput, ListObjectVersionsOutput, ObjectVersion,
};
use s3s::{S3Request, S3Response, S3Result, s3_error};
use slotcast_node::{FoundBucket, Listing};
use slotcast_object::{Entry, From, Listed, MAX_PAGE, Name, Version};

use crate::buckets::owner;
use crate::checksums::{etag, shown};
use crate::description::{STANDARD, class};
use crate::errors::of_object;
use crate::gateway::Gateway;
use crate::listing::{Encoding, after, algorithms, common, limit};
use crate::names::{Which, time_of, version_text};

/// What is wanted of a bucket, a version an entry.
pub(crate) struct Wanted<'a> {
    pub(crate) prefix: &'a str,
    pub(crate) delimiter: Option<&'a str>,
    /// The name of the last entry that the client has, or an empty text.
    pub(crate) key_marker: &'a str,
    /// Its id; without one all of the name was had.
    pub(crate) id_marker: Option<&'a str>,
    pub(crate) limit: usize,
}

/// An entry of such a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct One {
    pub(crate) name: Name,
    pub(crate) version: Version<Entry>,
    pub(crate) is_latest: bool,
}

/// A page of it.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) entries: Vec<One>,
    pub(crate) prefixes: Vec<String>,
    /// The last entry or common prefix, if there is more: its name, and its id.
    pub(crate) next: Option<(String, Option<String>)>,
}

/// An entry, or what several have in common.
enum Item {
    Entry(Box<One>),
    Prefix(String),
}

impl Item {
    fn text(&self) -> &str {
        match self {
            Item::Entry(one) => one.name.as_str(),
            Item::Prefix(prefix) => prefix,
        }
    }
}

/// Which of the versions of a name come after one that may be gone by now: all of them where that was the null version, of
/// which nobody knows where it was.
fn begin(versions: &[Version<Entry>], marker: Which, kind: Kind) -> usize {
    let had = |version: &Version<Entry>| match (marker, kind) {
        (Which::Is(id), Kind::Versions) => version.id.change >= id.change,
        (Which::Is(id), Kind::Uploads) => version.id.change <= id.change,
        (Which::Null, _) => version.is_null,
        (Which::Latest, _) => false,
    };
    versions.iter().rposition(had).map_or(0, |last| last + 1)
}

/// What was listed, in order, but for what of a name the client has.
fn items(listed: Listed, marker: Option<(&str, Which)>, kind: Kind) -> Vec<Item> {
    let mut items: Vec<Item> = listed.prefixes.into_iter().map(Item::Prefix).collect();
    for found in listed.names {
        let begin = match marker {
            Some((name, marker)) if name == found.name.as_str() => {
                begin(&found.versions, marker, kind)
            }
            _ => 0,
        };
        for (place, version) in found.versions.into_iter().enumerate().skip(begin) {
            let (name, is_latest) = (found.name.clone(), place == 0);
            items.push(Item::Entry(Box::new(One { name, version, is_latest })));
        }
    }
    // Versions of a name stay in their order.
    items.sort_by(|a, b| a.text().cmp(b.text()));
    items
}

/// What is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Versions of objects, newest first.
    Versions,
    /// Uploads that are under way, those of one name in the order in which they began.
    Uploads,
}

impl Gateway {
    async fn fetch(&self, bucket: &FoundBucket, kind: Kind, listing: Listing) -> S3Result<Listed> {
        match kind {
            Kind::Versions => self.objects.list(bucket, listing).await.map_err(of_object),
            Kind::Uploads => {
                let listed = self.objects.uploads(bucket, listing).await;
                let mut listed = listed.map_err(of_object)?;
                listed.names.iter_mut().for_each(|found| found.versions.reverse());
                Ok(listed)
            }
        }
    }
}

/// Takes entries from pages until there are as many as are wanted.
pub(crate) async fn collect(
    (gateway, bucket, kind): (&Gateway, &FoundBucket, Kind),
    wanted: Wanted<'_>,
) -> S3Result<Page> {
    let Wanted { prefix, delimiter, key_marker, id_marker, limit } = wanted;
    let mut page = Page::default();
    if limit == 0 {
        return Ok(page);
    }
    let id_marker = id_marker.filter(|id| !id.is_empty());
    if id_marker.is_some() && key_marker.is_empty() {
        return Err(s3_error!(
            InvalidArgument,
            "A version-id marker cannot be specified without a key marker."
        ));
    }
    let mut from = Some(match id_marker {
        Some(_) => From::At(key_marker.to_owned()),
        None => after(key_marker, prefix, delimiter)?,
    });
    let marker = id_marker.map(|id| Which::read(Some(id))).transpose()?;
    let mut last: Option<(String, Option<String>)> = None;
    while let Some(begin) = from.take() {
        let listing = Listing {
            prefix: prefix.to_owned(),
            delimiter: delimiter.filter(|text| !text.is_empty()).map(str::to_owned),
            from: begin,
            limit: u32::try_from(limit).unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE),
            versions: true,
        };
        let mut listed = gateway.fetch(bucket, kind, listing).await?;
        from = listed.next.take();
        for item in items(listed, marker.map(|marker| (key_marker, marker)), kind) {
            if page.entries.len() + page.prefixes.len() == limit {
                page.next = last;
                return Ok(page);
            }
            match item {
                Item::Entry(one) => {
                    last = Some((one.name.to_string(), Some(version_text(&one.version))));
                    page.entries.push(*one);
                }
                Item::Prefix(prefix) => {
                    last = Some((prefix.clone(), None));
                    page.prefixes.push(prefix);
                }
            }
        }
    }
    Ok(page)
}

fn version(one: &One, encoding: Encoding) -> Option<ObjectVersion> {
    let object = one.version.object.as_ref()?.object()?;
    let mut entry = ObjectVersion::default();
    entry.key = Some(encoding.of(one.name.as_str()));
    entry.version_id = Some(version_text(&one.version));
    entry.is_latest = Some(one.is_latest);
    entry.last_modified = Some(time_of(object.modified));
    entry.e_tag = Some(ETag::Strong(etag(object)));
    entry.size = i64::try_from(object.size).ok();
    entry.storage_class = Some(class(object).unwrap_or(STANDARD).to_owned().into());
    entry.owner = Some(owner());
    entry.checksum_algorithm = algorithms(object);
    entry.checksum_type = shown(object).kind;
    Some(entry)
}

fn marker(one: &One, encoding: Encoding) -> DeleteMarkerEntry {
    let mut entry = DeleteMarkerEntry::default();
    entry.key = Some(encoding.of(one.name.as_str()));
    entry.version_id = Some(version_text(&one.version));
    entry.is_latest = Some(one.is_latest);
    // One that an earlier program has made has no time.
    entry.last_modified = Some(time_of(one.version.deleted_at.unwrap_or(0)));
    entry.owner = Some(owner());
    entry
}

pub(crate) async fn list(
    gateway: &Gateway,
    request: S3Request<ListObjectVersionsInput>,
) -> S3Result<S3Response<ListObjectVersionsOutput>> {
    let input = request.input;
    let encoding = Encoding::read(input.encoding_type.as_ref())?;
    let limit = limit(input.max_keys, "max-keys")?;
    let bucket = match limit {
        0 => gateway.bucket(&input.bucket).await?,
        _ => gateway.believed(&input.bucket).await?,
    };
    let wanted = Wanted {
        prefix: input.prefix.as_deref().unwrap_or(""),
        delimiter: input.delimiter.as_deref(),
        key_marker: input.key_marker.as_deref().unwrap_or(""),
        id_marker: input.version_id_marker.as_deref(),
        limit: limit as usize,
    };
    let page = collect((gateway, &bucket, Kind::Versions), wanted).await?;
    let mut output = ListObjectVersionsOutput::default();
    let is_marker = |one: &&One| one.version.object.is_none();
    let markers = page.entries.iter().filter(is_marker).map(|one| marker(one, encoding));
    output.delete_markers = Some(markers.collect());
    output.versions = Some(page.entries.iter().filter_map(|one| version(one, encoding)).collect());
    output.common_prefixes = Some(common(&page.prefixes, encoding));
    output.is_truncated = Some(page.next.is_some());
    if let Some((key, id)) = page.next {
        output.next_key_marker = Some(encoding.of(&key));
        output.next_version_id_marker = id;
    }
    output.name = Some(input.bucket);
    output.prefix = Some(encoding.of(input.prefix.as_deref().unwrap_or("")));
    output.key_marker = Some(encoding.of(input.key_marker.as_deref().unwrap_or("")));
    output.version_id_marker = Some(input.version_id_marker.unwrap_or_default());
    output.delimiter = input.delimiter.as_deref().map(|text| encoding.of(text));
    output.max_keys = i32::try_from(limit).ok();
    output.encoding_type = input.encoding_type;
    Ok(S3Response::new(output))
}

#[cfg(test)]
mod tests {
    use slotcast_object::{Object, VersionId};

    use super::*;

    fn version(change: u64, is_null: bool) -> Version<Entry> {
        let id = VersionId { change, salt: 1 };
        let object = Some(Entry::Object(Object::default()));
        Version { id, is_null, object, deleted_at: None }
    }

    #[test]
    fn a_listing_goes_on_within_a_name_also_after_what_is_gone() {
        let newest_first = [version(9, false), version(6, true), version(2, false)];
        let is = |change| Which::Is(VersionId { change, salt: 1 });
        let of = |marker| begin(&newest_first, marker, Kind::Versions);
        assert_eq!([of(is(9)), of(is(2)), of(Which::Null)], [1, 3, 2]);
        assert_eq!([of(is(12)), of(is(7)), of(is(5)), of(is(1))], [0, 1, 2, 3]);
        let no_null = [version(9, false), version(2, false)];
        assert_eq!(begin(&no_null, Which::Null, Kind::Versions), 0);
        let as_begun = [version(2, false), version(6, false), version(9, false)];
        let of = |marker| begin(&as_begun, marker, Kind::Uploads);
        assert_eq!([of(is(2)), of(is(9)), of(is(7)), of(is(1))], [1, 3, 2, 0]);
    }
}
