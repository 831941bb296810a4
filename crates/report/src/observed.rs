//! How a run went over time: use and queues, and who had reserved what.

use slotcast_sim::Way;
use slotcast_trace::{MeanAndMax, RunSeries, Timeline, WindowState};
use slotcast_units::Time;

use crate::chart::{self, Axis, Chart, Line, Lines, Plot, Scale, Span, State};
use crate::palette;

/// How busy disks and links are over time.
pub fn utilisation(of: &RunSeries) -> Chart {
    let mut lines = lines(of, ["disks, mean", "busiest disk"], 0, &of.disk_utilization);
    lines.extend(self::lines(
        of,
        ["links in, mean", "busiest link in"],
        2,
        &of.link_in_utilization,
    ));
    let is_read = of.link_out_utilization.max.iter().any(|&part| part > 0.0);
    if is_read {
        let names = ["links out, mean", "busiest link out"];
        lines.extend(self::lines(of, names, 4, &of.link_out_utilization));
    }
    for line in &mut lines {
        line.y.iter_mut().for_each(|part| *part *= 100.0);
    }
    let y = Axis::new("utilisation", "%").with_scale(Scale::FromZero);
    over_time("utilisation", "Utilisation over time", y, lines).with_caption(
        "Over the targets, first seed, warm-up included. The busiest one is not always the same.",
    )
}

/// How many chunks wait at a disk over time.
pub fn queue_length(of: &RunSeries) -> Chart {
    let lines = lines(of, ["mean", "longest queue"], 0, &of.disk_queue_length);
    let y = Axis::new("queue length", "chunks").with_scale(Scale::FromZero);
    over_time("queue-length", "Queue length over time", y, lines).with_caption(
        "Chunks at a disk, the one in service included; over the targets, first seed, warm-up included.",
    )
}

fn over_time(name: &str, title: &str, y: Axis, lines: Vec<Line>) -> Chart {
    let plot = Plot::Lines(Lines { lines, marks: Vec::new() });
    Chart::new(name, title, Axis::new("simulated time", "ms"), y, plot)
}

fn lines(of: &RunSeries, [mean, max]: [&str; 2], colour: usize, values: &MeanAndMax) -> Vec<Line> {
    let line = |name, colour, y: &Vec<f64>| Line::new(name, colour, of.time_ms.clone(), y.clone());
    vec![line(mean, colour, &values.mean), line(max, colour + 1, &values.max)]
}

/// Reservations: targets as rows, windows as bars coloured by state. None without windows.
pub fn reservations(of: &Timeline) -> Option<Chart> {
    let mut rows: Vec<(u32, Way)> = of.bars.iter().map(|bar| (bar.target, bar.way)).collect();
    rows.sort_unstable();
    rows.dedup();
    let has_both = rows.iter().any(|(_, way)| *way == Way::Out);
    let us = |time: Time| (time - Time::ZERO).as_us_f64();
    let spans = of.bars.iter().map(|bar| Span {
        row: rows.binary_search(&(bar.target, bar.way)).expect("the row of every bar is there"),
        state: ALL.iter().position(|state| *state == bar.state).expect("every state is there"),
        start: us(bar.start),
        end: us(bar.end),
        label: format!("request {}", bar.request),
    });
    let name = |(target, way): &(u32, Way)| match (has_both, way) {
        (false, _) => format!("t{target}"),
        (true, Way::In) => format!("t{target} in"),
        (true, Way::Out) => format!("t{target} out"),
    };
    let timeline = chart::Timeline {
        rows: rows.iter().map(name).collect(),
        states: ALL.iter().map(|state| drawn(*state)).collect(),
        spans: spans.collect(),
    };
    if timeline.spans.is_empty() {
        return None;
    }
    let cut = match of.dropped {
        0 => String::new(),
        dropped => format!(" {dropped} more were left out."),
    };
    let (x, y) = (Axis::new("simulated time", "us"), Axis::new("target", ""));
    let chart = Chart::new("reservations", "Reservations", x, y, Plot::Timeline(timeline));
    Some(chart.with_caption(format!(
        "Windows that {} targets offered in {} after the warm-up, first seed. Used: payload came. \
         Accepted: promised, before and after the payload. Tentative: offered, and nobody answered. \
         Narrow bars lie on wide ones, since a cancelled window may be offered again. Zoom in to read \
         single windows.{cut}",
        of.spec.targets, of.spec.length,
    )))
}

/// The states in the order of drawing and of the legend: what is used lies on what was accepted.
const ALL: [WindowState; 5] = [
    WindowState::Accepted,
    WindowState::Used,
    WindowState::Idle,
    WindowState::Tentative,
    WindowState::Cancelled,
];

fn drawn(state: WindowState) -> State {
    let (colour, height) = match state {
        WindowState::Accepted => (palette::SERIES[5], 0.9),
        WindowState::Used => (palette::SERIES[0], 0.9),
        WindowState::Idle => (palette::SERIES[4], 0.9),
        WindowState::Tentative => (palette::SERIES[3], 0.5),
        WindowState::Cancelled => (palette::QUIET, 0.25),
    };
    State { name: state.name().into(), colour: colour.into(), height }
}

#[cfg(test)]
mod tests {
    use slotcast_sim::Scenario;
    use slotcast_trace::{SeriesSpec, collect_series};
    use slotcast_units::Span;

    use super::*;

    fn series() -> RunSeries {
        let mut scenario = Scenario::default();
        (scenario.cluster.initiators, scenario.cluster.targets) = (18, 18);
        (scenario.run.length, scenario.run.warmup) = (Span::from_ms(4), Span::from_ms(1));
        collect_series(&scenario, 1, &SeriesSpec::new(&scenario), &|_| {}).unwrap().1
    }

    #[test]
    fn every_target_has_a_row_and_every_window_its_state() {
        let series = series();
        let chart = reservations(&series.timeline).unwrap();
        let Plot::Timeline(timeline) = &chart.plot else { panic!("a timeline") };
        assert_eq!(timeline.rows.len(), 18);
        assert_eq!((&timeline.rows[0][..], &timeline.rows[17][..]), ("t0", "t17"));
        assert_eq!(timeline.spans.len(), series.timeline.bars.len());
        for (span, bar) in timeline.spans.iter().zip(&series.timeline.bars) {
            assert_eq!(timeline.states[span.state].name, bar.state.name());
            assert_eq!(timeline.rows[span.row], format!("t{}", bar.target));
        }
        let none = Timeline { bars: Vec::new(), ..series.timeline };
        assert!(reservations(&none).is_none());
    }

    #[test]
    fn utilisation_is_in_percent_and_no_link_sends_where_nothing_is_read() {
        let series = series();
        let Plot::Lines(lines) = utilisation(&series).plot else { panic!("lines") };
        assert_eq!(lines.lines.len(), 4);
        let busiest = lines.lines[1].y.iter().copied().fold(0.0, f64::max);
        assert!((50.0..=100.1).contains(&busiest), "{busiest}");
    }
}
