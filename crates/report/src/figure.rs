//! Pictures for papers and slides: SVG, and PNG of twice the size in pixels, drawn by `kuva`.

mod bars;
mod heat;
mod lines;
mod timeline;

use std::fmt;
use std::sync::Arc;

use kuva::backend::raster::RasterBackend;
use kuva::backend::svg::SvgBackend;
use kuva::plot::LegendPosition;
use kuva::prelude::{Layout, Plot as Drawn, Theme, TickFormat};
use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor, TextSpan, render_multiple};

use crate::chart::{Chart, Plot, Scale};
use crate::number;

/// Size of a picture, in pixels of SVG.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 520.0;

/// Pixels of PNG for each pixel of SVG.
const PNG_SCALE: f32 = 2.0;

/// Most points of a line in a picture; see [`crate::thin`].
const MAX_POINTS: usize = 1500;

const INK: &str = "#1F2328";
const SOFT_INK: &str = "#57606A";
const GRID: &str = "#E3E6EA";

/// Longest line of a title, in characters.
const TITLE_LINE: usize = 84;
const TITLE_SIZE: u32 = 18;
const LABEL_SIZE: u32 = 13;

/// `chart` as the text of an SVG file.
pub fn svg(chart: &Chart) -> String {
    let text = SvgBackend::default().render_scene(&scene(chart));
    described(&text, chart)
}

/// `chart` as the bytes of a PNG file.
///
/// # Errors
/// If the picture cannot be encoded.
pub fn png(chart: &Chart) -> Result<Vec<u8>, DrawingFailed> {
    let backend = RasterBackend::new().with_scale(PNG_SCALE);
    backend.render_scene(&scene(chart)).map_err(DrawingFailed)
}

/// Why a picture could not be drawn.
#[derive(Debug)]
pub struct DrawingFailed(String);

impl fmt::Display for DrawingFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DrawingFailed {}

fn scene(chart: &Chart) -> Scene {
    let drawn = match &chart.plot {
        Plot::Bars(bars) => bars::scene(chart, bars),
        Plot::Lines(lines) => lines::scene(chart, lines),
        Plot::Heat(heat) => heat::scene(chart, heat),
        Plot::Timeline(timeline) => timeline::scene(chart, timeline),
    };
    drawn.unwrap_or_else(|| nothing(chart))
}

fn theme() -> Theme {
    Theme {
        axis_color: SOFT_INK.into(),
        grid_color: GRID.into(),
        tick_color: SOFT_INK.into(),
        text_color: INK.into(),
        legend_border: "none".into(),
        colorbar_border: SOFT_INK.into(),
        ..Theme::light()
    }
}

/// The frame around `plots`: axes, ticks, and a legend to the right of the data. The title and the
/// name of the vertical axis stand above it, where they can be read without tilting one's head.
fn framed(chart: &Chart, plots: Vec<Drawn>, adjust: impl FnOnce(Layout) -> Layout) -> Scene {
    let mut layout = Layout::auto_from_plots(&plots)
        .with_width(WIDTH)
        .with_height(HEIGHT)
        .with_theme(theme())
        .with_label_size(LABEL_SIZE)
        .with_tick_size(12)
        .with_legend_position(LegendPosition::OutsideRightTop)
        .with_legend_wrap(26)
        .with_force_margins_y(header_height(chart), 48.0)
        .with_tick_format(TickFormat::Custom(Arc::new(number::tick)))
        .with_x_label(chart.x.text());
    if chart.x.scale == Scale::Log {
        layout = layout.with_log_x();
    }
    match chart.y.scale {
        Scale::Log => layout = layout.with_log_y(),
        Scale::FromZero => layout = layout.with_y_axis_min(0.0),
        Scale::Linear => {}
    }
    if chart.is_whole() {
        layout = layout.with_y_axis_max(100.0);
    }
    if let Some(reach) = chart.reach() {
        layout = layout.with_y_axis_max(reach);
    }
    let mut scene = render_multiple(plots, adjust(layout));
    let below = match &chart.plot {
        Plot::Heat(heat) if chart.y.label.is_empty() => {
            format!("colour: {}", heat::heat_label(heat))
        }
        Plot::Heat(heat) => format!("{}; colour: {}", chart.y.text(), heat::heat_label(heat)),
        _ => chart.y.text(),
    };
    header(&mut scene, chart, &below);
    scene
}

fn header_height(chart: &Chart) -> f64 {
    let lines = title_lines(&chart.title).len() as f64;
    lines * f64::from(TITLE_SIZE) * 1.35 + 42.0
}

/// The title, and `below` it what the vertical axis means.
fn header(scene: &mut Scene, chart: &Chart, below: &str) {
    let mut y = f64::from(TITLE_SIZE) + 8.0;
    for line in title_lines(&chart.title) {
        scene.add(text(y, line, true, TITLE_SIZE, INK));
        y += f64::from(TITLE_SIZE) * 1.35;
    }
    scene.add(text(y - 2.0, below.into(), false, LABEL_SIZE, SOFT_INK));
}

fn text(y: f64, text: String, bold: bool, size: u32, colour: &str) -> Primitive {
    let (italic, underline, code, math) = (false, false, false, false);
    let span = TextSpan { text, bold, italic, underline, code, math };
    let color = Some(Color::from(colour));
    Primitive::RichText { x: 16.0, y, spans: vec![span], size, anchor: TextAnchor::Start, color }
}

/// The title in lines that fit.
fn title_lines(title: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in title.split_whitespace() {
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > TITLE_LINE {
            lines.push(word.into());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

/// What is drawn where there is nothing to draw: an empty frame would look like a mistake.
fn nothing(chart: &Chart) -> Scene {
    let mut scene = Scene::new(WIDTH, 140.0);
    scene.background_color = Some("white".into());
    header(&mut scene, chart, "nothing was measured");
    scene
}

/// Gives the picture a title and a description for whoever cannot see it.
fn described(svg: &str, chart: &Chart) -> String {
    let open = svg.find("<svg").and_then(|at| svg[at..].find('>').map(|end| at + end + 1));
    let Some(open) = open else { return svg.into() };
    let (before, after) = svg.split_at(open);
    let (title, caption) = (escaped(&chart.title), escaped(&chart.caption));
    format!("{before}<title>{title}</title><desc>{caption}</desc>{after}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn a_long_title_takes_two_lines() {
        let title = "word ".repeat(30);
        let lines = title_lines(&title);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.len() <= TITLE_LINE));
        assert_eq!(title_lines("").len(), 1);
    }
}
