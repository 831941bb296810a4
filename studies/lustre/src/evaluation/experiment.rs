//! A Lustre experiment: a scenario, and the axes along which it is varied.

use std::path::Path;

use slotcast_lab::setting::Value;
use slotcast_lab::toml_value::Result;
use slotcast_lab::{InputError, MOST_POINTS, Origin, Seeds, Source};
use slotcast_schedulers::timeout::EarlyRule;

use super::draft::Draft;
use super::table::{self, LustreSetting, Stated, Target};
use crate::{Job, LustreScenario, check_lustre};

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
    #[allow(clippy::disallowed_methods, reason = "an experiment is a file")]
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

impl Draft {
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
