//! The pictures of an evaluation, from the data that it kept for them.

use slotcast_lab::{Figure, FigureKind, Outcome, Series};

use crate::chart::{
    self, Axis, BarSeries, Bars, Chart, Heat, Line, Lines, Mean, Plot, Scale, Style,
};
use crate::number;

/// Most points of a line that are marked one by one.
const MARKED: usize = 30;

/// Every picture of `outcome`, in the order of their numbers.
pub(super) fn of(outcome: &Outcome) -> Vec<Chart> {
    let mut figures: Vec<(&str, &Figure)> =
        outcome.findings.figures.iter().map(|(name, figure)| (*name, figure)).collect();
    figures.sort_by_key(|(name, _)| place(name));
    figures.into_iter().flat_map(|(name, figure)| charts(outcome.name, name, figure)).collect()
}

/// `figure9` comes before `figure10`, and what has no number comes last.
fn place(name: &str) -> (u32, &str) {
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    (digits.parse().unwrap_or(u32::MAX), name)
}

/// The picture, and for a distribution also the other way to draw it.
fn charts(evaluation: &str, name: &str, figure: &Figure) -> Vec<Chart> {
    let file = match name.strip_prefix(evaluation) {
        Some(_) => name.to_string(),
        None => format!("{evaluation}-{name}"),
    };
    let title = match name.strip_prefix("figure") {
        Some(number) => format!("Figure {number}. {}", figure.title),
        None => figure.title.clone(),
    };
    let x = Axis::parse(figure.x);
    let y = Axis::parse(figure.y).with_scale(Scale::FromZero);
    let chart = |plot, caption: &str| {
        Chart::new(&file, &title, x.clone(), y.clone(), plot).with_caption(caption)
    };
    match figure.kind {
        FigureKind::Bars => {
            let bars = bars(figure);
            let has_light = bars.series.iter().any(|series| series.light);
            let caption = match has_light {
                true => "Mean over the seeds with its 95 % interval; the light bars are published.",
                false => {
                    "Mean over the seeds with its 95 % interval; the published picture is lost."
                }
            };
            vec![chart(Plot::Bars(bars), caption)]
        }
        FigureKind::Stacked => {
            let bars = Bars { stacked: true, ..bars(figure) };
            vec![chart(Plot::Bars(bars), "Mean over the seeds.")]
        }
        FigureKind::Lines => {
            let has_intervals = figure.series.iter().any(|series| !series.ci95.is_empty());
            let is_short = figure.series.iter().all(|series| series.x.len() <= MARKED);
            let style = if is_short { Style::Marked } else { Style::Line };
            let caption = match has_intervals {
                true => "Mean over the seeds with its 95 % interval.",
                false => "Of the first seed.",
            };
            vec![chart(lines(figure, |_| style), caption)]
        }
        FigureKind::Medians => {
            vec![chart(lines(figure, |_| Style::Marked), "Median over the seeds.")]
        }
        FigureKind::Heat => {
            let caption = "Median over the seeds; what the colours mean is beside them.";
            let (heat, nothing) = (Plot::Heat(heat(figure)), Axis::new("", ""));
            vec![Chart::new(&file, &title, x.clone(), nothing, heat).with_caption(caption)]
        }
        FigureKind::Points => {
            let caption = "Every request of the first seed, in the order in which they ended.";
            vec![chart(lines(figure, |_| Style::Points), caption)]
        }
        FigureKind::Sample => {
            let style = |index| if index == 0 { Style::Points } else { Style::Line };
            let caption = "Evenly spaced requests of the first seed.";
            vec![chart(lines(figure, style), caption)]
        }
        FigureKind::Sorted => {
            let lists: Vec<(String, Vec<f64>)> =
                figure.series.iter().map(|s| (s.name.clone(), s.y.clone())).collect();
            let caption = "Every request of the first seed, in rising order.";
            let share = "The same as a distribution: the part of the requests that took no longer. \
                         Dashed lines mark the 99th percentiles.";
            let as_cdf = format!("{title}, as a distribution");
            let cdf = chart::cdf(&format!("{file}-cdf"), &as_cdf, &lists).with_caption(share);
            vec![chart(lines(figure, |_| Style::Line), caption), cdf]
        }
    }
}

