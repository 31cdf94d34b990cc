//! Starts recordings, and always ends them.

use crate::plugin::build_plugins;
use corehop_traces::Trace;
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const PATIENCE: Duration = Duration::from_secs(300);

/// Returns the path of `corehop`.
pub fn program() -> PathBuf {
    Path::new(crate::BUILT).with_file_name("corehop")
}

/// Returns `corehop record`, without its arguments.
pub fn record() -> Command {
    build_plugins();
    let mut command = Command::new(program());
    command.arg("record");
    command
}

/// A running recording in a separate folder. Dropping it ends it and its server.
pub struct Recording {
    child: Child,
    folder: TempDir,
}

impl Recording {
    /// Starts recording a program of this C source, whose requests begin at `serve`.
    pub fn of(source: &str) -> Recording {
        Recording::of_in(tempfile::tempdir().unwrap(), source)
    }

    /// Does the same in a prepared folder.
    pub fn of_in(folder: TempDir, source: &str) -> Recording {
        compile(folder.path(), "server", source, &[]);
        Recording::start_in(folder, ["--request-at", "serve", "--", "./server"])
    }

    /// Returns the output of corehop for these words and the trace's path.
    pub fn told_by(&self, words: &[&str]) -> String {
        let output = Command::new(program())
            .args(words)
            .arg(self.path())
            .current_dir(self.folder())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts `corehop record -o trace ARGUMENTS` in a prepared folder.
    pub fn start_in<'a>(
        folder: TempDir,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Recording {
        Recording::start_as(record(), folder, arguments)
    }

    /// Does the same with another command than [`record`].
    pub fn start_as<'a>(
        mut record: Command,
        folder: TempDir,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Recording {
        let into = |name| File::create(folder.path().join(name)).unwrap();
        let child = record
            .arg("-o")
            .arg(folder.path().join("trace"))
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(into("stdout"))
            .stderr(into("stderr"))
            .spawn()
            .expect("corehop runs");
        Recording { child, folder }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    pub fn stdout(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("stdout")).unwrap()
    }

    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("stderr")).unwrap()
    }

    /// Returns the process id of `corehop`.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the process id of the server, after it has started.
    pub fn server(&self) -> u32 {
        self.wait_for("the server to be started", || {
            let id = self.id();
            let children = format!("/proc/{id}/task/{id}/children");
            let children = std::fs::read_to_string(children).unwrap_or_default();
            let is_server = |id: &&str| {
                let command = std::fs::read_to_string(format!("/proc/{id}/cmdline"));
                command.unwrap_or_default().contains("-plugin")
            };
            children
                .split_whitespace()
                .find(is_server)
                .map(|id| id.parse().unwrap())
        })
    }

    /// Waits until `found` returns a value.
    pub fn wait_for<T>(&self, what: &str, mut found: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = found() {
                return found;
            }
            if Instant::now() > deadline {
                panic!("waited in vain for {what}:\n{}", self.stderr());
            }
            std::thread::sleep(Duration::from_millis(5)); // waits: between looks
        }
    }

    /// Waits until the recording ends.
    pub fn finish(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(5)); // waits: between looks
        }
        panic!("the recording does not end:\n{}", self.stderr());
    }

    /// Waits until the recording ends, expects success, and opens the trace.
    pub fn trace(&mut self) -> Trace {
        let status = self.finish();
        assert!(status.success(), "{status}:\n{}", self.stderr());
        Trace::open(&self.path()).unwrap()
    }

    pub fn signal(&self, signal: i32) {
        send(self.id(), signal);
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the recorder's output:\n{}", self.stderr());
        }
        for signal in [libc::SIGTERM, libc::SIGINT] {
            if self.child.try_wait().ok().flatten().is_none() {
                self.signal(signal);
                std::thread::sleep(Duration::from_millis(200)); // waits: to end it more gently
            }
        }
        let _ = self.child.wait();
    }
}

/// Sends a signal to one process.
pub fn send(process: u32, signal: i32) {
    // SAFETY: kill takes two numbers and accesses no memory.
    unsafe { libc::kill(process.cast_signed(), signal) };
}

pub fn is_running(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// Returns a port that was free at the time of the call.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Connects as soon as the server listens.
pub fn connect(recording: &Recording, port: u16) -> TcpStream {
    let stream = recording.wait_for("the server to listen", || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()
    });
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Compiles a C program or, with `-shared` among the options, a library.
pub fn compile(folder: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let program = folder.join(name);
    let mut compiler = Command::new("cc")
        .args(["-x", "c", "-O1", "-g0", "-fno-inline", "-Wl,--build-id"])
        .args(options)
        .arg("-o")
        .arg(&program)
        .args(["-", "-pthread", "-ldl"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("a C compiler");
    compiler
        .stdin
        .take()
        .unwrap()
        .write_all(source.as_bytes())
        .unwrap();
    assert!(compiler.wait().unwrap().success());
    program
}
