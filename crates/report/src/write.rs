//! A page with everything that belongs to it, written into a folder.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::data::Data;
use crate::figure;
use crate::folder::{Folder, WriteFailed};
use crate::html;
use crate::page::Page;

/// Writes `page` into `folder`, with the pictures and the data, and says where the page is.
///
/// # Errors
/// The first file that cannot be written. Files are whole or not there at all.
///
/// # Panics
/// If two pictures or sets of data have the same name, which is a mistake in the page.
pub fn write(page: &Page, folder: &Folder) -> Result<PathBuf, WriteFailed> {
    let mut data: Vec<Data> = page.charts().map(Data::from).collect();
    data.extend(page.data.iter().cloned());
    let names: Vec<String> =
        page.charts()
            .flat_map(|chart| ["svg", "png"].map(|kind| format!("figures/{}.{kind}", chart.name)))
            .chain(data.iter().flat_map(|data| {
                ["csv", "parquet"].map(|kind| format!("data/{}.{kind}", data.name))
            }))
            .collect();
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "every picture and every set of data has its own name");

    folder.fill(&names, &html::render(page), |name, out| {
        let (stem, kind) = stem(name);
        let chart = || page.charts().find(|chart| chart.name == stem);
        let data = || data.iter().find(|data| data.name == stem);
        match (kind, chart(), data()) {
            ("svg", Some(chart), _) => out.write_all(figure::svg(chart).as_bytes()),
            ("png", Some(chart), _) => {
                out.write_all(&figure::png(chart).map_err(io::Error::other)?)
            }
            ("csv", _, Some(data)) => data.write_csv(out),
            ("parquet", _, Some(data)) => data.write_parquet(out),
            _ => unreachable!("{name} was listed above"),
        }
    })
}

/// `figure9` and `svg` of `figures/figure9.svg`.
fn stem(name: &str) -> (&str, &str) {
    let file = name.rsplit_once('/').map_or(name, |(_, file)| file);
    file.rsplit_once('.').unwrap_or((file, ""))
}
