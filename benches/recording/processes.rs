//! One program in one mode: starts it, reads its CPU time, and ends it.

use crate::Outcome;
use crate::started;
use crate::subjects::Subject;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

/// Data limit of a program under bare QEMU.
const MOST_BYTES: u64 = 4 << 30;

/// How a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Natively.
    Native,
    /// Under QEMU, without a plugin.
    Bare,
    /// Under QEMU, with a plugin that does nothing for each access.
    Callbacks,
    /// With every request recorded.
    Recording,
    /// The same, but each access is seen individually.
    NoElision,
    /// With one request in a hundred recorded, selected at random.
    OneInHundred,
    /// Under the recorder, but the request to record never comes.
    NotChosen,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::Native => "native",
            Mode::Bare => "bare QEMU",
            Mode::Callbacks => "callbacks",
            Mode::Recording => "recording",
            Mode::NoElision => "no elision",
            Mode::OneInHundred => "1 in 100",
            Mode::NotChosen => "not chosen",
        }
    }
}

/// CPU time, in microseconds.
#[derive(Clone, Copy, Default)]
pub struct Spent {
    pub server_us: f64,
    pub recorder_us: f64,
    /// The share of the recorder's second thread, which encodes columns, compresses and writes.
    pub coding_us: f64,
}

impl Spent {
    /// Returns the CPU time since `before`, per request.
    pub fn since(self, before: Spent, requests: u64) -> Spent {
        let part = |now, before| (now - before) / requests as f64;
        Spent {
            server_us: part(self.server_us, before.server_us),
            recorder_us: part(self.recorder_us, before.recorder_us),
            coding_us: part(self.coding_us, before.coding_us),
        }
    }
}

/// The required programs, built in the same profile as this bench.
pub struct Tools {
    corehop: PathBuf,
    pub tpcc: PathBuf,
    /// The plugin that does nothing.
    idle: PathBuf,
}

impl Tools {
    pub fn find() -> Outcome<Tools> {
        let corehop = PathBuf::from(env!("CARGO_BIN_EXE_corehop"));
        let mut build = Command::new(env!("CARGO"));
        build.args([
            "build",
            "--quiet",
            "--locked",
            "--bins",
            "--example",
            "idle",
        ]);
        match cfg!(debug_assertions) {
            // With the features that `cargo test --workspace` uses.
            true => build.args(["--workspace", "--lib", "--bench", "recording"]),
            // A release build of the command contains the plugin.
            false => build.args([
                "--release",
                "-p",
                "corehop-tpcc",
                "-p",
                "corehop-qemu-plugin",
            ]),
        };
        build.current_dir(env!("CARGO_MANIFEST_DIR"));
        if !build.status()?.success() {
            return Err("the plugin and the load do not build".into());
        }
        Ok(Tools {
            tpcc: corehop.with_file_name("corehop-tpcc"),
            idle: corehop.with_file_name("examples").join("libidle.so"),
            corehop,
        })
    }

    /// Returns the recorder's command, without arguments.
    pub fn record(&self) -> Command {
        let mut command = Command::new(&self.corehop);
        command.arg("record");
        command
    }

    /// Returns the size of a trace file per access in it.
    pub fn bytes_per_access(&self, trace: &Path) -> Outcome<f64> {
        let mut info = Command::new(&self.corehop);
        let output = info.arg("info").arg("--json").arg(trace).output()?;
        let said: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        Ok(said["bytes_per_access"].as_f64().ok_or("no accesses")?)
    }
}

/// A running program. It is killed when dropped.
pub struct Running {
    mode: Mode,
    child: Child,
    folder: PathBuf,
    /// The program's own process: the child, or the child's child.
    server: u32,
}

