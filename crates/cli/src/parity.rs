//! `slotcast parity`.

use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use serde::Serialize;
use slotcast_lab::{
    Completions, Estimate, Experiment, InputError, LoadReport, Metrics, Point, PointReport, Runner,
};
use slotcast_node::http::Background;
use slotcast_node::{Hosting, Limits, Machines, Node, QueueRule};
use slotcast_sim::{Backpressure, Load as LoadKind, MachineConfigs, Scenario, machine_configs};
use slotcast_units::{Share, Span};

use crate::VERSION;
use crate::failure::{Failure, Outcome};
use crate::format::{align_right, estimate, table};
use crate::interrupt::{INTERRUPTED, stop_at_ctrl_c};
use crate::node::bench::{Load, run_load};
use crate::node::client::NodeOption;
use crate::output::{Destination, print};
use crate::outputs::{Kind, Outputs};
use crate::progress::Bar;

/// Run an experiment in the simulator and on real disks, and compare
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast parity experiments/parity.toml
  slotcast parity experiments/parity.toml --data /mnt/disk --set workload.chunk_size=1MiB
  slotcast parity experiments/parity.toml --within 10% --json parity.json

Every point of the file is simulated, and then run by a cluster in this process whose disks and links are
limited to the rates that the file says, loaded as `slotcast bench put` would. The file must say rates that the
machine can do: all disks together are one disk, and all links together its memory
(docs/understand/parity.md).

Exit status:
  0  throughput and mean latency agree at every point
  1  they do not")]
pub(crate) struct Arguments {
    /// The experiment: one initiator that puts, in a closed loop
    file: PathBuf,

    /// Set a key of the experiment, as in workload.chunk_size=1MiB
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Where the targets keep their chunks meanwhile; they are removed afterwards
    #[arg(long, value_name = "FOLDER", default_value = "slotcast-parity")]
    data: PathBuf,

    /// How far the node may be from the simulation, of what that says
    #[arg(long, value_name = "SHARE", default_value = "15%")]
    within: Share,

    /// Write the result as JSON, to stdout for `-` (docs/understand/parity.md)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What both said about one figure.
#[derive(Debug, Serialize)]
struct Figure {
    simulated: Estimate,
    measured: Estimate,
    /// Measured over simulated, less one.
    deviation: f64,
}

impl Figure {
    fn new(simulated: Estimate, measured: Estimate) -> Figure {
        Figure { simulated, measured, deviation: measured.value / simulated.value - 1.0 }
    }

