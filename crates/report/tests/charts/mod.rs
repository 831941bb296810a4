//! One chart of each kind, for the tests.
#![allow(dead_code, reason = "each test file uses its own part")]

use slotcast_report::chart::{
    Axis, BarSeries, Bars, Chart, Heat, Line, Lines, Mark, Mean, On, Plot, Span, State, Style,
    Timeline,
};

pub(crate) fn bars() -> Chart {
    let mean = |value, ci95| Mean { value, ci95 };
    let plot = Plot::Bars(Bars {
        groups: vec!["400".into(), "1000".into()],
        series: vec![
            BarSeries {
                name: "a".into(),
                bars: vec![mean(10_000.5, Some(500.25)), mean(20_000.0, Some(900.0))],
                colour: 0,
                light: false,
            },
            BarSeries {
                name: "a, published".into(),
                bars: vec![mean(9_900.0, None), mean(f64::NAN, None)],
                colour: 0,
                light: true,
            },
        ],
        stacked: false,
        marks: vec![Mark { on: On::Y, at: 25_000.0, label: "limit".into(), colour: None }],
    });
    let axes = (Axis::new("disk rate", "MiB/s"), Axis::new("throughput", "chunks/s"));
    Chart::new("bars", "A title", axes.0, axes.1, plot)
}

pub(crate) fn lines() -> Chart {
    let x: Vec<f64> = (1..=50).map(f64::from).collect();
    let y = x.iter().map(|x| 100.0 + (x * 7.0) % 31.0 + 0.1).collect();
    let points = Line::new("points", 0, x, y).with_style(Style::Points);
    let few: Vec<f64> = vec![1.0, 10.0, 20.0, 30.0, 50.0];
    let line = Line {
        ci95: vec![1.0, f64::NAN, 2.0, 3.0, 1.5],
        ..Line::new("line", 1, few.clone(), few.iter().map(|x| x * 2.0).collect())
            .with_style(Style::Marked)
    };
    let mark = Mark { on: On::X, at: 25.0, label: "half".into(), colour: Some(1) };
    let plot = Plot::Lines(Lines { lines: vec![points, line], marks: vec![mark] });
    Chart::new("lines", "Lines", Axis::new("request", ""), Axis::new("latency", "us"), plot)
}

pub(crate) fn heat() -> Chart {
    let plot = Plot::Heat(Heat {
        columns: vec!["4KiB".into(), "16KiB".into(), "64KiB".into()],
        rows: vec!["200MiB/s".into(), "400MiB/s".into()],
        values: vec![vec![1.0, 2.0, 3.0], vec![4.0, f64::NAN, 6.0]],
        label: "mean latency".into(),
        unit: "us".into(),
    });
    Chart::new("heat", "Heat", Axis::new("chunk size", ""), Axis::new("disk rate", ""), plot)
}

pub(crate) fn timeline() -> Chart {
    let state = |name: &str, colour: &str, height| State {
        name: name.into(),
        colour: colour.into(),
        height,
    };
    let span =
        |row, state, start, end| Span { row, state, start, end, label: "request 1.2".into() };
    let plot = Plot::Timeline(Timeline {
        rows: vec!["t0".into(), "t1".into()],
        states: vec![state("used", "#0072B2", 0.9), state("cancelled", "#8A8F98", 0.3)],
        spans: vec![span(0, 0, 0.0, 10.5), span(1, 1, 3.0, 7.0), span(1, 0, 8.0, 18.5)],
    });
    Chart::new("timeline", "Timeline", Axis::new("time", "us"), Axis::new("target", ""), plot)
}
