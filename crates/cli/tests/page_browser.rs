//! The web page of a node in a real browser: every view, an object from upload to undo, windows as they come, a phone, a
//! node that goes and comes back.
//!
//! These tests need Chromium and are ignored without being asked for: `.ci/run` installs it and asks. With
//! `SLOTCAST_AXE=FILE`, where FILE is the script of axe-core, they look for what keeps people from using the page, too.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has clocks, processes and sockets"
)]

#[path = "support/chromium.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod chromium;
#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;
#[allow(dead_code, reason = "each test file uses its own part")]
mod served;
mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use chromium::Page;
use cluster::Cluster;
use cluster::etcd::Etcd;
use serde_json::json;
use served::{PATIENCE, Served, content};
use support::scratch;

const DESK: (u32, u32) = (1280, 800);
const PHONE: (u32, u32) = (390, 844);

const VIEWS: [(&str, &str); 8] = [
    ("overview", "Overview"),
    ("targets", "Nodes and targets"),
    ("timeline", "Reservations"),
    ("buckets", "Buckets"),
    ("jobs", "Jobs"),
    ("garbage", "Garbage"),
    ("cluster", "Cluster"),
    ("users", "Users"),
];

/// A node on a folder of its own, and a browser.
fn begin(name: &str) -> (tempfile::TempDir, Served, Page) {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &[]);
    let program = chromium::program().expect("Chromium is installed, or $CHROMIUM says where");
    (folder, served, Page::start(&program, &scratch(name)))
}

fn go(page: &mut Page, view: &str) {
    page.value(&format!("location.hash = '#/{view}'"));
}

fn open(page: &mut Page, served: &Served, size: (u32, u32), is_phone: bool) {
    page.visit(&format!("http://{}/", served.node), size, is_phone);
    page.wait_for("document.querySelector('.link-state')?.textContent === 'Connected'");
}

/// A view is there when its heading is.
fn wait_for_view(page: &mut Page, view: &str, heading: &str) {
    page.wait_for(&format!("document.getElementById('main').dataset.view === '{view}'"));
    page.wait_for(&format!("document.querySelector('h1').textContent === '{heading}'"));
}

