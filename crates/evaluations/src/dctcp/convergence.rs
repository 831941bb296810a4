//! The time until a second flow has its share of a link.
//!
//! The published range is known from the text that quotes it alone; what it takes for a share, and for d, is
//! not said there. Both are chosen here, and `docs/simulate/dctcp.md` says what other choices
//! would give.

use slotcast_lab::paired::per_seed;
use slotcast_lab::{Claim, Figure, FigureKind, Figures, Findings, Measured, Mode, Row, Series};
use slotcast_sim::{PortSample, RunReport, Scenario};
use slotcast_units::{Share, Size, Time};

/// What "Choosy Initiator" quotes from the analysis, in units of d.
const PUBLISHED: std::ops::RangeInclusive<f64> = 229.0..=770.0;

/// Two flows have converged when each is within a tenth of half the link.
const NEAR: f64 = 0.1;

/// Rates are taken over so many round trips: about two swings of the windows.
const ROUND_TRIPS: f64 = 10.0;

/// d in us: the round trip's propagation, as in the analysis, where a round trip is d and the time in the queue.
fn delay_us(scenario: &Scenario) -> f64 {
    2.0 * scenario.network.trip.as_us_f64()
}

/// The marking threshold in full frames.
fn threshold_frames(scenario: &Scenario) -> u64 {
    scenario.dctcp.mark_threshold / scenario.network.frame
}

/// What the link carries in a time d, in full frames.
fn capacity_frames(scenario: &Scenario) -> f64 {
    let frame_us = scenario.network.usable_rate().time_for(scenario.network.frame).as_us_f64();
    delay_us(scenario) / frame_us
}

/// A round trip with a queue as long as the threshold, in us.
fn loaded_round_trip_us(scenario: &Scenario) -> f64 {
    let queue = scenario.network.usable_rate().time_for(scenario.dctcp.mark_threshold);
    delay_us(scenario) + queue.as_us_f64()
}

/// What the analysis gives: every swing of the windows takes about as many round trips as the root of half
/// the fair window W, and brings them nearer by half of alpha, the root of 2 / W: so the distance falls by
/// a factor of e in W round trips.
fn expected(scenario: &Scenario) -> f64 {
    let fair_window = (capacity_frames(scenario) + threshold_frames(scenario) as f64) / 2.0;
    -NEAR.ln() * fair_window * loaded_round_trip_us(scenario) / delay_us(scenario)
}

/// `d-100us/K-65-frames/as-analysed`.
fn place(scenario: &Scenario) -> String {
    let (delay, threshold) = (delay_us(scenario), threshold_frames(scenario));
    let premises = if is_as_analysed(scenario) { "as-analysed" } else { "as-deployed" };
    format!("d-{delay}us/K-{threshold}-frames/{premises}")
}

/// Whether a single sender fills the port's queue, as the analysis assumes. Where its link is no faster than
/// the port it cannot.
fn is_as_analysed(scenario: &Scenario) -> bool {
    scenario.dctcp.initiator_link > Share::ONE
}

/// The part of what came between two samples that is the second flow's.
fn second_share(from: &PortSample, to: &PortSample) -> f64 {
    let moved = |flow: usize| (to.acknowledged[flow] - from.acknowledged[flow]).as_bytes() as f64;
    moved(1) / (moved(0) + moved(1)).max(1.0)
}

/// How long after the second flow's first acknowledgement its share is near a half, in units of d; none if
/// it never is in the run.
fn convergence(scenario: &Scenario, report: &RunReport) -> Option<f64> {
    let samples = &report.port_queues.as_ref()?.samples;
    let joined = samples.iter().position(|sample| sample.acknowledged[1] > Size::ZERO)?;
    let every = scenario.dctcp.sample_every.as_us_f64();
    let width = (ROUND_TRIPS * loaded_round_trip_us(scenario) / every).ceil();
    let us = |at: Time| (at - samples[joined].at).as_us_f64();
    let windows = samples[joined..].windows(width as usize + 1);
    windows.map(|window| (&window[0], &window[window.len() - 1])).find_map(|(from, to)| {
        let near = (second_share(from, to) - 0.5).abs() <= NEAR / 2.0;
        near.then(|| (us(from.at) + us(to.at)) / 2.0 / delay_us(scenario))
    })
}

