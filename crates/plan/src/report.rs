//! What `slotcast plan --json` writes. `docs/simulate/json.md` describes every field:
//! change both together.

use std::collections::BTreeMap;

use serde::Serialize;
use slotcast_lab::setting::{CLUSTER, Choice};
use slotcast_lab::{Configuration, Seeds};
use slotcast_sim::Run;
use slotcast_units::{Rate, Size, Span};

use super::budget::Budget;
use super::check::{Check, Holds};
use super::cluster::{ClusterPlan, Hardware};
use super::condition::Condition;
use super::limit::Limit;
use super::rebuild::Rebuild;
use super::room::Room;
use super::{Answer, catalogue::DiskKind};

/// Version of what `slotcast plan --json` writes. With 3, `holds` is about writes and reads each; before, it was
/// about the p99 of both together.
pub const SCHEMA: u32 = 3;

/// What `slotcast plan --json` writes.
#[derive(Debug, Clone, Serialize)]
pub struct PlanReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Name of the cluster.
    pub name: String,
    /// Its title, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The keys that are swept, with their values at this point; missing without a sweep.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sweep: BTreeMap<&'static str, String>,
    /// What was stated, with what was taken where nothing was said.
    pub cluster: BTreeMap<&'static str, String>,
    /// Whether it holds, with a node down if it must hold then, too.
    pub holds: Holds,
    /// The cluster at its target.
    pub at_target: Check,
    /// The cluster at a load at which hardly anything waits.
    pub idle: Check,
    /// The largest load that it holds.
    pub limit: Limit,
    /// The cluster at its target with one node down; `null` if there is no other node.
    pub node_down: Option<Check>,
    /// The same with two nodes down; `null` if too few would be left.
    pub two_nodes_down: Option<Check>,
    /// The same with a rack down; `null` if racks are no failure domains, or too few would be left.
    pub rack_down: Option<Check>,
    /// The same while what a lost node held is brought back; `null` if too few would be left.
    pub rebuilding: Option<Check>,
    /// What that takes.
    pub rebuild: Rebuild,
    /// What it can store, and when it is full.
    pub room: Room,
    /// What it costs and draws.
    pub budget: Budget,
    /// The smallest change that would make it hold; `null` if it holds as it is.
    pub change: Option<ChangeReport>,
    /// What the simulation leaves out or simplifies.
    pub left_out: Vec<String>,
    /// The first seed.
    pub seed: u64,
    /// Runs that were simulated.
    pub runs: usize,
    /// Events over all runs.
    pub events: u64,
    /// Time that everything took.
    pub wall_time_s: f64,
    /// Hash over the trace hashes of all runs, in hexadecimal.
    pub trace_hash: String,
}

/// What `slotcast plan --json` writes of several points.
#[derive(Debug, Clone, Serialize)]
pub struct PlanSweep {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// One for each point, in the order of the sweep.
    pub points: Vec<PlanReport>,
}

impl PlanSweep {
    /// Of the reports on all points.
    pub fn new(version: &str, points: Vec<PlanReport>) -> PlanSweep {
        PlanSweep { schema: SCHEMA, version: version.into(), points }
    }
}

/// The smallest change that would make a cluster hold.
#[derive(Debug, Clone, Serialize)]
pub struct ChangeReport {
    /// What changes, in words; empty if no change was found.
    pub change: Vec<String>,
    /// What is bought then; missing if no change was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<BTreeMap<&'static str, String>>,
    /// What it costs at the prices of the plan.
    pub cost: Option<u64>,
    /// The changed cluster at the target.
    pub at_target: Option<Check>,
    /// The same with a node down, if it must hold then, too.
    pub node_down: Option<Check>,
    /// The same with each thing wrong that may be.
    pub faults: Vec<Check>,
    /// Variants that were simulated.
    pub tried: usize,
    /// Whether the search ended because it had tried enough: a cheaper change may exist.
    pub cut_short: bool,
}

/// Part of the control share from which control messages may wait for each other.
const MUCH_CONTROL: f64 = 0.5;

