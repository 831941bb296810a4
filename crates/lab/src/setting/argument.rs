//! Settings of the command line: `--set disk.rate=1GB/s`, `--axis workload.window=1..64*2`.

use std::ops::Range;
use std::sync::Arc;

use super::draft::{Axis, Draft, Given, SweepBlock};
use super::points::MAX_POINTS;
use super::toml_value::{self, Result};
use crate::input_error::{Origin, Source};
use crate::nearest::did_you_mean;

/// How errors call the option that adds an axis.
const AXIS: &str = "--axis";

impl<C: Default> Draft<C> {
    /// Takes a `key=value` of the command line, which goes before what the file sets or sweeps.
    pub(super) fn set_from_argument(&mut self, text: &str) -> Result<()> {
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
                let schema = self.schema;
                let setting =
                    schema.find(key).ok_or_else(|| self.unknown_key(key, &at(0..key.len())))?;
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

    /// Takes a `key=a,b,c` of the command line, which is swept whatever the file sets or sweeps there.
    pub(super) fn sweep_from_argument(&mut self, text: &str) -> Result<()> {
        let source = Source::new(AXIS, text);
        let at = |span: Range<usize>| Origin { source: Arc::clone(&source), span };
        let Some((key, list)) = text.split_once('=') else {
            let message = format!("`{text}` sweeps nothing; expected `key=value,value,...`");
            return Err(at(0..text.len()).error(message, "expected `key=value,value,...`"));
        };
        let origin = at(0..key.len());
        let key = key.trim();
        let schema = self.schema;
        let setting = schema.find(key).ok_or_else(|| self.unknown_key(key, &origin))?;
        if !setting.can_be_swept() {
            let section = setting.section();
            let label = format!("every point runs with the same `[{section}]`");
            return Err(origin.error(format!("{section} cannot be swept"), label));
        }
        let mut axes = self.sweep.iter().flat_map(|block| &block.axes);
        if axes.any(|axis| axis.setting.key == key && axis.key.source.name() == AXIS) {
            return Err(
                origin.error(format!("`{key}` is swept twice"), "expected one list of values")
            );
        }

        let mut values = Vec::new();
        let mut start = text.len() - list.len();
        for part in list.split(',') {
            let origin = at(start..start + part.len());
            start += part.len() + 1;
            let part = part.trim().trim_matches('"');
            let found = setting.kind.parse_range(part, MAX_POINTS).map_err(|problem| {
                let label =
                    format!("expected {}, or a range such as `1..8`", setting.kind.expected());
                origin
                    .error(format!("{key}: {problem}"), label)
                    .with_help(did_you_mean(setting.kind.nearest_word(part)))
            })?;
            values.extend(found.into_iter().map(|value| (value, origin.clone())));
        }

        self.settings.remove(setting.key);
        for block in &mut self.sweep {
            block.axes.retain(|axis| axis.setting.key != setting.key);
        }
        self.sweep.retain(|block| !block.axes.is_empty());
        self.sweep.push(SweepBlock { axes: vec![Axis { setting, key: origin, values }] });
        Ok(())
    }
}
