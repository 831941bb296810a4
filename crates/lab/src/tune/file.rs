//! What a file asks for: `[tune]` and `[[knob]]` beside an experiment.

use std::path::Path;
use std::sync::Arc;

use slotcast_tune::Method;
use toml::de::{DeTable, DeValue};

use super::goal::{Constraint, Goal, is_odd, metric};
use super::knob::{Knob, Values};
use crate::configuration::Configuration;
use crate::experiment::Experiment;
use crate::input_error::{InputError, Origin, Source};
use crate::input_file::read_text;
use crate::metrics::Better;
use crate::nearest::{did_you_mean, nearest};
use crate::setting::toml_value::{self, Item, Key, in_order};
use crate::setting::{CLUSTER, Choice, Field, Kind, Setting, Settings as _, choice, count, needed};

type Result<T> = std::result::Result<T, Box<InputError>>;

/// Bytes of a file: thousands of times what any needs.
const MAX_FILE: u64 = 4 << 20;

/// Settings that can vary at once: more than any search of some hundred runs can tell apart.
const MAX_KNOBS: usize = 20;

const TUNE_KEYS: [&str; 6] =
    ["maximise", "minimise", "constraints", "evaluations", "method", "fresh_seeds"];
const KNOB_KEYS: [&str; 5] = ["key", "min", "max", "scale", "values"];

const EVALUATIONS: Kind = count(2, 100_000);
const FRESH_SEEDS: Kind = count(2, 10_000);

/// A file of a tuning, checked: its own settings can be run.
#[derive(Debug)]
pub struct Tuning {
    /// The experiment, of one point, with the seeds of each evaluation.
    pub experiment: Experiment,
    /// What is made best.
    pub goal: Goal,
    /// What must hold meanwhile.
    pub constraints: Vec<Constraint>,
    /// What can vary.
    pub knobs: Vec<Knob>,
    /// How many different settings are evaluated.
    pub evaluations: usize,
    /// By what they are chosen.
    pub method: Method,
    /// Seeds of each of the two measurements after the search.
    pub fresh_seeds: u32,
}

/// What goes before the file.
#[derive(Debug, Clone, Default)]
pub struct TuningOptions {
    /// Each a `key=value` of the experiment.
    pub overrides: Vec<String>,
    /// Number of evaluations.
    pub evaluations: Option<u32>,
    /// The method's name.
    pub method: Option<String>,
}

/// The text of a file, which errors show.
struct Reader {
    source: Arc<Source>,
}

/// What `[tune]` says.
#[derive(Default)]
struct Wanted {
    goal: Option<Goal>,
    constraints: Vec<Constraint>,
    evaluations: Option<u64>,
    method: Option<Method>,
    fresh_seeds: Option<u64>,
}

impl Tuning {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_file(path: &Path, options: &TuningOptions) -> Result<Tuning> {
        let text = read_text(path, MAX_FILE, "expected the path of an experiment file (TOML)")?;
        Tuning::from_toml(&path.display().to_string(), &text, options)
    }

    /// Reads the file in `text`, which errors call `name`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_toml(name: &str, text: &str, options: &TuningOptions) -> Result<Tuning> {
        let experiment = Experiment::from_toml(name, text, &options.overrides)?;
        let reader = Reader { source: Source::new(name, text) };
        if experiment.is_sweep {
            let message = "a tuning chooses its points itself, and a sweep has others";
            let help = "take `[[sweep]]` out, or make `[[knob]]`s of its keys";
            return Err(InputError::whole(&reader.source, message).with_help(Some(help.into())));
        }
        let table = toml_value::table(&reader.source)?;
        let find = |wanted: &str| {
            in_order(table.get_ref()).into_iter().find(|(key, _)| key.get_ref() == wanted)
        };
        let Some((_, tune)) = find("tune") else {
            let help = "add `[tune]` with `maximise = \"chunks_per_s\"`, and a `[[knob]]` for each \
                        setting that may vary";
            return Err(InputError::whole(&reader.source, "there is no `[tune]` section")
                .with_help(Some(help.into())));
        };
        let wanted = reader.tune(tune)?;
        let Some(goal) = wanted.goal else {
            return Err(reader.at(tune.span()).error(
                "nothing says what is to become best",
                "expected `maximise` or `minimise` with the name of a metric",
            ));
        };
        let base = experiment.configuration(&experiment.points[0]);
        let knobs = match find("knob") {
            Some((_, knobs)) => reader.knobs(knobs, &base)?,
            None => Vec::new(),
        };
        if knobs.is_empty() {
            let help =
                "add a `[[knob]]` with `key`, `min` and `max` for each setting that may vary";
            return Err(
                InputError::whole(&reader.source, "nothing may vary").with_help(Some(help.into()))
            );
        }
        let method = match &options.method {
            Some(name) => method(name)?,
            None => wanted.method.unwrap_or(Method::GaussianProcess),
        };
        let whole = |number: u64| usize::try_from(number).expect("a number in range");
        Ok(Tuning {
            experiment,
            goal,
            constraints: wanted.constraints,
            knobs,
            evaluations: whole(
                options.evaluations.map_or(wanted.evaluations.unwrap_or(60), u64::from),
            ),
            method,
            fresh_seeds: u32::from_value(crate::setting::Value::Count(
                wanted.fresh_seeds.unwrap_or(10),
            )),
        })
    }
}

