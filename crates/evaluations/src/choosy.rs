//! The evaluation of "Choosy Initiator": what renegotiation gains, and where.

mod readings;
mod said;

use slotcast_lab::paired::{chunk_and_disk, gains, per_seed};
use slotcast_lab::{
    Claim, Evaluation, Figure, FigureKind, Figures, Findings, Measured, Mode, Model, Part, Row,
    Series,
};
use slotcast_units::Span;

/// The evaluation, for the catalogue.
pub(crate) const EVALUATION: Evaluation = Evaluation {
    name: "choosy",
    title: "Choosy Initiator, storagetarget.com 2016: Figures 3 to 6",
    by_default: true,
    parts: &[
        Part {
            title: "Figures 3 to 6: from a standing start, as published",
            file: "experiments/choosy.toml",
            text: include_str!("../../../experiments/choosy.toml"),
            model: Model::Cluster(as_published),
        },
        Part {
            title: "The same in steady state, warm-up removed",
            file: "experiments/choosy-steady.toml",
            text: include_str!("../../../experiments/choosy-steady.toml"),
            model: Model::Cluster(|measured| Findings {
                rows: rows(measured, Mode::SteadyState),
                figures: Figures::new(),
            }),
        },
        Part {
            title: "The gain by length of run: 128 KiB, 400 MB/s",
            file: "experiments/choosy-length.toml",
            text: include_str!("../../../experiments/choosy-length.toml"),
            model: Model::Cluster(|measured| Findings {
                rows: by_length(measured),
                figures: Figures::new(),
            }),
        },
        Part {
            title: "The gain by what the text leaves open",
            file: "experiments/choosy-readings.toml",
            text: include_str!("../../../experiments/choosy-readings.toml"),
            model: Model::Cluster(|measured| Findings {
                rows: readings::rows(measured),
                figures: Figures::new(),
            }),
        },
        Part {
            title: "One initiator without competition",
            file: "experiments/choosy-alone.toml",
            text: include_str!("../../../experiments/choosy-alone.toml"),
            model: Model::Cluster(alone),
        },
    ],
    claims,
    statements: said::STATEMENTS,
    not_run: said::NOT_RUN,
};

/// The gains that the text states, in percent of the mean latency.
const PUBLISHED_GAIN: std::ops::RangeInclusive<f64> = 8.0..=20.0;

/// Puts beyond this were seen without renegotiation, and none with it (1 MiB, 1000 MB/s).
const SPIKE_US: f64 = 7000.0;

/// Points of the text's samples, and of its moving average.
const SAMPLE: usize = 200;
const AVERAGED: usize = 10;

/// `128KiB/400MBps/start-17us`.
fn cell(point: &Measured) -> String {
    let place = chunk_and_disk(point);
    match point.scenario.workload.start_spread {
        Span::ZERO => format!("{place}/start-at-once"),
        spread => format!("{place}/start-{spread}"),
    }
}

/// Points without and with renegotiation that are the same otherwise.
fn pairs(measured: &[Measured]) -> impl Iterator<Item = (&Measured, &Measured)> {
    let plain = measured.iter().filter(|point| !point.scenario.replicast.choosy);
    plain.filter_map(|plain| {
        let mut wanted = plain.scenario.clone();
        wanted.replicast.choosy = true;
        let choosy = measured.iter().find(|point| point.scenario == wanted)?;
        Some((plain, choosy))
    })
}

/// Share of the puts of a run that took longer than the text's spikes, in percent.
fn spikes(report: &slotcast_sim::RunReport) -> f64 {
    let all = report.completions.len().max(1) as f64;
    let over = report.completions.iter().filter(|c| c.latency().as_us_f64() > SPIKE_US).count();
    over as f64 / all * 100.0
}

/// The text shows 200 puts, picked at random, of one run: of all such samples of a run, the share in
/// which no put took longer than its spikes, in percent.
fn unspoilt_samples(report: &slotcast_sim::RunReport) -> f64 {
    let all = report.completions.len();
    let over = report.completions.iter().filter(|c| c.latency().as_us_f64() > SPIKE_US).count();
    // One put after the other is picked, each from what is left, and none may be over.
    let none_over =
        |picked: usize| all.saturating_sub(over + picked) as f64 / (all - picked) as f64;
    (0..SAMPLE.min(all)).map(none_over).product::<f64>() * 100.0
}

