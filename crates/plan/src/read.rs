//! Reads a cluster file. Every error carries the place in the file and what was expected there.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use slotcast_lab::nearest::{did_you_mean, nearest};
use slotcast_lab::setting::{Field, Kind, Value};
use slotcast_lab::toml_value::{self, Item, Key, Result, found, in_order};
use slotcast_lab::{InputError, Origin, Source};
use slotcast_units::{Share, Size};
use toml::de::{DeTable, DeValue};

use super::catalogue::{READY, ready};
use super::cluster::{ClusterPlan, Part};
use super::keys::{self, LISTS, SECTIONS};

const SIZE: Kind = Kind::Size(slotcast_lab::setting::Range {
    min: Size::from_bytes(1),
    max: Size::from_bytes(1 << 50),
});
const SHARE: Kind =
    Kind::Share(slotcast_lab::setting::Range { min: Share::from_ppm(1), max: Share::ONE });

impl ClusterPlan {
    /// Reads the cluster that `place` names: a ready one, or a file.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn find(place: &str) -> Result<ClusterPlan> {
        let near = match ready(place) {
            Ok(plan) => return ClusterPlan::from_toml(&format!("{}.toml", plan.name), plan.text),
            Err(near) => near,
        };
        match std::fs::read_to_string(place) {
            Ok(text) => ClusterPlan::from_toml(place, &text),
            Err(error) => {
                let names: Vec<_> = READY.iter().map(|plan| format!("`{}`", plan.name)).collect();
                let help = did_you_mean(near).unwrap_or_else(|| {
                    format!(
                        "expected {} or the path of a cluster file; `slotcast plan --template` \
                         prints one to start from",
                        names.join(", ")
                    )
                });
                let message = format!("there is no cluster `{place}`: {error}");
                Err(InputError::plain(message).with_help(Some(help)))
            }
        }
    }

    /// Reads the cluster in `text`, which errors call `name`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_toml(name: &str, text: &str) -> Result<ClusterPlan> {
        let source = Source::new(name, text);
        let stated = Stated::read(&source)?;
        let plan = stated.plan()?;
        stated.check(&plan)?;
        Ok(plan)
    }
}

/// What a file said, with the place of every word.
pub(super) struct Stated {
    pub(super) source: Arc<Source>,
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) values: BTreeMap<&'static str, (Value, Origin)>,
    pub(super) sizes: Option<(Vec<(Size, Share)>, Origin)>,
    pub(super) allow: Option<Vec<Part>>,
}

impl Stated {
    fn read(source: &Arc<Source>) -> Result<Stated> {
        let table = toml_value::table(source)?;
        let stem = Path::new(source.name()).file_stem().unwrap_or_default();
        let mut stated = Stated {
            source: Arc::clone(source),
            name: stem.to_string_lossy().into_owned(),
            title: None,
            values: BTreeMap::new(),
            sizes: None,
            allow: None,
        };
        for (key, value) in in_order(table.get_ref()) {
            let origin = stated.at(value.span());
            match key.get_ref().as_ref() {
                "name" => stated.name = toml_value::text("name", value.get_ref(), &origin)?,
                "title" => {
                    stated.title = Some(toml_value::text("title", value.get_ref(), &origin)?);
                }
                section if SECTIONS.contains(&section) => {
                    let DeValue::Table(table) = value.get_ref() else {
                        let message =
                            format!("`{section}` is a section, not {}", found(value.get_ref()));
                        let label =
                            format!("expected `[{section}]` on a line of its own, then its keys");
                        return Err(origin.error(message, label));
                    };
                    stated.section(section, table)?;
                }
                other => return Err(stated.unknown(other, key)),
            }
        }
        Ok(stated)
    }

    fn at(&self, span: Range<usize>) -> Origin {
        Origin { source: Arc::clone(&self.source), span }
    }

    fn unknown(&self, name: &str, key: &Key<'_>) -> Box<InputError> {
        let label = format!("expected a section ({}), `name` or `title`", SECTIONS.join(", "));
        let near = nearest(name, SECTIONS.into_iter().chain(["name", "title"]).chain(keys::all()));
        self.at(key.span())
            .error(format!("unknown section or key `{name}`"), label)
            .with_help(did_you_mean(near))
    }

    fn section(&mut self, section: &str, table: &DeTable<'_>) -> Result<()> {
        for (key, value) in in_order(table) {
            let name = format!("{section}.{}", key.get_ref());
            let origin = self.at(value.span());
            match name.as_str() {
                "data.sizes" => self.sizes = Some((self.sizes(value)?, origin)),
                "change.allow" => self.allow = Some(self.allow(value)?),
                _ => {
                    let Some(known) = keys::find(&name) else {
                        let own = keys::all().filter(|key| keys::section(key) == section);
                        let own: Vec<_> = own.map(|key| &key[section.len() + 1..]).collect();
                        let label = format!("[{section}] has the keys {}", own.join(", "));
                        return Err(self
                            .at(key.span())
                            .error(format!("unknown key `{name}`"), label)
                            .with_help(did_you_mean(nearest_key(&name))));
                    };
                    let value = toml_value::read(known.key, &known.kind, value.get_ref(), &origin)?;
                    self.values.insert(known.key, (value, origin));
                }
            }
        }
        Ok(())
    }

