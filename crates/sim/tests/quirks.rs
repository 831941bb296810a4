//! What the original did differently does what its name says.

use std::collections::BTreeMap;

use slotcast_sim::{
    Observer, Place, Quirks, Run, Scenario, TraceLine, Workload, run, run_observed,
};
use slotcast_units::Span;

fn scenario(quirks: Quirks) -> Scenario {
    let run = Run { length: Span::from_ms(20), warmup: Span::ZERO, ..Run::default() };
    Scenario { quirks, run, ..Scenario::default() }
}

/// The groups that each initiator asks, in order.
#[derive(Default)]
struct Groups {
    asked: BTreeMap<String, Vec<String>>,
    seen: Vec<String>,
}

impl Observer for Groups {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, line: TraceLine) {
        if line.kind != "put-request" || self.seen.contains(&line.request) {
            return;
        }
        assert!(matches!(line.place, Place::Target(_)));
        self.seen.push(line.request.clone());
        let initiator = line.request.split('.').next().unwrap().to_string();
        let group = line.detail.split(' ').find(|word| word.starts_with("group=")).unwrap();
        self.asked.entry(initiator).or_default().push(group.to_string());
    }
}

#[test]
fn initiators_avoid_their_previous_group() {
    let repeats = |quirks| {
        let mut groups = Groups::default();
        run_observed(&scenario(quirks), 1, &mut groups).unwrap();
        let pairs: Vec<bool> =
            groups.asked.values().flat_map(|g| g.windows(2).map(|p| p[0] == p[1])).collect();
        assert!(pairs.len() > 500);
        pairs.iter().filter(|&&same| same).count()
    };
    assert_eq!(repeats(Quirks { avoid_previous_group: true, ..Quirks::default() }), 0);
    assert!(repeats(Quirks::default()) > 50, "one in ten by chance");
}

#[test]
fn without_a_window_the_original_takes_another_chunk() {
    let original = Quirks {
        queued_windows: true,
        consecutive_triples: true,
        abandon_without_window: true,
        ..Quirks::default()
    };
    let report = run(&scenario(original), 1).unwrap();
    assert!(report.counts.abandoned > 20, "{:?}", report.counts);
    assert_eq!(report.counts.extra_rounds, 0);
    assert_eq!(run(&scenario(Quirks::default()), 1).unwrap().counts.abandoned, 0);
}

#[test]
fn early_statistics_leave_the_end_out() {
    let all = run(&scenario(Quirks::default()), 1).unwrap();
    let early = run(&scenario(Quirks { early_statistics: true, ..Quirks::default() }), 1).unwrap();
    let end = slotcast_units::Time::from_ns(19_800_000);
    assert!(all.completions.iter().any(|c| c.finished > end));
    assert!(early.completions.iter().all(|c| c.finished <= end));
    let counted = early.completions.len() as f64 / 0.02;
    assert!((early.chunks_per_s - counted).abs() < 1e-6, "divided by the whole run");
}

#[test]
fn a_free_last_frame_makes_unicast_faster() {
    use slotcast_sim::{Protocol, ProtocolKind};
    use slotcast_units::Size;
    let mean = |free_last_frame| {
        let mut scenario = scenario(Quirks { free_last_frame, ..Quirks::default() });
        scenario.protocol = Protocol { kind: ProtocolKind::UchCcp };
        scenario.workload = Workload { chunk_size: Size::from_kib(16), ..Workload::default() };
        scenario.disk.rate = slotcast_units::Rate::from_bytes_per_s(1000 << 20);
        run(&scenario, 1).unwrap().latency.mean
    };
    assert!(mean(true) < mean(false) - 2.0);
}
