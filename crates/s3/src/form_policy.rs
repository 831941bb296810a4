//! Policies of forms: what a form may say, as whoever signed it has laid down.

use s3s::dto::{Timestamp, TimestampFormat};
use s3s::{S3Error, S3Result, s3_error};
use serde_json::Value;

use crate::names::milliseconds;

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    /// A field has this value.
    Is(String, String),
    /// A field begins so.
    Begins(String, String),
    /// So many bytes.
    Length(u64, u64),
}

/// A policy that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormPolicy {
    expires: u64,
    conditions: Vec<Condition>,
}

fn wrong(why: &str) -> S3Error {
    s3_error!(InvalidPolicyDocument, "Invalid Policy: {why}")
}

fn failed(why: &str) -> S3Error {
    s3_error!(AccessDenied, "Invalid according to Policy: {why}")
}

fn field(value: &Value) -> S3Result<String> {
    let text = value.as_str().ok_or_else(|| wrong("a field is a text"))?;
    Ok(text.strip_prefix('$').unwrap_or(text).to_lowercase())
}

fn text(value: &Value) -> S3Result<String> {
    Ok(value.as_str().ok_or_else(|| wrong("a value is a text"))?.to_owned())
}

fn number(value: &Value) -> S3Result<u64> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number.ok_or_else(|| wrong("a length is a number"))
}

fn conditions_of(value: &Value) -> S3Result<Vec<Condition>> {
    match value {
        Value::Object(pairs) if !pairs.is_empty() => {
            let pair = |(name, value): (&String, &Value)| {
                Ok(Condition::Is(name.to_lowercase(), text(value)?))
            };
            pairs.iter().map(pair).collect()
        }
        Value::Array(all) => match &all[..] {
            [Value::String(word), name, value] => Ok(vec![match &word[..] {
                "eq" => Condition::Is(field(name)?, text(value)?),
                "starts-with" => Condition::Begins(field(name)?, text(value)?),
                "content-length-range" => Condition::Length(number(name)?, number(value)?),
                _ => return Err(wrong("a condition is eq, starts-with or content-length-range")),
            }]),
            _ => Err(wrong("a condition has three parts")),
        },
        _ => Err(wrong("a condition is an object or a list")),
    }
}

impl FormPolicy {
    /// The policy that is written so, in JSON.
    pub(crate) fn read(json: &[u8]) -> S3Result<FormPolicy> {
        let value: Value = serde_json::from_slice(json).map_err(|_| wrong("it is no JSON"))?;
        let expires = value.get("expiration").and_then(Value::as_str);
        let expires = expires.ok_or_else(|| wrong("it has no expiration"))?;
        let expires = Timestamp::parse(TimestampFormat::DateTime, expires)
            .map_err(|_| wrong("its expiration is no time"))?;
        let all = value.get("conditions").and_then(Value::as_array);
        let all = all.ok_or_else(|| wrong("it has no conditions"))?;
        let mut conditions = Vec::new();
        for value in all {
            conditions.extend(conditions_of(value)?);
        }
        Ok(FormPolicy { expires: milliseconds(&expires), conditions })
    }

    /// Whether a form may say this, before its file is read; `bucket` is where it goes.
    pub(crate) fn check(
        &self,
        fields: &[(String, String)],
        bucket: &str,
        now_ms: u64,
    ) -> S3Result<()> {
        if now_ms >= self.expires {
            return Err(failed("Policy expired."));
        }
        let value = |name: &str| match name {
            "bucket" => Some(bucket),
            name => fields.iter().find(|(known, _)| known == name).map(|(_, value)| &value[..]),
        };
        for condition in &self.conditions {
            let holds = match condition {
                Condition::Is(name, wanted) => value(name) == Some(wanted),
                Condition::Begins(name, begin) => {
                    value(name).is_some_and(|value| value.starts_with(&begin[..]))
                }
                Condition::Length(..) => true,
            };
            if !holds {
                return Err(failed(&format!("Policy Condition failed: {condition:?}")));
            }
        }
        let is_named = |name: &str| {
            self.conditions.iter().any(|condition| match condition {
                Condition::Is(known, _) | Condition::Begins(known, _) => known == name,
                Condition::Length(..) => false,
            })
        };
        let is_free = |name: &str| {
            ["x-amz-signature", "signature", "awsaccesskeyid", "file", "policy", "submit"]
                .contains(&name)
                || name.starts_with("x-ignore-")
        };
        let names = fields.iter().map(|(name, _)| &name[..]).chain(["bucket"]);
        match names.into_iter().find(|name| !is_named(name) && !is_free(name)) {
            Some(name) => Err(failed(&format!("Extra input fields: {name}"))),
            None => Ok(()),
        }
    }

