//! The page of a report in a real browser: opened from disk, without a network, in light and dark, on
//! a desk and on a phone, zoomed and reset.
//!
//! These tests need Chromium and are ignored without being asked for: `.ci/run` installs it and asks.
//! With `SLOTCAST_REPORT=DIR` they look at the report in that folder, made by `slotcast reproduce`;
//! otherwise they make one with two seeds.

#[path = "support/chromium.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod chromium;
mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use chromium::Page;
use serde_json::Value;
use support::{SMALL, file, root, scratch, slotcast};

fn browser(name: &str) -> Page {
    let program = chromium::program().expect("Chromium is installed, or $CHROMIUM says where");
    Page::start(&program, &scratch(name))
}

/// The page of the full reproduction.
static REPRODUCTION: LazyLock<PathBuf> = LazyLock::new(|| {
    #[allow(clippy::disallowed_methods, reason = "a test that is told what to look at")]
    if let Ok(folder) = std::env::var("SLOTCAST_REPORT") {
        // What is relative there is relative to the workspace, not to this crate.
        return root().join(folder).join("index.html").canonicalize().expect("a report");
    }
    let folder = scratch("reproduction");
    let run = slotcast(&["reproduce", "--seeds", "2", "--report", folder.to_str().expect("plain")]);
    // With two seeds a claim may fail by chance; the page does not depend on it.
    assert!(run.status == 0 || run.status == 1, "{}", run.stderr);
    folder.join("index.html").canonicalize().expect("a report")
});

/// The pixels of a PNG: width and rows of red, green, blue.
fn pixels(png: &[u8]) -> (usize, Vec<[u8; 3]>) {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().expect("a PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("it fits into memory")];
    let frame = reader.next_frame(&mut bytes).expect("a picture");
    let channels = frame.color_type.samples();
    let pixels = bytes[..frame.buffer_size()].chunks(channels).map(|p| [p[0], p[1], p[2]]);
    (frame.width as usize, pixels.collect())
}

fn lightness([r, g, b]: [u8; 3]) -> u32 {
    (u32::from(r) * 299 + u32::from(g) * 587 + u32::from(b) * 114) / 1000
}

/// Takes a picture of the whole page, keeps it for people, and checks that something is on it: many
/// colours, and a background of the right lightness.
fn looks_right(page: &mut Page, name: &str, is_dark: bool) {
    let png = page.screenshot();
    #[allow(clippy::disallowed_methods, reason = "for people to look at")]
    std::fs::write(scratch(&format!("{name}.png")), &png).expect("a file");
    let (_, pixels) = pixels(&png);
    let colours: BTreeSet<[u8; 3]> = pixels.iter().copied().collect();
    assert!(colours.len() > 200, "{name}: {} colours", colours.len());
    for series in [[0x00, 0x72, 0xb2], [0xd5, 0x5e, 0x00]] {
        let count = pixels.iter().filter(|pixel| **pixel == series).count();
        assert!(count > 1000, "{name}: {count} pixels of a colour of the charts");
    }
    let corner = lightness(pixels[0]);
    assert_eq!(corner < 128, is_dark, "{name}: the background has lightness {corner}");
}

/// Nothing was fetched but the page itself, and nothing complained.
fn is_quiet(page: &mut Page, path: &Path) {
    // Whatever is still on its way arrives before the answer to this.
    page.value("new Promise(done => setTimeout(() => done(1), 200))");
    let own = format!("file://{}", path.display());
    for event in &page.events {
        let about = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                let url = about["request"]["url"].as_str().expect("an address");
                let is_inside = url.starts_with("data:") || url.starts_with("blob:");
                assert!(is_inside || url.split('#').next() == Some(own.as_str()), "fetched {url}");
            }
            "Network.webSocketCreated" => panic!("opened {about}"),
            "Runtime.exceptionThrown" => panic!("threw {about}"),
            "Runtime.consoleAPICalled" => {
                let kind = about["type"].as_str().expect("a kind");
                assert!(!["error", "warning", "assert"].contains(&kind), "said {about}");
            }
            "Log.entryAdded" => {
                let level = about["entry"]["level"].as_str().expect("a level");
                assert!(!["error", "warning"].contains(&level), "logged {about}");
            }
            _ => {}
        }
    }
}

