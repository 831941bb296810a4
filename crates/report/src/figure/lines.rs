//! Lines and clouds of points.

use kuva::prelude::{BandPlot, Layout, LinePlot, Plot as Drawn, ReferenceLine, ScatterPlot};
use kuva::render::render::Scene;

use super::{MAX_POINTS, framed};
use crate::chart::{Chart, Line, Lines, Mark, On, Scale, Style};
use crate::palette;
use crate::thin::thin;

pub(super) fn scene(chart: &Chart, lines: &Lines) -> Option<Scene> {
    let mut plots = Vec::new();
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for line in &lines.lines {
        let points = visible(line, chart);
        low = points.iter().fold(low, |low, point| low.min(point.0));
        high = points.iter().fold(high, |high, point| high.max(point.0));
        if !points.is_empty() {
            draw(line, &points, &mut plots);
        }
    }
    if plots.is_empty() {
        return None;
    }
    Some(framed(chart, plots, |mut layout| {
        if chart.x.scale == Scale::Log {
            // Otherwise the axis would go on to the next power of ten, far from the data.
            layout = layout.with_x_axis_min(low / 1.15).with_x_axis_max(high * 1.15);
        }
        marked(layout, &lines.marks)
    }))
}

/// Places of note as dashed lines.
pub(super) fn marked(layout: Layout, marks: &[Mark]) -> Layout {
    marks.iter().fold(layout, |layout, mark| {
        let reference = match mark.on {
            On::X => ReferenceLine::vertical(mark.at),
            On::Y => ReferenceLine::horizontal(mark.at),
        };
        let colour = mark.colour.map_or(palette::QUIET, palette::series);
        let mut reference = reference.with_color(colour).with_dasharray("5 4");
        // Along the horizontal line the label would stand on the data.
        if !mark.label.is_empty() && mark.on == On::X {
            reference = reference.with_label(mark.label.as_str());
        }
        layout.with_reference_line(reference)
    })
}

/// A point, with half the width of its interval.
type Point = (f64, f64, f64);

/// The points that can be drawn on these axes, thinned out.
fn visible(line: &Line, chart: &Chart) -> Vec<Point> {
    let fits = |value: f64, scale| value.is_finite() && (scale != Scale::Log || value > 0.0);
    let ci95 = |i: usize| line.ci95.get(i).copied().filter(|ci95| ci95.is_finite());
    let at = |i: usize| (line.x[i], line.y[i], ci95(i).unwrap_or(0.0));
    thin(&line.y, MAX_POINTS)
        .into_iter()
        .map(at)
        .filter(|&(x, y, _)| fits(x, chart.x.scale) && fits(y, chart.y.scale))
        .collect()
}

fn draw(line: &Line, points: &[Point], plots: &mut Vec<Drawn>) {
    let colour = palette::series(line.colour);
    let pairs = || points.iter().map(|&(x, y, _)| (x, y));
    let has_intervals = points.iter().any(|&(_, _, ci95)| ci95 > 0.0);
    if line.style == Style::Points {
        let size = if points.len() > 400 { 1.6 } else { 3.0 };
        let cloud = ScatterPlot::new().with_data(pairs()).with_color(colour).with_size(size);
        plots.push(cloud.with_marker_opacity(0.65).with_legend(line.name.as_str()).into());
        return;
    }
    if has_intervals && line.style == Style::Line {
        let low = points.iter().map(|&(_, y, ci95)| y - ci95);
        let high = points.iter().map(|&(_, y, ci95)| y + ci95);
        plots.push(BandPlot::new(points.iter().map(|p| p.0), low, high).with_color(colour).into());
    }
    let mut plot = LinePlot::new()
        .with_data(pairs())
        .with_color(colour)
        .with_stroke_width(2.0)
        .with_legend(line.name.as_str());
    plot = match palette::round(line.colour) {
        0 => plot,
        1 => plot.with_dashed(),
        _ => plot.with_dotted(),
    };
    if line.style == Style::Steps {
        plot = plot.with_step();
    }
    if has_intervals && line.style == Style::Marked {
        plot = plot.with_y_err(points.iter().map(|p| p.2));
    }
    plots.push(plot.into());
    if line.style == Style::Marked {
        let marks = ScatterPlot::new().with_data(pairs()).with_color(colour).with_size(3.5);
        plots.push(marks.into());
    }
}
