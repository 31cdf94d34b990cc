//! A real browser to test the page: Debian's Chromium in headless mode, controlled through a pipe
//! in its DevTools protocol.
//!
//! The protocol consists of JSON messages that end in a zero byte, on descriptors 3 and 4: it needs
//! no open port and no library. The test keeps every message that a page logs, throws, or requests
//! from the network, so that it can assert that there was none.

use base64::Engine;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Time after which the browser is killed, so that no test waits forever.
const PATIENCE: Duration = Duration::from_secs(540);

/// A browser with one page open.
pub struct Browser {
    child: Child,
    to: PipeWriter,
    from: BufReader<PipeReader>,
    session: Option<String>,
    sent: u64,
    events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Opens a browser with the page at `path`, in a window of this size.
    pub fn open(path: &Path, width: u32, height: u32) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let (their_end, to) = pipe().unwrap();
        let (from, their_other_end) = pipe().unwrap();
        let mut command = Command::new("chromium");
        command
            .args(["--headless=new", "--remote-debugging-pipe", "--disable-gpu"])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--hide-scrollbars",
            ])
            .args([
                "--disable-component-update",
                "--disable-dev-shm-usage",
                "--mute-audio",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            // It leaves folders in its temporary folder.
            .env("TMPDIR", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // SAFETY: only reads the user id.
        if unsafe { libc::geteuid() } == 0 {
            command.arg("--no-sandbox");
        }
        let ends = [their_end.as_raw_fd(), their_other_end.as_raw_fd()];
        // SAFETY: only duplicates descriptors, which is allowed between fork and exec. They are
        // moved to higher numbers first, because one of them may be 3 or 4.
        unsafe {
            command.pre_exec(move || {
                let moved = ends.map(|end| libc::fcntl(end, libc::F_DUPFD, 10));
                for (end, wanted) in moved.into_iter().zip([3, 4]) {
                    if end < 0 || libc::dup2(end, wanted) < 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                }
                Ok(())
            });
        }
        let child = command.spawn();
        let child = child.expect("chromium is installed: scripts/setup.sh test does that");
        let process = child.id();
        std::thread::spawn(move || {
            std::thread::sleep(PATIENCE); // waits: to end a hang
            // SAFETY: a signal to a process that this process started.
            unsafe { libc::kill(process as i32, libc::SIGKILL) };
        });
        let mut browser = Browser {
            child,
            to,
            from: BufReader::new(from),
            session: None,
            sent: 0,
            events: Vec::new(),
            _profile: profile,
        };
        browser.load(path, width, height);
        browser
    }

    fn load(&mut self, path: &Path, width: u32, height: u32) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.call("Target.attachToTarget", target);
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        self.resize(width, height);
        let url = format!("file://{}", path.canonicalize().unwrap().display());
        self.call("Page.navigate", json!({ "url": url }));
        while !self
            .events
            .iter()
            .any(|event| event["method"] == "Page.loadEventFired")
        {
            let event = self.next();
            self.events.push(event);
        }
    }

    /// Sets the size of the window; a width below 600 emulates a phone.
    pub fn resize(&mut self, width: u32, height: u32) {
        let phone = width < 600;
        let scale = if phone { 2 } else { 1 };
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": scale, "mobile": phone,
        });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Sets the preferred color scheme to `light` or `dark`.
    pub fn prefer(&mut self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": [feature] }),
        );
    }

    /// Returns the value of an expression, or of its promise.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true. The watchdog ends a wait that would not end.
    pub fn wait_for(&mut self, expression: &str) {
        while self.evaluate(expression) != true {
            std::thread::sleep(Duration::from_millis(20)); // waits: between looks
        }
    }

    /// Moves the mouse to a point of the window, or turns its wheel there.
    pub fn mouse(&mut self, kind: &str, (x, y): (f64, f64), wheel: f64) {
        let event = json!({
            "type": kind, "x": x, "y": y, "deltaX": 0, "deltaY": wheel,
            "button": if kind == "mouseMoved" || kind == "mouseWheel" { "none" } else { "left" },
            "clickCount": 1,
        });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Presses a key with this `KeyboardEvent.key`.
    pub fn press(&mut self, key: &str) {
        let text = if key.len() == 1 { key } else { "" };
        let kind = if text.is_empty() {
            "rawKeyDown"
        } else {
            "keyDown"
        };
        let down = json!({ "type": kind, "key": key, "text": text });
        self.call("Input.dispatchKeyEvent", down);
        self.call(
            "Input.dispatchKeyEvent",
            json!({ "type": "keyUp", "key": key }),
        );
    }

    /// Returns the window as a PNG file.
    pub fn screenshot(&mut self) -> Vec<u8> {
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = answer["data"].as_str().unwrap();
        base64::prelude::BASE64_STANDARD.decode(bytes).unwrap()
    }

    /// Returns what the page logged, threw, or requested outside of this file.
    pub fn complaints(&mut self) -> Vec<String> {
        // All earlier events have arrived when this is answered.
        self.evaluate("new Promise((done) => setTimeout(done, 50))");
        let complaint = |event: &Value| match event["method"].as_str()? {
            "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded" => {
                Some(event["params"].to_string())
            }
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str()?;
                let is_own = url.starts_with("file:") || url.starts_with("data:");
                (!is_own && !url.starts_with("blob:")).then(|| url.to_owned())
            }
            _ => None,
        };
        self.events.iter().filter_map(complaint).collect()
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let mut answer = self.next();
            if answer["id"] == self.sent {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    fn next(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from
            .read_until(0, &mut bytes)
            .expect("the browser answers");
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&bytes).expect("it speaks JSON")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser may have ended already. Failures are ignored.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
