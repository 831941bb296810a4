//! The book in `docs`: its table of contents has every page once, and what pages link to is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::{root, tracked};

/// The table of contents, as mdBook reads it.
const CONTENTS: &str = "docs/SUMMARY.md";

/// The tracked files of a checkout.
struct Checkout {
    files: BTreeSet<String>,
    /// Pages in Markdown, with their text.
    pages: BTreeMap<String, String>,
}

impl Checkout {
    /// Links of pages to what is not there, and those of the book to pages outside of it, of which
    /// mdBook makes none.
    fn broken_links(&self) -> Vec<String> {
        let anchors: BTreeMap<&str, BTreeSet<String>> =
            self.pages.iter().map(|(page, text)| (page.as_str(), anchors(text))).collect();
        let mut found = Vec::new();
        for (page, text) in &self.pages {
            for (line, url) in links(text) {
                let (path, anchor) = url.split_once('#').unwrap_or((url, ""));
                let target = if path.is_empty() { page.clone() } else { resolved(page, path) };
                let complaint = if !self.has(&target) {
                    "no such file"
                } else if page.starts_with("docs/") && is_page(&target) && !is_of_book(&target) {
                    "not a page of the book"
                } else if !anchor.is_empty()
                    && anchors.get(target.as_str()).is_some_and(|known| !known.contains(anchor))
                {
                    "no such heading"
                } else {
                    continue;
                };
                found.push(format!("{page}:{line}: {url}: {complaint}"));
            }
        }
        found
    }

    /// Whether `path` is a tracked file, or a folder with one.
    fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.files.contains(path)
            || self.files.range(folder.clone()..).next().is_some_and(|f| f.starts_with(&folder))
    }

    /// What is wrong with the table of contents, and with mdBook's settings.
    fn incomplete_contents(&self) -> Vec<String> {
        let mut found = Vec::new();
        if !self.files.contains("book.toml") {
            found.push("book.toml: missing".to_string());
        }
        let Some(contents) = self.pages.get(CONTENTS) else {
            found.push(format!("{CONTENTS}: missing"));
            return found;
        };
        let listed: Vec<String> =
            links(contents).into_iter().map(|(_, url)| resolved(CONTENTS, url)).collect();
        for page in self.pages.keys().filter(|page| is_of_book(page)) {
            let count = listed.iter().filter(|path| *path == page).count();
            if count != 1 {
                found.push(format!("{page}: {count} times in {CONTENTS}"));
            }
        }
        found
    }
}

fn is_page(path: &str) -> bool {
    path.ends_with(".md")
}

/// Whether mdBook makes a page of `path`. It makes none of the table of contents.
fn is_of_book(path: &str) -> bool {
    is_page(path) && path.starts_with("docs/") && path != CONTENTS
}

/// `path`, which is relative to the folder of `page`, from the root of the checkout.
fn resolved(page: &str, path: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // A path that leaves the checkout keeps its dots, and is not found.
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The lines of `page` outside of fenced code, with their numbers.
fn prose(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    page.lines().enumerate().filter_map(move |(number, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((number + 1, line))
    })
}

/// The links of `page` to other files or headings, with their lines: `[text](url)`, pictures, and
/// `[name]: url`.
fn links(page: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in prose(page) {
        let definition = line.starts_with('[').then(|| line.split_once("]: ")).flatten();
        let inline = line.match_indices("](").filter(|(at, _)| !is_quoted(line, *at));
        let inline = inline.map(|(at, start)| &line[at + start.len()..]);
        for rest in inline.chain(definition.map(|(_, rest)| rest)) {
            let url = rest.split([')', ' ']).next().unwrap_or_default();
            if !url.contains(':') {
                found.push((number, url));
            }
        }
    }
    found
}

/// Whether the position `at` of `line` is in backquotes.
fn is_quoted(line: &str, at: usize) -> bool {
    line[..at].matches('`').count() % 2 == 1
}

/// The anchors of the headings of `page`, as forges and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, line) in prose(page) {
        let text = line.trim_start_matches('#');
        if text.len() == line.len() || !text.starts_with(' ') {
            continue;
        }
        // Of a link in a heading its text counts.
        let text = text.split("](").enumerate().map(|(place, part)| match part.split_once(')') {
            Some((_, rest)) if place > 0 => rest,
            _ => part,
        });
        let text = text.collect::<String>().to_lowercase();
        let kept = text.trim().chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            letter => letter.is_alphanumeric().then_some(letter),
        });
        let anchor: String = kept.collect();
        let mut unique = anchor.clone();
        let mut count = 0;
        while !found.insert(unique.clone()) {
            count += 1;
            unique = format!("{anchor}-{count}");
        }
    }
    found
}

/// Pages of the book that `text` names from the root of the checkout, as in a comment or a message.
fn named_pages(text: &str) -> Vec<&str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    let mut found = Vec::new();
    for (at, _) in text.match_indices("docs/") {
        let before = &text[..at];
        if before.ends_with(is_part) && !before.ends_with("../") {
            continue;
        }
        let path = &text[at..];
        let path = &path[..path.find(|letter| !is_part(letter)).unwrap_or(path.len())];
        let path = path.trim_end_matches('.');
        if is_page(path) {
            found.push(path);
        }
    }
    found
}