    fn sizes(&self, value: &Item<'_>) -> Result<Vec<(Size, Share)>> {
        let wrong = |item: &Item<'_>| {
            let (key, expected) = LISTS[0];
            let message = format!("{key}: expected {expected}, found {}", found(item.get_ref()));
            self.at(item.span()).error(message, "expected sizes with their shares")
        };
        let DeValue::Array(list) = value.get_ref() else { return Err(wrong(value)) };
        let mut sizes = Vec::new();
        for item in list.iter() {
            let DeValue::Table(part) = item.get_ref() else { return Err(wrong(item)) };
            if let Some((key, _)) = in_order(part)
                .into_iter()
                .find(|(key, _)| !matches!(key.get_ref().as_ref(), "size" | "share"))
            {
                let message = format!("data.sizes: unknown key `{}`", key.get_ref());
                let near = did_you_mean(nearest(key.get_ref(), ["size", "share"]));
                return Err(self
                    .at(key.span())
                    .error(message, "expected `size` and `share`")
                    .with_help(near));
            }
            let one = |name: &str, kind: &Kind| {
                let Some(value) = part.get(name) else { return Err(wrong(item)) };
                toml_value::read(
                    &format!("data.sizes.{name}"),
                    kind,
                    value.get_ref(),
                    &self.at(value.span()),
                )
            };
            let size = Size::from_value(one("size", &SIZE)?);
            sizes.push((size, Share::from_value(one("share", &SHARE)?)));
        }
        Ok(sizes)
    }

    fn allow(&self, value: &Item<'_>) -> Result<Vec<Part>> {
        let wrong = |item: &Item<'_>, near| {
            let (key, expected) = LISTS[1];
            let message = format!("{key}: expected {expected}, found {}", found(item.get_ref()));
            self.at(item.span())
                .error(message, format!("expected {expected}"))
                .with_help(did_you_mean(near))
        };
        let DeValue::Array(list) = value.get_ref() else { return Err(wrong(value, None)) };
        let mut parts = Vec::new();
        for item in list.iter() {
            let DeValue::String(word) = item.get_ref() else { return Err(wrong(item, None)) };
            let part = Part::ALL.into_iter().find(|part| part.word() == word.as_ref());
            let near = || nearest(word, Part::ALL.map(Part::word));
            parts.push(part.ok_or_else(|| wrong(item, near()))?);
        }
        Ok(parts)
    }
}

/// The key most like `name`, also if it stands in another section.
fn nearest_key(name: &str) -> Option<&'static str> {
    let last = |key: &'static str| key.split_once('.').map_or(key, |(_, name)| name);
    nearest(name, keys::all()).or_else(|| {
        let (_, own) = name.split_once('.')?;
        let near = nearest(own, keys::all().map(last))?;
        keys::all().find(|key| last(key) == near)
    })
}

impl Part {
    /// Every part.
    pub const ALL: [Part; 5] = [Part::Nodes, Part::Disks, Part::Kind, Part::Link, Part::Replicas];

    /// As in a cluster file.
    pub fn word(self) -> &'static str {
        match self {
            Part::Nodes => "nodes",
            Part::Disks => "disks",
            Part::Kind => "kind",
            Part::Link => "link",
            Part::Replicas => "replicas",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TEMPLATE;

    #[test]
    fn every_ready_cluster_can_be_read() {
        for ready in READY {
            let plan = ClusterPlan::find(ready.name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(plan.name, ready.name);
            assert!(plan.title.is_some(), "{}", plan.name);
        }
    }

    #[test]
    fn the_template_says_every_key_and_can_be_read() {
        ClusterPlan::from_toml("template.toml", TEMPLATE).unwrap();
        // Those that are commented out can be read as well.
        let all: Vec<String> = TEMPLATE
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(key) if key.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ')) => {
                    key.into()
                }
                _ => line.into(),
            })
            .filter(|line: &String| !line.starts_with("rate = \"1GB/s\""))
            .collect();
        let all = all.join("\n").replace("failure_domain = \"node\"", "failure_domain = \"rack\"");
        ClusterPlan::from_toml("template.toml", &all).unwrap();
        for key in keys::all() {
            let (section, name) = key.split_once('.').unwrap();
            let start =
                TEMPLATE.find(&format!("[{section}]")).unwrap_or_else(|| panic!("{section}"));
            let rest = &TEMPLATE[start + 1..];
            let own = &rest[..rest.find("\n[").unwrap_or(rest.len())];
            assert!(own.contains(&format!("{name} = ")), "{key} is not in the template");
        }
    }

    #[test]
    fn a_rate_in_bytes_is_one_of_objects() {
        let text = TEMPLATE.replace("objects_per_s = ", "# objects_per_s = ");
        let text = text.replace("# rate = \"1GB/s\"", "rate = \"1GB/s\"");
        let plan = ClusterPlan::from_toml("rate.toml", &text).unwrap();
        let expected = (1e9 / plan.mean_size()).round() as u64;
        assert_eq!(plan.target.objects_per_s, expected);
    }

    #[test]
    fn every_default_is_of_its_own_kind() {
        for key in keys::KEYS {
            if let Some(default) = key.default {
                assert!(key.kind.parse(default).is_ok(), "{}", key.key);
            }
            assert!(SECTIONS.contains(&keys::section(key.key)));
        }
    }
}
