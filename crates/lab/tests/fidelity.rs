//! A transfer as one event and frame by frame give the same mean latency, in every cell of the
//! Replicast paper's tables.

use slotcast_lab::{Completions, Experiment, Runner};
use slotcast_sim::{Fidelity, ProtocolKind};

#[test]
fn flow_and_frame_agree_in_every_cell_of_the_tables() {
    let text = include_str!("../../../experiments/replicast.toml");
    let means = |fidelity: Fidelity| -> Vec<(ProtocolKind, String, f64)> {
        let set = match fidelity {
            Fidelity::Flow => "run.fidelity=flow",
            Fidelity::Frame => "run.fidelity=frame",
        };
        let experiment = Experiment::from_toml("replicast.toml", text, &[set.into()]).unwrap();
        let runs = Runner::new(None)
            .unwrap()
            .run(&experiment.points, experiment.seeds, Completions::Drop, &|_| {})
            .unwrap();
        experiment
            .points
            .iter()
            .zip(runs)
            .map(|(point, runs)| {
                let sum: f64 = runs.iter().map(|run| run.report.latency.mean).sum();
                (point.scenario.protocol.kind, point.label(), sum / runs.len() as f64)
            })
            .collect()
    };
    let (flow, frame) = (means(Fidelity::Flow), means(Fidelity::Frame));
    assert_eq!(flow.len(), 18);
    for ((kind, cell, flow), (_, _, frame)) in flow.iter().zip(&frame) {
        let allowed = match kind {
            ProtocolKind::ReplicastM | ProtocolKind::ReplicastH => 0.01,
            ProtocolKind::UchCcp | ProtocolKind::UchAimd => 0.03,
            other => panic!("the paper has no {other:?}"),
        };
        let deviation = flow / frame - 1.0;
        println!("{cell}: flow {flow:.1} us, frame {frame:.1} us, {:+.2} %", deviation * 100.0);
        assert!(deviation.abs() < allowed, "{cell}: flow {flow:.1} us, frame {frame:.1} us");
    }
}
