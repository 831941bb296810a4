//! What a file and the command line said, with the place of every word, before it is put together.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::kind::Value;
use super::read;
use super::schema::{Schema, Setting, Settings};
use crate::input_error::{InputError, Origin, Source};
use crate::input_file::read_text;
use crate::nearest::did_you_mean;

/// Bytes of a file of settings: thousands of times what any needs.
const MAX_FILE: u64 = 4 << 20;

type Result<T> = std::result::Result<T, Box<InputError>>;

/// The settings of a model as they were given, each with its place.
pub struct Draft<C: 'static> {
    pub(super) schema: &'static Schema<C>,
    pub(super) source: Arc<Source>,
    /// Short name; the file's name if it says none.
    pub name: String,
    /// One line for people.
    pub title: Option<String>,
    /// Some lines for people.
    pub description: Option<String>,
    pub(super) settings: BTreeMap<&'static str, Given<C>>,
    pub(super) blocks: Vec<NamedBlock<C>>,
    pub(super) sweep: Vec<SweepBlock<C>>,
}

/// A setting that was given one value.
pub(super) struct Given<C: 'static> {
    pub(super) setting: &'static Setting<C>,
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// One of the list of blocks that a model has.
pub(super) struct NamedBlock<C: 'static> {
    pub(super) name: String,
    pub(super) settings: Vec<Given<C>>,
}

/// Settings that advance together.
pub(super) struct SweepBlock<C: 'static> {
    /// Never empty, and all of one length.
    pub(super) axes: Vec<Axis<C>>,
}

/// A setting with the values that it takes, one after another.
pub(super) struct Axis<C: 'static> {
    pub(super) setting: &'static Setting<C>,
    /// Where the key stands.
    pub(super) key: Origin,
    pub(super) values: Vec<(Value, Origin)>,
}

impl<C> SweepBlock<C> {
    pub(super) fn length(&self) -> usize {
        self.axes[0].values.len()
    }

    /// Takes `setting` out of the block. Where it is swept over `value` too, only the rows with that
    /// value stay: the other keys of those rows were chosen to go with it.
    pub(super) fn fix(&mut self, setting: &'static Setting<C>, value: Value) {
        let Some(index) = self.axes.iter().position(|axis| axis.setting.key == setting.key) else {
            return;
        };
        let fixed = self.axes.remove(index);
        let rows: Vec<bool> = fixed.values.iter().map(|(swept, _)| *swept == value).collect();
        if rows.contains(&true) {
            for axis in &mut self.axes {
                let mut stays = rows.iter();
                axis.values.retain(|_| *stays.next().expect("axes of a block are equally long"));
            }
        }
    }
}

impl<C: Default> Schema<C> {
    /// Reads the file in `text`, which errors call `name`. Each of `overrides` is a `key=value` that goes
    /// before what the file sets or sweeps; each of `axes` is a `key=a,b,c` that is swept whatever the file
    /// says of that key, crossed with the rest of the sweep.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn read(
        &'static self,
        name: &str,
        text: &str,
        overrides: &[String],
        axes: &[String],
    ) -> Result<Draft<C>> {
        let mut draft = read::read(self, &Source::new(name, text))?;
        for text in overrides {
            draft.set_from_argument(text)?;
        }
        for text in axes {
            draft.sweep_from_argument(text)?;
        }
        Ok(draft)
    }

    /// Reads the file at `path` as [`read`](Schema::read) does.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn read_file(
        &'static self,
        path: &Path,
        overrides: &[String],
        axes: &[String],
    ) -> Result<Draft<C>> {
        let text = read_text(path, MAX_FILE, "expected the path of an experiment file (TOML)")?;
        self.read(&path.display().to_string(), &text, overrides, axes)
    }
}

impl<C> Draft<C> {
    /// The row of every block of the sweep at point `index`; the last block varies fastest.
    pub(super) fn rows_at(&self, index: usize) -> Vec<(&SweepBlock<C>, usize)> {
        let mut rest = index;
        let mut rows: Vec<_> = self
            .sweep
            .iter()
            .rev()
            .map(|block| {
                let row = rest % block.length();
                rest /= block.length();
                (block, row)
            })
            .collect();
        rows.reverse();
        rows
    }

    /// Where `key` got its value at point `index`, in several blocks the last one's; none if it has its
    /// default.
    pub(super) fn origin(&self, key: &str, index: usize) -> Option<&Origin> {
        for (block, row) in self.rows_at(index) {
            if let Some(axis) = block.axes.iter().find(|axis| axis.setting.key == key) {
                return Some(&axis.values[row].1);
            }
        }
        let in_blocks = || self.blocks.iter().rev().flat_map(|block| &block.settings);
        let in_blocks = || in_blocks().find(|given| given.setting.key == key);
        self.settings.get(key).or_else(in_blocks).map(|given| &given.origin)
    }

    /// Whether the sweep varies `key`.
    pub fn is_swept(&self, key: &str) -> bool {
        self.swept(key).is_some()
    }

    /// The values over which `key` is swept, if it is.
    pub(super) fn swept(&self, key: &str) -> Option<&Axis<C>> {
        self.sweep.iter().flat_map(|block| &block.axes).find(|axis| axis.setting.key == key)
    }

    /// An error about the value of `key` at point `index`. It shows the place with `label`, or `help` where
    /// the key was not given.
    pub fn error(
        &self,
        key: &str,
        index: usize,
        message: impl Into<String>,
        label: impl Into<String>,
        help: Option<String>,
    ) -> Box<InputError> {
        match self.origin(key, index) {
            Some(origin) => origin.error(message, label),
            None => InputError::whole(&self.source, message).with_help(help),
        }
    }

    /// The error for a key that no setting has.
    pub(super) fn unknown_key(&self, key: &str, origin: &Origin) -> Box<InputError>
    where
        C: Default,
    {
        let section = key.split_once('.').map_or(key, |(section, _)| section);
        let own = self.schema.settings.iter().filter(|setting| setting.section() == section);
        let own: Vec<_> = own.map(Setting::name).collect();
        let label = match own[..] {
            [] => "no setting has this name".into(),
            _ => format!("[{section}] has the keys {}", own.join(", ")),
        };
        origin
            .error(format!("unknown key `{key}`"), label)
            .with_help(did_you_mean(self.schema.nearest_key(key)))
    }
}
