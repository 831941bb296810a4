//! Reads a file of settings. Every error carries the place in the file and what was expected there.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::draft::{Axis, Draft, Given, NamedBlock, SweepBlock};
use super::schema::{Schema, Setting, Settings};
use super::table::CLUSTER;
use super::toml_value::{self, Item, Key, Result, in_order};
use crate::input_error::{InputError, Origin, Source};
use crate::nearest::{did_you_mean, nearest};

const TEXTS: [&str; 3] = ["name", "title", "description"];

/// Reads `source` as a file of `schema`.
pub(super) fn read<C: Default>(
    schema: &'static Schema<C>,
    source: &Arc<Source>,
) -> Result<Draft<C>> {
    let stem = Path::new(source.name()).file_stem().unwrap_or_default();
    let mut draft = Draft {
        schema,
        source: Arc::clone(source),
        name: stem.to_string_lossy().into_owned(),
        title: None,
        description: None,
        settings: BTreeMap::new(),
        blocks: Vec::new(),
        sweep: Vec::new(),
    };
    let table = toml_value::table(source)?;
    for (key, value) in in_order(table.get_ref()) {
        match key.get_ref().as_ref() {
            "name" => draft.name = draft.read_text(key, value)?,
            "title" => draft.title = Some(draft.read_text(key, value)?),
            "description" => draft.description = Some(draft.read_text(key, value)?),
            "sweep" => draft.read_sweep(value)?,
            // How the experiment is tuned: nothing of what is simulated. `crate::tune` reads and checks it.
            "tune" | "knob" if schema.model == CLUSTER.model => {}
            section if schema.blocks.as_ref().is_some_and(|blocks| blocks.section == section) => {
                draft.read_blocks(section, value)?;
            }
            section if schema.has_section(section) => {
                for given in draft.section(section, draft.table(section, value)?)? {
                    draft.settings.insert(given.setting.key, given);
                }
            }
            other => return Err(draft.unknown_top(other, key)),
        }
    }
    draft.check_each_key_once()?;
    Ok(draft)
}

impl<C: Default> Draft<C> {
    /// A key that is swept twice, or swept and set, has no clear value.
    fn check_each_key_once(&self) -> Result<()> {
        let mut seen = BTreeMap::new();
        for axis in self.sweep.iter().flat_map(|block| &block.axes) {
            let key = axis.setting.key;
            let in_blocks = self.blocks.iter().flat_map(|block| &block.settings);
            let is_set = self.settings.contains_key(key)
                || in_blocks.into_iter().any(|given| given.setting.key == key);
            let already = is_set.then_some("set above");
            if let Some(how) = already.or_else(|| seen.insert(key, ()).map(|()| "swept already")) {
                let message = format!("duplicate key `{key}`");
                return Err(axis.key.error(message, format!("it is {how}")));
            }
        }
        Ok(())
    }

    fn at(&self, span: Range<usize>) -> Origin {
        Origin { source: Arc::clone(&self.source), span }
    }

    fn read_text(&self, key: &Key<'_>, value: &Item<'_>) -> Result<String> {
        toml_value::text(key.get_ref(), value.get_ref(), &self.at(value.span()))
    }

    fn unknown_top(&self, name: &str, key: &Key<'_>) -> Box<InputError> {
        let schema = self.schema;
        let sections: Vec<_> = schema.sections.iter().map(|(section, _)| *section).collect();
        let known = sections.iter().copied().chain(TEXTS).chain(["sweep"]);
        let near = nearest(name, known).or_else(|| schema.nearest_key(name));
        let single = sections.iter().copied().filter(|section| schema.has_section(section));
        let list = schema.blocks.as_ref().map(|blocks| format!("`[[{}]]`, ", blocks.section));
        let label = format!(
            "expected a section ({}), {}`[[sweep]]`, or one of {}",
            single.collect::<Vec<_>>().join(", "),
            list.unwrap_or_default(),
            TEXTS.join(", ")
        );
        self.at(key.span())
            .error(format!("unknown section or key `{name}`"), label)
            .with_help(did_you_mean(near))
    }

    fn table<'a, 'i>(&self, section: &str, value: &'a Item<'i>) -> Result<&'a DeTable<'i>> {
        toml_value::section(section, value.get_ref(), &self.at(value.span()))
    }

