//! The page: one HTML file that needs no network, with charts drawn by plotly.js.

mod plotly;
mod table;

use askama::Template;

use crate::page::{Block, Page};

/// The page as text.
#[derive(Template)]
#[template(path = "page.html")]
struct Document<'a> {
    page: &'a Page,
    version: &'static str,
    style: &'static str,
    program: &'static str,
    library: String,
}

/// `page` as the text of an HTML file.
pub fn render(page: &Page) -> String {
    let document = Document {
        page,
        version: env!("CARGO_PKG_VERSION"),
        style: include_str!("../templates/page.css"),
        program: include_str!("../templates/page.js"),
        library: plotly::library(),
    };
    document.render().expect("writing to a string cannot fail")
}
