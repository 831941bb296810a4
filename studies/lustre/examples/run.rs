//! Runs a Lustre experiment file and prints what its jobs saw, point by point; what follows the file goes
//! before it (`slotcast explain --of lustre` lists the keys):
//!
//!     cargo run --release -p slotcast-lustre --example run -- experiments/lustre/one-ost.toml disk.seek=4ms

use std::path::Path;
use std::process::ExitCode;

use slotcast_lustre::{DirectionUse, LustreExperiment, LustreReport, PhaseReport, run_lustre};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("expected an experiment file, and then `key=value`s");
        return ExitCode::FAILURE;
    };
    let overrides: Vec<String> = arguments.collect();
    let experiment = match LustreExperiment::from_file(Path::new(&path), &overrides) {
        Ok(experiment) => experiment,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    for point in &experiment.points {
        for seed in experiment.seeds.iter() {
            println!("{} seed {seed}", point.label());
            match run_lustre(&point.scenario, seed) {
                Ok(report) => print(&report),
                Err(error) => {
                    eprintln!("{error}");
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    ExitCode::SUCCESS
}

fn print(report: &LustreReport) {
    for job in &report.jobs {
        for (way, phase) in [("write", &job.write), ("read", &job.read)] {
            if let Some(phase) = phase {
                print_phase(&job.name, way, phase);
            }
        }
    }
    for (way, disks) in [("write", &report.disks.write), ("read", &report.disks.read)] {
        if disks.requests > 0 {
            let DirectionUse { requests, seeks, .. } = disks;
            println!("  disks {way}: {requests} requests, {seeks} seeks, sizes {:?}", disks.sizes);
        }
    }
    let timeouts = &report.timeouts;
    if timeouts.rpcs > 0 {
        let part = |late: u64, all: u64| late as f64 / all.max(1) as f64 * 100.0;
        println!(
            "  late {:.1} %, of later RPCs {:.1} %, used {:.2}, early replies {:?}",
            part(timeouts.late, timeouts.rpcs),
            part(timeouts.late_later, timeouts.later_rpcs),
            timeouts.mean_used,
            timeouts.by_early_replies
        );
    }
    let opens = report.opens.map_or(0.0, |(first, last)| (last - first).as_secs_f64());
    println!(
        "  ended {}, opens {opens:.3} s, queue up to {}, {} events, trace hash {:016x}",
        report.ended, report.queue_peak, report.events, report.trace_hash
    );
}

fn print_phase(job: &str, way: &str, phase: &PhaseReport) {
    println!(
        "  {job} {way}: {:.1} MiB/s in {:.3} s, response mean {:.3} ms, p99 {:.3} ms, max {:.3} ms, \
         fairness {:.3}",
        phase.mib_per_s(),
        phase.seconds(),
        phase.response.mean / 1e3,
        phase.response.p99 / 1e3,
        phase.response.max / 1e3,
        phase.fairness
    );
}
