//! A report is whole or not there, and leaves alone what is not its own.
#![allow(clippy::disallowed_methods, reason = "tests read and write files")]

mod charts;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use slotcast_report::page::{Block, Page, Section};
use slotcast_report::{Folder, write};

/// An empty folder for one test.
fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("folder").join(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("what an earlier test left");
    }
    fs::create_dir_all(&path).expect("a scratch folder");
    path
}

fn page(charts: &[slotcast_report::chart::Chart]) -> Page {
    let blocks = charts.iter().cloned().map(Block::Chart).collect();
    Page { title: "Test".into(), sections: vec![Section::new("s", "S", blocks)], ..Page::default() }
}

fn files(path: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(path).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("UTF-8");
        if entry.path().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|file| format!("{name}/{file}")));
        } else {
            found.insert(name);
        }
    }
    found
}

fn report(path: &Path, charts: &[slotcast_report::chart::Chart]) -> Result<PathBuf, String> {
    let folder = Folder::open(path).map_err(|error| error.to_string())?;
    write(&page(charts), &folder).map_err(|error| error.to_string())
}

#[test]
fn a_report_is_a_page_with_pictures_and_data() {
    let path = scratch("whole").join("deep/er");
    let index = report(&path, &[charts::bars()]).expect("a report");
    assert_eq!(index, path.join("index.html"));
    let expected = [
        "data/bars.csv",
        "data/bars.parquet",
        "figures/bars.png",
        "figures/bars.svg",
        "index.html",
        "report.json",
    ];
    assert_eq!(files(&path), expected.map(str::to_string).into());
}

#[test]
fn a_new_report_replaces_the_old_one_and_nothing_else() {
    let path = scratch("again");
    fs::write(path.join("notes.txt"), "mine").expect("a file");
    report(&path, &[charts::bars(), charts::heat()]).expect("a report");
    fs::write(path.join("figures/mine.svg"), "mine").expect("a file");
    report(&path, &[charts::lines()]).expect("a report");
    let left = files(&path);
    for mine in ["notes.txt", "figures/mine.svg", "figures/lines.svg", "data/lines.csv"] {
        assert!(left.contains(mine), "{mine} in {left:?}");
    }
    assert!(!left.iter().any(|name| name.contains("bars") || name.contains("heat")), "{left:?}");
}

#[test]
fn pages_and_pictures_of_others_are_not_overwritten() {
    let path = scratch("foreign");
    fs::write(path.join("index.html"), "my page").expect("a file");
    let error = report(&path, &[charts::bars()]).unwrap_err();
    assert!(error.contains("index.html") && error.contains("not from a report"), "{error}");
    assert_eq!(fs::read_to_string(path.join("index.html")).expect("a file"), "my page");

    let path = scratch("foreign-picture");
    fs::create_dir(path.join("figures")).expect("a folder");
    fs::write(path.join("figures/bars.svg"), "my picture").expect("a file");
    let error = report(&path, &[charts::bars()]).unwrap_err();
    assert!(error.contains("bars.svg"), "{error}");
    assert_eq!(fs::read_to_string(path.join("figures/bars.svg")).expect("a file"), "my picture");
    assert!(!path.join("index.html").exists());

    let path = scratch("foreign-list");
    fs::write(path.join("report.json"), "{\"generator\": \"other\", \"files\": []}")
        .expect("a file");
    assert!(report(&path, &[charts::bars()]).unwrap_err().contains("report.json"));
}

#[test]
fn a_folder_that_cannot_be_is_named_at_once() {
    let path = scratch("blocked").join("file");
    fs::write(&path, "a file").expect("a file");
    let error = Folder::open(&path).map(drop).unwrap_err().to_string();
    assert!(error.contains("blocked/file"), "{error}");
}

#[test]
fn a_file_that_fails_leaves_no_half_of_itself() {
    let path = scratch("failing");
    let folder = Folder::open(&path).expect("a folder");
    let names = ["data/a.csv".to_string(), "data/b.csv".into()];
    let result = folder.fill(&names, "page", |name, out| {
        std::io::Write::write_all(out, b"half")?;
        if name == "data/b.csv" {
            return Err(std::io::Error::other("no space left"));
        }
        Ok(())
    });
    let error = result.unwrap_err().to_string();
    assert!(error.contains("data/b.csv") && error.contains("no space left"), "{error}");
    let left = files(&path);
    let expected = ["data/a.csv", "report.json"].map(str::to_string);
    assert_eq!(left, expected.into(), "no page, no half file, no leftovers");

    // What was written is known for ours, and the next report goes through.
    folder_again(&path);
}

fn folder_again(path: &Path) {
    let folder = Folder::open(path).expect("the same folder");
    let names = ["data/b.csv".to_string()];
    folder
        .fill(&names, "page", |_, out| std::io::Write::write_all(out, b"whole"))
        .expect("a report");
    let expected = ["data/b.csv", "index.html", "report.json"].map(str::to_string);
    assert_eq!(files(path), expected.into());
}
