//! Conditions of statements.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::address::Network;
use crate::decide::Context;
use crate::document::Texts;
use crate::pattern::matches;

/// What must hold of a request for a statement to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    /// It comes from one of these networks, or from none of them.
    Source { networks: Vec<Network>, is_in: bool },
    /// What it lists begins with one of these texts, or with none of them.
    Prefix { texts: Vec<String>, is_pattern: bool, is_one: bool },
    /// It is encrypted on its way, or not.
    Encrypted(bool),
}

impl Condition {
    /// The condition that is written so.
    pub(crate) fn read(operator: &str, key: &str, values: Texts) -> Result<Condition, String> {
        let Texts(values) = values;
        if values.is_empty() {
            return Err(format!("{operator} of {key} has no value"));
        }
        let wrong_key = |known: &str| {
            Err(format!("{operator} is understood of {known} only, and not of `{key}`"))
        };
        match operator {
            "IpAddress" | "NotIpAddress" => {
                if !key.eq_ignore_ascii_case("aws:SourceIp") {
                    return wrong_key("aws:SourceIp");
                }
                let read = |text: &String| {
                    let wrong = || format!("`{text}` is no network: write 192.0.2.0/24");
                    Network::read(text).ok_or_else(wrong)
                };
                let networks = values.iter().map(read).collect::<Result<_, _>>()?;
                Ok(Condition::Source { networks, is_in: operator == "IpAddress" })
            }
            "StringEquals" | "StringLike" | "StringNotEquals" | "StringNotLike" => {
                if !key.eq_ignore_ascii_case("s3:prefix") {
                    return wrong_key("s3:prefix");
                }
                if let Some(text) = values.iter().find(|text| text.contains("${")) {
                    return Err(format!("variables are not understood, as in `{text}`"));
                }
                let (is_pattern, is_one) = (operator.contains("Like"), !operator.contains("Not"));
                Ok(Condition::Prefix { texts: values, is_pattern, is_one })
            }
            "Bool" => {
                if !key.eq_ignore_ascii_case("aws:SecureTransport") {
                    return wrong_key("aws:SecureTransport");
                }
                match values.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                    ["true"] => Ok(Condition::Encrypted(true)),
                    ["false"] => Ok(Condition::Encrypted(false)),
                    _ => Err(format!("Bool of {key} is true or false")),
                }
            }
            _ => Err(format!(
                "the condition {operator} is not understood: IpAddress, NotIpAddress, StringEquals, StringLike, \
                 StringNotEquals, StringNotLike and Bool are"
            )),
        }
    }

    /// Whether it holds. A request whose address is not known comes from none of any networks.
    pub(crate) fn holds(&self, context: &Context<'_>) -> bool {
        match self {
            Condition::Source { networks, is_in } => {
                let has = |source| networks.iter().any(|network| network.has(source));
                context.source.is_some_and(has) == *is_in
            }
            Condition::Prefix { texts, is_pattern, is_one } => {
                // What lists without a prefix lists all names, and these begin with nothing.
                let prefix = context.prefix.unwrap_or("");
                let is = |text: &String| match is_pattern {
                    true => matches(text, prefix, false),
                    false => text == prefix,
                };
                texts.iter().any(is) == *is_one
            }
            Condition::Encrypted(is_encrypted) => context.is_encrypted == *is_encrypted,
        }
    }

    /// Whether it holds only of requests from some addresses.
    pub(crate) fn restricts_addresses(&self) -> bool {
        match self {
            Condition::Source { networks, is_in } => {
                *is_in && !networks.iter().any(|network| network.is_all())
            }
            Condition::Prefix { .. } | Condition::Encrypted(_) => false,
        }
    }
}