pub(super) fn evaluate(measured: &[Measured]) -> Findings {
    let mut rows = Vec::new();
    let mut figures = Figures::new();
    for point in measured {
        let scenario = &point.scenario;
        let id = |name: &str| format!("dctcp/convergence/{}/{name}", place(scenario));
        let mode = Mode::AsPublished;
        // Not a number if a run was too short: the mean then is none, and claims do not hold.
        let times = per_seed(point, |report| convergence(scenario, report).unwrap_or(f64::NAN));
        let note = "time: until both flows are within a tenth of half the link; published as 229 to 770 d. \
                    None if a run of thousands of d was too short";
        let mut row = Row::new(id("time"), None, &times, "d", mode).with_note(note);
        if row.measured.is_nan() {
            (row.ci95, row.spread) = (None, None);
        }
        rows.push(row);
        if is_as_analysed(scenario) {
            rows.push(
                Row::new(id("analysis"), None, &[expected(scenario)], "d", mode)
                    .with_note("analysis: ln 10 W (1 + K / C d), W the fair window in frames"),
            );
            if delay_us(scenario) == 100.0 && threshold_frames(scenario) == 65 {
                figures.insert("dctcp_convergence", shares(point));
            }
        }
    }
    Findings { rows, figures }
}

/// The rates of both flows of the first seed over time.
fn shares(point: &Measured) -> Figure {
    let samples = point.runs.first().and_then(|run| run.report.port_queues.as_ref());
    let samples = samples.map_or(&[][..], |queues| &queues.samples);
    let rate = |flow: usize| {
        let steps = samples.windows(11).step_by(10).map(|w| (&w[0], &w[10]));
        let (x, y) = steps
            .map(|(from, to)| {
                let bits = (to.acknowledged[flow] - from.acknowledged[flow]).as_bits() as f64;
                let ms = (from.at - Time::ZERO).as_secs_f64() * 1e3;
                (ms, bits / (to.at - from.at).as_secs_f64() / 1e9)
            })
            .unzip();
        Series::new(format!("flow {}", flow + 1), x, y)
    };
    Figure {
        title: "A second DCTCP flow joins: d of 100 us, K of 65 frames".into(),
        kind: FigureKind::Lines,
        x: "time (ms)",
        y: "rate (Gb/s)",
        series: vec![rate(0), rate(1)],
    }
}

/// Rows of convergence times with the threshold that is meant for 10 Gb/s, and with a d that is more than
/// the wait in a queue as long as that: `from` us or more.
fn times<'a>(findings: &'a Findings, premises: &str, from: f64) -> Vec<(f64, &'a Row)> {
    let end = format!("us/K-65-frames/{premises}/time");
    let delay = |row: &Row| -> Option<f64> {
        row.id.strip_prefix("dctcp/convergence/d-")?.strip_suffix(&end)?.parse().ok()
    };
    let rows = findings.rows.iter().filter_map(|row| Some((delay(row)?, row)));
    rows.filter(|(delay, _)| *delay >= from).collect()
}

