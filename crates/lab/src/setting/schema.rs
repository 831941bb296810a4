//! What a model says of its settings.

use slotcast_sim::ScenarioError;

use super::kind::{Kind, Value};
use crate::input_error::InputError;
use crate::nearest::nearest;

/// What must be chosen for a setting to have an effect: a key, and the values of it that will do, or
/// [`MORE_THAN_0`].
pub type Only = (&'static str, &'static [&'static str]);

/// Any value of a count, size, rate, span or share will do but zero.
pub const MORE_THAN_0: &[&str] = &[];

/// The values that an [`Only`] asks for, as people are told of them.
pub fn needed(values: &[&str]) -> String {
    match values {
        MORE_THAN_0 => "more than 0".into(),
        words => words.join(" or "),
    }
}

/// A key of a model whose settings fill a `C`.
pub struct Setting<C> {
    /// Where it is: `section.name`.
    pub key: &'static str,
    /// What it does, in one sentence.
    pub doc: &'static str,
    /// Unit and range.
    pub kind: Kind,
    /// Where the default comes from.
    pub source: &'static str,
    /// When it has an effect: with one of the words for each of these keys.
    pub only: &'static [Only],
    get: fn(&C) -> Option<Value>,
    set: fn(&mut C, Value),
}

impl<C> Setting<C> {
    /// A setting that is read from a `C` by `get`, and put into one by `set`.
    pub const fn new(
        key: &'static str,
        kind: Kind,
        source: &'static str,
        doc: &'static str,
        only: &'static [Only],
        get: fn(&C) -> Option<Value>,
        set: fn(&mut C, Value),
    ) -> Setting<C> {
        Setting { key, doc, kind, source, only, get, set }
    }

    /// The value in `configuration`; none if it has none until one is given.
    pub fn get(&self, configuration: &C) -> Option<Value> {
        (self.get)(configuration)
    }

    /// The value in `configuration` as text; empty if it has none.
    pub fn text(&self, configuration: &C) -> String {
        self.get(configuration).map(|value| value.to_string()).unwrap_or_default()
    }

    /// Puts `value` into `configuration`.
    ///
    /// # Panics
    /// If `value` is not of this setting's kind: it must come from [`Kind::parse`] of the same setting.
    pub fn set(&self, configuration: &mut C, value: Value) {
        (self.set)(configuration, value);
    }

    /// The part of the key before the dot.
    pub fn section(&self) -> &'static str {
        section_of(self.key)
    }

    /// Whether a sweep can vary it. What says how every point is run cannot differ from one to the next.
    pub fn can_be_swept(&self) -> bool {
        can_be_swept(self.key)
    }

    /// The part of the key after the dot.
    pub fn name(&self) -> &'static str {
        name_of(self.key)
    }
}

impl<C: Default> Setting<C> {
    /// The value that holds where nothing is given; none if one must be given, or follows from others.
    pub fn default(&self) -> Option<Value> {
        self.get(&C::default())
    }
}

impl<C> std::fmt::Debug for Setting<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setting").field("key", &self.key).finish_non_exhaustive()
    }
}

fn section_of(key: &'static str) -> &'static str {
    key.split_once('.').map_or(key, |(section, _)| section)
}

fn name_of(key: &'static str) -> &'static str {
    key.split_once('.').map_or(key, |(_, name)| name)
}

fn can_be_swept(key: &'static str) -> bool {
    !matches!(section_of(key), "seeds" | "statistics")
}

/// Everything that can be set of a model.
pub struct Schema<C: 'static> {
    /// What the model is called: `cluster`.
    pub model: &'static str,
    /// The sections of a file with what each is about, in the order in which they are listed.
    pub sections: &'static [(&'static str, &'static str)],
    /// Every key, section by section.
    pub settings: &'static [Setting<C>],
    /// The section that a file can have several times, if there is one.
    pub blocks: Option<Blocks<C>>,
    /// Finds the first reason for which a configuration cannot be run.
    pub check: fn(&C) -> Result<(), ScenarioError>,
}

/// A section of which a file has a list: `[[job]]`. Each block describes one of several equal things; a
/// sweep or an argument that sets a key of the section sets it in all of them.
pub struct Blocks<C> {
    /// Which section.
    pub section: &'static str,
    /// Adds one more to a configuration.
    pub add: AddBlock<C>,
}

/// Adds to a configuration one more of what a block describes: by its name, and what sets the keys of a
/// configuration in which it is the only one.
pub type AddBlock<C> = fn(&mut C, &str, &dyn Fn(&mut C));

impl<C> Schema<C> {
    /// The first of what `setting` needs to have an effect that `configuration` does not have.
    pub fn lacks(&self, setting: &Setting<C>, configuration: &C) -> Option<Only> {
        let has = |(key, values): &Only| {
            self.find(key).is_some_and(|other| match *values {
                MORE_THAN_0 => other.get(configuration).is_some_and(|value| !value.is_zero()),
                words => words.contains(&other.text(configuration).as_str()),
            })
        };
        setting.only.iter().copied().find(|only| !has(only))
    }

    /// The setting called `key`.
    pub fn find(&self, key: &str) -> Option<&'static Setting<C>> {
        self.settings.iter().find(|setting| setting.key == key)
    }

    /// Whether `name` is a section that stands once in a file.
    pub(super) fn has_section(&self, name: &str) -> bool {
        self.sections.iter().any(|(section, _)| *section == name)
            && self.blocks.as_ref().is_none_or(|blocks| blocks.section != name)
    }
}

