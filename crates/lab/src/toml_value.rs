//! Values as they stand in a TOML file, read with their place.

use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use crate::input_error::{InputError, Origin, Source};
use crate::nearest::did_you_mean;
use crate::setting::{Kind, Value};

/// A key of a table with its place.
pub type Key<'i> = Spanned<DeString<'i>>;
/// A value with its place.
pub type Item<'i> = Spanned<DeValue<'i>>;
/// What reading gives: an error shows the place.
pub type Result<T> = std::result::Result<T, Box<InputError>>;

/// The whole of `source`.
///
/// # Errors
/// If it is not TOML.
pub fn table(source: &Arc<Source>) -> Result<Spanned<DeTable<'_>>> {
    DeTable::parse(source.text()).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let origin = Origin { source: Arc::clone(source), span };
        origin.error(format!("not valid TOML: {}", error.message()), "here")
    })
}

/// The entries in the order of the file, so that the first error is the topmost.
pub fn in_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<(&'a Key<'i>, &'a Item<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// A value of `kind` for `key`.
///
/// # Errors
/// If `value` is of another kind, or out of range.
pub fn read(key: &str, kind: &Kind, value: &DeValue<'_>, origin: &Origin) -> Result<Value> {
    match (kind, value) {
        (Kind::Switch, DeValue::Boolean(on)) => Ok(Value::Switch(*on)),
        (Kind::Count(_), DeValue::Integer(integer)) => {
            // Hexadecimal and the like are valid TOML: bring them to the form that is parsed.
            let text = match u64::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(count) => count.to_string(),
                Err(_) => integer.to_string(),
            };
            parse(key, kind, &text, origin)
        }
        (kind, DeValue::String(text)) if kind.is_quoted() => parse(key, kind, text, origin),
        (kind, other) => Err(origin.error(
            format!("{key}: expected {}, found {}", kind.expected(), found(other)),
            format!("expected {}", kind.expected()),
        )),
    }
}

/// A value of `kind` for `key`, as text.
pub(crate) fn parse(key: &str, kind: &Kind, text: &str, origin: &Origin) -> Result<Value> {
    kind.parse(text).map_err(|problem| {
        origin
            .error(format!("{key}: {problem}"), format!("expected {}", kind.expected()))
            .with_help(did_you_mean(kind.nearest_word(text)))
    })
}

/// A text for `key`.
///
/// # Errors
/// If `value` is no text.
pub fn text(key: &str, value: &DeValue<'_>, origin: &Origin) -> Result<String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        other => {
            let message = format!("{key}: expected a text, found {}", found(other));
            Err(origin.error(message, "expected a text in quotes"))
        }
    }
}

/// The keys of the section `name`.
///
/// # Errors
/// If `value` is no section.
pub fn section<'a, 'i>(
    name: &str,
    value: &'a DeValue<'i>,
    origin: &Origin,
) -> Result<&'a DeTable<'i>> {
    match value {
        DeValue::Table(table) => Ok(table),
        other => Err(origin.error(
            format!("`{name}` is a section, not {}", found(other)),
            format!("expected `[{name}]` on a line of its own, then its keys"),
        )),
    }
}

/// The values that a sweep gives to `key`, one or more.
///
/// # Errors
/// If `value` is no list, or an empty one.
pub fn swept<'a, 'i>(
    key: &str,
    value: &'a DeValue<'i>,
    origin: &Origin,
) -> Result<&'a DeArray<'i>> {
    match value {
        DeValue::Array(list) if !list.is_empty() => Ok(list),
        other => {
            let message = format!("sweep of `{key}`: found {}", found(other));
            let label = "expected a list of one value or more, such as `[1, 2]`";
            Err(origin.error(message, label))
        }
    }
}

/// What a value is, for errors.
pub fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text `\"{text}\"`"),
        DeValue::Integer(integer) => format!("the number `{integer}`"),
        DeValue::Float(float) => format!("the number `{float}`"),
        DeValue::Boolean(on) => format!("`{on}`"),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(list) if list.is_empty() => "an empty list".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}
