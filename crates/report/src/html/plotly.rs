//! Charts as plotly.js takes them: its documented JSON of traces and layout.
//!
//! The crate `plotly` brings the script. Its builders are not used: they do not know the base of a
//! bar, which a timeline is made of, and each of their plots carries a copy of the script.

use serde_json::{Value, json};

use crate::chart::{Axis, Bars, Chart, Heat, Line, Lines, Mean, On, Plot, Scale, Style, Timeline};
use crate::chart::{Mark, unit_text};
use crate::number;
use crate::palette;
use crate::thin::thin;

/// Most points of a line in the page; see [`crate::thin`].
const MAX_POINTS: usize = 2000;

/// Most spans of a timeline in the page.
const MAX_SPANS: usize = 6000;

/// Most ticks that stand exactly where the values are.
const MAX_PLACES: usize = 12;

/// Opacity of light bars and of bands.
const LIGHT: f64 = 0.4;
const BAND: f64 = 0.2;

/// The script element with plotly.js.
pub(super) fn library() -> String {
    // The crate also brings a script that sets formulas, which we have none of.
    let sources = plotly::Plot::offline_js_sources();
    let end = "</script>";
    let mut scripts = sources.split_inclusive(end).map(str::trim);
    let found = scripts.find(|script| script.contains("plotly.js v"));
    found.expect("the crate embeds plotly.js").into()
}

/// Height of a chart in the page, in pixels.
pub(super) fn height(chart: &Chart) -> usize {
    match &chart.plot {
        Plot::Bars(_) | Plot::Lines(_) => 440,
        Plot::Heat(heat) => (160 + 48 * heat.rows.len()).clamp(320, 900),
        Plot::Timeline(timeline) => (170 + 18 * timeline.rows.len()).clamp(300, 1300),
    }
}

/// `{"data": [traces], "layout": {...}}`, safe inside a script element.
pub(super) fn spec(chart: &Chart) -> String {
    let (data, mut layout) = match &chart.plot {
        Plot::Bars(bars) => of_bars(bars, chart),
        Plot::Lines(lines) => of_lines(lines, chart),
        Plot::Heat(heat) => of_heat(heat, chart),
        Plot::Timeline(timeline) => of_timeline(timeline, chart),
    };
    if chart.is_whole() {
        layout["yaxis"]["range"] = json!([0, 101]);
    }
    if let Some(reach) = chart.reach() {
        layout["yaxis"]["range"] = json!([0, reach]);
    }
    layout["margin"] = json!({ "l": 64, "r": 12, "t": 34, "b": 48 });
    layout["separators"] = json!(".\u{202f}");
    // A text could end the script element.
    json!({ "data": data, "layout": layout }).to_string().replace('<', "\\u003c")
}

fn axis(axis: &Axis) -> Value {
    let title = json!({ "text": axis.text(), "standoff": 14 });
    let mut value = json!({ "title": title, "exponentformat": "SI" });
    match axis.scale {
        Scale::Linear => {}
        Scale::FromZero => value["rangemode"] = json!("tozero"),
        Scale::Log => value["type"] = json!("log"),
    }
    value
}

/// An axis of names, which are broken at commas where there is no room for them.
fn categories(of: &Axis, names: &[String]) -> Value {
    json!({
        "title": { "text": of.text() }, "type": "category", "tickmode": "array",
        "tickvals": (0..names.len()).collect::<Vec<_>>(),
        "ticktext": names.iter().map(|name| name.replace(", ", ",<br>")).collect::<Vec<_>>(),
    })
}

fn short(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    values.into_iter().map(number::short).collect()
}

fn of_bars(bars: &Bars, chart: &Chart) -> (Vec<Value>, Value) {
    let unit = unit_text(&chart.y.unit);
    let traces = bars.series.iter().map(|series| {
        let text = |mean: &Mean| format!("{} {unit}", number::mean(*mean));
        let opacity = if series.light { LIGHT } else { 1.0 };
        let mut trace = json!({
            "type": "bar",
            "name": series.name,
            "x": bars.groups,
            "y": short(series.bars.iter().map(|bar| bar.value)),
            "text": series.bars.iter().map(text).collect::<Vec<_>>(),
            "textposition": "none",
            "hovertemplate": "%{x}<br>%{fullData.name}: <b>%{text}</b><extra></extra>",
            "marker": { "color": palette::series(series.colour), "opacity": opacity },
        });
        if !bars.stacked && series.bars.iter().any(|bar| bar.ci95.is_some()) {
            let intervals = series.bars.iter().map(|bar| bar.ci95.unwrap_or(0.0));
            trace["error_y"] = json!({
                "type": "data", "array": short(intervals), "thickness": 1.4, "width": 5,
            });
        }
        trace
    });
    let mode = if bars.stacked { "stack" } else { "group" };
    let layout = json!({
        "barmode": mode, "bargap": 0.25, "bargroupgap": 0.06, "hovermode": "closest",
        "xaxis": categories(&chart.x, &bars.groups), "yaxis": axis(&chart.y),
        "shapes": bars.marks.iter().map(shape).collect::<Vec<_>>(),
        "annotations": notes(&bars.marks, chart),
    });
    (traces.collect(), layout)
}

