//! A Lustre experiment: a scenario, and the axes along which it is varied.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use slotcast_schedule::timeout::EarlyRule;
use slotcast_sim::lustre::{Job, LustreScenario, check_lustre};
use toml::de::{DeTable, DeValue};

use super::table::{self, LustreSetting, SECTIONS, Stated, Target};
use crate::configuration::Seeds;
use crate::experiment::MOST_POINTS;
use crate::input_error::{InputError, Origin, Source};
use crate::nearest::{did_you_mean, nearest};
use crate::setting::Value;
use crate::toml_value::{self, Item, Key, Result, found, in_order};

/// A checked experiment: every point of it can run.
#[derive(Debug, Clone)]
pub struct LustreExperiment {
    /// Short name; the file's name if it says none.
    pub name: String,
    /// One line for people.
    pub title: Option<String>,
    /// The seeds that every point runs with.
    pub seeds: Seeds,
    /// The points of the sweep, the last block varying fastest; one point without a sweep.
    pub points: Vec<LustrePoint>,
}

/// One point of a sweep.
#[derive(Debug, Clone)]
pub struct LustrePoint {
    /// The keys that the sweep varies, with their values at this point.
    pub swept: Vec<(&'static str, Value)>,
    /// What is simulated.
    pub scenario: LustreScenario,
}

impl LustrePoint {
    /// The value of a swept key, as text.
    pub fn value(&self, key: &str) -> Option<String> {
        self.swept.iter().find(|(swept, _)| *swept == key).map(|(_, value)| value.to_string())
    }

    /// `scheduler.policy=frr ost.count=144`; empty without a sweep.
    pub fn label(&self) -> String {
        let parts: Vec<_> =
            self.swept.iter().map(|(key, value)| format!("{key}={value}")).collect();
        parts.join(" ")
    }
}

impl LustreExperiment {
    /// Every key that a file can set: its name, its unit and range, and what it means.
    pub fn keys() -> impl Iterator<Item = (&'static str, String, &'static str)> {
        table::ALL.iter().map(|setting| {
            let kind = format!("{}, {}", setting.kind.name(), setting.kind.range());
            (setting.key, kind, setting.doc)
        })
    }

    /// Reads the experiment file at `path`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_file(path: &Path) -> Result<LustreExperiment> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            InputError::plain(format!("cannot read `{name}`: {error}"))
                .with_help(Some("expected the path of a Lustre experiment file (TOML)".into()))
        })?;
        LustreExperiment::from_toml(&name, &text)
    }

    /// Reads the experiment in `text`, which errors call `name`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_toml(name: &str, text: &str) -> Result<LustreExperiment> {
        let source = Source::new(name, text);
        Draft::read(&source)?.finish()
    }
}

/// A key that was given one value.
#[derive(Debug)]
struct Given {
    setting: &'static LustreSetting,
    value: Value,
    origin: Origin,
}

/// A key with the values that it takes, one after another.
#[derive(Debug)]
struct Axis {
    setting: &'static LustreSetting,
    values: Vec<(Value, Origin)>,
}

/// What a file said, with the place of every word.
#[derive(Debug)]
struct Draft {
    source: Arc<Source>,
    name: String,
    title: Option<String>,
    settings: Vec<Given>,
    jobs: Vec<(String, Vec<Given>)>,
    /// Axes of a block advance together.
    sweep: Vec<Vec<Axis>>,
}