impl<C> std::fmt::Debug for Schema<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema").field("model", &self.model).finish_non_exhaustive()
    }
}

/// A setting as people are told of it.
#[derive(Debug, Clone)]
pub struct Described {
    /// `section.name`.
    pub key: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// Unit and range.
    pub kind: Kind,
    /// What holds where nothing is given, if that does not depend on other settings.
    pub default: Option<Value>,
    /// Where the default comes from.
    pub source: &'static str,
    /// When it has an effect.
    pub only: &'static [Only],
    /// Whether its section is a list of blocks.
    pub is_in_blocks: bool,
}

impl Described {
    /// The part of the key before the dot.
    pub fn section(&self) -> &'static str {
        section_of(self.key)
    }

    /// The part of the key after the dot.
    pub fn name(&self) -> &'static str {
        name_of(self.key)
    }

    /// Whether a sweep can vary it.
    pub fn can_be_swept(&self) -> bool {
        can_be_swept(self.key)
    }
}

/// A [`Schema`], whatever its settings fill.
pub trait Settings: Sync {
    /// What the model is called.
    fn model(&self) -> &'static str;

    /// The sections with what each is about.
    fn sections(&self) -> &'static [(&'static str, &'static str)];

    /// Every setting, section by section.
    fn described(&self) -> Vec<Described>;

    /// Every key, section by section.
    fn keys(&self) -> Vec<&'static str>;

    /// What the file in `text`, which errors call `name`, and each `key=value` of `overrides` give the keys:
    /// one value each, several where it is swept, none where there is none. The model has not judged
    /// whether they fit each other.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    fn given(
        &'static self,
        name: &str,
        text: &str,
        overrides: &[String],
    ) -> Result<Vec<(&'static str, Vec<Value>)>, Box<InputError>>;

    /// What a section is about, if there is one of that name.
    fn section_doc(&self, section: &str) -> Option<&'static str> {
        self.sections().iter().find(|(name, _)| *name == section).map(|(_, doc)| *doc)
    }

    /// The key that is most like `key`, if one is near enough to have been meant.
    ///
    /// A right name in the wrong section (`cluster.link_rate`) counts as near.
    fn nearest_key(&self, key: &str) -> Option<&'static str> {
        let name = key.rsplit_once('.').map_or(key, |(_, name)| name);
        let keys = self.keys();
        nearest(key, keys.iter().copied()).or_else(|| {
            let near = nearest(name, keys.iter().map(|key| name_of(key)))?;
            keys.iter().copied().find(|key| name_of(key) == near)
        })
    }
}

impl<C: Default> Settings for Schema<C> {
    fn model(&self) -> &'static str {
        self.model
    }

    fn sections(&self) -> &'static [(&'static str, &'static str)] {
        self.sections
    }

    fn described(&self) -> Vec<Described> {
        let blocks = self.blocks.as_ref().map(|blocks| blocks.section);
        let of = |setting: &Setting<C>| Described {
            key: setting.key,
            doc: setting.doc,
            kind: setting.kind,
            default: setting.default(),
            source: setting.source,
            only: setting.only,
            is_in_blocks: blocks == Some(setting.section()),
        };
        self.settings.iter().map(of).collect()
    }

    fn given(
        &'static self,
        name: &str,
        text: &str,
        overrides: &[String],
    ) -> Result<Vec<(&'static str, Vec<Value>)>, Box<InputError>> {
        let draft = self.read(name, text, overrides, &[])?;
        let base = draft.base();
        let values = |setting: &Setting<C>| match draft.swept(setting.key) {
            Some(axis) => axis.values.iter().map(|(value, _)| *value).collect(),
            None => setting.get(&base).into_iter().collect(),
        };
        Ok(self.settings.iter().map(|setting| (setting.key, values(setting))).collect())
    }

    fn keys(&self) -> Vec<&'static str> {
        self.settings.iter().map(|setting| setting.key).collect()
    }
}

/// A row of a schema: a key, the field that it sets, kind, source of the default, meaning, and if it has
/// an effect with some values of other keys only, those ([`Only`](crate::setting::Only)).
#[macro_export]
macro_rules! setting {
    ($key:expr, $($path:ident).+, $kind:expr, $source:expr, $doc:expr $(,)?) => {
        $crate::setting!($key, $($path).+, $kind, $source, $doc, &[])
    };
    ($key:expr, $($path:ident).+, $kind:expr, $source:expr, $doc:expr, $only:expr $(,)?) => {
        $crate::setting::Setting::new(
            $key,
            $kind,
            $source,
            $doc,
            $only,
            |settings| $crate::setting::Field::to_value(&settings.$($path).+),
            |settings, value| {
                settings.$($path).+ = $crate::setting::Field::from_value(value);
            },
        )
    };
}