fn of_lines(lines: &Lines, chart: &Chart) -> (Vec<Value>, Value) {
    let traces = lines.lines.iter().flat_map(|line| of_line(line, chart)).collect();
    let mut x = axis(&chart.x);
    if let Some(places) = few_places(lines) {
        x["tickvals"] = json!(places);
        x["ticktext"] = json!(places.iter().map(|&x| number::tick(x)).collect::<Vec<_>>());
    }
    if let Some(range) = range(lines, &chart.x) {
        x["range"] = json!(range);
    }
    let layout = json!({
        "hovermode": "closest", "xaxis": x, "yaxis": axis(&chart.y),
        "shapes": lines.marks.iter().map(shape).collect::<Vec<_>>(),
        "annotations": notes(&lines.marks, chart),
    });
    (traces, layout)
}

/// The places of lines over a few of them, which are what a reader wants to see on the axis.
fn few_places(lines: &Lines) -> Option<Vec<f64>> {
    let mut places: Vec<f64> = Vec::new();
    for line in &lines.lines {
        if line.style != Style::Marked {
            return None;
        }
        places.extend(&line.x);
        places.sort_unstable_by(f64::total_cmp);
        places.dedup();
        if places.len() > MAX_PLACES {
            return None;
        }
    }
    Some(places)
}

/// A range with some room at both ends: plotly.js leaves none beside a line, and cuts it there.
fn range(lines: &Lines, x: &Axis) -> Option<[f64; 2]> {
    let values = || lines.lines.iter().flat_map(|line| &line.x).copied().filter(|x| x.is_finite());
    let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    if x.scale == Scale::Log || high <= low {
        return None;
    }
    let low = if low > 0.0 && low < high * 0.25 { 0.0 } else { low };
    let room = (high - low) * 0.02;
    Some(if low == 0.0 { [-room / 2.0, high + room] } else { [low - room, high + room] })
}

fn of_line(line: &Line, chart: &Chart) -> Vec<Value> {
    let kept = thin(&line.y, MAX_POINTS);
    let pick = |values: &[f64]| short(kept.iter().map(|&at| values[at]));
    let colour = palette::series(line.colour);
    let (x_unit, y_unit) = (unit_text(&chart.x.unit), unit_text(&chart.y.unit));
    let name = |of: &Axis| of.label.replace(['{', '}', '%'], "");
    let mut trace = json!({
        "type": "scatter",
        "name": line.name,
        "legendgroup": line.name,
        "x": pick(&line.x),
        "y": pick(&line.y),
        "mode": match line.style {
            Style::Points => "markers",
            Style::Marked => "lines+markers",
            Style::Line | Style::Steps => "lines",
        },
        "hovertemplate": format!(
            "<b>%{{fullData.name}}</b><br>{}: %{{x:,.6~g}} {x_unit}<br>{}: %{{y:,.5~g}} {y_unit}<extra></extra>",
            name(&chart.x), name(&chart.y),
        ),
    });
    if line.style == Style::Points {
        let size = if kept.len() > 400 { 3.5 } else { 6.0 };
        trace["marker"] = json!({ "color": colour, "size": size, "opacity": 0.65 });
    } else {
        let dash = ["solid", "dash", "dot"][palette::round(line.colour).min(2)];
        let shape = if line.style == Style::Steps { "hv" } else { "linear" };
        trace["line"] = json!({ "color": colour, "width": 2, "dash": dash, "shape": shape });
        trace["marker"] = json!({ "color": colour, "size": 7 });
    }
    if line.ci95.is_empty() {
        return vec![trace];
    }
    if line.style == Style::Marked {
        trace["error_y"] = json!({
            "type": "data", "array": pick(&line.ci95), "color": colour, "thickness": 1.4, "width": 5,
        });
        return vec![trace];
    }
    let edge = |sign: f64| short(kept.iter().map(|&at| line.y[at] + sign * line.ci95[at]));
    let bound = |y: Vec<f64>| {
        json!({
            "type": "scatter", "mode": "lines", "legendgroup": line.name, "showlegend": false,
            "hoverinfo": "skip", "x": trace["x"], "y": y, "line": { "width": 0, "color": colour },
        })
    };
    let mut high = bound(edge(1.0));
    high["fill"] = json!("tonexty");
    high["fillcolor"] = json!(palette::with_opacity(colour, BAND));
    vec![bound(edge(-1.0)), high, trace]
}