/// The gain of runs that end after 2.5 to 40 ms.
fn by_length(measured: &[Measured]) -> Vec<Row> {
    let row = |(plain, choosy): (&Measured, &Measured)| {
        let id = format!("choosy/{}/gain_after_{}", cell(plain), plain.scenario.run.length);
        Row::new(id, None, &gains(plain, choosy, mean_latency), "%", Mode::AsPublished)
    };
    pairs(measured).map(row).collect()
}

/// What a put of 1 MiB takes on a free link, and altogether.
fn alone(measured: &[Measured]) -> Findings {
    let mut rows = Vec::new();
    for point in measured {
        let scenario = &point.scenario;
        let control = scenario.replicast.control_share;
        let payload = scenario.network.usable_rate();
        let payload = payload.share(slotcast_units::Share::from_ppm(1_000_000 - control.as_ppm()));
        let network = payload.time_for(scenario.workload.chunk_size).as_us_f64();
        let mode = Mode::AsPublished;
        let id = |name: &str| format!("choosy/alone/{name}");
        rows.push(
            Row::new(id("network"), Some(941.482), &[network], "us", mode)
                .derived_from("the scenario: 1 MiB at 8.91 Gb/s"),
        );
        rows.push(Row::new(id("latency"), None, &per_seed(point, mean_latency), "us", mode));
    }
    Findings { rows, figures: Figures::new() }
}

fn mean_latency(report: &slotcast_sim::RunReport) -> f64 {
    report.latency.mean
}

fn rows(measured: &[Measured], mode: Mode) -> Vec<Row> {
    let mut rows = Vec::new();
    for (plain, choosy) in pairs(measured) {
        let place = match mode {
            Mode::AsPublished => cell(plain),
            Mode::SteadyState => cell(plain).replace("/start-at-once", ""),
        };
        let row = |name: &str, samples: &[f64], unit| {
            Row::new(format!("choosy/{place}/{name}"), None, samples, unit, mode)
        };
        rows.push(row("without/mean_latency", &per_seed(plain, mean_latency), "us"));
        rows.push(row("with/mean_latency", &per_seed(choosy, mean_latency), "us"));
        let gain = gains(plain, choosy, mean_latency);
        rows.push(row("gain", &gain, "%").with_note("gain: published as 8 to 20 %"));
        if place.starts_with("1MiB/1000MBps") {
            rows.push(row("without/over_7ms", &per_seed(plain, spikes), "%"));
            rows.push(row("with/over_7ms", &per_seed(choosy, spikes), "%"));
            rows.push(row("without/samples_without_7ms", &per_seed(plain, unspoilt_samples), "%"));
            rows.push(row("with/samples_without_7ms", &per_seed(choosy, unspoilt_samples), "%"));
        }
    }
    rows
}

fn as_published(measured: &[Measured]) -> Findings {
    let mut figures = Figures::new();
    let spiky = pairs(measured).find(|(plain, _)| cell(plain).starts_with("1MiB/1000MBps"));
    if let Some((plain, choosy)) = spiky {
        figures.insert("figure3", sample("Reservations without renegotiation", plain));
        figures.insert("figure4", sample("Reservations with renegotiation", choosy));
        figures.insert("choosy-sorted", sorted(plain, choosy));
    }
    Findings { rows: rows(measured, Mode::AsPublished), figures }
}

/// Latencies of 200 puts of the first seed, evenly spaced over the run, with their moving average.
fn sample(title: &str, point: &Measured) -> Figure {
    let completions = point.runs.first().map_or(&[][..], |run| &run.report.completions);
    let count = completions.len().min(SAMPLE);
    let picked = |i: usize| completions[i * completions.len() / count].latency().as_us_f64();
    let y: Vec<f64> = (0..count).map(picked).collect();
    let average = |window: &[f64]| window.iter().sum::<f64>() / AVERAGED as f64;
    let smooth: Vec<f64> = y.windows(AVERAGED).map(average).collect();
    let numbers = |from: usize, n: usize| (from..from + n).map(|i| i as f64).collect();
    Figure {
        title: format!("{title}: 1 MiB chunks, 1000 MB/s disks"),
        kind: FigureKind::Sample,
        x: "put",
        y: "latency (us)",
        series: vec![
            Series::new("latency", numbers(1, y.len()), y),
            Series::new("average of the last 10", numbers(AVERAGED, smooth.len()), smooth),
        ],
    }
}