/// The method called `name` on the command line.
fn method(name: &str) -> Result<Method> {
    let at = Method::WORDS.iter().position(|word| word.word == name);
    at.map(|at| Method::VARIANTS[at]).ok_or_else(|| {
        let words = Method::WORDS.iter().map(|word| word.word);
        let known: Vec<_> = words.clone().collect();
        let help = did_you_mean(nearest(name, words))
            .unwrap_or_else(|| format!("expected one of {}", known.join(", ")));
        InputError::plain(format!("there is no method `{name}`")).with_help(Some(help))
    })
}

impl Reader {
    fn at(&self, span: std::ops::Range<usize>) -> Origin {
        Origin { source: Arc::clone(&self.source), span }
    }

    fn text(&self, key: &Key<'_>, item: &Item<'_>) -> Result<String> {
        toml_value::text(key.get_ref(), item.get_ref(), &self.at(item.span()))
    }

    fn number(&self, key: &str, kind: &Kind, item: &Item<'_>) -> Result<u64> {
        let origin = self.at(item.span());
        let value = toml_value::read(key, kind, item.get_ref(), &origin)?;
        Ok(value.number().expect("a count"))
    }

    fn unknown(&self, section: &str, key: &Key<'_>, known: &[&str]) -> Box<InputError> {
        let message = format!("unknown key `{section}.{}`", key.get_ref());
        let near = nearest(key.get_ref(), known.iter().copied());
        let label = format!("[{section}] has the keys {}", known.join(", "));
        self.at(key.span()).error(message, label).with_help(did_you_mean(near))
    }

    fn tune(&self, item: &Item<'_>) -> Result<Wanted> {
        let table = toml_value::section("tune", item.get_ref(), &self.at(item.span()))?;
        let mut wanted = Wanted::default();
        for (key, item) in in_order(table) {
            match key.get_ref().as_ref() {
                verb @ ("maximise" | "minimise") => {
                    if wanted.goal.is_some() {
                        let label = "expected one of `maximise` and `minimise`, once";
                        return Err(self.at(key.span()).error("a tuning has one goal", label));
                    }
                    wanted.goal = Some(self.goal(verb, key, item)?);
                }
                "constraints" => wanted.constraints = self.constraints(item)?,
                "evaluations" => {
                    wanted.evaluations =
                        Some(self.number("tune.evaluations", &EVALUATIONS, item)?);
                }
                "fresh_seeds" => {
                    wanted.fresh_seeds =
                        Some(self.number("tune.fresh_seeds", &FRESH_SEEDS, item)?);
                }
                "method" => {
                    let kind = choice::<Method>();
                    let origin = self.at(item.span());
                    let value = toml_value::read("tune.method", &kind, item.get_ref(), &origin)?;
                    wanted.method = Some(Method::from_value(value));
                }
                _ => return Err(self.unknown("tune", key, &TUNE_KEYS)),
            }
        }
        Ok(wanted)
    }

    fn goal(&self, verb: &str, key: &Key<'_>, item: &Item<'_>) -> Result<Goal> {
        let maximise = verb == "maximise";
        let name = self.text(key, item)?;
        let metric = metric(&name).map_err(|(message, help)| {
            self.at(item.span()).error(message, "expected the name of a metric").with_help(help)
        })?;
        if is_odd(&metric, maximise) {
            let better = if metric.better == Better::Lower { "minimise" } else { "maximise" };
            let message = format!(
                "`{name}` is the better the {} it is",
                match metric.better {
                    Better::Lower => "lower",
                    _ => "higher",
                }
            );
            return Err(self.at(key.span()).error(message, format!("expected `{better}`")));
        }
        Ok(Goal { metric, maximise })
    }

