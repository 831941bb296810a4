//! Bars with error bars.

use kuva::prelude::{BarPlot, Plot as Drawn};
use kuva::render::render::{Primitive, Scene};

use super::lines::marked;
use super::{INK, framed};
use crate::chart::{BarSeries, Bars, Chart};
use crate::palette;

/// Part of the colour that is left in a light bar.
const LIGHT: f64 = 0.35;

pub(super) fn scene(chart: &Chart, bars: &Bars) -> Option<Scene> {
    let is_drawn = |bar: f64| bar.is_finite();
    if !bars.series.iter().flat_map(|series| &series.bars).any(|bar| is_drawn(bar.value)) {
        return None;
    }
    let mut plot = BarPlot::new().with_error_color(INK).with_error_cap_width(0.25);
    let mut errors = Vec::new();
    for (at, group) in bars.groups.iter().enumerate() {
        let values = bars.series.iter().map(|series| {
            let value = series.bars[at].value;
            (if is_drawn(value) { value } else { 0.0 }, colour(series))
        });
        plot = plot.with_group(group.as_str(), values);
        // A bar without an interval gets a whisker at no place, which is taken out again below.
        let ci95 = |series: &BarSeries| series.bars[at].ci95.filter(|ci95| ci95.is_finite());
        errors.extend(bars.series.iter().map(|series| ci95(series).unwrap_or(f64::NAN)));
    }
    plot = plot.with_legend(bars.series.iter().map(|series| series.name.as_str()).collect());
    if bars.stacked {
        plot = plot.with_stacked();
    } else if errors.iter().any(|&error| error > 0.0) {
        plot = plot.with_error(errors);
    }
    let mut scene = framed(chart, vec![Drawn::Bar(plot)], |layout| marked(layout, &bars.marks));
    scene.elements.retain(
        |element| !matches!(element, Primitive::Line { y1, y2, .. } if y1.is_nan() || y2.is_nan()),
    );
    Some(scene)
}

fn colour(series: &BarSeries) -> String {
    let colour = palette::series(series.colour);
    if series.light { palette::tint(colour, LIGHT) } else { colour.into() }
}
