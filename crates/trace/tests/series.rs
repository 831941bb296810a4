//! Charts over time agree with what can be worked out by hand, and with the report of the run.

use slotcast_lab::Experiment;
use slotcast_sim::{RunReport, Scenario};
use slotcast_trace::{
    MAX_BINS, MeanAndMax, RunSeries, SeriesSpec, TimelineSpec, WindowState, collect_series,
};
use slotcast_units::{Span, Time};

fn scenario(text: &str) -> Scenario {
    let experiment = Experiment::from_toml("test.toml", text, &[]).expect("a right file");
    experiment.points[0].scenario.clone()
}

fn collect(scenario: &Scenario, spec: &SeriesSpec) -> (RunReport, RunSeries) {
    collect_series(scenario, 1, spec, &|_| {}).expect("it can be run")
}

fn close(found: &[f64], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= within, "{found} is not {expected}");
    }
}

/// One initiator and nine targets. The first chunk arrives at three targets from 10.272 to 127.945 us at
/// nine tenths of the usable rate, and their disks write it until 440.445 us. The second put follows
/// 443.869 us after the first one, and its chunk arrives at other targets.
#[test]
fn one_put_falls_into_the_right_bins() {
    let scenario = scenario(
        "cluster.initiators = 1\ncluster.targets = 9\nrun.length = \"500us\"\nrun.warmup = \"0s\"",
    );
    let spec = SeriesSpec { bins: 5, ..SeriesSpec::new(&scenario) };
    let (_, series) = collect(&scenario, &spec);
    close(&series.time_ms, &[0.05, 0.15, 0.25, 0.35, 0.45], 1e-12);

    let written = [0.0, 72.055, 100.0, 100.0, 40.445];
    let per_target = |us: f64| us / 100.0;
    let MeanAndMax { mean, max } = &series.disk_utilization;
    close(max, &written.map(per_target), 1e-9);
    close(mean, &written.map(|us| per_target(us) * 3.0 / 9.0), 1e-9);
    assert_eq!(series.disk_queue_length, series.disk_utilization, "nothing waits");

    let second = 443.869 + 10.272;
    let arrived = [100.0 - 10.272, 27.945, 0.0, 0.0, 500.0 - second];
    let MeanAndMax { mean, max } = &series.link_in_utilization;
    close(max, &arrived.map(|us| per_target(us) * 0.9), 1e-4);
    close(mean, &arrived.map(|us| per_target(us) * 0.9 * 3.0 / 9.0), 1e-4);
    close(&series.link_out_utilization.max, &[0.0; 5], 0.0);

    let of = |target: u32, state| {
        let mine = series.timeline.bars.iter().filter(move |bar| bar.target == target);
        mine.filter(move |bar| bar.state == state && bar.request.serial == 0)
            .map(|bar| (bar.start.as_ns(), bar.end.as_ns()))
            .collect::<Vec<_>>()
    };
    for target in 0..9 {
        let chosen = [2, 7, 8].contains(&target);
        let either = |bars: &[(u64, u64)], if_chosen| {
            if chosen == if_chosen { bars.to_vec() } else { Vec::new() }
        };
        assert_eq!(of(target, WindowState::Cancelled), either(&[(9_272, 410_801)], false));
        assert_eq!(of(target, WindowState::Accepted), either(&[(9_272, 135_037)], true));
        assert_eq!(of(target, WindowState::Used), either(&[(9_272, 126_945)], true));
        assert_eq!(of(target, WindowState::Idle), []);
    }
}

const PROTOCOLS: [(&str, &str); 7] = [
    ("replicast-m", "flow"),
    ("replicast-m", "frame"),
    ("replicast-h", "flow"),
    ("uch-ccp", "flow"),
    ("uch-ccp", "frame"),
    ("uch-aimd", "frame"),
    ("uch-dctcp", "frame"),
];