    fn constraints(&self, item: &Item<'_>) -> Result<Vec<Constraint>> {
        let DeValue::Array(list) = item.get_ref() else {
            let message = format!(
                "constraints: expected a list, found {}",
                toml_value::found(item.get_ref())
            );
            let label = "expected a list of texts such as `[\"latency_us.p99 <= 5ms\"]`";
            return Err(self.at(item.span()).error(message, label));
        };
        let read = |item: &Item<'_>| {
            let origin = self.at(item.span());
            let text = toml_value::text("constraints", item.get_ref(), &origin)?;
            Constraint::parse(&text)
                .map_err(|(message, help)| origin.error(message, "here").with_help(help))
        };
        list.iter().map(read).collect()
    }

    fn knobs(&self, item: &Item<'_>, base: &Configuration) -> Result<Vec<Knob>> {
        let wrong = |span| {
            let label = "expected `[[knob]]` on a line of its own, then its keys";
            self.at(span).error("`knob` must be a list of blocks", label)
        };
        let DeValue::Array(blocks) = item.get_ref() else { return Err(wrong(item.span())) };
        let mut knobs: Vec<(Knob, Origin)> = Vec::new();
        for block in blocks.iter() {
            let DeValue::Table(table) = block.get_ref() else { return Err(wrong(block.span())) };
            let (knob, origin) = self.knob(table, &self.at(block.span()))?;
            if knobs.iter().any(|(other, _)| other.key() == knob.key()) {
                let message = format!("`{}` is a knob twice", knob.key());
                return Err(origin.error(message, "expected each key once"));
            }
            knobs.push((knob, origin));
        }
        if knobs.len() > MAX_KNOBS {
            let message = format!("{} knobs; expected at most {MAX_KNOBS}", knobs.len());
            return Err(knobs[MAX_KNOBS].1.error(message, "one too many"));
        }
        for (knob, origin) in &knobs {
            let Some((other, values)) = CLUSTER.lacks(knob.setting, base) else { continue };
            if !knobs.iter().any(|(knob, _)| knob.key() == other) {
                let message = format!("`{}` has no effect without `{other}`", knob.key());
                let label = format!("expected `{other}` to be {}", needed(values));
                return Err(origin.error(message, label));
            }
        }
        Ok(knobs.into_iter().map(|(knob, _)| knob).collect())
    }

    /// One `[[knob]]`, with the place of its key.
    fn knob(&self, table: &DeTable<'_>, block: &Origin) -> Result<(Knob, Origin)> {
        let entries = in_order(table);
        if let Some((key, _)) =
            entries.iter().find(|(key, _)| !KNOB_KEYS.contains(&key.get_ref().as_ref()))
        {
            return Err(self.unknown("knob", key, &KNOB_KEYS));
        }
        let find = |name: &str| entries.iter().copied().find(|(key, _)| key.get_ref() == name);
        let Some((key, item)) = find("key") else {
            let label = "expected `key` with the name of a setting";
            return Err(block.error("a knob without a key", label));
        };
        let (name, origin) = (self.text(key, item)?, self.at(item.span()));
        let Some(setting) = CLUSTER.find(&name) else {
            let near = did_you_mean(CLUSTER.nearest_key(&name));
            let label = "no setting has this name";
            return Err(origin.error(format!("unknown key `{name}`"), label).with_help(near));
        };
        if !setting.can_be_swept() {
            let label = format!("every point runs with the same `[{}]`", setting.section());
            return Err(origin.error(format!("`{name}` cannot vary"), label));
        }
        let values = match (find("values"), find("min"), find("max")) {
            (Some((_, list)), None, None) => self.listed(setting, list)?,
            (None, Some((_, min)), Some((_, max))) => {
                self.range(setting, min, max, find("scale").map(|(_, item)| item))?
            }
            (None, None, None) if matches!(setting.kind, Kind::Choice(_) | Kind::Switch) => {
                Values::Listed(setting.kind.examples())
            }
            _ => {
                let label = "expected `min` and `max`, or a list of `values`";
                return Err(origin.error(format!("`{name}` has no range"), label));
            }
        };
        Ok((Knob { setting, values }, origin))
    }

    fn listed(&self, setting: &'static Setting<Configuration>, item: &Item<'_>) -> Result<Values> {
        let list = toml_value::swept(setting.key, item.get_ref(), &self.at(item.span()))?;
        let read = |item: &Item<'_>| {
            let origin = self.at(item.span());
            toml_value::read(setting.key, &setting.kind, item.get_ref(), &origin)
        };
        let values: Vec<_> = list.iter().map(read).collect::<Result<_>>()?;
        if values.iter().enumerate().any(|(at, value)| values[..at].contains(value)) {
            let message = format!("`{}` has a value twice", setting.key);
            return Err(self.at(item.span()).error(message, "expected each value once"));
        }
        Ok(Values::Listed(values))
    }

    fn range(
        &self,
        setting: &'static Setting<Configuration>,
        min: &Item<'_>,
        max: &Item<'_>,
        scale: Option<&Item<'_>>,
    ) -> Result<Values> {
        let end = |item: &Item<'_>| -> Result<u64> {
            let origin = self.at(item.span());
            let value = toml_value::read(setting.key, &setting.kind, item.get_ref(), &origin)?;
            value.number().ok_or_else(|| {
                let message = format!("a {} has no ranges", setting.kind.name());
                origin.error(message, "expected its values in a list, `values = [...]`")
            })
        };
        let (low, high) = (end(min)?, end(max)?);
        if low >= high {
            let message =
                format!("`{}` has a range that ends where it begins, or before", setting.key);
            return Err(self.at(max.span()).error(message, "expected more than `min`"));
        }
        let log = match scale {
            None => false,
            Some(item) => match &*toml_value::text("scale", item.get_ref(), &self.at(item.span()))?
            {
                "linear" => false,
                "log" => true,
                other => {
                    let message = format!("`{other}` is no scale");
                    return Err(self.at(item.span()).error(message, "expected `linear` or `log`"));
                }
            },
        };
        if log && low == 0 && !matches!(setting.kind, Kind::Count(_)) {
            let message =
                format!("`{}` begins at zero, which has no place on a log scale", setting.key);
            return Err(self.at(min.span()).error(message, "expected more than zero"));
        }
        Ok(Values::Range { min: low, max: high, log })
    }
}
