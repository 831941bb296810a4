//! The registry of settings: everything of a [`Configuration`] that an experiment can say.
//!
//! Experiment files, `--set`, `explain`, the list of settings, sweeps and the configuration in a
//! report all go through [`all`]: a field that is not in that table does not exist for a user, and a
//! test holds the table against the structs.

mod field;
mod kind;
mod number;
mod table;
#[cfg(test)]
mod tests;

pub use field::{Choice, Field};
pub use kind::{Kind, Range, Value, Word};
pub use table::{all, section_doc, sections};

use crate::configuration::Configuration;
use crate::nearest;

/// One key of an experiment file.
pub struct Setting {
    /// Where it is: `section.name`.
    pub key: &'static str,
    /// What it does, in one sentence.
    pub doc: &'static str,
    /// Unit and range.
    pub kind: Kind,
    /// Where the default comes from.
    pub source: &'static str,
    get: fn(&Configuration) -> Value,
    set: fn(&mut Configuration, Value),
}

impl Setting {
    /// The value in `configuration`.
    pub fn get(&self, configuration: &Configuration) -> Value {
        (self.get)(configuration)
    }

    /// Puts `value` into `configuration`.
    ///
    /// # Panics
    /// If `value` is not of this setting's kind: it must come from [`Kind::parse`] of the same setting.
    pub fn set(&self, configuration: &mut Configuration, value: Value) {
        (self.set)(configuration, value);
    }

    /// The value that holds where a file says nothing.
    pub fn default(&self) -> Value {
        self.get(&Configuration::default())
    }

    /// The part of the key before the dot.
    pub fn section(&self) -> &'static str {
        self.key.split_once('.').map_or(self.key, |(section, _)| section)
    }

    /// Whether a sweep can vary it. What says how every point is run cannot differ from one to the next.
    pub fn can_be_swept(&self) -> bool {
        !matches!(self.section(), "seeds" | "statistics")
    }

    /// The part of the key after the dot.
    pub fn name(&self) -> &'static str {
        self.key.split_once('.').map_or(self.key, |(_, name)| name)
    }
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setting").field("key", &self.key).finish_non_exhaustive()
    }
}

/// The setting called `key`.
pub fn find(key: &str) -> Option<&'static Setting> {
    all().iter().find(|setting| setting.key == key)
}

/// The key that is most like `key`, if one is near enough to have been meant.
///
/// A right name in the wrong section (`cluster.link_rate`) counts as near.
pub fn nearest_key(key: &str) -> Option<&'static str> {
    let name = key.rsplit_once('.').map_or(key, |(_, name)| name);
    nearest::nearest(key, all().iter().map(|setting| setting.key)).or_else(|| {
        let near = nearest::nearest(name, all().iter().map(Setting::name))?;
        all().iter().find(|setting| setting.name() == near).map(|setting| setting.key)
    })
}