pub(super) fn claims(findings: &Findings) -> Vec<Claim> {
    let mut claims = Vec::new();
    // At 20 us the flows of today, which begin with an alpha of one, are at the edge of the range.
    for (premises, from) in [("as-analysed", 20.0), ("as-deployed", 50.0)] {
        let rows = times(findings, premises, from);
        let part = |(delay, row): &(f64, &Row)| {
            format!("d {delay} us: {:.0} d ± {:.0}", row.measured, row.ci95.unwrap_or(f64::NAN))
        };
        claims.push(Claim {
            id: format!("convergence/{premises}"),
            text: format!(
                "K of 65 frames, d of {from} us and more, {}: a second flow has its share after 229 to \
                 770 d",
                premises.replace('-', " ")
            ),
            holds: !rows.is_empty() && rows.iter().all(|(_, row)| PUBLISHED.contains(&row.measured)),
            certain: true,
            measured: rows.iter().map(part).collect::<Vec<_>>().join(", "),
        });
    }
    let every: Vec<&Row> = findings
        .rows
        .iter()
        .filter(|row| row.id.starts_with("dctcp/convergence/") && row.id.ends_with("/time"))
        .collect();
    let inside = every.iter().filter(|row| PUBLISHED.contains(&row.measured)).count();
    claims.push(Claim {
        id: "convergence/everywhere".into(),
        text: "Every delay, both thresholds and both premises: a second flow has its share after 229 to 770 d"
            .into(),
        holds: !every.is_empty() && inside == every.len(),
        // The source says none of the three.
        certain: false,
        measured: format!("{inside} of {} settings", every.len()),
    });
    let ratios: Vec<f64> = times(findings, "as-analysed", 10.0)
        .iter()
        .map(|(_, row)| {
            let id = row.id.trim_end_matches("time").to_string() + "analysis";
            let analysis = findings.rows.iter().find(|row| row.id == id);
            row.measured / analysis.map_or(f64::NAN, |row| row.measured)
        })
        .collect();
    let ratio = |of: fn(f64, f64) -> f64| ratios.iter().copied().reduce(of).unwrap_or(f64::NAN);
    claims.push(Claim {
        id: "convergence/analysis".into(),
        text: "K of 65 frames, d of 10 us and more, as analysed: the time is that of the analysis, within \
               half of it"
            .into(),
        holds: !ratios.is_empty() && ratios.iter().all(|ratio| (0.5..=1.5).contains(ratio)),
        certain: true,
        measured: format!("{:.2} to {:.2} times", ratio(f64::min), ratio(f64::max)),
    });
    claims
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_units::Span;

    fn scenario() -> Scenario {
        let mut scenario = Scenario::default();
        scenario.network.trip = Span::from_us(50);
        scenario.network.frame = Size::from_bytes(1500);
        scenario.dctcp.mark_threshold = Size::from_bytes(97_500);
        scenario.dctcp.sample_every = Span::from_us(50);
        scenario
    }

    /// The report of a run that is soon over.
    fn short_run() -> RunReport {
        let mut scenario = Scenario::default();
        scenario.run.warmup = Span::ZERO;
        scenario.run.length = Span::from_us(100);
        slotcast_sim::run(&scenario, 1).expect("the defaults can be run")
    }

    /// A report in which the second flow joins at 10 ms and takes `growth` of the link per ms, up to a half.
    fn report(growth: f64) -> RunReport {
        let mut report = short_run();
        let mut sent = [0.0; 2];
        let samples = (0..2000).map(|i| {
            let ms = f64::from(i) * 0.05;
            let second = ((ms - 10.0) * growth).clamp(0.0, 0.5);
            for (sent, share) in sent.iter_mut().zip([1.0 - second, second]) {
                *sent += share * 61_875.0;
            }
            PortSample {
                at: Time::ZERO + Span::from_us(50) * u64::try_from(i).unwrap(),
                acknowledged: sent.map(|bytes| Size::from_bytes(bytes as u64)).to_vec(),
                queues: vec![Size::ZERO],
            }
        });
        let samples = samples.collect();
        report.port_queues =
            Some(slotcast_sim::PortQueues { mean: 0.0, longest: Size::ZERO, samples });
        report
    }

    #[test]
    fn the_time_is_from_the_first_byte_to_nine_tenths_of_the_fair_share() {
        // 45 % at 1 % per ms: 45 ms, or 450 times 100 us.
        let found = convergence(&scenario(), &report(0.01)).unwrap();
        assert!((found - 450.0).abs() < 2.0, "{found}");
        assert_eq!(convergence(&scenario(), &report(0.001)), None, "never in the run");
    }

    #[test]
    fn the_analysis_is_what_it_says() {
        // C d is 100 us over 1.212 us a frame, K is 65: W is 73.8, a round trip is 1.788 d.
        let expected = expected(&scenario());
        assert!((expected - std::f64::consts::LN_10 * 73.75 * 1.788).abs() < 1.0, "{expected}");
    }

    #[test]
    fn claims_follow_the_rows() {
        let row = |id: &str, value: f64| {
            let id = format!("dctcp/convergence/{id}");
            Row::new(id, None, &[value, value], "d", Mode::AsPublished)
        };
        let holds = |time: f64| {
            let rows = vec![
                row("d-100us/K-65-frames/as-analysed/time", time),
                row("d-100us/K-65-frames/as-analysed/analysis", 304.0),
                row("d-100us/K-65-frames/as-deployed/time", time),
                row("d-100us/K-20-frames/as-deployed/time", 1.0),
                row("d-4us/K-65-frames/as-deployed/time", 4000.0),
            ];
            let claims = claims(&Findings { rows, figures: Figures::new() });
            claims.iter().map(|claim| claim.holds).collect::<Vec<_>>()
        };
        // The third is about every setting, also those of other thresholds and delays.
        assert_eq!(holds(300.0), [true, true, false, true]);
        assert_eq!(holds(600.0), [true, true, false, false]);
        assert_eq!(holds(100.0), [false; 4]);
        assert_eq!(holds(f64::NAN), [false; 4]);
        let nothing = claims(&Findings::default());
        assert!(nothing.iter().all(|claim| !claim.holds), "nothing was measured");
    }
}
