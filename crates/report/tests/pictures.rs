//! Pictures for papers: SVG that parses and shows what the chart says, PNG that is not blank, and no
//! values that break them.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

mod charts;

use std::collections::BTreeSet;
use std::io::Cursor;

use charts::{bars, heat, lines, timeline};
use proptest::prelude::*;
use roxmltree::Document;
use slotcast_report::chart::{
    Axis, BarSeries, Bars, Chart, Heat, Line, Lines, Mark, Mean, On, Plot, Scale, Span, State,
    Style, Timeline,
};
use slotcast_report::{figure, html, page};

/// How many elements of a kind have one of the colours, as `fill` or `stroke`.
fn marks(svg: &str, kind: &str, colour: &str) -> usize {
    let document = Document::parse(svg).expect("an XML document");
    let is_coloured = |node: &roxmltree::Node<'_, '_>| {
        ["fill", "stroke"].iter().any(|name| {
            node.attribute(*name).is_some_and(|value| value.eq_ignore_ascii_case(colour))
        })
    };
    document
        .descendants()
        .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", kind)) && is_coloured(node))
        .count()
}

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).expect("an XML document");
    let texts = document.descendants().filter(|node| node.tag_name().name() == "text");
    texts
        .map(|node| node.descendants().filter(|n| n.is_text()).filter_map(|n| n.text()).collect())
        .collect()
}

fn colours(png: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut reader = png::Decoder::new(Cursor::new(png)).read_info().expect("a PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("it fits into memory")];
    let frame = reader.next_frame(&mut bytes).expect("a picture");
    let channels = frame.color_type.samples();
    bytes[..frame.buffer_size()].chunks(channels).map(<[u8]>::to_vec).collect()
}

#[test]
fn bars_are_rectangles_with_whiskers_where_there_are_intervals() {
    let svg = figure::svg(&bars());
    // Two groups, and the entry of the legend.
    assert_eq!(marks(&svg, "rect", "#0072B2"), 3);
    assert_eq!(marks(&svg, "rect", "#A6CEE4"), 3, "{svg}");
    // A whisker and two caps for each of the two bars with an interval.
    assert_eq!(marks(&svg, "line", "#1F2328"), 6);
    let texts = texts(&svg);
    for wanted in ["A title", "throughput (chunks/s)", "disk rate (MiB/s)", "400", "1000", "a"] {
        assert!(texts.iter().any(|text| text == wanted), "{wanted} in {texts:?}");
    }
    assert!(!svg.contains("NaN"));
}

#[test]
fn clouds_are_circles_and_lines_are_paths() {
    let svg = figure::svg(&lines());
    // 50 points and the entry of the legend; then 5 points on a line.
    assert_eq!(marks(&svg, "circle", "#0072B2"), 51);
    assert_eq!(marks(&svg, "circle", "#D55E00"), 5);
    let drawn = marks(&svg, "path", "#D55E00") + marks(&svg, "polyline", "#D55E00");
    assert!(drawn >= 1, "{svg}");
    assert!(texts(&svg).contains(&"latency (µs)".to_string()));
}

#[test]
fn spans_are_rectangles_in_their_colours() {
    let svg = figure::svg(&timeline());
    assert_eq!(marks(&svg, "rect", "#0072B2"), 2 + 1);
    assert_eq!(marks(&svg, "rect", "#8A8F98"), 1 + 1);
    let texts = texts(&svg);
    assert!(["t0", "t1", "used", "cancelled"].iter().all(|name| texts.contains(&name.to_string())));
}

#[test]
fn heat_maps_write_their_values() {
    let texts = texts(&figure::svg(&heat()));
    for wanted in ["4KiB", "16KiB", "200MiB/s", "1.000", "6.000", "–"] {
        assert!(texts.iter().any(|text| text == wanted), "{wanted} in {texts:?}");
    }
}

#[test]
fn a_picture_says_what_it_shows_to_whoever_cannot_see_it() {
    let chart = bars().with_caption("Less < more & more");
    let svg = figure::svg(&chart);
    let document = Document::parse(&svg).expect("an XML document");
    let text = |name: &str| {
        let found = document.root_element().children().find(|node| node.tag_name().name() == name);
        found.and_then(|node| node.text()).unwrap_or_default().to_string()
    };
    assert_eq!((text("title"), text("desc")), ("A title".into(), "Less < more & more".into()));
}

#[test]
fn pngs_are_not_blank() {
    for chart in [bars(), lines(), heat(), timeline()] {
        let png = figure::png(&chart).expect("a picture");
        assert!(colours(&png).len() > 20, "{}", chart.name);
    }
}

#[test]
fn a_chart_without_values_says_so() {
    let nothing = Plot::Lines(Lines::default());
    let chart = Chart::new("n", "Nothing", Axis::new("x", ""), Axis::new("y", ""), nothing);
    assert!(texts(&figure::svg(&chart)).contains(&"nothing was measured".to_string()));
    assert!(!colours(&figure::png(&chart).expect("a picture")).is_empty());
}

/// A value as measurements have it, with the ones that break things.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => -1e9..1e9f64,
        2 => Just(0.0),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(1e-12),
        1 => Just(1e15),
    ]
}

