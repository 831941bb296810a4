//! The form of documents. A key that is not known, or is there twice, is an error.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(crate) struct Document {
    pub(crate) version: Option<String>,
    /// It names the document, and says nothing.
    #[serde(rename = "Id")]
    pub(crate) _id: Option<String>,
    pub(crate) statement: Statements,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(crate) struct Statement {
    /// It names the statement, and says nothing.
    #[serde(rename = "Sid")]
    pub(crate) _sid: Option<String>,
    pub(crate) effect: Effect,
    pub(crate) principal: Option<Principal>,
    pub(crate) action: Option<Texts>,
    pub(crate) not_action: Option<Texts>,
    pub(crate) resource: Option<Texts>,
    pub(crate) not_resource: Option<Texts>,
    pub(crate) condition: Option<Pairs<Pairs<Texts>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Effect {
    Allow,
    Deny,
}

/// A text or several; what is true or false is a text, too.
#[derive(Debug)]
pub(crate) struct Texts(pub(crate) Vec<String>);

/// One statement or several.
#[derive(Debug)]
pub(crate) struct Statements(pub(crate) Vec<Statement>);

/// Everybody, or those of some kinds.
#[derive(Debug)]
pub(crate) enum Principal {
    Text(String),
    Kinds(Pairs<Texts>),
}

/// Keys with their values; none twice.
#[derive(Debug)]
pub(crate) struct Pairs<T>(pub(crate) Vec<(String, T)>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Texts, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts([text.to_string()].into()))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Texts, E> {
                Ok(Texts([value.to_string()].into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Texts, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Texts(texts))
            }
        }
        d.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for Statements {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Statements, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Statements;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a statement or a list of statements")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Statements, A::Error> {
                let one = Statement::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Statements([one].into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Statements, A::Error> {
                let mut statements = Vec::new();
                while let Some(statement) = list.next_element()? {
                    statements.push(statement);
                }
                Ok(Statements(statements))
            }
        }
        d.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for Principal {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Principal, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Principal;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"*\", or {\"AWS\": …}")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Principal, E> {
                Ok(Principal::Text(text.to_string()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Principal, A::Error> {
                Pairs::deserialize(MapAccessDeserializer::new(map)).map(Principal::Kinds)
            }
        }
        d.deserialize_any(Reader)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Pairs<T>, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("keys with their values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<T>, A::Error> {
                let mut pairs: Vec<(String, T)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, T>()? {
                    if pairs.iter().any(|(known, _)| *known == key) {
                        return Err(A::Error::custom(format_args!("`{key}` is there twice")));
                    }
                    pairs.push((key, value));
                }
                Ok(Pairs(pairs))
            }
        }
        d.deserialize_map(Reader(PhantomData))
    }
}
