//! Drives a headless Chromium through its DevTools protocol, as far as the tests need it.
//!
//! The crates that wrap the whole protocol take minutes to compile (`headless_chrome` five of them on
//! two cores); these few calls need a web socket and JSON.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has a process, a socket and a clock"
)]

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// Longest wait for something that happens on its own, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// The program, if there is one: `$CHROMIUM`, or a usual name in the path.
pub(crate) fn program() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let mut usual = names.iter().flat_map(|name| {
        std::env::split_paths(&paths).map(move |folder| folder.join(name)).collect::<Vec<_>>()
    });
    named.or_else(|| usual.find(|path| path.is_file()))
}

/// One open page of a running browser.
pub(crate) struct Page {
    browser: Child,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    session: Option<String>,
    serial: u64,
    /// What the browser has told since it was started, in order.
    pub(crate) events: Vec<Value>,
}

impl Drop for Page {
    fn drop(&mut self) {
        // If it is gone already, all the better.
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}

impl Page {
    /// Starts the browser with a profile of its own in `scratch`, and no way to any host.
    pub(crate) fn start(program: &Path, scratch: &Path) -> Page {
        let mut browser = Command::new(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .arg("--remote-debugging-port=0")
            .arg("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
            .args(["--disable-background-networking", "--disable-component-update"])
            .args(["--disable-quic", "--disable-sync"])
            .arg(format!("--user-data-dir={}", scratch.join("profile").display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Chromium starts");
        let stderr = BufReader::new(browser.stderr.take().expect("piped"));
        let mut said = Vec::new();
        let mut lines = stderr.lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            said.push(line.clone());
            line.strip_prefix("DevTools listening on ").map(str::to_string)
        });
        let address = address.unwrap_or_else(|| panic!("no address: {}", said.join("\n")));
        // Whoever does not read what a program says will see it wait one day.
        #[allow(clippy::disallowed_methods, reason = "a test outside the simulator")]
        std::thread::spawn(move || lines.for_each(drop));
        let (socket, _) = tungstenite::connect(&address).expect("Chromium answers");
        let mut page = Page { browser, socket, session: None, serial: 0, events: Vec::new() };
        let targets = page.call("Target.getTargets", &json!({}));
        let targets = targets["targetInfos"].as_array().expect("a list");
        let target = targets.iter().find(|target| target["type"] == "page").expect("a page");
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let session = page.call("Target.attachToTarget", &target);
        page.session = Some(session["sessionId"].as_str().expect("a session").into());
        for domain in ["Page", "Runtime", "Network", "Log"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        page
    }

    /// Calls a method of the protocol and gives back its result.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.serial += 1;
        let mut request = json!({ "id": self.serial, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(request.to_string())).expect("Chromium listens");
        loop {
            let message = self.socket.read().expect("Chromium answers");
            let Message::Text(text) = message else { continue };
            let mut answer: Value = serde_json::from_str(&text).expect("JSON");
            if answer["id"] == self.serial {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    /// The value of an expression of JavaScript.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.call("Runtime.evaluate", &parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Waits until an expression is true.
    pub(crate) fn wait_for(&mut self, condition: &str) {
        #[allow(clippy::disallowed_methods, reason = "a test outside the simulator")]
        let start = Instant::now();
        while self.value(condition) != true {
            assert!(start.elapsed() < PATIENCE, "still not so: {condition}");
            #[allow(clippy::disallowed_methods, reason = "a test outside the simulator")]
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Opens an address in a window of that size.
    pub(crate) fn visit(&mut self, url: &str, (width, height): (u32, u32), is_phone: bool) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone,
        });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        self.call("Emulation.setTouchEmulationEnabled", &json!({ "enabled": is_phone }));
        self.call("Page.navigate", &json!({ "url": url }));
    }

    /// Opens `path` from disk in a window of that size, and waits until its charts are drawn.
    pub(crate) fn open(&mut self, path: &Path, width: u32, height: u32, is_phone: bool) {
        self.visit(&format!("file://{}", path.display()), (width, height), is_phone);
        self.wait_for(
            "document.readyState === 'complete' && Number(document.documentElement.dataset.drawn) \
             === document.querySelectorAll('.chart').length",
        );
    }

    /// Asks for light or dark pages.
    pub(crate) fn prefer(&mut self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
    }

    /// A picture of the whole page, as PNG.
    pub(crate) fn screenshot(&mut self) -> Vec<u8> {
        let size = self.value(
            "({ width: document.documentElement.clientWidth, \
                height: document.documentElement.scrollHeight })",
        );
        let clip =
            json!({ "x": 0, "y": 0, "scale": 1, "width": size["width"], "height": size["height"] });
        let answer = self.call(
            "Page.captureScreenshot",
            &json!({ "format": "png", "captureBeyondViewport": true, "clip": clip }),
        );
        let text = answer["data"].as_str().expect("a picture");
        data_encoding::BASE64.decode(text.as_bytes()).expect("base 64")
    }

    /// Clicks into the middle of an element, which is scrolled into view.
    pub(crate) fn click(&mut self, element: &str) {
        let (x, y) = self.place(element, 0.5, 0.5);
        self.mouse("mouseMoved", x, y, 0);
        self.mouse("mousePressed", x, y, 1);
        self.mouse("mouseReleased", x, y, 0);
    }

    /// Types text into the element that has the focus.
    pub(crate) fn write(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// Presses a key and lets it go.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["rawKeyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", &json!({ "type": kind, "key": key }));
        }
    }

    /// Drops a file from disk onto the middle of an element.
    pub(crate) fn drop_file(&mut self, element: &str, path: &Path) {
        let (x, y) = self.place(element, 0.5, 0.5);
        let data = json!({ "items": [], "files": [path], "dragOperationsMask": 1 });
        for kind in ["dragEnter", "dragOver", "drop"] {
            let event = json!({ "type": kind, "x": x, "y": y, "data": data });
            self.call("Input.dispatchDragEvent", &event);
        }
    }

    /// Moves the mouse onto the middle of an element, which is scrolled into view.
    pub(crate) fn hover(&mut self, element: &str) {
        let (x, y) = self.place(element, 0.5, 0.5);
        self.mouse("mouseMoved", x - 1.0, y, 0);
        self.mouse("mouseMoved", x, y, 0);
    }

    /// Drags across an element from one part of it to another; parts are from 0 to 1.
    pub(crate) fn drag(&mut self, element: &str, from: (f64, f64), to: (f64, f64)) {
        let (x0, y0) = self.place(element, from.0, from.1);
        let (x1, y1) = self.place(element, to.0, to.1);
        self.mouse("mouseMoved", x0, y0, 0);
        self.mouse("mousePressed", x0, y0, 1);
        for step in 1..=5 {
            let part = f64::from(step) / 5.0;
            self.mouse("mouseMoved", x0 + (x1 - x0) * part, y0 + (y1 - y0) * part, 1);
        }
        self.mouse("mouseReleased", x1, y1, 0);
    }

    fn place(&mut self, element: &str, across: f64, down: f64) -> (f64, f64) {
        let place = self.value(&format!(
            "(() => {{ const element = {element}; \
              element.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
              const r = element.getBoundingClientRect(); \
              return [r.x + r.width * {across}, r.y + r.height * {down}]; }})()"
        ));
        (place[0].as_f64().expect("a number"), place[1].as_f64().expect("a number"))
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64, buttons: u8) {
        let is_click = kind != "mouseMoved";
        let button = if is_click || buttons > 0 { "left" } else { "none" };
        self.call(
            "Input.dispatchMouseEvent",
            &json!({
                "type": kind, "x": x, "y": y, "button": button, "buttons": buttons,
                "clickCount": u8::from(is_click),
            }),
        );
    }
}