fn interval() -> impl Strategy<Value = Option<f64>> {
    prop::option::of(prop_oneof![0.0..1e6f64, Just(f64::NAN), Just(0.0)])
}

fn scale() -> impl Strategy<Value = Scale> {
    prop_oneof![Just(Scale::Linear), Just(Scale::FromZero), Just(Scale::Log)]
}

fn any_plot() -> impl Strategy<Value = Plot> {
    let means = (value(), interval()).prop_map(|(value, ci95)| Mean { value, ci95 });
    let bars =
        (1usize..4, prop::collection::vec(prop::collection::vec(means, 4), 0..4), any::<bool>())
            .prop_map(|(groups, series, stacked)| {
                let series = series.into_iter().enumerate().map(|(colour, mut bars)| {
                    bars.truncate(groups);
                    BarSeries { name: format!("s{colour}"), bars, colour, light: colour > 1 }
                });
                let groups = (0..groups).map(|group| format!("g{group}")).collect();
                let marks = vec![Mark { on: On::Y, at: 2.0, label: "limit".into(), colour: None }];
                Plot::Bars(Bars { groups, series: series.collect(), stacked, marks })
            });
    let style = prop_oneof![
        Just(Style::Line),
        Just(Style::Points),
        Just(Style::Marked),
        Just(Style::Steps)
    ];
    let line = (prop::collection::vec((value(), value(), interval()), 0..20), style, 0usize..15)
        .prop_map(|(points, style, colour)| {
            let ci95 = points.iter().map(|point| point.2.unwrap_or(0.0)).collect();
            let x = points.iter().map(|point| point.0).collect();
            let y = points.iter().map(|point| point.1).collect();
            Line { name: format!("l{colour}"), x, y, ci95, style, colour }
        });
    let lines = prop::collection::vec(line, 0..4)
        .prop_map(|lines| Plot::Lines(Lines { lines, marks: Vec::new() }));
    let heat = (1usize..4, prop::collection::vec(prop::collection::vec(value(), 3), 0..4))
        .prop_map(|(columns, mut values)| {
            values.iter_mut().for_each(|row| row.truncate(columns.min(3)));
            Plot::Heat(Heat {
                columns: (0..columns.min(3)).map(|column| format!("c{column}")).collect(),
                rows: (0..values.len()).map(|row| format!("r{row}")).collect(),
                values,
                label: "v".into(),
                unit: String::new(),
            })
        });
    let span =
        (0usize..3, 0usize..2, 0.0..1e6f64, 0.0..1e4f64).prop_map(|(row, state, start, length)| {
            Span { row, state, start, end: start + length, label: String::new() }
        });
    let timeline = prop::collection::vec(span, 0..20).prop_map(|spans| {
        let state = |name: &str| State { name: name.into(), colour: "#0072B2".into(), height: 0.9 };
        Plot::Timeline(Timeline {
            rows: vec!["a".into(), "b".into(), "c".into()],
            states: vec![state("x"), state("y")],
            spans,
        })
    });
    prop_oneof![bars, lines, heat, timeline]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_value_breaks_a_picture(plot in any_plot(), x in scale(), y in scale()) {
        let axis = |name: &str, scale| Axis::new(name, "us").with_scale(scale);
        let chart = Chart::new("any", "Any", axis("x", x), axis("y", y), plot);
        let svg = figure::svg(&chart);
        prop_assert!(Document::parse(&svg).is_ok(), "{svg}");
        prop_assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
        prop_assert!(figure::png(&chart).is_ok());
        let section = page::Section::new("s", "S", vec![page::Block::Chart(chart)]);
        let page = page::Page { sections: vec![section], ..page::Page::default() };
        prop_assert!(html::render(&page).contains("chart-any"));
    }
}
