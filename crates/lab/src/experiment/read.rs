//! Reads an experiment file. Every error carries the place in the file and what was expected there.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::draft::{Axis, Block, Draft, Given, unknown_key};
use crate::input_error::{InputError, Origin, Source};
use crate::nearest::{did_you_mean, nearest};
use crate::setting::{self, Setting};
use crate::toml_value::{self, Item, Key, Result, in_order};

const TEXTS: [&str; 3] = ["name", "title", "description"];

pub(super) fn read(source: &Arc<Source>) -> Result<Draft> {
    let reader = Reader { source };
    let table = toml_value::table(source)?;

    let mut draft = Draft {
        source: Arc::clone(source),
        name: file_stem(source),
        title: None,
        description: None,
        settings: BTreeMap::new(),
        sweep: Vec::new(),
    };
    for (key, value) in in_order(table.get_ref()) {
        match key.get_ref().as_ref() {
            "name" => draft.name = reader.text(key, value)?,
            "title" => draft.title = Some(reader.text(key, value)?),
            "description" => draft.description = Some(reader.text(key, value)?),
            "sweep" => draft.sweep = reader.sweep(value)?,
            section if setting::section_doc(section).is_some() => {
                reader.section(section, value, &mut draft.settings)?;
            }
            other => return Err(reader.unknown_top(other, key)),
        }
    }
    check_each_key_once(&draft)?;
    Ok(draft)
}

/// A key that is swept twice, or swept and set, has no clear value.
fn check_each_key_once(draft: &Draft) -> Result<()> {
    let mut seen = BTreeMap::new();
    for axis in draft.sweep.iter().flat_map(|block| &block.axes) {
        let key = axis.setting.key;
        let already = if draft.settings.contains_key(key) { Some("set above") } else { None };
        if let Some(how) = already.or_else(|| seen.insert(key, ()).map(|()| "swept already")) {
            return Err(axis.key.error(format!("duplicate key `{key}`"), format!("it is {how}")));
        }
    }
    Ok(())
}

fn file_stem(source: &Source) -> String {
    let stem = Path::new(source.name()).file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

struct Reader<'a> {
    source: &'a Arc<Source>,
}

impl Reader<'_> {
    fn at(&self, span: Range<usize>) -> Origin {
        Origin { source: Arc::clone(self.source), span }
    }

    fn text(&self, key: &Key<'_>, value: &Item<'_>) -> Result<String> {
        toml_value::text(key.get_ref(), value.get_ref(), &self.at(value.span()))
    }

    fn unknown_top(&self, name: &str, key: &Key<'_>) -> Box<InputError> {
        let known = setting::sections().chain(TEXTS).chain(["sweep"]);
        let near = nearest(name, known).or_else(|| setting::nearest_key(name));
        self.at(key.span())
            .error(
                format!("unknown section or key `{name}`"),
                format!(
                    "expected a section ({}), `[[sweep]]`, or one of {}",
                    setting::sections().collect::<Vec<_>>().join(", "),
                    TEXTS.join(", ")
                ),
            )
            .with_help(did_you_mean(near))
    }

    fn section(
        &self,
        section: &str,
        value: &Item<'_>,
        settings: &mut BTreeMap<&'static str, Given>,
    ) -> Result<()> {
        for (key, value) in in_order(self.table(section, value)?) {
            let setting = self.setting(section, key)?;
            let origin = self.at(value.span());
            let value = toml_value::read(setting.key, &setting.kind, value.get_ref(), &origin)?;
            settings.insert(setting.key, Given { setting, value, origin });
        }
        Ok(())
    }

    fn table<'a, 'i>(&self, section: &str, value: &'a Item<'i>) -> Result<&'a DeTable<'i>> {
        toml_value::section(section, value.get_ref(), &self.at(value.span()))
    }

    fn setting(&self, section: &str, key: &Key<'_>) -> Result<&'static Setting> {
        let name = format!("{section}.{}", key.get_ref());
        setting::find(&name).ok_or_else(|| unknown_key(&name, &self.at(key.span())))
    }

    fn sweep(&self, value: &Item<'_>) -> Result<Vec<Block>> {
        let wrong = |span| {
            self.at(span).error(
                "`sweep` must be a list of blocks",
                "expected `[[sweep]]` on a line of its own, then keys with lists of values",
            )
        };
        let DeValue::Array(blocks) = value.get_ref() else { return Err(wrong(value.span())) };
        let mut sweep = Vec::new();
        for item in blocks.iter() {
            let DeValue::Table(table) = item.get_ref() else { return Err(wrong(item.span())) };
            sweep.push(self.block(table, item.span())?);
        }
        Ok(sweep)
    }

    fn block(&self, table: &DeTable<'_>, span: Range<usize>) -> Result<Block> {
        let mut axes: Vec<Axis> = Vec::new();
        for (section_key, value) in in_order(table) {
            let section = section_key.get_ref().as_ref();
            if setting::section_doc(section).is_none() {
                return Err(unknown_key(section, &self.at(section_key.span())));
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
        Ok(Block { axes })
    }

    fn axis(&self, setting: &'static Setting, key: &Key<'_>, value: &Item<'_>) -> Result<Axis> {
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
