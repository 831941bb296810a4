//! Pictures of latencies, in microseconds.

use super::{Axis, Chart, Line, Lines, Mark, On, Plot, Scale, Style};
use crate::number;

/// Values that a moving average covers.
pub const MOVING_AVERAGE: usize = 10;

/// A latency axis gets a logarithmic scale if the largest value is this many times the smallest.
const WIDE: f64 = 30.0;

/// Named lists of latencies, in the order in which requests ended.
type Latencies<'a> = &'a [(String, Vec<f64>)];

/// Latency over the number of the request, in the order in which they ended: a cloud for each list.
pub fn latency_by_number(name: &str, title: &str, lists: Latencies<'_>) -> Chart {
    let lines = lists.iter().enumerate().map(|(colour, (name, latencies))| {
        Line::new(name, colour, numbers(1, latencies.len()), latencies.clone())
            .with_style(Style::Points)
    });
    let plot = Plot::Lines(Lines { lines: lines.collect(), marks: Vec::new() });
    Chart::new(name, title, Axis::new("request number", ""), latency_axis(), plot)
}

/// The same in rising order: a line for each list.
pub fn sorted_latency(name: &str, title: &str, lists: Latencies<'_>) -> Chart {
    let lines = lists.iter().enumerate().map(|(colour, (name, latencies))| {
        let y = rising(latencies);
        Line::new(name, colour, numbers(1, y.len()), y)
    });
    let plot = Plot::Lines(Lines { lines: lines.collect(), marks: Vec::new() });
    Chart::new(name, title, Axis::new("request number, by latency", ""), latency_axis(), plot)
}

/// The part of the requests that took no longer than a time, with the 99th percentile of each list.
pub fn cdf(name: &str, title: &str, lists: Latencies<'_>) -> Chart {
    let mut lines = Vec::new();
    let mut marks = vec![Mark { on: On::Y, at: 99.0, label: "99 %".into(), colour: None }];
    let mut smallest = f64::INFINITY;
    let mut largest = 0.0f64;
    for (colour, (name, latencies)) in lists.iter().enumerate() {
        let x = rising(latencies);
        let Some(p99) = percentile(&x, 99) else { continue };
        smallest = smallest.min(x[0]);
        largest = largest.max(x[x.len() - 1]);
        let share = |number: usize| number as f64 / x.len() as f64 * 100.0;
        let y = (1..=x.len()).map(share).collect();
        let name = format!("{name} (p99 {} µs)", number::figure(p99));
        lines.push(Line::new(name, colour, x, y).with_style(Style::Steps));
        marks.push(Mark { on: On::X, at: p99, label: String::new(), colour: Some(colour) });
    }
    let scale = if largest > smallest * WIDE { Scale::Log } else { Scale::Linear };
    Chart::new(
        name,
        title,
        Axis::new("latency", "us").with_scale(scale),
        Axis::new("requests that took no longer", "%").with_scale(Scale::FromZero),
        Plot::Lines(Lines { lines, marks }),
    )
}

/// A short list of latencies as points, with the moving average of the last [`MOVING_AVERAGE`].
pub fn sample(name: &str, title: &str, latencies: &[f64]) -> Chart {
    let average = |window: &[f64]| window.iter().sum::<f64>() / MOVING_AVERAGE as f64;
    let smooth: Vec<f64> = latencies.windows(MOVING_AVERAGE).map(average).collect();
    let points = Line::new("latency", 0, numbers(1, latencies.len()), latencies.to_vec());
    let average = format!("average of the last {MOVING_AVERAGE}");
    let smooth = Line::new(average, 1, numbers(MOVING_AVERAGE, smooth.len()), smooth);
    let lines = vec![points.with_style(Style::Points), smooth];
    let plot = Plot::Lines(Lines { lines, marks: Vec::new() });
    Chart::new(name, title, Axis::new("request number", ""), latency_axis(), plot)
}

fn latency_axis() -> Axis {
    Axis::new("latency", "us").with_scale(Scale::FromZero)
}

fn numbers(from: usize, count: usize) -> Vec<f64> {
    (from..from + count).map(|number| number as f64).collect()
}

fn rising(latencies: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = latencies.iter().copied().filter(|us| us.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Nearest rank in a rising list.
fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    sorted.get((sorted.len() * percent).div_ceil(100).max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chart: &Chart) -> &Lines {
        let Plot::Lines(lines) = &chart.plot else { panic!("lines") };
        lines
    }

    fn lists() -> Vec<(String, Vec<f64>)> {
        vec![("a".into(), (1..=200).rev().map(f64::from).collect())]
    }

    #[test]
    fn the_99th_percentile_is_marked_and_named() {
        let chart = cdf("c", "C", &lists());
        let Lines { lines, marks } = lines(&chart);
        assert_eq!(lines[0].name, "a (p99 198.0 µs)");
        let mark = marks.iter().find(|mark| mark.on == On::X).unwrap();
        assert_eq!(mark.at, 198.0);
        let below = lines[0].x.iter().position(|&x| x == mark.at).unwrap();
        assert_eq!(lines[0].y[below], 99.0);
    }

    #[test]
    fn a_wide_distribution_gets_a_logarithmic_axis() {
        assert_eq!(cdf("c", "C", &lists()).x.scale, Scale::Log);
        let narrow = vec![("a".into(), vec![10.0, 20.0])];
        assert_eq!(cdf("c", "C", &narrow).x.scale, Scale::Linear);
    }

    #[test]
    fn what_holds_nothing_is_left_out() {
        let chart = cdf("c", "C", &[("a".into(), Vec::new())]);
        assert!(lines(&chart).lines.is_empty());
    }

    #[test]
    fn the_average_starts_with_the_tenth_value() {
        let chart = sample("s", "S", &(1..=20).map(f64::from).collect::<Vec<_>>());
        let average = &lines(&chart).lines[1];
        assert_eq!((average.x[0], average.y[0]), (10.0, 5.5));
        assert_eq!(average.x.len(), 11);
    }

    #[test]
    fn sorted_latencies_rise() {
        let chart = sorted_latency("s", "S", &lists());
        assert!(lines(&chart).lines[0].y.is_sorted());
    }
}