fn bars(figure: &Figure) -> Bars {
    let xs = figure.series.first().map_or(&[][..], |series| &series.x);
    let measured = |series: &Series| {
        let mean = |(at, &value): (usize, &f64)| Mean { value, ci95: series.ci95.get(at).copied() };
        series.y.iter().enumerate().map(mean).collect()
    };
    let series =
        figure.series.iter().enumerate().flat_map(|(colour, series)| {
            let name = series.name.clone();
            let published = format!("{name}, published");
            let light: Vec<Mean> = series.published.iter().map(|&value| value.into()).collect();
            let measured = BarSeries { name, bars: measured(series), colour, light: false };
            let published = (light.len() == series.y.len() && !light.is_empty())
                .then_some(BarSeries { name: published, bars: light, colour, light: true });
            [Some(measured), published].into_iter().flatten()
        });
    Bars {
        groups: xs.iter().map(|&x| number::tick(x)).collect(),
        series: series.collect(),
        stacked: false,
        marks: Vec::new(),
    }
}

fn heat(figure: &Figure) -> Heat {
    let Axis { label, unit, .. } = Axis::parse(figure.y);
    let xs = figure.series.first().map_or(&[][..], |series| &series.x);
    Heat {
        columns: xs.iter().map(|&x| number::tick(x)).collect(),
        rows: figure.series.iter().map(|series| series.name.clone()).collect(),
        values: figure.series.iter().map(|series| series.y.clone()).collect(),
        label,
        unit,
    }
}

fn lines(figure: &Figure, style: impl Fn(usize) -> Style) -> Plot {
    let lines = figure.series.iter().enumerate().map(|(index, series)| Line {
        name: series.name.clone(),
        x: series.x.clone(),
        y: series.y.clone(),
        ci95: series.ci95.clone(),
        style: style(index),
        colour: index,
    });
    Plot::Lines(Lines { lines: lines.collect(), marks: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(kind: FigureKind, series: Vec<Series>) -> Figure {
        Figure { title: "T".into(), kind, x: "disk rate (MiB/s)", y: "latency (us)", series }
    }

    fn series() -> Series {
        Series::new("a", vec![400.0, 1000.0], vec![1.0, 2.0])
    }

    #[test]
    fn published_bars_stand_beside_the_measured_ones() {
        let series = Series { ci95: vec![0.1, 0.2], published: vec![1.1, 2.1], ..series() };
        let charts = charts("replicast", "figure9", &figure(FigureKind::Bars, vec![series]));
        assert_eq!(charts[0].name, "replicast-figure9");
        let Plot::Bars(bars) = &charts[0].plot else { panic!("bars") };
        let names: Vec<_> = bars.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!((names, &bars.groups[1][..]), (vec!["a", "a, published"], "1000"));
        assert_eq!(bars.series[0].bars[1], Mean { value: 2.0, ci95: Some(0.2) });
    }

    #[test]
    fn a_surface_has_a_colour_for_each_point_of_each_series() {
        let other = Series { name: "b".into(), y: vec![3.0, 4.0], ..series() };
        let charts = charts("n", "n_heat", &figure(FigureKind::Heat, vec![series(), other]));
        let Plot::Heat(heat) = &charts[0].plot else { panic!("heat") };
        assert_eq!(
            (heat.rows.join(","), heat.columns.join(",")),
            ("a,b".into(), "400,1000".into())
        );
        assert_eq!(heat.values, [[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!((heat.label.as_str(), heat.unit.as_str()), ("latency", "us"));
    }

    #[test]
    fn a_distribution_is_drawn_in_both_ways() {
        let charts = charts("choosy", "choosy-sorted", &figure(FigureKind::Sorted, vec![series()]));
        let names: Vec<_> = charts.iter().map(|chart| chart.name.as_str()).collect();
        assert_eq!(names, ["choosy-sorted", "choosy-sorted-cdf"]);
    }

    #[test]
    fn figures_are_in_the_order_of_their_numbers() {
        let mut names = ["figure10", "figure9", "sorted"];
        names.sort_by_key(|name| place(name));
        assert_eq!(names, ["figure9", "figure10", "sorted"]);
    }
}
