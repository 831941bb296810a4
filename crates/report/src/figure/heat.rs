//! Tables of colours.

use std::sync::Arc;

use kuva::plot::ColorMap;
use kuva::prelude::{Heatmap, Plot as Drawn, TickFormat};
use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::{INK, framed};
use crate::chart::{Chart, Heat};
use crate::number;

/// Most cells along an axis that still have room for their value.
const MAX_WRITTEN: usize = 12;

pub(super) fn scene(chart: &Chart, heat: &Heat) -> Option<Scene> {
    let values = || heat.values.iter().flatten().copied().filter(|value| value.is_finite());
    let smallest = values().reduce(f64::min)?;
    let largest = values().reduce(f64::max)?;
    let range = (largest - smallest).max(f64::EPSILON);
    // A missing value gets the smallest one's colour, and a dash.
    let data: Vec<Vec<f64>> = heat
        .values
        .iter()
        .map(|row| row.iter().map(|&v| if v.is_finite() { v } else { smallest }).collect())
        .collect();
    let map = Heatmap::new().with_data(data).with_color_map(ColorMap::Cividis);
    let map = map.with_legend(heat_label(heat));
    let mut scene = framed(chart, vec![Drawn::Heatmap(map)], |layout| {
        layout
            .with_x_categories(heat.columns.clone())
            .with_y_categories(heat.rows.clone())
            .with_colorbar_tick_format(TickFormat::Custom(Arc::new(number::tick)))
    });
    if heat.columns.len() <= MAX_WRITTEN && heat.rows.len() <= MAX_WRITTEN {
        let is_light = |value: f64| (value - smallest) / range > 0.5;
        write_values(&mut scene, heat, is_light);
    }
    Some(scene)
}

/// Writes each value into its cell, in a colour that can be read on the cell's.
fn write_values(scene: &mut Scene, heat: &Heat, is_light: impl Fn(f64) -> bool) {
    let cells = scene.elements.iter().find_map(|element| match element {
        Primitive::RectBatch { x, y, w, h, .. } => {
            let centre = |at: usize| (x[at] + w[at] / 2.0, y[at] + h[at] / 2.0);
            Some((0..x.len()).map(centre).collect::<Vec<_>>())
        }
        _ => None,
    });
    let values = heat.values.iter().flatten();
    for ((x, y), &value) in cells.unwrap_or_default().into_iter().zip(values) {
        let colour = if is_light(value) { INK } else { "#FFFFFF" };
        scene.add(Primitive::Text {
            x,
            y: y + 4.0,
            content: number::figure(value),
            size: 12,
            anchor: TextAnchor::Middle,
            rotate: None,
            bold: false,
            color: Some(Color::from(colour)),
        });
    }
}

/// What the colours mean.
pub(super) fn heat_label(heat: &Heat) -> String {
    crate::chart::Axis::new(&heat.label, &heat.unit).text()
}
