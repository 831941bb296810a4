//! Reads a cluster file.

use std::path::Path;

use slotcast_lab::nearest::did_you_mean;
use slotcast_lab::setting::Draft;
use slotcast_lab::{InputError, Point};

use super::catalogue::{READY, ready};
use super::cluster::ClusterPlan;
use super::keys::PLAN;
use super::stated::Stated;

type Result<T> = std::result::Result<T, Box<InputError>>;

impl ClusterPlan {
    /// Reads the cluster that `place` names, a ready one or a file, at every point of its sweep. Each of
    /// `overrides` is a `key=value` that goes before what it says, each of `axes` a `key=a,b,c` that is swept.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn points(
        place: &str,
        overrides: &[String],
        axes: &[String],
    ) -> Result<Vec<Point<ClusterPlan>>> {
        let near = match ready(place) {
            Ok(plan) => {
                let name = format!("{}.toml", plan.name);
                let read = PLAN.read(&name, plan.text, overrides, axes);
                return all(&read.map_err(without_code)?);
            }
            Err(near) => near,
        };
        if Path::new(place).exists() {
            let read = PLAN.read_file(Path::new(place), overrides, axes);
            return all(&read.map_err(without_code)?);
        }
        let names: Vec<_> = READY.iter().map(|plan| format!("`{}`", plan.name)).collect();
        let help = did_you_mean(near).unwrap_or_else(|| {
            format!(
                "expected {} or the path of a cluster file; `slotcast plan --template` prints one to \
                 start from",
                names.join(", ")
            )
        });
        let message = format!("there is no cluster `{place}`");
        Err(InputError::plain(message).with_help(Some(help)))
    }

    /// Reads the cluster in `text`, which errors call `name`, at every point of its sweep, with overrides and
    /// axes as [`ClusterPlan::points`].
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn points_of_toml(
        name: &str,
        text: &str,
        overrides: &[String],
        axes: &[String],
    ) -> Result<Vec<Point<ClusterPlan>>> {
        all(&PLAN.read(name, text, overrides, axes).map_err(without_code)?)
    }

    /// Reads the cluster in `text`, which errors call `name`, at the first point of its sweep.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_toml(name: &str, text: &str) -> Result<ClusterPlan> {
        let points = all(&PLAN.read(name, text, &[], &[])?)?;
        Ok(points.into_iter().next().expect("a sweep has a point").scenario)
    }
}

impl super::ReadyPlan {
    /// Reads it.
    ///
    /// # Errors
    /// If its file is wrong, which a test excludes.
    pub fn plan(&self) -> Result<ClusterPlan> {
        ClusterPlan::from_toml(&format!("{}.toml", self.name), self.text)
    }
}

/// An error about an erasure code says why there is none.
fn without_code(error: Box<InputError>) -> Box<InputError> {
    let said = error.to_string();
    if !["ec", "erasure_code", "parity"].iter().any(|name| said.contains(&format!("`data.{name}`")))
    {
        return error;
    }
    let help = "the store keeps whole copies and has no erasure code yet, so a plan with one would be a \
                guess; state copies with `data.replicas`";
    error.with_help(Some(help.into()))
}

fn all(draft: &Draft<Stated>) -> Result<Vec<Point<ClusterPlan>>> {
    let plan = |stated: Stated| {
        let plan = stated.plan().expect("every point was checked");
        ClusterPlan { name: draft.name.clone(), title: draft.title.clone(), ..plan }
    };
    Ok(draft.points()?.points.into_iter().map(|point| point.map(plan)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SETTINGS, TEMPLATE};

    /// Lines of the template that state the load in another way.
    const OTHER_LOADS: [&str; 5] = [
        "rate = \"1GB/s\"",
        "ingest = ",
        "ingest_objects_per_s = ",
        "reads = \"2GB/s\"",
        "reads_objects_per_s = ",
    ];

    #[test]
    fn every_ready_cluster_can_be_read() {
        for ready in READY {
            let plan = ready.plan().unwrap_or_else(|error| panic!("{error}"));
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
            .filter(|line: &String| !OTHER_LOADS.iter().any(|other| line.starts_with(other)))
            .collect();
        let all = all.join("\n").replace("failure_domain = \"node\"", "failure_domain = \"rack\"");
        ClusterPlan::from_toml("template.toml", &all).unwrap();
        for key in SETTINGS.keys() {
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
}