impl PlanReport {
    /// Of `answer`, which was found with runs from seed `seed` on.
    pub fn new(version: &str, plan: &ClusterPlan, answer: &Answer, seed: u64) -> PlanReport {
        let change = answer.change.as_ref().map(|change| {
            let found = change.found.as_ref();
            ChangeReport {
                change: found.map(|found| found.words(plan)).unwrap_or_default(),
                hardware: found.map(|found| hardware(&found.hardware)),
                cost: found.map(|found| found.cost),
                at_target: found.map(|found| found.at_target.clone()),
                node_down: found.and_then(|found| {
                    found
                        .faults
                        .iter()
                        .find(|check| check.condition == Condition::NodeDown)
                        .cloned()
                }),
                faults: found.map(|found| found.faults.clone()).unwrap_or_default(),
                tried: change.tried,
                cut_short: change.cut_short,
            }
        });
        PlanReport {
            schema: SCHEMA,
            version: version.into(),
            name: plan.name.clone(),
            title: plan.title.clone(),
            sweep: BTreeMap::new(),
            cluster: stated(plan),
            holds: answer.holds(plan),
            at_target: answer.at_target.clone(),
            idle: answer.idle.clone(),
            limit: answer.limit.clone(),
            node_down: answer.with(Condition::NodeDown).cloned(),
            two_nodes_down: answer.with(Condition::TwoNodesDown).cloned(),
            rack_down: answer.with(Condition::RackDown).cloned(),
            rebuilding: answer.with(Condition::Rebuilding).cloned(),
            rebuild: answer.rebuild,
            room: answer.room,
            budget: answer.budget,
            change,
            left_out: left_out(plan, answer),
            seed,
            runs: answer.runs,
            events: answer.events,
            wall_time_s: answer.wall.as_secs_f64(),
            trace_hash: format!("{:016x}", answer.trace_hash),
        }
    }
}

fn hardware(hardware: &Hardware) -> BTreeMap<&'static str, String> {
    let Hardware { nodes, disks, disk, link, replicas } = hardware;
    BTreeMap::from([
        ("nodes.count", nodes.to_string()),
        ("nodes.disks", disks.to_string()),
        ("nodes.link", link.to_string()),
        ("disks.kind", disk.kind.word().to_string()),
        ("disks.rate", disk_rate(disk.rate)),
        ("disks.access_time", disk.access_time.to_string()),
        ("disks.capacity", decimal_size(disk.capacity)),
        ("data.replicas", replicas.to_string()),
    ])
}

/// A rate as disks have it: `200MB/s`.
fn disk_rate(rate: Rate) -> String {
    const MEGABYTE: u64 = 8_000_000;
    match rate.as_bps() % MEGABYTE {
        0 => format!("{}MB/s", rate.as_bps() / MEGABYTE),
        _ => rate.to_string(),
    }
}

/// A size as disks have it: `20TB`.
fn decimal_size(size: Size) -> String {
    let units = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB")];
    let bytes = size.as_bytes();
    match units.iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(unit / 1000)) {
        Some((unit, name)) => format!("{}{name}", bytes as f64 / *unit as f64),
        None => size.to_string(),
    }
}

fn stated(plan: &ClusterPlan) -> BTreeMap<&'static str, String> {
    let load = plan.target.objects_per_s;
    let scenario = plan.scenario(&plan.hardware, load, Condition::AllUp, Run::default());
    let mut stated = hardware(&plan.hardware);
    stated.extend([
        ("nodes.per_domain", plan.nodes_per_domain.to_string()),
        ("data.sizes", plan.data.sizes.to_string()),
        ("data.reads", plan.data.reads.to_string()),
        ("data.chunk", plan.data.chunk.to_string()),
        ("data.growth", decimal_size(plan.data.growth)),
        ("data.fill", plan.data.fill.to_string()),
        ("clients.count", plan.clients.count.to_string()),
        ("clients.window", scenario.workload.window.to_string()),
        ("target.objects_per_s", plan.target.objects_per_s.to_string()),
        ("target.with_a_node_down", plan.target.conditions.node_down.to_string()),
        ("target.with_two_nodes_down", plan.target.conditions.two_nodes_down.to_string()),
        ("target.with_a_rack_down", plan.target.conditions.rack_down.to_string()),
        ("target.while_rebuilding", plan.target.conditions.rebuilding.to_string()),
        ("target.rebuild_share", plan.target.rebuild_share.to_string()),
    ]);
    let optional = [
        ("data.stored", plan.data.stored.map(decimal_size)),
        ("target.months", plan.target.months.map(|months| months.to_string())),
        ("nodes.bays", plan.change.bays.map(|bays| bays.to_string())),
    ];
    stated.extend(optional.into_iter().filter_map(|(key, value)| Some((key, value?))));
    let limits = [
        ("target.put_p99", plan.target.puts.map(|limits| limits.p99)),
        ("target.put_p999", plan.target.puts.and_then(|limits| limits.p999)),
        ("target.get_p99", plan.target.gets.map(|limits| limits.p99)),
        ("target.get_p999", plan.target.gets.and_then(|limits| limits.p999)),
    ];
    let limits = limits.into_iter().filter_map(|(key, limit)| Some((key, limit?.to_string())));
    stated.extend(limits);
    stated
}

