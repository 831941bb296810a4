//! Values as they stand in a TOML file, read with their place.

use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use slotcast_sim::Mix;
use slotcast_units::{Share, Size};

use super::field::Field;
use super::kind::{Kind, Range, Value, Words};
use crate::input_error::{InputError, Origin, Source};
use crate::nearest::{did_you_mean, nearest};

/// A key of a table with its place.
pub(crate) type Key<'i> = Spanned<DeString<'i>>;
/// A value with its place.
pub(crate) type Item<'i> = Spanned<DeValue<'i>>;
/// What reading gives: an error shows the place.
pub(crate) type Result<T> = std::result::Result<T, Box<InputError>>;

/// The whole of `source`.
///
/// # Errors
/// If it is not TOML.
pub(crate) fn table(source: &Arc<Source>) -> Result<Spanned<DeTable<'_>>> {
    DeTable::parse(source.text()).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let origin = Origin { source: Arc::clone(source), span };
        origin.error(format!("not valid TOML: {}", error.message()), "here")
    })
}

/// The entries in the order of the file, so that the first error is the topmost.
pub(crate) fn in_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<(&'a Key<'i>, &'a Item<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// A value of `kind` for `key`.
///
/// # Errors
/// If `value` is of another kind, or out of range.
pub(crate) fn read(key: &str, kind: &Kind, value: &DeValue<'_>, origin: &Origin) -> Result<Value> {
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
        (Kind::Mix, DeValue::Array(parts)) => mix(key, parts, origin),
        (Kind::Words(words), DeValue::Array(list)) => {
            let mut chosen = Words::none(words);
            for item in list.iter() {
                let origin = Origin { span: item.span(), ..origin.clone() };
                let word = text(key, item.get_ref(), &origin)?;
                chosen = match chosen.with(&word) {
                    Some(chosen) => chosen,
                    None => return parse(key, kind, &word, &origin),
                };
            }
            Ok(Value::Words(chosen))
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

const PART_SIZE: Kind =
    Kind::Size(Range { min: Size::from_bytes(1), max: Size::from_mib(1 << 30) });
const PART_SHARE: Kind = Kind::Share(Range { min: Share::from_ppm(1), max: Share::ONE });

/// A mix as a list of tables with `size` and `share`.
fn mix(key: &str, list: &DeArray<'_>, origin: &Origin) -> Result<Value> {
    let at = |span| Origin { span, ..origin.clone() };
    let mut parts = Vec::new();
    for item in list.iter() {
        let wrong = || {
            let message = format!(
                "{key}: expected {}, found {}",
                Kind::Mix.expected(),
                found(item.get_ref())
            );
            at(item.span()).error(message, "expected sizes with their shares")
        };
        let DeValue::Table(part) = item.get_ref() else { return Err(wrong()) };
        for (name, _) in in_order(part) {
            if !matches!(name.get_ref().as_ref(), "size" | "share") {
                let message = format!("{key}: unknown key `{}`", name.get_ref());
                let near = did_you_mean(nearest(name.get_ref(), ["size", "share"]));
                let error = at(name.span()).error(message, "expected `size` and `share`");
                return Err(error.with_help(near));
            }
        }
        let one = |name: &str, kind: &Kind| {
            let value = part.get(name).ok_or_else(wrong)?;
            read(&format!("{key}.{name}"), kind, value.get_ref(), &at(value.span()))
        };
        let size = Size::from_value(one("size", &PART_SIZE)?);
        parts.push((size, Share::from_value(one("share", &PART_SHARE)?)));
    }
    match Mix::new(&parts) {
        Ok(mix) => Ok(Value::Mix(mix)),
        Err(error) => Err(origin.error(format!("{key}: {error}"), "here")),
    }
}

/// A text for `key`.
///
/// # Errors
/// If `value` is no text.
pub(crate) fn text(key: &str, value: &DeValue<'_>, origin: &Origin) -> Result<String> {
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
pub(crate) fn section<'a, 'i>(
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
pub(crate) fn swept<'a, 'i>(
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
pub(crate) fn found(value: &DeValue<'_>) -> String {
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
