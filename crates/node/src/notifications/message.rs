//! Messages, as S3 has them.

use serde_json::{Value, json};
use slotcast_object::Name;
use slotcast_object::notification::{Announcement, Happened};

use crate::objects::text_of;

/// A time in milliseconds since 1970, as in `2026-01-02T03:04:05.678Z` (RFC 3339).
fn time_text(ms: u64) -> String {
    let seconds = ms / 1000;
    // Days to a date: H. Hinnant, chrono-compatible low-level date algorithms.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1000)
}

/// A name as messages have it: as in forms, but for slashes.
fn encoded(name: &Name) -> String {
    let mut text = String::new();
    for byte in name.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'*' | b'/' => {
                text.push(char::from(byte));
            }
            b' ' => text.push('+'),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// The message about a change in a bucket. (AWS leaves out what is not known, too.)
pub(super) fn message(
    bucket: &Name,
    announcement: &Announcement,
    (happened, rule): (&Happened, &str),
) -> String {
    let Announcement { name, at, user, address, request, .. } = announcement;
    let Happened { kind, change, version, content } = happened;
    let mut object = json!({ "key": encoded(name) });
    if let Some((size, tag)) = content {
        object["size"] = json!(size);
        object["eTag"] = json!(tag);
    }
    if let Some(version) = version {
        object["versionId"] = json!(text_of(*version));
    }
    object["sequencer"] = json!(format!("{change:016X}"));
    let known = |key: &str, text: &str| match text {
        "" => json!({}),
        text => json!({ key: text }),
    };
    let record = json!({
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "us-east-1",
        "eventTime": time_text(*at),
        "eventName": kind.name(),
        "userIdentity": known("principalId", user),
        "requestParameters": known("sourceIPAddress", address),
        "responseElements": known("x-amz-request-id", request),
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": rule,
            "bucket": {
                "name": bucket.as_str(),
                "ownerIdentity": { "principalId": "slotcast" },
                "arn": format!("arn:aws:s3:::{bucket}"),
            },
            "object": object,
        },
    });
    json!({ "Records": [record] }).to_string()
}

/// What a webhook is sent when a bucket begins to tell it something.
pub(super) fn test_message(bucket: &Name, request: &str, now: u64) -> String {
    let message: Value = json!({
        "Service": "Amazon S3",
        "Event": "s3:TestEvent",
        "Time": time_text(now),
        "Bucket": bucket.as_str(),
        "RequestId": request,
    });
    message.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_names_are_written_as_s3_has_them() {
        assert_eq!(time_text(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(time_text(1_709_208_000_007), "2024-02-29T12:00:00.007Z");
        assert_eq!(time_text(4_102_444_799_999), "2099-12-31T23:59:59.999Z");
        let of = |text: &str| encoded(&Name::new(text).expect("a name"));
        assert_eq!(of("a b/c+d~ü.txt"), "a+b/c%2Bd%7E%C3%BC.txt");
    }
}