/// One line for each thing that the simulation leaves out or simplifies.
fn left_out(plan: &ClusterPlan, answer: &Answer) -> Vec<String> {
    let mut lines = vec![
        "A node that is down is the time before anybody acts on it: its disks do not answer, and clients wait two \
         control round trips for them each time. A rebuild begins then."
            .to_string(),
        "Clients have links as fast as the nodes'; the core of the network never blocks. Processors and \
         memory are not modelled."
            .to_string(),
    ];
    let disk = plan.hardware.disk;
    let (preset, source) = disk.kind.preset();
    let is_preset = (disk.rate, disk.access_time) == (preset.rate, preset.access_time);
    let figures = if is_preset { format!(" ({source})") } else { String::new() };
    lines.push(if disk.access_time > Span::ZERO {
        format!(
            "Every request of a disk takes {} and its bytes at {}, reading or writing, without cache and \
             reordering{figures}.",
            disk.access_time,
            disk_rate(disk.rate)
        )
    } else {
        format!(
            "A disk does one request after another at {}, reading or writing{figures}.",
            disk_rate(disk.rate)
        )
    });
    if disk.kind == DiskKind::Hdd && disk.access_time == Span::ZERO {
        lines.push("Hard disks without access time are as fast as with one long write.".into());
    }
    if !plan.guesses.is_empty() {
        lines.push(format!(
            "Rough guesses, where the file does not state them: {}.",
            plan.guesses.join(", ")
        ));
    }
    let control = [&answer.at_target, &answer.limit.at].map(|check| check.used.control);
    if control.into_iter().fold(0.0, f64::max) > MUCH_CONTROL {
        lines.push(
            "Control messages take much of what is kept for them, and do not wait for each other in the \
             simulator: use larger chunks, or believe the latencies less."
                .into(),
        );
    }
    lines
}

impl ClusterPlan {
    /// The experiment file that simulates this cluster at its target: for `slotcast sim` and
    /// `slotcast sweep`.
    pub fn experiment(&self) -> String {
        let p99 = self.target.longest_p99();
        let run = Run { length: p99 * 60, warmup: p99 * 10, ..Run::default() };
        let scenario =
            self.scenario(&self.hardware, self.target.objects_per_s, Condition::AllUp, run);
        let seeds = Seeds { first: 1, count: 5 };
        let configuration = Configuration { scenario, seeds, ..Configuration::default() };
        let mut text = format!(
            "# The cluster `{0}` at its target.\nname = \"{0}\"\n",
            self.name.replace('"', "")
        );
        for (section, _) in CLUSTER.sections {
            let changed = CLUSTER.settings.iter().filter(|setting| {
                setting.section() == *section
                    && setting.get(&configuration) != setting.default()
                    && CLUSTER.lacks(setting, &configuration).is_none()
            });
            let lines: Vec<String> = changed
                .map(|setting| {
                    let quote = if setting.kind.is_quoted() { "\"" } else { "" };
                    format!("{} = {quote}{}{quote}\n", setting.name(), setting.text(&configuration))
                })
                .collect();
            if !lines.is_empty() {
                text.push_str(&format!("\n[{section}]\n{}", lines.concat()));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use crate::Condition;
    use crate::tests::small;
    use slotcast_lab::Experiment;
    use slotcast_sim::Run;

    #[test]
    fn the_experiment_is_the_plan_at_its_target() {
        let plan = small();
        let experiment = Experiment::from_toml("small.toml", &plan.experiment(), &[]).unwrap();
        let scenario = &experiment.points[0].scenario;
        let run: Run = scenario.run.clone();
        let load = plan.target.objects_per_s;
        let expected = plan.scenario(&plan.hardware, load, Condition::AllUp, run);
        assert_eq!(*scenario, expected);
    }
}