/// This checkout; none where the sources are not a checkout of git.
fn checkout() -> Option<Checkout> {
    let files: BTreeSet<String> = tracked()?.into_iter().collect();
    let read = |path: &String| fs::read_to_string(root().join(path)).ok();
    let pages = files.iter().filter(|path| is_page(path));
    let pages = pages.filter_map(|path| Some((path.clone(), read(path)?))).collect();
    Some(Checkout { files, pages })
}

#[test]
fn contents_have_every_page_once() {
    let Some(checkout) = checkout() else { return };
    assert_eq!(checkout.incomplete_contents(), Vec::<String>::new());
    let settings = fs::read_to_string(root().join("book.toml")).expect("book.toml");
    assert!(settings.lines().any(|line| line == "src = \"docs\""), "{settings}");
}

#[test]
fn links_of_pages_lead_somewhere() {
    let Some(checkout) = checkout() else { return };
    assert_eq!(checkout.broken_links(), Vec::<String>::new());
    let count: usize = checkout.pages.values().map(|text| links(text).len()).sum();
    assert!(count > 200, "only {count} links were found");
}

#[test]
fn pages_that_are_named_are_there() {
    let Some(checkout) = checkout() else { return };
    let mut count = 0;
    for path in &checkout.files {
        // The list of changes may name what is gone, and these tests name what never was.
        if path == "CHANGELOG.md" || path.starts_with("crates/cli/tests/tidy/") {
            continue;
        }
        let Ok(text) = fs::read_to_string(root().join(path)) else { continue };
        for page in named_pages(&text) {
            assert!(checkout.has(page), "{path} names {page}");
            count += 1;
        }
    }
    assert!(count > 50, "only {count} names were found");
}

/// A checkout of `pages`, and of a file and a picture.
fn planted(pages: &[(&str, &str)]) -> Checkout {
    let mut checkout = Checkout {
        files: ["book.toml", "docs/a.svg", "experiments/a.toml"].map(String::from).into(),
        pages: BTreeMap::new(),
    };
    for (path, text) in pages {
        checkout.files.insert((*path).to_string());
        checkout.pages.insert((*path).to_string(), (*text).to_string());
    }
    checkout
}

#[test]
fn planted_links_are_found() {
    let broken = |text: &str| {
        let other = "# Other\n## One `two`: 3_4\n## Twice\n## Twice\n```\n# code\n```\n";
        let page = ("docs/part/page.md", text);
        planted(&[page, ("docs/other.md", other), ("NOTES.md", "# Notes\n")]).broken_links()
    };
    for (link, complaint) in [
        ("../gone.md", "no such file"),
        ("other.md", "no such file"),
        ("../Other.md", "no such file"),
        ("../../../docs/other.md", "no such file"),
        ("../../experiment", "no such file"),
        ("../other.md#gone", "no such heading"),
        ("../other.md#twice-2", "no such heading"),
        ("../other.md#code", "no such heading"),
        ("#other", "no such heading"),
        ("../../NOTES.md", "not a page of the book"),
    ] {
        let found = [format!("docs/part/page.md:3: {link}: {complaint}")];
        assert_eq!(broken(&format!("# Page\n\nsee [it]({link}), and")), found);
        assert_eq!(broken(&format!("# Page\n\n[it]: {link}\n")), found);
        assert_eq!(broken(&format!("# Page\n\n| a | ![`it`]({link} \"title\") |")), found);
        assert_eq!(
            broken(&format!("# Page\n\n```\n[it]({link})\n```\nnor `[it]({link})`")),
            [""; 0]
        );
    }
    for link in [
        "../other.md",
        "../other.md#one-two-3_4",
        "../other.md#twice-1",
        "#page",
        "../a.svg",
        "../../experiments/a.toml",
        "../../experiments",
        "https://example.org/gone.md#gone",
        "mailto:somebody@example.org",
    ] {
        assert_eq!(broken(&format!("# [Page](#page)\n\nsee [it]({link}).\n")), [""; 0], "{link}");
    }
}

#[test]
fn planted_contents_are_found() {
    let found = |contents: &str| {
        let page = ("docs/part/page.md", "# Page\n");
        planted(&[(CONTENTS, contents), page, ("NOTES.md", "# Notes\n")]).incomplete_contents()
    };
    let line = "- [Page](part/page.md)\n";
    assert_eq!(found(line), [""; 0]);
    assert_eq!(found(""), ["docs/part/page.md: 0 times in docs/SUMMARY.md"]);
    assert_eq!(found(&line.repeat(2)), ["docs/part/page.md: 2 times in docs/SUMMARY.md"]);

    let outside = planted(&[(CONTENTS, "- [Notes](../NOTES.md)\n"), ("NOTES.md", "# Notes\n")]);
    let complaint = "docs/SUMMARY.md:1: ../NOTES.md: not a page of the book";
    assert_eq!(outside.broken_links(), [complaint]);

    let mut empty = planted(&[]);
    empty.files.clear();
    let missing = ["book.toml: missing", "docs/SUMMARY.md: missing"];
    assert_eq!(empty.incomplete_contents(), missing);
}

#[test]
fn named_pages_are_told_from_other_text() {
    let text = "See docs/a.md. \"../../docs/b/c-d.md\" `docs/e.md`, not docs/x.svg, olddocs/y.md or \
                https://example.org/docs/z.md";
    assert_eq!(named_pages(text), ["docs/a.md", "docs/b/c-d.md", "docs/e.md"]);
}