fn every_protocol(more: &str) -> impl Iterator<Item = Scenario> {
    PROTOCOLS.into_iter().map(move |(kind, fidelity)| {
        scenario(&format!(
            "cluster.initiators = 27\ncluster.targets = 27\nrun.length = \"9ms\"\nrun.warmup = \"0s\"
             protocol.kind = \"{kind}\"\nrun.fidelity = \"{fidelity}\"\n{more}"
        ))
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_mean_of_the_bins_is_what_the_report_says() {
    for scenario in every_protocol("workload.get_share = \"30%\"\nworkload.window = 2") {
        for bins in [1, 7, 200] {
            let spec = SeriesSpec { bins, ..SeriesSpec::new(&scenario) };
            let (report, series) = collect(&scenario, &spec);
            assert_eq!(report, slotcast_sim::run(&scenario, 1).unwrap());
            let of_disk = [
                (&series.disk_utilization, report.disk_utilization),
                (&series.disk_queue_length, report.disk_queue_length),
            ];
            for (found, expected) in of_disk {
                assert_eq!((found.mean.len(), found.max.len()), (bins, bins));
                close(&[mean(&found.mean)], &[expected], 1e-9 * expected);
                let mut pairs = found.mean.iter().zip(&found.max);
                assert!(pairs.all(|(mean, max)| *mean <= max + 1e-9), "{found:?}");
            }
            // The report counts a chunk when it is complete; the series, as it comes. A chunk takes at
            // most an eighth of a port for a millisecond.
            let [inward, outward] = [&series.link_in_utilization, &series.link_out_utilization];
            let busier = mean(&inward.mean).max(mean(&outward.mean));
            assert!((0.0..0.02).contains(&(busier - report.link_utilization)), "{busier}");
        }
    }
}

#[test]
fn accepted_windows_do_not_overlap_and_hold_what_is_used() {
    let faults = "faults.message_loss = \"1%\"\nfaults.targets_down = 3\nfaults.down_at = \"3ms\"
         workload.get_share = \"30%\"";
    for more in ["", faults] {
        for kind in ["replicast-m", "replicast-h"] {
            let scenario = scenario(&format!(
                "cluster.initiators = 27\ncluster.targets = 27\nrun.length = \"9ms\"
                 run.warmup = \"1ms\"\nprotocol.kind = \"{kind}\"\n{more}"
            ));
            let spec = SeriesSpec::new(&scenario);
            let (_, series) = collect(&scenario, &spec);
            let timeline = &series.timeline;
            assert!(!timeline.is_cut() && timeline.bars.len() > 200, "{}", timeline.bars.len());
            let of = |state| timeline.bars.iter().filter(move |bar| bar.state == state);
            let accepted: Vec<_> = of(WindowState::Accepted).collect();
            for pair in accepted.windows(2) {
                let same = (pair[0].target, pair[0].way) == (pair[1].target, pair[1].way);
                assert!(!same || pair[0].end <= pair[1].start, "{pair:?}");
            }
            for used in of(WindowState::Used) {
                let inside = accepted.iter().any(|window| {
                    (window.target, window.way, window.request)
                        == (used.target, used.way, used.request)
                        && window.start <= used.start
                        && used.end <= window.end
                });
                assert!(inside, "{used:?}");
            }
            let (from, until) = (Time::from_ns(1_000_000), Time::from_ns(4_000_000));
            for bar in &timeline.bars {
                assert!(bar.target < 18 && bar.end > from && bar.start < until, "{bar:?}");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_counted() {
    let scenario = scenario("run.length = \"9ms\"\nrun.warmup = \"1ms\"");
    let whole = SeriesSpec { bins: usize::MAX, timeline: TimelineSpec::after_warmup(&scenario) };
    let most_bars = 100;
    let cut = SeriesSpec { timeline: TimelineSpec { most_bars, ..whole.timeline }, ..whole };
    let ((_, whole), (_, cut)) = (collect(&scenario, &whole), collect(&scenario, &cut));
    assert_eq!(whole.time_ms.len(), MAX_BINS);
    assert!(!whole.timeline.is_cut() && cut.timeline.is_cut());
    assert_eq!(cut.timeline.bars.len(), most_bars);
    assert_eq!(
        cut.timeline.bars.len() as u64 + cut.timeline.dropped,
        whole.timeline.bars.len() as u64
    );
}

#[test]
fn a_timeline_is_not_longer_than_its_run() {
    let scenario = scenario("run.length = \"9ms\"\nrun.warmup = \"8ms\"");
    assert_eq!(TimelineSpec::after_warmup(&scenario).length, Span::from_ms(1));
}
