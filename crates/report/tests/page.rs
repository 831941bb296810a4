//! The page holds everything that it needs, and nothing that somebody else put there.

mod charts;

use slotcast_report::html;
use slotcast_report::page::{Block, Note, Page, Section, Table, Tone, numbers, words};

fn page() -> Page {
    let table = Table {
        caption: "A table".into(),
        columns: vec![words("name"), numbers("value")],
        rows: vec![vec!["first".into(), "1 ± 2".into()]],
        ..Table::default()
    };
    let notes = vec![Note { text: "warning: few seeds".into(), tone: Tone::Bad }];
    let blocks = vec![
        Block::Heading("Tables".into()),
        Block::Table(table.clone()),
        Block::Table(Table { folded: true, caption: "Folded".into(), ..table }),
        Block::Notes(notes),
        Block::Chart(charts::bars().with_caption("What it means.")),
        Block::Chart(charts::lines()),
        Block::Chart(charts::heat()),
        Block::Chart(charts::timeline()),
    ];
    Page {
        title: "A report".into(),
        question: "How much?".into(),
        answer: "Much.".into(),
        facts: vec![("runs".into(), "5".into())],
        sections: vec![Section::new("one", "One", blocks)],
        data: Vec::new(),
    }
}

/// The page without the library, which is another project's and holds any string that there is.
fn own(html: &str) -> String {
    let start = html.find("<script type=\"text/javascript\">").expect("the library");
    let end = start + html[start..].find("</script>").expect("its end");
    format!("{}{}", &html[..start], &html[end..])
}

#[test]
fn the_library_is_there_once_and_nothing_is_fetched() {
    let html = html::render(&page());
    assert_eq!(html.matches("plotly.js v").count(), 1);
    let own = own(&html);
    for link in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!own.contains(link), "{link}");
    }
    // The crate also brings a script of two megabytes that sets formulas.
    assert!(html.len() < 5_500_000, "{} bytes", html.len());
}

#[test]
fn question_answer_tables_and_charts_are_in_it() {
    let own = own(&html::render(&page()));
    for wanted in [
        "<title>A report · Slotcast</title>",
        "<p class=\"question\">How much?</p>",
        "<p class=\"answer\">Much.</p>",
        "<caption>A table</caption>",
        "<details class=\"fold\"><summary>Folded</summary>",
        "<li class=\"bad\">warning: few seeds</li>",
        "<figcaption>What it means.</figcaption>",
        "href=\"figures/bars.svg\"",
        "href=\"data/bars.parquet\"",
        "aria-label=\"A title. What it means.\"",
    ] {
        assert!(own.contains(wanted), "{wanted}");
    }
    assert_eq!(own.matches("<script type=\"application/json\"").count(), 4);
    // The numbers are there for whoever has no chart.
    assert!(own.contains("10\u{202f}000 ± 500") || own.contains("10\u{202f}001 ± 500"), "{own}");
}

#[test]
fn specifications_are_json() {
    let own = own(&html::render(&page()));
    let mut rest = own.as_str();
    let mut kinds = Vec::new();
    while let Some(at) = rest.find("<script type=\"application/json\"") {
        rest = &rest[at..];
        let start = rest.find('>').expect("a tag") + 1;
        let end = rest.find("</script>").expect("its end");
        let spec: serde_json::Value = serde_json::from_str(&rest[start..end]).expect("JSON");
        kinds.extend(spec["data"][0]["type"].as_str().map(str::to_string));
        rest = &rest[end..];
    }
    assert_eq!(kinds, ["bar", "scatter", "heatmap", "bar"]);
}

#[test]
fn texts_cannot_become_elements() {
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
    let mut page = page();
    page.title = evil.into();
    page.answer = evil.into();
    page.facts = vec![(evil.into(), evil.into())];
    for block in &mut page.sections[0].blocks {
        match block {
            Block::Chart(chart) => {
                chart.title = evil.into();
                chart.caption = evil.into();
                chart.x.label = evil.into();
            }
            Block::Table(table) => {
                table.caption = evil.into();
                table.rows[0][0] = evil.into();
            }
            Block::Heading(text) => *text = evil.into(),
            _ => {}
        }
    }
    let html = html::render(&page);
    assert!(!html.contains("<script>alert") && !html.contains("<img"));
}
