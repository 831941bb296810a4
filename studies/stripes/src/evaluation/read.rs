//! Reads an experiment about stripes. Every error carries the place in the file and what was expected.

use std::ops::Range;
use std::sync::Arc;

use slotcast_lab::nearest::{did_you_mean, nearest};
use slotcast_lab::setting::Value;
use slotcast_lab::toml_value::{self, Item, Key, Result, in_order};
use slotcast_lab::{InputError, MOST_POINTS, Origin, Seeds, Source};
use toml::de::{DeTable, DeValue};

use super::keys::{self, KEYS, Setup, StripeKey};
use crate::{Scenario, check};

/// An experiment, every point of which can run.
#[derive(Debug)]
pub(super) struct StripeExperiment {
    /// In errors and in names of rows.
    pub(super) name: String,
    pub(super) seeds: Seeds,
    /// The points of the sweep, the last block varying fastest.
    pub(super) points: Vec<StripePoint>,
}

/// One point of a sweep.
#[derive(Debug, Clone)]
pub(super) struct StripePoint {
    /// What the sweep varies, in the order of the file.
    pub(super) swept: Vec<(&'static str, Value)>,
    pub(super) scenario: Scenario,
}

/// A value that stands in the file.
#[derive(Debug, Clone)]
struct Given {
    key: &'static StripeKey,
    value: Value,
    origin: Origin,
}

/// A block of a sweep: its rows, each with a value for each of the block's keys.
type Block = Vec<Vec<Given>>;

const TEXTS: [&str; 2] = ["name", "title"];

impl StripeExperiment {
    /// Reads the experiment in `text`, which errors call `file`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub(super) fn from_toml(file: &str, text: &str) -> Result<StripeExperiment> {
        let source = Source::new(file, text);
        let reader = Reader { source: &source };
        let table = toml_value::table(&source)?;
        let mut name = file.to_string();
        let (mut given, mut sweep) = (Vec::new(), Vec::new());
        for (key, value) in in_order(table.get_ref()) {
            match key.get_ref().as_ref() {
                "name" => name = reader.text(key, value)?,
                "title" => {
                    reader.text(key, value)?;
                }
                "sweep" => sweep = reader.sweep(value)?,
                section if keys::sections().contains(&section) => {
                    reader.section(section, value, &mut given)?;
                }
                other => return Err(reader.unknown_top(other, key)),
            }
        }
        reader.each_key_once(&given, &sweep)?;
        let mut base = Setup::default();
        given.iter().for_each(|given| (given.key.set)(&mut base, given.value));
        let points = reader.points(&base, &given, &sweep)?;
        Ok(StripeExperiment { name, seeds: base.seeds, points })
    }
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
        let sections = keys::sections();
        let label = format!(
            "expected a section ({}), `[[sweep]]`, or one of {}",
            sections.join(", "),
            TEXTS.join(", ")
        );
        let near = nearest(name, sections.into_iter().chain(TEXTS).chain(["sweep"]));
        self.at(key.span())
            .error(format!("unknown section or key `{name}`"), label)
            .with_help(did_you_mean(near))
    }

    fn table<'a, 'i>(&self, section: &str, value: &'a Item<'i>) -> Result<&'a DeTable<'i>> {
        toml_value::section(section, value.get_ref(), &self.at(value.span()))
    }

    fn key(&self, section: &str, key: &Key<'_>) -> Result<&'static StripeKey> {
        let name = format!("{section}.{}", key.get_ref());
        keys::find(&name).ok_or_else(|| {
            let own = KEYS.iter().filter(|known| known.section() == section);
            let own: Vec<_> = own.map(|known| &known.key[section.len() + 1..]).collect();
            let label = match own[..] {
                [] => format!("there is no section `{section}`"),
                _ => format!("[{section}] has the keys {}", own.join(", ")),
            };
            let near = nearest(&name, KEYS.iter().map(|known| known.key));
            self.at(key.span())
                .error(format!("unknown key `{name}`"), label)
                .with_help(did_you_mean(near))
        })
    }

    fn given(&self, key: &'static StripeKey, value: &Item<'_>) -> Result<Given> {
        let origin = self.at(value.span());
        let value = toml_value::read(key.key, &key.kind, value.get_ref(), &origin)?;
        Ok(Given { key, value, origin })
    }

    fn section(&self, section: &str, value: &Item<'_>, given: &mut Vec<Given>) -> Result<()> {
        for (key, value) in in_order(self.table(section, value)?) {
            given.push(self.given(self.key(section, key)?, value)?);
        }
        Ok(())
    }

    fn sweep(&self, value: &Item<'_>) -> Result<Vec<Block>> {
        let wrong = |span| {
            self.at(span).error(
                "`sweep` must be a list of blocks",
                "expected `[[sweep]]` on a line of its own, then keys with lists of values",
            )
        };
        let DeValue::Array(blocks) = value.get_ref() else { return Err(wrong(value.span())) };
        let blocks = blocks.iter().map(|item| match item.get_ref() {
            DeValue::Table(table) => self.block(table, item.span()),
            _ => Err(wrong(item.span())),
        });
        blocks.collect()
    }

    fn block(&self, table: &DeTable<'_>, span: Range<usize>) -> Result<Block> {
        let mut rows: Block = Vec::new();
        let mut first: Option<&'static str> = None;
        for (section_key, value) in in_order(table) {
            let section = section_key.get_ref().as_ref();
            if section == "seeds" {
                let label = "every point runs with the same `[seeds]`";
                return Err(self.at(section_key.span()).error("seeds cannot be swept", label));
            }
            for (key, value) in in_order(self.table(section, value)?) {
                let known = self.key(section, key)?;
                let list = toml_value::swept(known.key, value.get_ref(), &self.at(value.span()))?;
                let first = *first.get_or_insert_with(|| {
                    rows = vec![Vec::new(); list.len()];
                    known.key
                });
                if list.len() != rows.len() {
                    let (own, expected) = (list.len(), rows.len());
                    return Err(self.at(key.span()).error(
                        format!(
                            "`{}` has {own} values, but `{first}` of the same block has {expected}",
                            known.key
                        ),
                        format!(
                            "expected {expected} values: the keys of a block advance together; put \
                             this key into a `[[sweep]]` of its own to cross it with the others"
                        ),
                    ));
                }
                for (row, item) in rows.iter_mut().zip(list.iter()) {
                    row.push(self.given(known, item)?);
                }
            }
        }
        if rows.is_empty() {
            let label = "expected a key with a list";
            return Err(self.at(span).error("an empty sweep block", label));
        }
        Ok(rows)
    }

    /// A key that is swept twice, or swept and set, has no clear value.
    fn each_key_once(&self, given: &[Given], sweep: &[Block]) -> Result<()> {
        let mut seen: Vec<&str> = given.iter().map(|given| given.key.key).collect();
        for swept in sweep.iter().filter_map(|block| block.first()).flatten() {
            let key = swept.key.key;
            if seen.contains(&key) {
                let message = format!("`{key}` is set or swept already");
                return Err(swept.origin.error(message, "expected it in one place"));
            }
            seen.push(key);
        }
        Ok(())
    }

    /// Crosses the blocks, and checks every point.
    fn points(&self, base: &Setup, given: &[Given], sweep: &[Block]) -> Result<Vec<StripePoint>> {
        let count = sweep.iter().try_fold(1usize, |n, block| n.checked_mul(block.len()));
        let Some(count) = count.filter(|count| *count <= MOST_POINTS) else {
            let message = format!("the sweep has more than {MOST_POINTS} points; expected fewer");
            return Err(InputError::whole(self.source, message));
        };
        let mut points = Vec::with_capacity(count);
        for index in 0..count {
            let mut rest = index;
            let rows = sweep.iter().rev().map(|block| {
                let row = &block[rest % block.len()];
                rest /= block.len();
                row
            });
            let rows: Vec<&Vec<Given>> = rows.collect();
            let swept: Vec<&Given> = rows.into_iter().rev().flatten().collect();
            let mut setup = base.clone();
            swept.iter().for_each(|given| (given.key.set)(&mut setup, given.value));
            check(&setup.scenario).map_err(|error| {
                let place = swept.iter().copied().chain(given);
                match place.into_iter().find(|given| given.key.key == error.key) {
                    Some(given) => given.origin.error(error.to_string(), error.problem.clone()),
                    None => InputError::whole(self.source, error.to_string())
                        .with_help(Some(format!("`{}` is not set in the file: set it", error.key))),
                }
            })?;
            let swept = swept.iter().map(|given| (given.key.key, given.value)).collect();
            points.push(StripePoint { swept, scenario: setup.scenario });
        }
        Ok(points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use miette::Diagnostic;

    fn problem(text: &str) -> (String, Option<String>) {
        let error = StripeExperiment::from_toml("x.toml", text).expect_err("it is wrong");
        let help = error.help().map(|help| help.to_string());
        let label = error.labels().and_then(|mut labels| labels.next()?.label().map(String::from));
        (error.to_string(), label.or(help))
    }

    #[test]
    fn a_sweep_crosses_its_blocks() {
        let text = "[clients]\ncount = 3\n[[sweep]]\nstripes.data = [4, 8]\nstripes.parity = [2, 3]\n\
                    [[sweep]]\nstripes.unit = [\"4KiB\", \"1MiB\"]\n";
        let experiment = StripeExperiment::from_toml("x.toml", text).expect("it is right");
        let found: Vec<_> = experiment
            .points
            .iter()
            .map(|point| {
                (point.scenario.stripes.data, point.scenario.stripes.unit.as_bytes() >> 10)
            })
            .collect();
        assert_eq!(found, [(4, 4), (4, 1024), (8, 4), (8, 1024)]);
        assert!(experiment.points.iter().all(|point| point.scenario.clients.count == 3));
    }

    #[test]
    fn errors_name_the_key_the_value_and_what_is_right() {
        let (message, label) = problem("[disk]\nwrites = \"1ms\"\n");
        assert_eq!(message, "unknown key `disk.writes`");
        assert_eq!(label.as_deref(), Some("[disk] has the keys write, spread, read, access"));
        let (message, _) = problem("[clients]\ncount = 0\n");
        assert_eq!(message, "clients.count: 0 is out of range; expected 1 to 10000");
        let (message, _) = problem("[network]\ntransfer = 3\n");
        assert_eq!(
            message,
            "network.transfer: expected a duration in quotes, such as `\"2.4us\"`, `\"10ms\"` or \
             `\"1s\"`, found the number `3`"
        );
        let (message, _) = problem("[stripes]\ndata = 250\nparity = 9\n");
        assert!(message.contains("at most 16 parity units and 255 units in all"), "{message}");
        let (message, _) = problem("[costs]\nlock = \"0.1ms\"\n");
        assert!(message.contains("shorter than its four messages"), "{message}");
        let (message, _) = problem("[run]\nlength = \"1s\"\n[[sweep]]\nrun.length = [\"2s\"]\n");
        assert_eq!(message, "`run.length` is set or swept already");
        let (message, _) = problem("[[sweep]]\nstripes.data = [4, 8]\nstripes.parity = [1]\n");
        assert_eq!(
            message,
            "`stripes.parity` has 1 values, but `stripes.data` of the same block has 2"
        );
        assert_eq!(problem("strips = 1\n").0, "unknown section or key `strips`");
        assert_eq!(problem("[[sweep]]\nseeds.count = [1]\n").0, "seeds cannot be swept");
    }
}
