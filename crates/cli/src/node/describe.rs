//! What `slotcast stat` says of objects and buckets.

use std::process::ExitCode;

use slotcast_lab::InputError;
use slotcast_units::Size;

use super::client::Client;
use super::place::ObjectPlace;
use super::versions::bucket_of;
use crate::failure::{Failure, Outcome};
use crate::format::utc;
use crate::output::print;

fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    print(&format!("{text}\n"))
}

fn lines(lines: &[(&str, String)]) -> Result<(), Failure> {
    let text: String = lines.iter().map(|(name, value)| format!("{name:<12} {value}\n")).collect();
    print(&text)
}

/// Says what is known of a bucket.
pub(super) fn bucket(client: &Client, place: &ObjectPlace, as_json: bool) -> Outcome {
    let bucket = bucket_of(client, place)?;
    if as_json {
        json(&bucket)?;
        return Ok(ExitCode::SUCCESS);
    }
    let replicas = bucket.replicas.map_or("as many as the cluster says".into(), |n| n.to_string());
    lines(&[
        ("bucket", format!("slot://{}", bucket.bucket)),
        ("made", utc(bucket.created)),
        ("versions", bucket.versions),
        ("replicas", replicas),
        ("version", bucket.version),
    ])?;
    Ok(ExitCode::SUCCESS)
}

/// Says what is known of an object.
pub(super) fn object(
    client: &Client,
    place: &ObjectPlace,
    version: Option<&str>,
    as_json: bool,
) -> Outcome {
    let found = client.described(place, version)?;
    let none = || {
        let help = format!("look with `slotcast ls --versions {place}`");
        let what = version.map_or("object".into(), |version| format!("version {version} of"));
        InputError::plain(format!("there is no {what} `{place}`")).with_help(Some(help))
    };
    let found = found.ok_or_else(none)?;
    if as_json {
        json(&found)?;
        return Ok(ExitCode::SUCCESS);
    }
    let latest = if found.latest { "the latest" } else { "an earlier one" };
    let kept = if found.inline { ", kept with the name" } else { "" };
    let mut all = vec![
        ("object", format!("{}", place.named(found.name))),
        ("version", format!("{}, {latest}", found.version)),
        ("size", format!("{} ({} bytes)", Size::from_bytes(found.size), found.size)),
        ("modified", utc(found.modified)),
        ("content", format!("{}{kept}", found.content)),
    ];
    all.extend(found.encryption.map(|name| ("encrypted", name)));
    all.extend(found.replicas.map(|n| ("replicas", n.to_string())));
    all.extend(found.media_type.map(|text| ("type", text)));
    all.extend(found.headers.iter().map(|(key, value)| ("header", format!("{key}: {value}"))));
    all.extend(found.metadata.iter().map(|(key, value)| ("metadata", format!("{key}={value}"))));
    all.extend(found.tags.iter().map(|(key, value)| ("tag", format!("{key}={value}"))));
    lines(&all)?;
    Ok(ExitCode::SUCCESS)
}
