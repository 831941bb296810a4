//! Axes that the command line adds to a sweep: `--axis workload.window=1..64*2`.

use std::ops::Range;
use std::sync::Arc;

use super::MOST_POINTS;
use super::draft::{Axis, Block, Draft, unknown_key};
use crate::input_error::{InputError, Origin, Source};
use crate::nearest::did_you_mean;
use crate::setting;

/// How errors call the option.
const OPTION: &str = "--axis";

impl Draft {
    /// Takes a `key=a,b,c` of the command line, which is swept whatever the file sets or sweeps there.
    pub(super) fn sweep_from_argument(&mut self, text: &str) -> Result<(), Box<InputError>> {
        let source = Source::new(OPTION, text);
        let at = |span: Range<usize>| Origin { source: Arc::clone(&source), span };
        let Some((key, list)) = text.split_once('=') else {
            let message = format!("`{text}` sweeps nothing; expected `key=value,value,...`");
            return Err(at(0..text.len()).error(message, "expected `key=value,value,...`"));
        };
        let origin = at(0..key.len());
        let key = key.trim();
        let setting = setting::find(key).ok_or_else(|| unknown_key(key, &origin))?;
        if setting.section() == "seeds" {
            return Err(origin.error("seeds cannot be swept", "every point runs with every seed"));
        }
        let mut axes = self.sweep.iter().flat_map(|block| &block.axes);
        if axes.any(|axis| axis.setting.key == key && axis.key.source.name() == OPTION) {
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
            let found = setting.kind.parse_range(part, MOST_POINTS).map_err(|problem| {
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
        self.sweep.push(Block { axes: vec![Axis { setting, key: origin, values }] });
        Ok(())
    }
}
