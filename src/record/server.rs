//! The server under QEMU: started, watched and ended.
//!
//! It leads a process group of its own, so that a Ctrl-C at the terminal reaches corehop alone,
//! which ends the recording first, and so that its children are ended with it.

use super::command::Program;
use super::tools::Tools;
use crate::failure::{Exit, Failure};
use rustix::process::{Pid, Signal};
use std::ffi::OsString;
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
    /// Starts the program with the plugin, which finds the shared memory at `memory`, and with one
    /// more variable in its environment.
    pub fn start(
        tools: &Tools,
        program: &Program,
        arguments: &[String],
        memory: &Path,
        variable: Option<(&str, &Path)>,
    ) -> Result<Server, Failure> {
        let mut command = tools.command(memory);
        // Of the server's environment alone: QEMU itself is to load no more than it needs.
        if let Some((name, value)) = variable {
            let mut assignment = OsString::from(name);
            assignment.push("=");
            assignment.push(value);
            command.arg("-E").arg(assignment);
        }
        let child = command
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

    /// Its process.
    pub fn process(&self) -> u32 {
        self.child.id()
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
