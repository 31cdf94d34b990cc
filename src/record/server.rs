//! The server under QEMU: started, watched and ended.
//!
//! It leads a process group of its own, so that a Ctrl-C at the terminal reaches corehop alone,
//! which ends the recording first, and so that its children are ended with it.

use super::command::Program;
use super::tools::Tools;
use crate::failure::{Exit, Failure};
use rustix::process::{Pid, Signal};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How long a server may take to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(20);

/// A running server. Dropping it kills it, unless it was let go.
pub struct Server {
    child: Child,
    status: Option<ExitStatus>,
}

impl Server {
    /// Starts the program with the plugin, which finds the shared memory at `memory`.
    pub fn start(
        tools: &Tools,
        program: &Program,
        arguments: &[String],
        memory: &Path,
    ) -> Result<Server, Failure> {
        let child = tools
            .command(memory)
            .arg(&program.path)
            .args(arguments)
            .process_group(0)
            .spawn()
            .map_err(|error| {
                let message = format!("cannot start {}: {error}", tools.qemu.display());
                Failure::new(Exit::Missing, message).remedy("`corehop doctor` tries it")
            })?;
        Ok(Server {
            child,
            status: None,
        })
    }

    /// How the server ended; `None` while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// Its resident memory in bytes; 0 once it has ended.
    pub fn resident_bytes(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        kibibytes.unwrap_or(0u64) * 1024
    }

    /// Asks the server to end and waits until it has, killing it after a while, or at once when
    /// `hurry` says so.
    pub fn end(&mut self, hurry: impl Fn() -> bool) {
        self.signal(Signal::TERM);
        let deadline = Instant::now() + GRACE;
        while self.ended().is_none() {
            if hurry() || Instant::now() >= deadline {
                self.kill();
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // Children that the server has left behind.
        self.signal(Signal::KILL);
    }

    fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.status = self.child.wait().ok();
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.kill();
        }
    }
}