    /// The most bytes of the file, where it says so.
    pub(crate) fn max_length(&self) -> Option<u64> {
        let most = |condition: &Condition| match condition {
            Condition::Length(_, most) => Some(*most),
            _ => None,
        };
        self.conditions.iter().filter_map(most).min()
    }

    /// Whether the file may have so many bytes.
    pub(crate) fn check_length(&self, length: u64) -> S3Result<()> {
        for condition in &self.conditions {
            match condition {
                Condition::Length(_, most) if length > *most => {
                    return Err(s3_error!(
                        EntityTooLarge,
                        "Your proposed upload exceeds the maximum allowed size"
                    ));
                }
                Condition::Length(least, _) if length < *least => {
                    return Err(s3_error!(
                        EntityTooSmall,
                        "Your proposed upload is smaller than the minimum allowed size"
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(conditions: &str) -> Result<FormPolicy, String> {
        let json =
            format!("{{\"expiration\":\"2033-05-18T03:33:20Z\",\"conditions\":{conditions}}}");
        FormPolicy::read(json.as_bytes()).map_err(|error| error.code().as_str().to_owned())
    }

    fn checked(conditions: &str, fields: &[(&str, &str)], now_ms: u64) -> String {
        let fields: Vec<_> =
            fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let policy = read(conditions).expect("it is a policy");
        match policy.check(&fields, "b", now_ms) {
            Ok(()) => "fine".into(),
            Err(error) => error.code().as_str().into(),
        }
    }

    #[test]
    fn forms_say_what_their_policy_allows() {
        let policy = r#"[{"bUcKeT":"b"},["starts-with","$KeY","user/"],["eq","$acl","private"]]"#;
        let fields = [("key", "user/a"), ("acl", "private"), ("policy", "…"), ("x-ignore-1", "")];
        assert_eq!(checked(policy, &fields, 1), "fine");
        assert_eq!(checked(policy, &fields, 2_000_000_000_000), "AccessDenied");
        assert_eq!(checked(policy, &[("key", "other"), ("acl", "private")], 1), "AccessDenied");
        assert_eq!(checked(policy, &[("key", "user/a")], 1), "AccessDenied");
        let more = [&fields[..], &[("x-amz-meta-a", "b")]].concat();
        assert_eq!(checked(policy, &more, 1), "AccessDenied");
        // Where the form goes must be said, and it must be there.
        assert_eq!(checked(r#"[["starts-with","$key",""]]"#, &[("key", "a")], 1), "AccessDenied");
        assert_eq!(checked(r#"[{"bucket":"c"}]"#, &[], 1), "AccessDenied");
    }

    #[test]
    fn lengths_have_both_ends() {
        let policy = read(r#"[["content-length-range", 2, "5"]]"#).expect("it is a policy");
        let checked =
            |length| policy.check_length(length).map_err(|error| error.code().as_str().to_owned());
        assert_eq!([2, 5].map(checked), [Ok(()), Ok(())]);
        assert_eq!(checked(1), Err("EntityTooSmall".into()));
        assert_eq!(checked(6), Err("EntityTooLarge".into()));
        assert_eq!(policy.max_length(), Some(5));
    }

    #[test]
    fn what_is_no_policy_is_refused() {
        for wrong in [
            r#"[["StArTs-WiTh","$key","a"]]"#,
            r#"[["content-length-range",1]]"#,
            r#"[["content-length-range",-1,5]]"#,
            r"[{}]",
            r#"[["eq","$key"]]"#,
            r#"["eq"]"#,
            r#"{"key":"a"}"#,
        ] {
            assert_eq!(read(wrong), Err("InvalidPolicyDocument".into()), "{wrong}");
        }
        for wrong in [
            "",
            "{}",
            r#"{"conditions":[]}"#,
            r#"{"EXPIRATION":"2033-05-18T03:33:20Z","conditions":[]}"#,
            r#"{"expiration":"2033-05-18 03:33:20","conditions":[]}"#,
        ] {
            assert!(FormPolicy::read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