/// Nothing but the node was asked, and nothing complained.
fn is_quiet(page: &mut Page, served: &Served) {
    page.value("new Promise(done => setTimeout(() => done(1), 200))");
    let own = format!("http://{}/", served.node);
    for event in &page.events {
        let about = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                let url = about["request"]["url"].as_str().expect("an address");
                assert!(url.starts_with(&own), "fetched {url}");
            }
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

/// What axe-core finds that keeps people from using the page, if it is there to be asked.
fn is_usable_by_all(page: &mut Page, what: &str) {
    let Some(path) = std::env::var_os("SLOTCAST_AXE") else { return };
    let script = std::fs::read_to_string(path).expect("the script of axe-core");
    // It is evaluated as a tool of the browser would: the policy of the page holds for the page.
    page.value(&format!("{script}; 1"));
    let found = page.value(
        "axe.run().then(({ violations }) => violations \
         .filter(({ impact }) => ['serious', 'critical'].includes(impact)) \
         .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`))",
    );
    assert_eq!(found, json!([]), "{what}");
}

/// How many colours a picture has, and whether its corner is dark.
fn colours(png: &[u8]) -> (usize, bool) {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().expect("a PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("it fits into memory")];
    let frame = reader.next_frame(&mut bytes).expect("a picture");
    let channels = frame.color_type.samples();
    let all: Vec<[u8; 3]> =
        bytes[..frame.buffer_size()].chunks(channels).map(|p| [p[0], p[1], p[2]]).collect();
    let colours: BTreeSet<[u8; 3]> = all.iter().copied().collect();
    let is_dark = all[0].iter().map(|part| u32::from(*part)).sum::<u32>() < 3 * 128;
    (colours.len(), is_dark)
}

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn every_view_opens_in_light_and_dark_and_fits_a_phone() {
    let (_folder, served, mut page) = begin("views");
    served.says(&["mb", "--versions", "slot://photos"]);
    for (size, is_phone) in [(DESK, false), (PHONE, true)] {
        for (scheme, is_dark) in [("light", false), ("dark", true)] {
            page.prefer(scheme);
            open(&mut page, &served, size, is_phone);
            for (view, heading) in VIEWS {
                go(&mut page, view);
                wait_for_view(&mut page, view, heading);
                let beyond =
                    "document.documentElement.scrollWidth - document.documentElement.clientWidth";
                assert_eq!(page.value(beyond), 0, "{view} sticks out");
                let png = page.screenshot();
                let name = format!("{view}-{scheme}-{}", size.0);
                std::fs::write(scratch(&format!("{name}.png")), &png).expect("a file");
                let (count, dark) = colours(&png);
                assert!(count > 60, "{name}: {count} colours");
                assert_eq!(dark, is_dark, "{name}");
                is_usable_by_all(&mut page, &name);
            }
        }
    }
    // When all targets have looked at what they hold, all is known to be well.
    go(&mut page, "overview");
    page.wait_for("document.querySelector('.health')?.dataset.level === 'ok'");
    let said = page.value("document.querySelector('.sentence').textContent");
    assert_eq!(said, "All 9 targets serve, and every chunk has its replicas.");

    // The switch holds against what the system prefers, also after the page was loaded again.
    page.click("document.getElementById('theme')");
    page.wait_for("document.documentElement.dataset.theme === 'light'");
    open(&mut page, &served, DESK, false);
    assert!(!colours(&page.screenshot()).1);
    is_quiet(&mut page, &served);
}

/// A button of the row of an object.
fn button(name: &str, text: &str) -> String {
    format!(
        "[...document.querySelectorAll('tr[data-name=\"{name}\"] button')] \
         .find(button => button.textContent.startsWith('{text}'))"
    )
}

/// Waits until a file is there with this content: a browser writes it under another name first.
fn wait_for_file(path: &Path, bytes: &[u8]) {
    let begun = Instant::now();
    while std::fs::read(path).ok().as_deref() != Some(bytes) {
        assert!(begun.elapsed() < PATIENCE, "{} is not there", path.display());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn an_object_is_uploaded_found_downloaded_deleted_and_taken_back() {
    let (folder, served, mut page) = begin("objects");
    // Right after the start a list may be refused; from the first bucket on names are kept.
    served.says(&["mb", "slot://first"]);
    served.says(&["rb", "slot://first"]);
    let downloads = folder.path().join("downloads");
    let behaviour = json!({ "behavior": "allow", "downloadPath": downloads });
    page.call("Browser.setDownloadBehavior", &behaviour);
    open(&mut page, &served, DESK, false);
    go(&mut page, "buckets");
    page.wait_for("document.querySelector('.empty') !== null");
    page.click("document.getElementById('new-bucket')");
    page.wait_for("document.activeElement.id === 'bucket-name'");
    page.write("holidays");
    page.click("document.querySelector('dialog button.primary')");
    page.wait_for("document.querySelector('a[href=\"#/buckets/holidays\"]') !== null");
    page.click("document.querySelector('a[href=\"#/buckets/holidays\"]')");
    page.wait_for("document.querySelector('.drop .empty')?.hidden === false");

    let bytes = content(3_000_000, 7);
    let file = folder.path().join("sea & sand.bin");
    std::fs::write(&file, &bytes).expect("room");
    page.drop_file("document.querySelector('.drop')", &file);
    page.wait_for("document.querySelector('tr[data-name=\"sea & sand.bin\"]') !== null");
    served.says(&["cp", file.to_str().expect("plain"), "slot://holidays/2026/may/sea.bin"]);

    page.click(&button("sea & sand.bin", "Download"));
    wait_for_file(&downloads.join("sea & sand.bin"), &bytes);

    // A deletion is taken back at once, or later where it is seen.
    page.click(&button("sea & sand.bin", "Delete"));
    page.wait_for("document.querySelector('tr[data-name=\"sea & sand.bin\"]') === null");
    let gone = served.ask("GET /v2/holidays/sea%20%26%20sand.bin", "", b"");
    assert_eq!(gone.status(), 404, "{gone:?}");
    page.click(
        "[...document.querySelectorAll('.toast button')].find(b => b.textContent === 'Undo')",
    );
    page.wait_for("document.querySelector('tr[data-name=\"sea & sand.bin\"]') !== null");
    assert_eq!(served.ask("GET /v2/holidays/sea%20%26%20sand.bin", "", b"").body, bytes);
    page.click(&button("sea & sand.bin", "Delete"));
    page.wait_for("document.querySelector('tr[data-name=\"sea & sand.bin\"]') === null");
    page.click("document.getElementById('deleted')");
    page.wait_for("document.querySelector('tr.gone') !== null");
    page.click(&button("sea & sand.bin", "Take back"));
    page.wait_for("document.querySelector('tr.gone') === null");
    page.wait_for("document.querySelector('tr[data-name=\"sea & sand.bin\"]') !== null");

    // Down into prefixes, as into folders.
    page.click("[...document.querySelectorAll('.objects a')].find(a => a.textContent === '2026/')");
    page.wait_for(
        "[...document.querySelectorAll('.objects a')].some(a => a.textContent === 'may/')",
    );
    page.click("[...document.querySelectorAll('.objects a')].find(a => a.textContent === 'may/')");
    page.wait_for("document.querySelector('tr[data-name=\"2026/may/sea.bin\"]') !== null");
    is_usable_by_all(&mut page, "objects");

    // Where nothing is kept, it is asked before.
    served.says(&["mb", "slot://brief"]);
    served.says(&["cp", file.to_str().expect("plain"), "slot://brief/a.bin"]);
    go(&mut page, "buckets/brief");
    page.wait_for("document.querySelector('tr[data-name=\"a.bin\"]') !== null");
    page.click(&button("a.bin", "Delete"));
    page.wait_for("document.querySelector('dialog')?.textContent.includes('cannot be taken back')");
    page.click("document.querySelector('dialog button.danger')");
    page.wait_for("document.querySelector('tr[data-name=\"a.bin\"]') === null");
    is_quiet(&mut page, &served);
}

/// Pixels of the timeline that have the colour of used windows in the light, #0a7468, be it faintly.
const USED_PIXELS: &str = "(() => { const canvas = document.querySelector('canvas'); \
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true }); \
    copy.drawImage(canvas, 0, 0); const { data } = copy.getImageData(0, 0, canvas.width, canvas.height); \
    let count = 0; for (let at = 0; at < data.length; at += 4) { const [r, g, b, a] = data.slice(at, at + 4); \
    if (a > 60 && Math.abs(r - 10) < 12 && Math.abs(g - 116) < 12 && Math.abs(b - 104) < 12) count += 1; } \
    return count; })()";

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn the_timeline_moves_while_puts_run() {
    let (folder, served, mut page) = begin("timeline");
    page.prefer("light");
    open(&mut page, &served, DESK, false);
    go(&mut page, "timeline");
    page.wait_for("document.querySelector('canvas')?.dataset.rows === '9'");
    page.wait_for("document.getElementById('summary').textContent.startsWith('No windows')");
    assert_eq!(page.value(USED_PIXELS), 0);
    let file = folder.path().join("file");
    // What is stored already is not sent again.
    let put = |seed| {
        std::fs::write(&file, content(8_000_000, seed)).expect("room");
        served.says(&["put", file.to_str().expect("plain")]);
    };
    put(1);
    page.wait_for("/[1-9][0-9,]* windows were bid, [1-9].* used/.test(document.getElementById('summary').textContent)");

    // Held and near, windows are seen one by one; the keyboard does the same as the buttons.
    page.click("document.getElementById('hold')");
    page.wait_for("document.getElementById('hold').textContent === 'Go on'");
    let held = page.value("document.getElementById('summary').textContent");
    page.value("document.querySelector('canvas').focus()");
    page.press("ArrowRight");
    page.press(" ");
    page.wait_for("document.getElementById('hold').textContent === 'Hold'");
    assert!(held.as_str().expect("text").contains("used"), "{held}");
    page.value(
        "(() => { const select = document.getElementById('span'); select.value = '100'; \
                select.dispatchEvent(new Event('change')); })()",
    );
    put(2);
    page.wait_for(&format!("{USED_PIXELS} > 30"));
    page.click("document.querySelector('summary')");
    page.wait_for("document.querySelectorAll('details tbody tr').length === 9");
    is_usable_by_all(&mut page, "timeline");
    is_quiet(&mut page, &served);
}

/// Answers of a node with a thousand targets, in the place of those of this one.
const THOUSAND: &str = "(() => { const real = fetch; window.fetch = async (path, options) => { \
    const answer = await real(path, options); if (path !== '/v1/status') return answer; \
    const status = await answer.json(); const [first] = status.targets; \
    status.targets = Array.from({ length: 1000 }, (_, target) => ({ ...first, target })); \
    return new Response(JSON.stringify(status)); }; })()";

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn of_a_thousand_targets_those_in_sight_are_drawn() {
    let (_folder, served, mut page) = begin("thousand");
    open(&mut page, &served, DESK, false);
    page.value(THOUSAND);
    go(&mut page, "targets");
    page.wait_for("document.querySelector('.grid')?.getAttribute('aria-rowcount') === '1001'");
    let rows = |page: &mut Page| {
        page.value("document.querySelectorAll('.rows .grid-row').length").as_u64().expect("a count")
    };
    assert!((5..60).contains(&rows(&mut page)), "rows in the page");
    page.value("document.querySelector('.grid').scrollTop = 1e6");
    page.wait_for(
        "[...document.querySelectorAll('.name')].some(b => b.textContent === 'Target 999')",
    );
    assert!((5..60).contains(&rows(&mut page)), "rows in the page");
    page.click("document.querySelector('[type=search]')");
    page.write("512");
    page.wait_for("document.querySelectorAll('.rows .grid-row').length === 1");
    page.click("document.querySelector('.rows .name')");
    page.wait_for("document.querySelector('dialog h2')?.textContent === 'Target 512'");
    page.click("document.querySelector('dialog .actions button')");

    go(&mut page, "timeline");
    page.wait_for("document.querySelector('.spacer')?.offsetHeight > 30000");
    let drawn = page.value("Number(document.querySelector('canvas').dataset.rows)");
    assert!((3..60).contains(&drawn.as_u64().expect("a count")), "{drawn} rows are drawn");
    is_quiet(&mut page, &served);
}

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn who_is_not_known_is_asked_for_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = [("SLOTCAST_ACCESS_KEY", "reader"), ("SLOTCAST_SECRET_KEY", "open-sesame")];
    let data = folder.path().join("data");
    let served = Served::start_with(&data, &["--s3", "off"], &keys);
    let program = chromium::program().expect("Chromium is installed, or $CHROMIUM says where");
    let mut page = Page::start(&program, &scratch("login"));
    page.visit(&format!("http://{}/", served.node), DESK, false);
    page.wait_for("document.querySelector('dialog h2')?.textContent === 'Log in'");
    is_usable_by_all(&mut page, "login");
    for secret in ["wrong-one", "open-sesame"] {
        page.wait_for("document.activeElement.id === 'access'");
        page.write("reader");
        page.click("document.getElementById('secret')");
        page.write(secret);
        page.click("document.querySelector('dialog button.primary')");
        if secret == "wrong-one" {
            page.wait_for(
                "document.querySelector('dialog')?.textContent.includes('is another one')",
            );
        }
    }
    page.wait_for("document.querySelector('dialog') === null");
    page.wait_for("document.querySelector('[aria-label=\"Log out reader\"]') !== null");
    go(&mut page, "garbage");
    page.wait_for("document.querySelector('.facts')?.textContent.includes('Latest round')");
    assert_eq!(page.value("localStorage.length"), 0, "keys are kept for this tab alone");
    // What is refused the browser itself writes to its console.
}

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn a_node_is_drained_from_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(etcd) = Etcd::start(folder.path()) else { return };
    let cluster = Cluster::of_three(folder.path(), Some(&etcd));
    let program = chromium::program().expect("Chromium is installed, or $CHROMIUM says where");
    let mut page = Page::start(&program, &scratch("drain"));
    page.visit(&format!("http://{}/#/cluster", cluster.http(0)), DESK, false);
    page.wait_for("document.querySelectorAll('#map tbody tr').length === 3");
    is_usable_by_all(&mut page, "cluster");
    let row = "[...document.querySelectorAll('#map tbody tr')].find(r => r.textContent.includes('Node 1'))";
    page.click(&format!("{row}.querySelector('button')"));
    page.wait_for("document.querySelector('dialog h2')?.textContent === 'Drain node 1?'");
    page.click("document.querySelector('dialog button:not([type])')");
    page.wait_for(&format!("{row}.querySelector('.pill').textContent === 'drained'"));
    // It may stay after all.
    page.click(&format!("{row}.querySelector('button')"));
    page.wait_for(&format!("{row}.querySelector('.pill').textContent === 'active'"));
    let nodes = page.value("fetch('/v1/map').then(answer => answer.json())")["nodes"].clone();
    assert_eq!(nodes[1]["state"], "active");

    // The other nodes are among the targets of this one's page.
    go(&mut page, "targets");
    page.wait_for("document.querySelectorAll('[aria-label=Nodes] tbody tr').length === 2");
}

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn the_page_outlives_its_node() {
    let (folder, served, mut page) = begin("restart");
    open(&mut page, &served, DESK, false);
    go(&mut page, "timeline");
    page.wait_for("document.querySelector('canvas')?.dataset.rows === '9'");
    is_quiet(&mut page, &served);
    let node = served.node.clone();
    drop(served);
    page.wait_for("document.getElementById('connection').hidden === false");
    page.wait_for("document.querySelector('.link-state').textContent === 'Not connected'");
    let served = Served::start(&folder.path().join("data"), &["--listen", &node]);
    page.wait_for("document.getElementById('connection').hidden");
    page.wait_for("document.querySelector('.link-state').textContent === 'Connected'");
    let file = folder.path().join("file");
    std::fs::write(&file, content(1_000_000, 3)).expect("room");
    // It hears of windows again.
    page.wait_for("document.querySelector('main > .note').hidden");
    served.says(&["put", file.to_str().expect("plain")]);
    page.wait_for("/[1-9] used/.test(document.getElementById('summary').textContent)");
}

/// A button of the row of a job or a user.
fn button_of(row: &str, text: &str) -> String {
    format!(
        "[...document.querySelectorAll('tr[{row}] button')] \
         .find(button => button.textContent.startsWith('{text}'))"
    )
}

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn a_job_is_started_watched_and_forgotten() {
    let (folder, served, mut page) = begin("jobs");
    served.says(&["mb", "slot://from"]);
    served.says(&["mb", "slot://to"]);
    let file = folder.path().join("file");
    std::fs::write(&file, content(1000, 1)).expect("room");
    served.says(&["cp", file.to_str().expect("plain"), "slot://from/x/file"]);
    open(&mut page, &served, DESK, false);
    go(&mut page, "jobs");
    page.wait_for("document.querySelector('.empty')?.textContent.includes('no jobs')");
    page.click("document.getElementById('new-job')");
    page.wait_for("document.getElementById('job-from') !== null");
    is_usable_by_all(&mut page, "new job");
    page.click("document.getElementById('job-from')");
    page.write("from/x/");
    page.click("document.getElementById('job-to')");
    page.write("slot://to/y/");
    page.click("document.querySelector('dialog button.primary')");
    page.wait_for("document.querySelector('#jobs .pill')?.textContent === 'verified'");
    page.wait_for(
        "document.querySelector('#jobs tbody tr').textContent.includes('1 of 1 unit compared')",
    );
    assert_eq!(served.says(&["ls", "-r", "slot://to"]).matches("y/file").count(), 1);
    is_usable_by_all(&mut page, "jobs");

    // One that is started elsewhere is seen, and the log of each can be read.
    served.says(&["job", "start", "copy", "slot://from/none/", "slot://to/none/"]);
    page.wait_for("document.querySelectorAll('#jobs tbody tr').length === 2");
    page.click(&button_of("data-job", "Log"));
    page.wait_for("document.querySelector('dialog')?.textContent.includes('Nothing has failed')");
    page.click("document.querySelector('dialog button.primary')");
    page.wait_for("document.querySelector('dialog') === null");
    for left in [1, 0] {
        page.wait_for(&format!("{} !== undefined", button_of("data-job", "Forget")));
        page.click(&button_of("data-job", "Forget"));
        page.wait_for("document.querySelector('dialog button.primary') !== null");
        page.click("document.querySelector('dialog button.primary')");
        page.wait_for(&format!("document.querySelectorAll('#jobs tbody tr').length === {left}"));
    }
    is_quiet(&mut page, &served);
}

#[test]
#[ignore = "needs Chromium: .ci/run installs it and runs this"]
fn users_are_added_changed_and_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = [("SLOTCAST_ACCESS_KEY", "root"), ("SLOTCAST_SECRET_KEY", "open-sesame")];
    let served = Served::start_with(&folder.path().join("data"), &[], &keys);
    let program = chromium::program().expect("Chromium is installed, or $CHROMIUM says where");
    let mut page = Page::start(&program, &scratch("users"));
    page.visit(&format!("http://{}/#/users", served.node), DESK, false);
    page.wait_for("document.activeElement?.id === 'access'");
    page.write("root");
    page.click("document.getElementById('secret')");
    page.write("open-sesame");
    page.click("document.querySelector('dialog button.primary')");
    page.wait_for("document.querySelector('.empty')?.textContent.includes('no users')");
    page.click("document.getElementById('new-user')");
    page.wait_for("document.activeElement.id === 'user-name'");
    is_usable_by_all(&mut page, "new user");
    page.write("ann");
    page.click("document.getElementById('policy-readonly')");
    page.click("document.querySelector('dialog button.primary')");
    page.wait_for("document.querySelector('dialog h2')?.textContent === 'Keys of ann'");
    let secret = "document.querySelectorAll('dialog code')[1].textContent";
    let secret = page.value(secret);
    assert!(secret.as_str().expect("text").starts_with("export AWS_SECRET_ACCESS_KEY="));
    page.click("document.querySelector('dialog button.primary')");
    page.wait_for("document.querySelector('tr[data-user=ann]') !== null");
    is_usable_by_all(&mut page, "users");
    let shown = |served: &Served| -> serde_json::Value {
        serde_json::from_str(&served.says(&["user", "show", "ann", "--json"])).expect("JSON")
    };
    assert_eq!(shown(&served)["policies"][0]["policy"], "readonly");

    page.click(&button_of("data-user=ann", "Policies of"));
    page.wait_for("document.getElementById('policy-readonly')?.checked === true");
    page.click("document.getElementById('policy-writeonly')");
    page.click("document.querySelector('dialog button.primary')");
    page.wait_for(
        "document.querySelector('tr[data-user=ann]')?.textContent.includes('readonly, writeonly')",
    );
    assert_eq!(shown(&served)["policies"][1]["policy"], "writeonly");
    page.click(&button_of("data-user=ann", "Add a key"));
    page.wait_for("document.querySelector('dialog h2')?.textContent === 'A further key of ann'");
    page.click("document.querySelector('dialog button.primary')");
    page.wait_for("document.querySelectorAll('tr[data-user=ann] td code').length === 2");
    page.click("document.querySelector('[aria-label^=\"Take away the key\"]')");
    page.wait_for("document.querySelector('dialog button.danger') !== null");
    page.click("document.querySelector('dialog button.danger')");
    page.wait_for("document.querySelectorAll('tr[data-user=ann] td code').length === 1");
    page.click(&button_of("data-user=ann", "Suspend"));
    page.wait_for("document.querySelector('tr[data-user=ann] .pill').textContent === 'suspended'");
    page.click(&button_of("data-user=ann", "Remove"));
    page.wait_for("document.querySelector('dialog button.danger') !== null");
    page.click("document.querySelector('dialog button.danger')");
    page.wait_for("document.querySelector('.empty')?.textContent.includes('no users')");
    // What is refused before somebody logs in the browser itself writes to its console.
    let threw = |event: &serde_json::Value| event["method"] == "Runtime.exceptionThrown";
    assert!(!page.events.iter().any(threw), "{:?}", page.events);
}