fn range(page: &mut Page, chart: &str, axis: &str) -> (f64, f64) {
    let range = page.value(&format!("document.getElementById('{chart}')._fullLayout.{axis}.range"));
    let at = |index: usize| range[index].as_f64().unwrap_or_else(|| panic!("{range}"));
    (at(0), at(1))
}

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn the_reproduction_opens_from_disk_in_light_and_dark() {
    let path = &*REPRODUCTION;
    let mut page = browser("colours");
    for (scheme, is_dark) in [("light", false), ("dark", true)] {
        page.prefer(scheme);
        page.open(path, 1280, 900, false);
        looks_right(&mut page, scheme, is_dark);
    }
    let charts = page.value("document.querySelectorAll('.chart .main-svg').length");
    assert!(charts.as_u64().expect("a count") >= 12, "{charts}");
    let widest = page.value("document.documentElement.scrollWidth");
    assert_eq!(widest, 1280, "nothing sticks out");

    // The button turns a dark page light, charts included, whatever the system prefers.
    let ink = "getComputedStyle(document.querySelector('.chart .xtick text')).fill";
    let dark_ink = page.value(ink);
    page.click("document.getElementById('theme')");
    page.wait_for(&format!("{ink} !== '{}'", dark_ink.as_str().expect("a colour")));
    page.wait_for("document.documentElement.dataset.theme === 'light'");
    page.value("scrollTo(0, 0)");
    looks_right(&mut page, "switched", false);
    is_quiet(&mut page, path);
}

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn the_reproduction_fits_a_phone() {
    let path = &*REPRODUCTION;
    let mut page = browser("phone");
    for (scheme, is_dark) in [("light", false), ("dark", true)] {
        page.prefer(scheme);
        page.open(path, 390, 844, true);
        looks_right(&mut page, &format!("phone-{scheme}"), is_dark);
        // Tables scroll on their own; the page itself must not.
        assert_eq!(page.value("document.documentElement.scrollWidth"), 390);
        let outside = page.value(
            "[...document.querySelectorAll('h1, h2, h3, h4, p, figure, .chart, .main-svg, dd')] \
             .filter(e => e.getBoundingClientRect().right > 391).map(e => e.outerHTML.slice(0, 80))",
        );
        assert_eq!(outside, Value::Array(Vec::new()));
    }
    // A finger on a chart scrolls the page; the buttons zoom.
    let chart = page.value("document.querySelector('.chart').id");
    let chart = chart.as_str().expect("a name");
    let before = range(&mut page, chart, "yaxis");
    page.click(&format!("document.querySelector('#{chart} [data-title=\"Zoom in\"]')"));
    page.wait_for(&format!(
        "document.getElementById('{chart}')._fullLayout.yaxis.range[1] < {}",
        before.1
    ));
    is_quiet(&mut page, path);
}

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn charts_are_zoomed_by_button_and_by_dragging_and_reset() {
    let experiment = file("zoom.toml", SMALL);
    let folder = scratch("zoom-report");
    let run = slotcast(&[
        "sim",
        experiment.to_str().expect("plain"),
        "--report",
        folder.to_str().expect("plain"),
    ]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let path = folder.join("index.html").canonicalize().expect("a report");
    let mut page = browser("zoom");
    page.open(&path, 1280, 900, false);

    let chart = "chart-latency-cdf";
    let button = |name: &str| format!("document.querySelector('#{chart} [data-title=\"{name}\"]')");
    let whole = range(&mut page, chart, "xaxis");
    page.click(&button("Zoom in"));
    page.wait_for(&format!(
        "document.getElementById('{chart}')._fullLayout.xaxis.range[1] < {}",
        whole.1
    ));
    let zoomed = range(&mut page, chart, "xaxis");
    assert!(zoomed.0 > whole.0 && zoomed.1 < whole.1, "{zoomed:?} in {whole:?}");
    page.click(&button("Reset axes"));
    page.wait_for(&format!(
        "document.getElementById('{chart}')._fullLayout.xaxis.range[1] === {}",
        whole.1
    ));

    page.drag(&format!("document.querySelector('#{chart} .nsewdrag')"), (0.25, 0.3), (0.5, 0.7));
    page.wait_for(&format!(
        "document.getElementById('{chart}')._fullLayout.xaxis.range[1] < {}",
        whole.1
    ));
    let dragged = range(&mut page, chart, "xaxis");
    let part = (dragged.1 - dragged.0) / (whole.1 - whole.0);
    assert!((0.2..0.3).contains(&part), "a quarter was dragged over, {part} is shown");

    // What lies under the mouse is told, with its unit.
    page.hover("document.querySelector('#chart-latency .points path')");
    page.wait_for(
        "/latency: [0-9.,]+ µs/.test(document.querySelector('.hoverlayer')?.textContent)",
    );
    is_quiet(&mut page, &path);
}

/// Every chart has a dashed line across or down, and the verdict is the first thing that is said.
fn leads_with_the_verdict(page: &mut Page, starts: &str) {
    let answer = page.value("document.querySelector('header .answer').textContent");
    let answer = answer.as_str().expect("a text").to_string();
    assert!(answer.starts_with(starts), "{answer}");
    assert!(answer.contains("B/s"), "{answer}");
    let without = page.value(
        "[...document.querySelectorAll('.chart')] \
         .filter(e => !(e.layout.shapes ?? []).some(s => s.line.dash === 'dash')).map(e => e.id)",
    );
    assert_eq!(without, Value::Array(Vec::new()), "charts without a limit");
    // A limit that lies outside of what is shown would be of no use.
    let outside = page.value(
        "[...document.querySelectorAll('.chart')].filter(e => e.layout.shapes.some(s => { \
           const across = s.yref === 'y'; \
           const axis = across ? e._fullLayout.yaxis : e._fullLayout.xaxis; \
           const at = across ? s.y0 : s.x0; \
           const value = axis.type === 'log' ? Math.log10(at) : at; \
           return value < axis.range[0] || value > axis.range[1]; })).map(e => e.id)",
    );
    assert_eq!(outside, Value::Array(Vec::new()), "limits that are not seen");
}

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn the_page_of_a_plan_leads_with_the_verdict() {
    let folder = scratch("plan-report");
    let run = slotcast(&[
        "plan",
        "small",
        "--quick",
        "--set",
        "data.stored=200TB",
        "--set",
        "data.growth=5TB",
        "--set",
        "target.months=36",
        "--report",
        folder.to_str().expect("plain"),
    ]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let path = folder.join("index.html").canonicalize().expect("a report");
    let mut page = browser("plan");
    page.open(&path, 1280, 900, false);
    #[allow(clippy::disallowed_methods, reason = "a test reads what was written")]
    let text = std::fs::read_to_string(&path).expect("a page");
    let verdicts = ["Yes", "No", "Too close", "It holds, but"];
    let first = page.value("document.querySelector('header .answer').textContent");
    let first = first.as_str().expect("a text").to_string();
    let starts = verdicts.into_iter().find(|verdict| first.starts_with(verdict));
    leads_with_the_verdict(&mut page, starts.unwrap_or_else(|| panic!("{first}")));
    for part in ["per GB/s that is held", "latency (ms)", "GB/s", "full after"] {
        assert!(text.contains(part), "{part}");
    }
    looks_right(&mut page, "plan", false);
    assert_eq!(page.value("document.documentElement.scrollWidth"), 1280);
    page.open(&path, 390, 844, true);
    assert_eq!(page.value("document.documentElement.scrollWidth"), 390);
    is_quiet(&mut page, &path);
}

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn the_page_of_a_sweep_leads_with_the_verdict() {
    let text = SMALL.replace("\"4ms\"", "\"60ms\"").replace("\"1ms\"", "\"10ms\"");
    let experiment = file("swept.toml", &text);
    let folder = scratch("sweep-report");
    let run = slotcast(&[
        "sweep",
        experiment.to_str().expect("plain"),
        "--axis",
        "workload.window=1..16*2",
        "--seeds",
        "10",
        "--out",
        scratch("swept").to_str().expect("plain"),
        "--p99",
        "4ms",
        "--report",
        folder.to_str().expect("plain"),
    ]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let path = folder.join("index.html").canonicalize().expect("a report");
    let mut page = browser("sweep");
    page.open(&path, 1280, 900, false);
    leads_with_the_verdict(&mut page, "The most that is done within a p99 of 4 ms is ");
    let charts = page.value("document.querySelectorAll('.chart .main-svg').length");
    assert!(charts.as_u64().expect("a count") >= 2, "{charts}");
    #[allow(clippy::disallowed_methods, reason = "for people to look at")]
    std::fs::write(scratch("sweep.png"), page.screenshot()).expect("a file");
    is_quiet(&mut page, &path);
}