/// Every latency of the first seed in rising order, without and with renegotiation.
fn sorted(plain: &Measured, choosy: &Measured) -> Figure {
    let series = [("without", plain), ("with", choosy)].map(|(name, point)| {
        let completions = point.runs.first().map_or(&[][..], |run| &run.report.completions);
        let mut y: Vec<f64> = completions.iter().map(|c| c.latency().as_us_f64()).collect();
        y.sort_unstable_by(f64::total_cmp);
        Series::new(name, (1..=y.len()).map(|number| number as f64).collect(), y)
    });
    Figure {
        title: "Sorted put latency without and with renegotiation: 1 MiB chunks, 1000 MB/s disks"
            .into(),
        kind: FigureKind::Sorted,
        x: "put, by latency",
        y: "latency (us)",
        series: series.into(),
    }
}

fn claims(findings: &Findings) -> Vec<Claim> {
    let rows = |mode: Mode, end: &'static str| {
        findings.rows.iter().filter(move |row| row.mode == mode && row.id.ends_with(end))
    };
    let listed = |rows: &[&Row]| {
        let parts: Vec<_> = rows.iter().map(|row| format!("{:.1} %", row.measured)).collect();
        parts.join(", ")
    };
    let mut claims = Vec::new();
    for row in rows(Mode::AsPublished, "/gain") {
        let place = row.id.trim_start_matches("choosy/").trim_end_matches("/gain");
        claims.push(Claim {
            id: format!("gain/{place}"),
            text: format!("{place}: renegotiation lowers the mean latency by 8 to 20 %"),
            holds: PUBLISHED_GAIN.contains(&row.measured),
            certain: false,
            measured: format!("{:.1} % ± {:.1}", row.measured, row.ci95.unwrap_or(f64::NAN)),
        });
    }
    let gains: Vec<&Row> = rows(Mode::AsPublished, "/gain").collect();
    claims.push(Claim {
        id: "gain/everywhere".into(),
        text: "Renegotiation lowers the mean latency in every cell".into(),
        holds: !gains.is_empty()
            && gains.iter().all(|row| row.measured > row.ci95.unwrap_or(f64::INFINITY)),
        certain: true,
        measured: listed(&gains),
    });
    let after = |length: &'static str| rows(Mode::AsPublished, length).collect::<Vec<_>>();
    let (first, tenth, fortieth) =
        (after("/gain_after_2.5ms"), after("/gain_after_10ms"), after("/gain_after_40ms"));
    claims.push(Claim {
        id: "gain/at-the-start".into(),
        text: "128 KiB, 400 MB/s: the gain is inside 8 to 20 % after 2.5 ms, and after 40 ms below half \
               of that after 10 ms"
            .into(),
        holds: !first.is_empty()
            && first.iter().all(|row| PUBLISHED_GAIN.contains(&row.measured))
            && tenth.len() == fortieth.len()
            && tenth.iter().zip(&fortieth).all(|(a, b)| b.measured < a.measured / 2.0),
        certain: true,
        measured: format!("{}; {}; {}", listed(&first), listed(&tenth), listed(&fortieth)),
    });
    let share = |name: &'static str| rows(Mode::AsPublished, name).collect::<Vec<_>>();
    let (without, with) = (share("without/over_7ms"), share("with/over_7ms"));
    claims.push(Claim {
        id: "spikes/fewer".into(),
        text: "1 MiB, 1000 MB/s: fewer puts take over 7 ms with renegotiation".into(),
        holds: !without.is_empty()
            && without.iter().zip(&with).all(|(without, with)| with.measured < without.measured),
        certain: true,
        measured: format!("without {}; with {}", listed(&without), listed(&with)),
    });
    let there: Vec<_> =
        without.iter().copied().filter(|row| row.id.contains("start-at-once")).collect();
    claims.push(Claim {
        id: "spikes/there".into(),
        text: "1 MiB, 1000 MB/s: without renegotiation some puts take over 7 ms".into(),
        holds: !there.is_empty() && there.iter().all(|row| row.measured > 0.0),
        certain: true,
        measured: listed(&there),
    });
    claims.extend(readings::claims(findings));
    claims.extend(alone_claims(findings));
    claims.push(Claim {
        id: "spikes/gone".into(),
        text: "1 MiB, 1000 MB/s: with renegotiation no put takes over 7 ms".into(),
        holds: !with.is_empty() && with.iter().all(|row| row.measured == 0.0),
        certain: false,
        measured: listed(&with),
    });
    claims
}