    fn setting(&self, section: &str, key: &Key<'_>) -> Result<&'static Setting<C>> {
        let name = format!("{section}.{}", key.get_ref());
        let schema = self.schema;
        schema.find(&name).ok_or_else(|| self.unknown_key(&name, &self.at(key.span())))
    }

    fn given(&self, section: &str, key: &Key<'_>, value: &Item<'_>) -> Result<Given<C>> {
        let setting = self.setting(section, key)?;
        let origin = self.at(value.span());
        let value = toml_value::read(setting.key, &setting.kind, value.get_ref(), &origin)?;
        Ok(Given { setting, value, origin })
    }

    fn section(&self, section: &str, table: &DeTable<'_>) -> Result<Vec<Given<C>>> {
        in_order(table).into_iter().map(|(key, value)| self.given(section, key, value)).collect()
    }

    fn list<'a, 'i>(
        &self,
        name: &str,
        keys: &str,
        value: &'a Item<'i>,
    ) -> Result<Vec<(&'a DeTable<'i>, Range<usize>)>> {
        let wrong = |span| {
            let label = format!("expected `[[{name}]]` on a line of its own, then {keys}");
            self.at(span).error(format!("`{name}` must be a list of blocks"), label)
        };
        let DeValue::Array(blocks) = value.get_ref() else { return Err(wrong(value.span())) };
        let table = |item: &'a Item<'i>| match item.get_ref() {
            DeValue::Table(table) => Ok((table, item.span())),
            _ => Err(wrong(item.span())),
        };
        blocks.iter().map(table).collect()
    }

    fn read_blocks(&mut self, section: &str, value: &Item<'_>) -> Result<()> {
        for (table, _) in self.list(section, "its keys", value)? {
            let mut name = format!("{section}{}", self.blocks.len() + 1);
            let mut settings = Vec::new();
            for (key, value) in in_order(table) {
                match key.get_ref().as_ref() {
                    "name" => name = self.read_text(key, value)?,
                    _ => settings.push(self.given(section, key, value)?),
                }
            }
            self.blocks.push(NamedBlock { name, settings });
        }
        Ok(())
    }

    fn read_sweep(&mut self, value: &Item<'_>) -> Result<()> {
        for (table, span) in self.list("sweep", "keys with lists of values", value)? {
            self.sweep.push(self.sweep_block(table, span)?);
        }
        Ok(())
    }

    fn sweep_block(&self, table: &DeTable<'_>, span: Range<usize>) -> Result<SweepBlock<C>> {
        let mut axes: Vec<Axis<C>> = Vec::new();
        for (section_key, value) in in_order(table) {
            let section = section_key.get_ref().as_ref();
            if self.schema.section_doc(section).is_none() {
                return Err(self.unknown_key(section, &self.at(section_key.span())));
            }
            for (key, value) in in_order(self.table(section, value)?) {
                let setting = self.setting(section, key)?;
                if !setting.can_be_swept() {
                    return Err(self.at(section_key.span()).error(
                        format!("{section} cannot be swept"),
                        format!("every point runs with the same `[{section}]`"),
                    ));
                }
                axes.push(self.axis(setting, key, value)?);
            }
        }
        let Some(first) = axes.first() else {
            return Err(self.at(span).error("an empty sweep block", "expected a key with a list"));
        };
        let length = first.values.len();
        if let Some(other) = axes.iter().find(|axis| axis.values.len() != length) {
            return Err(other.key.error(
                format!(
                    "`{}` has {} values, but `{}` of the same block has {length}",
                    other.setting.key,
                    other.values.len(),
                    first.setting.key
                ),
                format!(
                    "expected {length} values: the keys of a block advance together; put this key \
                     into a `[[sweep]]` of its own to cross it with the others"
                ),
            ));
        }
        Ok(SweepBlock { axes })
    }

    fn axis(
        &self,
        setting: &'static Setting<C>,
        key: &Key<'_>,
        value: &Item<'_>,
    ) -> Result<Axis<C>> {
        let list = toml_value::swept(setting.key, value.get_ref(), &self.at(value.span()))?;
        let mut values = Vec::with_capacity(list.len());
        for item in list.iter() {
            let origin = self.at(item.span());
            let value = toml_value::read(setting.key, &setting.kind, item.get_ref(), &origin)?;
            values.push((value, origin));
        }
        Ok(Axis { setting, key: self.at(key.span()), values })
    }
}
