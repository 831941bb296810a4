//! Reports of simulations: what people look at, and what other programs read.
//!
//! * [`Page`](page::Page) and [`Chart`](chart::Chart) say what a report shows, as plain data: a
//!   question, its answer with an interval, tables, and pictures of four kinds (bars, lines and points,
//!   heat maps, timelines).
//! * [`reproduce::page`], [`sim::page`] and [`plan::page`] make pages of results.
//! * [`Folder::open`] and [`write()`] put a page into a folder:
//!
//! ```text
//! DIR/index.html              the page; it needs no network and can be sent alone
//! DIR/figures/NAME.{svg,png}  every picture of the page
//! DIR/data/NAME.{csv,parquet} the numbers of every picture, and more
//! DIR/report.json             what belongs to the report
//! ```
//!
//! ```
//! use slotcast_report::chart::{Axis, Chart, Line, Lines, Plot};
//! use slotcast_report::page::{Block, Page, Section};
//! use slotcast_report::{Folder, write};
//!
//! let line = Line::new("Replicast-M", 0, vec![0.2, 0.5, 0.8], vec![0.9, 1.1, 1.9]);
//! let plot = Plot::Lines(Lines { lines: vec![line], marks: vec![] });
//! let (x, y) = (Axis::new("load", ""), Axis::new("latency", "ms"));
//! let chart = Chart::new("latency", "Latency of puts", x, y, plot).with_caption("An example.");
//! let section = Section::new("latency", "Latency", vec![Block::Chart(chart)]);
//! let page = Page { title: "Load".into(), sections: vec![section], ..Page::default() };
//!
//! let path = std::env::temp_dir().join(format!("slotcast-report-{}", std::process::id()));
//! let index = write(&page, &Folder::open(&path)?)?;
//! assert!(index.ends_with("index.html") && path.join("data/latency.csv").exists());
//! # std::fs::remove_dir_all(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # One model, two libraries
//!
//! The page and the files show the same [`Chart`](chart::Chart) in the same colours
//! ([`palette`]), through two libraries, because none does both well:
//!
//! * **plotly.js** (MIT; 3.0.1 in the crate `plotly` 0.14.1 of February 2026) draws in the page: zoom,
//!   reset and hover work from a file on disk, error bars, heat maps and bars with a base are there, and
//!   the crate brings the script. It adds 4.6 MB to each page and 7 MB to the program. *charming* gives
//!   ECharts a page that loads its script from a network; other crates that bring a script have had no
//!   release since 2023. Of the crate only the script is used (`html/plotly.rs` says why).
//! * **kuva** (MIT; 0.6.0 of October 2026) draws SVG and PNG: it measures text, so labels fit, puts
//!   legends beside the data, brings a font, and needs no library of the system. *plotters* has had no
//!   release since September 2024, guesses the width of text, and draws its legend over the data; with
//!   `resvg` and a font for PNG it takes as long to compile.
//!
//! `askama` fills in the page, with everything escaped by default; it is there for `plotly` anyway.
//! Parquet is the Apache crate without Arrow and without compression.
//!
//! # Large data
//!
//! A line has at most 2000 points in the page and 1500 in a picture, a timeline 6000 and 4000 spans.
//! Half of the points are spread evenly, half are the smallest and the largest of equal stretches, so
//! that no spike is lost (`thin.rs`). CSV and Parquet hold everything.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "ring 3 reads and writes files"
)]

pub mod chart;
pub mod data;
pub mod figure;
mod folder;
pub mod html;
pub mod number;
pub mod observed;
pub mod page;
pub mod palette;
pub mod plan;
pub mod reproduce;
pub mod sim;
mod thin;
mod write;

pub use folder::{Folder, WriteFailed};
pub use write::write;