impl std::fmt::Debug for LustreSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LustreSetting").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Draft {
    fn read(source: &Arc<Source>) -> Result<Draft> {
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
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            other => Err(self.at(value.span()).error(
                format!("`{section}` is a section, not {}", found(other)),
                format!("expected `[{section}]` on a line of its own, then its keys"),
            )),
        }
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
        let list = match value.get_ref() {
            DeValue::Array(list) if !list.is_empty() => list,
            other => {
                let message = format!("sweep of `{}`: found {}", setting.key, found(other));
                let label = "expected a list of one value or more, such as `[1, 2]`";
                return Err(self.at(value.span()).error(message, label));
            }
        };
        let mut values = Vec::with_capacity(list.len());
        for item in list.iter() {
            let origin = self.at(item.span());
            let value = toml_value::read(setting.key, &setting.kind, item.get_ref(), &origin)?;
            values.push((value, origin));
        }
        Ok(Axis { setting, values })
    }

    /// Crosses the blocks, and checks every point.
    fn finish(self) -> Result<LustreExperiment> {
        let count =
            self.sweep.iter().try_fold(1usize, |n, block| n.checked_mul(block[0].values.len()));
        let count = count.filter(|&n| n <= MOST_POINTS).ok_or_else(|| {
            let message = format!("the sweep has more than {MOST_POINTS} points; expected fewer");
            InputError::whole(&self.source, message)
        })?;
        let mut points = Vec::with_capacity(count);
        let mut seeds = Seeds { count: 1, ..Seeds::default() };
        for index in 0..count {
            let rows = self.rows_at(index);
            let (stated, swept) = self.point(&rows, seeds);
            seeds = stated.seeds;
            let point = LustrePoint { swept, scenario: stated.scenario };
            check_lustre(&point.scenario).map_err(|error| {
                let message = match point.swept.is_empty() {
                    true => error.to_string(),
                    false => format!("{error} (at the point {})", point.label()),
                };
                match self.origin(error.key, &rows) {
                    Some(origin) => origin.error(message, error.problem.clone()),
                    None => InputError::whole(&self.source, message),
                }
            })?;
            points.push(point);
        }
        Ok(LustreExperiment { name: self.name, title: self.title, seeds, points })
    }

    /// The row of every block at point `index`; the last block varies fastest.
    fn rows_at(&self, index: usize) -> Vec<usize> {
        let mut rest = index;
        let mut rows: Vec<_> = self
            .sweep
            .iter()
            .rev()
            .map(|block| {
                let length = block[0].values.len();
                let row = rest % length;
                rest /= length;
                row
            })
            .collect();
        rows.reverse();
        rows
    }

    fn point(&self, rows: &[usize], seeds: Seeds) -> (Stated, Vec<(&'static str, Value)>) {
        let mut stated = Stated { seeds, ..Stated::default() };
        stated.scenario.jobs = self
            .jobs
            .iter()
            .map(|(name, _)| Job { name: name.clone(), ..Job::default() })
            .collect();
        for given in &self.settings {
            set(&mut stated, given.setting, given.value);
        }
        for (job, (_, given)) in stated.scenario.jobs.iter_mut().zip(&self.jobs) {
            for given in given {
                if let Target::Job(set) = given.setting.target {
                    set(job, given.value);
                }
            }
        }
        let mut swept = Vec::new();
        for (block, row) in self.sweep.iter().zip(rows) {
            for axis in block {
                let value = axis.values[*row].0;
                set(&mut stated, axis.setting, value);
                swept.push((axis.setting.key, value));
            }
        }
        stated.scenario.scheduler.policy = stated.policy.policy();
        let timeout = &mut stated.scenario.timeout;
        if let Some(EarlyRule::AtArrivalToo(stretch)) = &mut timeout.early {
            *stretch = timeout.stretch;
        }
        (stated, swept)
    }

    /// Where `key` got its value; in several jobs the last one's.
    fn origin(&self, key: &str, rows: &[usize]) -> Option<&Origin> {
        let axes = self.sweep.iter().zip(rows).flat_map(|(block, row)| {
            block.iter().map(move |axis| (axis.setting, &axis.values[*row].1))
        });
        let settings = self.settings.iter().map(|given| (given.setting, &given.origin));
        let jobs = self.jobs.iter().flat_map(|(_, given)| given);
        let jobs = jobs.map(|given| (given.setting, &given.origin));
        let mut all = settings.chain(jobs).chain(axes).filter(|(setting, _)| setting.key == key);
        all.by_ref().last().map(|(_, origin)| origin)
    }
}

/// Gives a setting its value; those of jobs in every job.
fn set(stated: &mut Stated, setting: &LustreSetting, value: Value) {
    match setting.target {
        Target::Whole(set) => set(stated, value),
        Target::Job(set) => stated.scenario.jobs.iter_mut().for_each(|job| set(job, value)),
    }
}