fn alone_claims(findings: &Findings) -> [Claim; 2] {
    let value = |name: &str| {
        let id = format!("choosy/alone/{name}");
        findings.rows.iter().find(|row| row.id == id).map_or(f64::NAN, |row| row.measured)
    };
    let (network, latency) = (value("network"), value("latency"));
    [
        Claim {
            id: "alone/network".into(),
            text: "1 MiB takes 941.482 us on a link of 8.91 Gb/s (derived, not measured)".into(),
            holds: (network - 941.482).abs() < 0.001,
            certain: true,
            measured: format!("{network:.3} us"),
        },
        Claim {
            id: "alone/latency".into(),
            text: "1 MiB, 1000 MB/s, one initiator: a put takes 4.0 to 4.5 ms".into(),
            holds: (4000.0..4500.0).contains(&latency),
            certain: true,
            measured: format!("{latency:.0} us"),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, samples: &[f64]) -> Row {
        Row::new(id.into(), None, samples, "%", Mode::AsPublished)
    }

    fn verdicts(rows: Vec<Row>) -> Vec<(String, bool)> {
        let findings = Findings { rows, figures: Figures::new() };
        claims(&findings).into_iter().map(|claim| (claim.id, claim.holds)).collect()
    }

    #[test]
    fn claims_follow_the_rows() {
        let good = vec![
            row("choosy/1MiB/1000MBps/start-17us/gain", &[10.0, 11.0, 12.0]),
            row("choosy/1MiB/1000MBps/start-17us/without/over_7ms", &[4.0, 5.0]),
            row("choosy/1MiB/1000MBps/start-17us/with/over_7ms", &[0.0, 0.0]),
            row("choosy/1MiB/1000MBps/start-at-once/without/over_7ms", &[4.0, 5.0]),
            row("choosy/1MiB/1000MBps/start-at-once/with/over_7ms", &[0.0, 0.0]),
            row("choosy/128KiB/400MBps/start-17us/gain_after_2.5ms", &[10.0, 11.0]),
            row("choosy/128KiB/400MBps/start-17us/gain_after_10ms", &[2.5, 2.6]),
            row("choosy/128KiB/400MBps/start-17us/gain_after_40ms", &[0.5, 0.7]),
        ];
        let mut good = good;
        good.extend(readings::tests::rows(10.0));
        good.push(row("choosy/alone/network", &[941.482]));
        good.push(row("choosy/alone/latency", &[4111.0]));
        assert!(verdicts(good.clone()).iter().all(|(_, holds)| *holds));
        let mut none = good;
        none[0] = row("choosy/1MiB/1000MBps/start-17us/gain", &[-1.0, 1.0, 0.5]);
        none[2] = row("choosy/1MiB/1000MBps/start-17us/with/over_7ms", &[4.5, 5.0]);
        none[3] = row("choosy/1MiB/1000MBps/start-at-once/without/over_7ms", &[0.0, 0.0]);
        none[7] = row("choosy/128KiB/400MBps/start-17us/gain_after_40ms", &[2.5, 2.7]);
        none.truncate(8);
        none.extend(readings::tests::rows(7.9));
        none.push(row("choosy/alone/latency", &[3900.0]));
        assert!(verdicts(none).iter().all(|(_, holds)| !holds));
        assert!(verdicts(Vec::new()).iter().all(|(_, holds)| !holds), "nothing was measured");
    }
}
