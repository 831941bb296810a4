//! What an experiment file says, with the place of every word. Every error carries its place and what was
//! expected there.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use slotcast_lab::nearest::{did_you_mean, nearest};
use slotcast_lab::setting::Value;
use slotcast_lab::toml_value::{self, Item, Key, Result, in_order};
use slotcast_lab::{InputError, Origin, Source};
use toml::de::{DeTable, DeValue};

use super::table::{self, LustreSetting, SECTIONS};

/// A key that was given one value.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) setting: &'static LustreSetting,
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// A key with the values that it takes, one after another.
#[derive(Debug)]
pub(super) struct Axis {
    pub(super) setting: &'static LustreSetting,
    pub(super) values: Vec<(Value, Origin)>,
}

/// What a file said, with the place of every word.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) source: Arc<Source>,
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) settings: Vec<Given>,
    pub(super) jobs: Vec<(String, Vec<Given>)>,
    /// Axes of a block advance together.
    pub(super) sweep: Vec<Vec<Axis>>,
}

impl std::fmt::Debug for LustreSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LustreSetting").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Draft {
    pub(super) fn read(source: &Arc<Source>) -> Result<Draft> {
        let stem = Path::new(source.name()).file_stem().unwrap_or_default();
        let mut draft = Draft {
            source: Arc::clone(source),
            name: stem.to_string_lossy().into_owned(),
            title: None,
            settings: Vec::new(),
            jobs: Vec::new(),
            sweep: Vec::new(),
        };
        let table = toml_value::table(source)?;
        for (key, value) in in_order(table.get_ref()) {
            let origin = draft.at(value.span());
            match key.get_ref().as_ref() {
                "name" => draft.name = toml_value::text("name", value.get_ref(), &origin)?,
                "title" => draft.title = Some(toml_value::text("title", value.get_ref(), &origin)?),
                "job" => draft.read_jobs(value)?,
                "sweep" => draft.read_sweep(value)?,
                section if SECTIONS.contains(&section) => {
                    let given = draft.section(section, draft.table(section, value)?)?;
                    draft.settings.extend(given);
                }
                other => return Err(draft.unknown_top(other, key)),
            }
        }
        Ok(draft)
    }

    fn at(&self, span: Range<usize>) -> Origin {
        Origin { source: Arc::clone(&self.source), span }
    }

    fn unknown_top(&self, name: &str, key: &Key<'_>) -> Box<InputError> {
        let known = SECTIONS.into_iter().chain(["name", "title", "sweep"]);
        let near = nearest(name, known).or_else(|| table::nearest_key(name));
        let label = format!(
            "expected a section ({}), `[[job]]`, `[[sweep]]`, `name` or `title`",
            SECTIONS[1..].join(", ")
        );
        self.at(key.span())
            .error(format!("unknown section or key `{name}`"), label)
            .with_help(did_you_mean(near))
    }

    fn table<'a, 'i>(&self, section: &str, value: &'a Item<'i>) -> Result<&'a DeTable<'i>> {
        toml_value::section(section, value.get_ref(), &self.at(value.span()))
    }

    fn setting(&self, section: &str, key: &Key<'_>) -> Result<&'static LustreSetting> {
        let name = format!("{section}.{}", key.get_ref());
        table::find(&name).ok_or_else(|| {
            self.at(key.span())
                .error(format!("unknown key `{name}`"), "no Lustre setting has this name")
                .with_help(did_you_mean(table::nearest_key(&name)))
        })
    }

    fn section(&self, section: &str, table: &DeTable<'_>) -> Result<Vec<Given>> {
        let mut given = Vec::new();
        for (key, value) in in_order(table) {
            let setting = self.setting(section, key)?;
            let origin = self.at(value.span());
            let value = toml_value::read(setting.key, &setting.kind, value.get_ref(), &origin)?;
            given.push(Given { setting, value, origin });
        }
        Ok(given)
    }

    fn blocks<'a, 'i>(&self, name: &str, value: &'a Item<'i>) -> Result<Vec<&'a DeTable<'i>>> {
        let wrong = |span| {
            let label = format!("expected `[[{name}]]` on a line of its own, then its keys");
            self.at(span).error(format!("`{name}` must be a list of blocks"), label)
        };
        let DeValue::Array(blocks) = value.get_ref() else { return Err(wrong(value.span())) };
        let table = |item: &'a Item<'i>| match item.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(wrong(item.span())),
        };
        blocks.iter().map(table).collect()
    }

    fn read_jobs(&mut self, value: &Item<'_>) -> Result<()> {
        for block in self.blocks("job", value)? {
            let mut name = format!("job{}", self.jobs.len() + 1);
            let mut given = Vec::new();
            for (key, value) in in_order(block) {
                let origin = self.at(value.span());
                if key.get_ref() == "name" {
                    name = toml_value::text("job.name", value.get_ref(), &origin)?;
                    continue;
                }
                let setting = self.setting("job", key)?;
                let value = toml_value::read(setting.key, &setting.kind, value.get_ref(), &origin)?;
                given.push(Given { setting, value, origin });
            }
            self.jobs.push((name, given));
        }
        Ok(())
    }

    fn read_sweep(&mut self, value: &Item<'_>) -> Result<()> {
        for block in self.blocks("sweep", value)? {
            let mut axes: Vec<Axis> = Vec::new();
            for (section, value) in in_order(block) {
                for (key, value) in in_order(self.table(section.get_ref(), value)?) {
                    let setting = self.setting(section.get_ref(), key)?;
                    axes.push(self.axis(setting, key, value)?);
                    let (first, last) = (&axes[0], &axes[axes.len() - 1]);
                    if first.values.len() != last.values.len() {
                        let message = format!(
                            "`{}` has {} values, but `{}` of the same block has {}",
                            last.setting.key,
                            last.values.len(),
                            first.setting.key,
                            first.values.len()
                        );
                        let label = "the keys of a block advance together; put this key into a \
                                     `[[sweep]]` of its own to cross it with the others";
                        return Err(self.at(key.span()).error(message, label));
                    }
                }
            }
            if !axes.is_empty() {
                self.sweep.push(axes);
            }
        }
        Ok(())
    }

    fn axis(
        &self,
        setting: &'static LustreSetting,
        key: &Key<'_>,
        value: &Item<'_>,
    ) -> Result<Axis> {
        if setting.key.starts_with("seeds.") {
            let label = "every point runs with the same `[seeds]`";
            return Err(self.at(key.span()).error("seeds cannot be swept", label));
        }
        let list = toml_value::swept(setting.key, value.get_ref(), &self.at(value.span()))?;
        let mut values = Vec::with_capacity(list.len());
        for item in list.iter() {
            let origin = self.at(item.span());
            let value = toml_value::read(setting.key, &setting.kind, item.get_ref(), &origin)?;
            values.push((value, origin));
        }
        Ok(Axis { setting, values })
    }
}
