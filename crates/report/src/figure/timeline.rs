//! Rows with coloured spans of time.

use kuva::plot::{LegendEntry, LegendShape};
use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene};
use kuva::render::track_stack::{AxisSpec, Track, TrackCtx, TrackHeight, TrackStack};

use super::{WIDTH, header, header_height, theme};
use crate::chart::{Chart, Span, State, Timeline, unit_text};

/// Height of a row, and of the gap below it.
const ROW: f64 = 14.0;
const GAP: f64 = 3.0;

/// Most spans in one picture: more cannot be told apart on paper, and make the file heavy.
const MAX_SPANS: usize = 4000;

pub(super) fn scene(chart: &Chart, timeline: &Timeline) -> Option<Scene> {
    if timeline.spans.is_empty() {
        return None;
    }
    let mut spans = timeline.spans.clone();
    spans.sort_by(|a, b| a.start.total_cmp(&b.start));
    spans.truncate(MAX_SPANS);
    let mut stack =
        TrackStack::new().with_theme(theme()).spacing(GAP).track(Head(header_height(chart)));
    for (index, name) in timeline.rows.iter().enumerate() {
        // In the order of the states, so that narrow ones lie on wide ones as in the page.
        let mut spans: Vec<Span> = spans.iter().filter(|span| span.row == index).cloned().collect();
        spans.sort_by_key(|span| span.state);
        let states = timeline.states.clone();
        stack = stack.track(Row { name: name.clone(), states, spans, is_first: index == 0 });
    }
    let unit = unit_text(&chart.x.unit);
    let mut scene = stack.x_axis_with(AxisSpec::default().with_label(unit)).render(WIDTH);
    header(&mut scene, chart, &format!("{} over {}", chart.y.text(), chart.x.text()));
    Some(scene)
}

/// Room for the title.
struct Head(f64);

impl Track for Head {
    fn height(&self) -> TrackHeight {
        TrackHeight::Fixed(self.0)
    }

    fn render(self: Box<Self>, _: &TrackCtx<'_>, _: &mut Scene) {}
}

struct Row {
    name: String,
    states: Vec<State>,
    spans: Vec<Span>,
    is_first: bool,
}

impl Track for Row {
    fn height(&self) -> TrackHeight {
        TrackHeight::Fixed(ROW)
    }

    fn x_bounds(&self) -> Option<(f64, f64)> {
        let bounds = self.spans.iter().map(|span| (span.start, span.end));
        bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    fn label(&self) -> Option<&str> {
        Some(&self.name)
    }

    /// The states are the same in every row: the first one explains them.
    fn legend_entries(&self) -> Vec<LegendEntry> {
        let states = self.states.iter().filter(|_| self.is_first);
        let entry = |state: &State| LegendEntry {
            label: state.name.clone(),
            color: state.colour.clone(),
            shape: LegendShape::Rect,
            dasharray: None,
        };
        states.map(entry).collect()
    }

    fn legend_group_title(&self) -> Option<String> {
        None
    }

    fn render(self: Box<Self>, at: &TrackCtx<'_>, scene: &mut Scene) {
        for span in &self.spans {
            let state = &self.states[span.state];
            let (from, to) = (at.x.map(span.start), at.x.map(span.end));
            let height = at.height * state.height;
            scene.add(Primitive::Rect {
                x: from,
                y: at.y_top + (at.height - height) / 2.0,
                width: (to - from).max(0.4),
                height,
                fill: Color::from(state.colour.as_str()),
                stroke: None,
                stroke_width: None,
                opacity: None,
            });
        }
    }
}