impl Running {
    pub fn start(
        subject: &impl Subject,
        mode: Mode,
        tools: &Tools,
        folder: &Path,
    ) -> Outcome<Running> {
        let program = subject.command(folder)?;
        let mut command = match mode {
            Mode::Native => Command::new(&program[0]),
            Mode::Bare | Mode::Callbacks => {
                // The recorder sets its own limit.
                let mut command = Command::new("prlimit");
                command.arg(format!("--data={MOST_BYTES}"));
                command.arg("qemu-x86_64");
                if mode == Mode::Callbacks {
                    command.arg("-plugin").arg(&tools.idle);
                }
                command.arg(&program[0]);
                command
            }
            Mode::Recording | Mode::NoElision | Mode::OneInHundred | Mode::NotChosen => {
                let mut command = tools.record();
                command.arg("-o").arg(folder.join("trace"));
                command.args(["--request-at", subject.request_at()]);
                let few = match mode {
                    Mode::OneInHundred => Some(["10000", "1000000"]),
                    Mode::NotChosen => Some(["1", "1000000000"]),
                    _ => None,
                };
                if let Some([requests, of]) = few {
                    command.args(["--requests", requests, "--of", of, "--seed", "7"]);
                }
                if mode == Mode::NoElision {
                    command.arg("--no-elision");
                }
                command.arg("--").arg(&program[0]);
                command
            }
        };
        let child = command
            .args(&program[1..])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(File::create(folder.join("stdout"))?)
            .stderr(File::create(folder.join("stderr"))?)
            .spawn()?;
        let mut running = Running {
            mode,
            server: child.id(),
            child,
            folder: folder.into(),
        };
        if !matches!(mode, Mode::Native | Mode::Bare | Mode::Callbacks) {
            let id = running.child.id();
            running.server = running.wait_for("the server to start", || {
                let children = format!("/proc/{id}/task/{id}/children");
                let children = std::fs::read_to_string(children).unwrap_or_default();
                // QEMU's version queries before the start are children too, but short-lived.
                let found = children.split_whitespace().find(|child| {
                    let line = std::fs::read(format!("/proc/{child}/cmdline"));
                    line.is_ok_and(|line| line.windows(7).any(|part| part == b"-plugin"))
                });
                found.and_then(|child| child.parse().ok())
            })?;
        }
        Ok(running)
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the program's standard input.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Waits until `found` returns a value.
    pub fn wait_for<T>(&mut self, what: &str, found: impl FnMut() -> Option<T>) -> Outcome<T> {
        if let Some(found) = started::wait_for(&mut self.child, found)? {
            return Ok(found);
        }
        let said = std::fs::read_to_string(self.folder.join("stderr")).unwrap_or_default();
        Err(format!("waited in vain for {what}:\n{said}").into())
    }

    /// Gives the recorder time to write what it has received.
    pub fn settle(&self) {
        let records = [Mode::Recording, Mode::NoElision, Mode::OneInHundred];
        if records.contains(&self.mode) {
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// Returns the CPU time so far.
    pub fn spent(&self) -> Outcome<Spent> {
        let server_us = cpu_us(self.server)?;
        if self.server == self.child.id() {
            return Ok(Spent {
                server_us,
                ..Spent::default()
            });
        }
        Ok(Spent {
            server_us,
            recorder_us: cpu_us(self.child.id())?,
            coding_us: thread_us(self.child.id(), "trace-writer")?,
        })
    }

    /// Ends the program. Returns the trace if everything was recorded. mariadbd ignores SIGINT.
    pub fn end(mut self) -> Outcome<Option<PathBuf>> {
        started::terminate(&self.child);
        let status = self.child.wait()?;
        if self.mode != Mode::Recording {
            return Ok(None);
        }
        let trace = self.folder.join("trace");
        match trace.exists() {
            true => Ok(Some(trace)),
            false => Err(format!("no trace was written: {status}").into()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the user and system time of a process, including its threads that have ended. The ticks
/// of proc_pid_stat(5) are too coarse for a few milliseconds of work.
fn cpu_us(process: u32) -> Outcome<f64> {
    let mut clock = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: both only write to the variables that are passed to them.
    let failed = unsafe {
        libc::clock_getcpuclockid(process.cast_signed(), &raw mut clock) != 0
            || libc::clock_gettime(clock, &raw mut time) != 0
    };
    match failed {
        true => Err(format!("process {process} has ended").into()),
        false => Ok(time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3),
    }
}

/// Returns the same for the thread of this name.
fn thread_us(process: u32, name: &str) -> Outcome<f64> {
    for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let task = task?.path();
        if std::fs::read_to_string(task.join("comm"))?.trim_end() == name {
            let statistics = std::fs::read_to_string(task.join("schedstat"))?;
            let ran_ns = statistics.split_whitespace().next().unwrap_or_default();
            return Ok(ran_ns.parse::<f64>()? / 1e3);
        }
    }
    Err(format!("process {process} has no thread {name}").into())
}