fn shape(mark: &Mark) -> Value {
    let colour = mark.colour.map_or(palette::QUIET, palette::series);
    let line = json!({ "color": colour, "width": 1.4, "dash": "dash" });
    match mark.on {
        On::X => json!({
            "type": "line", "xref": "x", "yref": "paper", "line": line,
            "x0": mark.at, "x1": mark.at, "y0": 0, "y1": 1,
        }),
        On::Y => json!({
            "type": "line", "xref": "paper", "yref": "y", "line": line,
            "x0": 0, "x1": 1, "y0": mark.at, "y1": mark.at,
        }),
    }
}

fn notes(marks: &[Mark], chart: &Chart) -> Vec<Value> {
    marks.iter().filter(|mark| !mark.label.is_empty()).map(|mark| note(mark, chart)).collect()
}

fn note(mark: &Mark, chart: &Chart) -> Value {
    // plotly.js places notes on a logarithmic axis by the logarithm, unlike shapes.
    let at = |scale| if scale == Scale::Log { mark.at.log10() } else { mark.at };
    match mark.on {
        On::X => json!({
            "text": mark.label, "showarrow": false, "xref": "x", "yref": "paper",
            "x": at(chart.x.scale), "y": 1, "xanchor": "left", "yanchor": "top",
        }),
        On::Y => json!({
            "text": mark.label, "showarrow": false, "xref": "paper", "yref": "y",
            "x": 0, "y": at(chart.y.scale), "xanchor": "left", "yanchor": "top",
        }),
    }
}

fn of_heat(heat: &Heat, chart: &Chart) -> (Vec<Value>, Value) {
    let rows = |of: &dyn Fn(f64) -> Value| -> Vec<Vec<Value>> {
        heat.values.iter().map(|row| row.iter().map(|&value| of(value)).collect()).collect()
    };
    let label = Axis::new(&heat.label, &heat.unit).text();
    let trace = json!({
        "type": "heatmap",
        "x": heat.columns,
        "y": heat.rows,
        "z": rows(&|value| json!(number::short(value))),
        "text": rows(&|value| json!(number::figure(value))),
        "texttemplate": "%{text}",
        "hovertemplate": format!(
            "{}: %{{x}}<br>{}: %{{y}}<br><b>%{{text}} {}</b><extra></extra>",
            chart.x.label, chart.y.label, unit_text(&heat.unit),
        ),
        "colorscale": "Cividis",
        "xgap": 2, "ygap": 2,
        "colorbar": { "title": { "text": label, "side": "right" }, "thickness": 14 },
    });
    let layout = json!({
        "xaxis": categories(&chart.x, &heat.columns), "yaxis": categories(&chart.y, &heat.rows),
    });
    (vec![trace], layout)
}

fn of_timeline(timeline: &Timeline, chart: &Chart) -> (Vec<Value>, Value) {
    let mut spans: Vec<_> = timeline.spans.iter().collect();
    spans.sort_by(|a, b| a.start.total_cmp(&b.start));
    spans.truncate(MAX_SPANS);
    let unit = unit_text(&chart.x.unit);
    let traces = timeline.states.iter().enumerate().map(|(index, state)| {
        let spans: Vec<_> = spans.iter().filter(|span| span.state == index).collect();
        let text = spans.iter().map(|span| {
            let (start, end) = (number::figure(span.start), number::figure(span.end));
            format!("{start} to {end} {unit}<br>{}", span.label)
        });
        json!({
            "type": "bar",
            "orientation": "h",
            "name": state.name,
            "y": spans.iter().map(|span| &timeline.rows[span.row]).collect::<Vec<_>>(),
            "base": spans.iter().map(|span| span.start).collect::<Vec<_>>(),
            "x": short(spans.iter().map(|span| span.end - span.start)),
            "width": state.height,
            "text": text.collect::<Vec<_>>(),
            "textposition": "none",
            "hovertemplate": "<b>%{fullData.name}</b>, %{y}<br>%{text}<extra></extra>",
            "marker": { "color": state.colour, "line": { "width": 0 } },
        })
    });
    let rows = json!({
        "title": { "text": chart.y.text() }, "type": "category", "categoryorder": "array",
        "categoryarray": timeline.rows, "autorange": "reversed",
    });
    let layout = json!({
        "barmode": "overlay", "hovermode": "closest", "xaxis": axis(&chart.x), "yaxis": rows,
    });
    (traces.collect(), layout)
}
