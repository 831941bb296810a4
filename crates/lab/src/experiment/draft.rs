//! What a file and the command line said, with the place of every word, before it is put together.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::SweptAxis;
use crate::input_error::{InputError, Origin, Source};
use crate::nearest::did_you_mean;
use crate::setting::{self, Setting, Value};
use crate::toml_value;

/// The parts of an experiment as they were given.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) source: Arc<Source>,
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) settings: BTreeMap<&'static str, Given>,
    pub(super) sweep: Vec<Block>,
}

/// A setting that was given one value.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) setting: &'static Setting,
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// Settings that advance together.
#[derive(Debug)]
pub(super) struct Block {
    /// Never empty, and all of one length.
    pub(super) axes: Vec<Axis>,
}

/// A setting with the values that it takes, one after another.
#[derive(Debug)]
pub(super) struct Axis {
    pub(super) setting: &'static Setting,
    /// Where the key stands.
    pub(super) key: Origin,
    pub(super) values: Vec<(Value, Origin)>,
}

impl Block {
    pub(super) fn length(&self) -> usize {
        self.axes[0].values.len()
    }

    /// What it sweeps.
    pub(super) fn swept(&self) -> SweptAxis {
        let rows = 0..self.length();
        SweptAxis {
            settings: self.axes.iter().map(|axis| axis.setting).collect(),
            rows: rows
                .map(|row| self.axes.iter().map(|axis| axis.values[row].0).collect())
                .collect(),
        }
    }

    /// Takes `setting` out of the block. Where it is swept over `value` too, only the rows with that
    /// value stay: the other keys of those rows were chosen to go with it.
    fn fix(&mut self, setting: &'static Setting, value: Value) {
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

impl Draft {
    /// The row of every block at point `index`; the last block varies fastest.
    pub(super) fn choices_at(&self, index: usize) -> Vec<(&Block, usize)> {
        let mut rest = index;
        let mut choices: Vec<_> = self
            .sweep
            .iter()
            .rev()
            .map(|block| {
                let row = rest % block.length();
                rest /= block.length();
                (block, row)
            })
            .collect();
        choices.reverse();
        choices
    }

    /// Where `key` got its value at point `index`; none if it has its default.
    pub(super) fn origin(&self, key: &str, index: usize) -> Option<&Origin> {
        for (block, row) in self.choices_at(index) {
            if let Some(axis) = block.axes.iter().find(|axis| axis.setting.key == key) {
                return Some(&axis.values[row].1);
            }
        }
        self.settings.get(key).map(|given| &given.origin)
    }

    /// Takes a `key=value` of the command line, which goes before what the file sets or sweeps.
    pub(super) fn set_from_argument(&mut self, text: &str) -> Result<(), Box<InputError>> {
        let source = Source::new("--set", text);
        let at = |span| Origin { source: Arc::clone(&source), span };
        let Some((key, value)) = text.split_once('=') else {
            let message = format!("`{text}` sets nothing; expected `key=value`");
            return Err(at(0..text.len()).error(message, "expected `key=value`"));
        };
        let value_span = key.len() + 1..text.len();
        // Quotes are part of TOML, not of the value: whoever copies a line from a file keeps them.
        let (key, value) = (key.trim(), value.trim().trim_matches('"'));
        match key {
            "name" => self.name = value.into(),
            "title" => self.title = Some(value.into()),
            "description" => self.description = Some(value.into()),
            _ => {
                let setting =
                    setting::find(key).ok_or_else(|| unknown_key(key, &at(0..key.len())))?;
                let origin = at(value_span);
                let value = toml_value::parse(setting.key, &setting.kind, value, &origin)?;
                for block in &mut self.sweep {
                    block.fix(setting, value);
                }
                self.sweep.retain(|block| !block.axes.is_empty());
                self.settings.insert(setting.key, Given { setting, value, origin });
            }
        }
        Ok(())
    }
}

/// The error for a key that no setting has.
pub(super) fn unknown_key(key: &str, origin: &Origin) -> Box<InputError> {
    origin
        .error(format!("unknown key `{key}`"), "no setting has this name")
        .with_help(did_you_mean(setting::nearest_key(key)))
}