    /// What is not a number agrees with nothing.
    fn agrees(&self, within: Share) -> bool {
        self.deviation.abs() <= f64::from(within.as_ppm()) / 1e6
    }
}

#[derive(Debug, Serialize)]
struct Compared {
    sweep: BTreeMap<&'static str, String>,
    chunks_per_s: Figure,
    mean_latency_us: Figure,
    failures: u64,
    configuration: BTreeMap<&'static str, String>,
}

#[derive(Debug, Serialize)]
struct ParityReport {
    schema: u32,
    version: &'static str,
    name: String,
    within: f64,
    points: Vec<Compared>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let experiment = Experiment::from_file(&arguments.file, &arguments.set)?;
    for point in &experiment.points {
        hostable(&point.scenario)?;
    }
    let json =
        Outputs::beside([&arguments.file]).file("--json", arguments.json.as_deref(), Kind::Json)?;
    let stop = stop_at_ctrl_c()?;
    let bar = Bar::new(0);
    let study = Runner::new(None)?.study(&experiment, Completions::Drop, &bar)?;
    bar.finish();
    let mut points = Vec::new();
    for (point, simulated) in study.experiment.points.iter().zip(&study.points) {
        let measured = measure(point, &arguments.data, &stop)?;
        if stop.load(Ordering::Relaxed) {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        points.push(compare(simulated, &measured));
    }
    let within = arguments.within;
    let agree =
        points.iter().all(|p| p.chunks_per_s.agrees(within) && p.mean_latency_us.agrees(within));
    let report = ParityReport {
        schema: 1,
        version: VERSION,
        name: experiment.name,
        within: f64::from(within.as_ppm()) / 1e6,
        points,
    };
    if !json.as_ref().is_some_and(Destination::is_stdout) {
        print(&text(&report, within))?;
    }
    if let Some(json) = &json {
        json.write_json(&report)?;
    }
    Ok(if agree { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Whether a node of this process can be what the scenario describes.
fn hostable(scenario: &Scenario) -> Result<(), Box<InputError>> {
    let Scenario { cluster, disk, workload, faults, replicast, .. } = scenario;
    let refuse = |key: &str, why: &str| Err(InputError::plain(format!("{key}: {why}")));
    if cluster.initiators != 1 {
        return refuse("cluster.initiators", "a node has 1; its requests are workload.window");
    }
    if workload.load != LoadKind::Closed {
        return refuse("workload.load", "the load on the node is a closed loop");
    }
    if workload.get_share > Share::ZERO || !workload.mix.is_none() {
        return refuse("workload", "the load on the node is puts of chunks of one size");
    }
    if disk.per_target != 1 || disk.access_time > Span::ZERO {
        return refuse("disk", "targets of a node have one disk each, without access time");
    }
    if *faults != Default::default() {
        return refuse("faults", "disks and networks of a node cannot be told to fail");
    }
    if replicast.backpressure != Backpressure::KeepRoom {
        return refuse("replicast.backpressure", "targets of a node keep room");
    }
    Ok(())
}

/// Loads a cluster as `point` says, on folders in `data` that are removed afterwards.
fn measure(point: &Point, data: &Path, stop: &AtomicBool) -> Result<LoadReport, Failure> {
    let Scenario { network, disk, workload, run, cluster, .. } = &point.scenario;
    let failed = |error: io::Error| Failure::Output(format!("`{}`", data.display()), error);
    let is_new = !data.exists();
    let base = data.join("parity");
    std::fs::create_dir_all(&base).map_err(failed)?;
    let hosting = Hosting {
        folders: (0..cluster.targets).map(|n| base.join(format!("target-{n:03}"))).collect(),
        segment_size: SEGMENT_SIZE,
        limits: Limits {
            disk_rate: Some(disk.rate),
            link_rate: Some(network.usable_rate()),
            ..Limits::default()
        },
        disk_rates: BTreeMap::new(),
        queue: QueueRule { time: disk.rate.time_for(disk.queue_limit), most: disk.queue_limit },
        records: false,
        // The simulation has no repair.
        repairs: false,
    };
    let configs = machine_configs(&point.scenario)
        .map_err(|error| InputError::plain(format!("{}: {}", error.key, error.problem)))?;
    let MachineConfigs { groups, targets, mut initiators } = configs;
    let initiator = initiators.remove(0);
    let result = (|| {
        let node = Node::host(&hosting, Machines { groups, targets, initiator })
            .map_err(|error| InputError::plain(error.to_string()))?;
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let _serving = Background::serve(node, listener).map_err(failed)?;
        let load = Load {
            replicas: None,
            size: workload.chunk_size,
            concurrency: u16::try_from(workload.window).unwrap_or(u16::MAX),
            duration: run.length.saturating_sub(run.warmup),
            warmup: run.warmup,
            json: None,
            node: NodeOption::at(address),
        };
        run_load(&load, None, stop)
    })();
    std::fs::remove_dir_all(&base).map_err(failed)?;
    if is_new {
        std::fs::remove_dir(data).map_err(failed)?;
    }
    result
}

const SEGMENT_SIZE: u64 = 64 << 20;

fn compare(simulated: &PointReport, measured: &LoadReport) -> Compared {
    let Metrics { chunks_per_s, latency_us, .. } = &simulated.metrics;
    let real = &measured.metrics;
    Compared {
        sweep: simulated.sweep.clone(),
        chunks_per_s: Figure::new(*chunks_per_s, real.chunks_per_s),
        mean_latency_us: Figure::new(latency_us.mean, real.latency_us.mean),
        failures: measured.counts["failures"],
        configuration: simulated.configuration.clone(),
    }
}

fn text(report: &ParityReport, within: Share) -> String {
    let swept: Vec<_> = report.points[0].sweep.keys().copied().collect();
    let columns = ["", "simulated", "measured", "deviation", "agree"];
    let header: Vec<_> = swept.iter().copied().chain(columns).collect();
    let mut table = table(&header);
    for point in &report.points {
        let figures =
            [("chunks/s", &point.chunks_per_s), ("mean latency, us", &point.mean_latency_us)];
        for (name, figure) in figures {
            let mut cells: Vec<_> = swept.iter().map(|key| point.sweep[key].clone()).collect();
            cells.extend([
                name.to_owned(),
                estimate(figure.simulated),
                estimate(figure.measured),
                format!("{:+.1} %", figure.deviation * 100.0),
                if figure.agrees(within) { "yes" } else { "no" }.into(),
            ]);
            table.add_row(cells);
        }
    }
    align_right(&mut table, swept.len() + 1);
    let failures: u64 = report.points.iter().map(|point| point.failures).sum();
    let figures = report.points.iter().flat_map(|p| [&p.chunks_per_s, &p.mean_latency_us]);
    let apart = figures.map(|figure| figure.deviation.abs()).fold(0.0, f64::max);
    format!(
        "{table}\nthe largest deviation is {:.1} %, {within} are allowed; {failures} puts failed\n",
        apart * 100.0
    )
}
