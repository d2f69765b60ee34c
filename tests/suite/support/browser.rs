//! A headless Chromium, driven over its debugging pipe: what a person's browser would show, say and do.
//!
//! The pipe's messages are JSON, each ended by a zero byte; the browser reads them from descriptor 3 and writes to 4.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The names under which a Chromium may be installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    NAMES
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |dir| dir.join(name)))
        .find(|file| file.is_file())
}

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    session: String,
    number: u64,
    /// What the browser told without being asked.
    events: VecDeque<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Starts one; `None`, with a word on stderr, where no Chromium is installed.
    pub fn start() -> Option<Self> {
        let Some(program) = installed() else {
            eprintln!("SKIPPED: no Chromium is installed, so the page was not looked at in one (Debian: chromium)");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // A shell hands the pipes on as the descriptors that the browser wants, which is beyond std.
        let mut command = Command::new("sh");
        // One that hangs is ended, so that the tests are not.
        command.args(["-c", "exec timeout -k 5 300 \"$0\" \"$@\" 3<&0 4>&1"]).arg(program).args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-component-update",
            "--no-first-run",
            "--remote-debugging-pipe",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        command.env("HOME", profile.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().unwrap());
        let mut browser =
            Browser { child, to, from, session: String::new(), number: 0, events: VecDeque::new(), _profile: profile };
        let targets = browser.call("Target.getTargets", json!({}));
        let page = targets["targetInfos"].as_array().unwrap().iter().find(|t| t["type"] == "page").unwrap();
        let attached = browser.call("Target.attachToTarget", json!({"targetId": page["targetId"], "flatten": true}));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    fn next(&mut self) -> Value {
        let mut text = Vec::new();
        self.from.read_until(0, &mut text).unwrap();
        assert_eq!(text.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&text).unwrap()
    }

    /// Calls a method of the protocol, and gives its result.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.as_mut().unwrap().write_all(&bytes).unwrap();
        loop {
            let mut answer = self.next();
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push_back(answer);
        }
    }

    /// A window of that size.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// The look that the reader prefers: `light` or `dark`.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// Whether scripts run.
    pub fn scripts(&mut self, run: bool) {
        self.call("Emulation.setScriptExecutionDisabled", json!({"value": !run}));
    }

    /// Opens a file and waits until it is there.
    pub fn open(&mut self, file: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next();
            self.events.push_back(event);
        }
    }

    /// What an expression comes to on the page.
    #[track_caller]
    pub fn eval(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Presses a key as a person does; `key` is its name, as in `Tab` or `+`.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            " " => 32,
            one => u32::from(one.chars().next().unwrap().to_ascii_uppercase()),
        };
        let text = match key {
            "Enter" => "\r",
            one if one.chars().count() == 1 => one,
            _ => "",
        };
        let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        let down = json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", down);
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}));
    }

    /// Moves, presses or releases the mouse: `mouseMoved`, `mousePressed` or `mouseReleased`.
    pub fn mouse(&mut self, what: &str, x: f64, y: f64) {
        let button = if what == "mouseMoved" { "none" } else { "left" };
        let event = json!({"type": what, "x": x, "y": y, "button": button, "clickCount": 1, "buttons": u8::from(what != "mouseReleased")});
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Everything that was said to the console, thrown, or asked of the network since the page was opened, but for the
    /// page itself.
    pub fn complaints(&mut self, opened: &Path) -> Vec<String> {
        // An answer to a question comes after what happened before it.
        self.call("Runtime.evaluate", json!({"expression": "0"}));
        let itself = format!("file://{}", opened.display());
        let told = self.events.iter().filter(|event| match event["method"].as_str().unwrap_or_default() {
            "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded" => true,
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                !url.starts_with("data:") && url.split('#').next() != Some(&itself)
            }
            _ => false,
        });
        told.map(Value::to_string).collect()
    }

    /// Writes a picture of the window, for whoever wants to look (`RAFTSCOPE_SCREENSHOTS=DIR`).
    pub fn picture(&mut self, name: &str) {
        let Some(dir) = std::env::var_os("RAFTSCOPE_SCREENSHOTS") else { return };
        use base64::Engine;
        let shot = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = base64::engine::general_purpose::STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        std::fs::write(Path::new(&dir).join(format!("{name}.png")), bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Without its pipe the browser ends by itself. Its profile must not go away before it.
        if let Some(mut to) = self.to.take() {
            let _ = to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        }
        let _ = self.child.wait();
    }
}
