//! A run of a packed folder, watched from outside.

use super::alone::alone;
use crate::Outcome;
use corehop_support::processes::descendants;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const LOOK: Duration = Duration::from_millis(10);
/// glibc's files and the loader's cache may be those of the machine.
const OF_THE_MACHINE: &[&str] = &[
    "libc.so.6",
    "libm.so.6",
    "ld-linux-x86-64.so.2",
    "ld.so.cache",
];

/// A started run.
pub struct Run {
    child: Child,
    packed: PathBuf,
    printed: TempDir,
    /// Files that its servers have mapped, and that are neither packed nor glibc's.
    foreign: BTreeSet<String>,
}

/// How a run ended.
pub struct Ended {
    pub status: ExitStatus,
    /// The last line of the output; null if there is none.
    pub json: Value,
    pub foreign: Vec<String>,
}

impl Run {
    pub fn start(packed: &Path, words: &[&str]) -> Outcome<Run> {
        let printed = tempfile::tempdir()?;
        let mut command = Command::new(packed.join("run"));
        command.args(words).env_clear().env("PATH", "/usr/bin:/bin");
        command.current_dir("/").stdin(Stdio::null());
        command.stdout(File::create(printed.path().join("out"))?);
        command.stderr(File::create(printed.path().join("said"))?);
        alone(&mut command);
        Ok(Run {
            child: command.spawn()?,
            packed: packed.canonicalize()?,
            printed,
            foreign: BTreeSet::new(),
        })
    }

    /// Waits until it ends without a signal.
    pub fn wait(mut self) -> Outcome<Ended> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return self.ended(status);
            }
            self.look();
            std::thread::sleep(LOOK); // waits: between looks
        }
    }

    /// Interrupts it while its servers run, and waits. None of its processes may be left.
    pub fn interrupt(mut self) -> Outcome<Ended> {
        let started = loop {
            let servers = self.servers();
            if servers.len() > 1 {
                break descendants(self.child.id());
            }
            if let Some(status) = self.child.try_wait()? {
                let said = self.said();
                return Err(format!("{status} before a server was there: {said}").into());
            }
            std::thread::sleep(LOOK); // waits: between looks
        };
        kill_process(Pid::from_child(&self.child), Signal::INT)?;
        let status = self.child.wait()?;
        let left = |process: &&u32| {
            let at = format!("/proc/{process}/cmdline");
            let words = std::fs::read_to_string(at).unwrap_or_default();
            words.contains(&*self.packed.to_string_lossy())
        };
        let left: Vec<&u32> = started.iter().filter(left).collect();
        assert!(left.is_empty(), "processes {left:?} are left");
        self.ended(status)
    }

    fn ended(&self, status: ExitStatus) -> Outcome<Ended> {
        let printed = std::fs::read_to_string(self.printed.path().join("out"))?;
        if status.code() != Some(0) {
            eprintln!("{status}: {}", self.said());
        }
        let last = printed.lines().last().unwrap_or("null");
        let foreign = self.foreign.iter().cloned().collect();
        Ok(Ended {
            status,
            json: serde_json::from_str(last)?,
            foreign,
        })
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.printed.path().join("said")).unwrap_or_default()
    }

    /// Returns the servers that it runs now.
    fn servers(&self) -> Vec<u32> {
        let is_server = |process: &u32| {
            let program = std::fs::read_link(format!("/proc/{process}/exe"));
            program.is_ok_and(|program| program.ends_with("redis-server"))
        };
        descendants(self.child.id())
            .into_iter()
            .filter(is_server)
            .collect()
    }

    /// Notes the files that servers have mapped.
    fn look(&mut self) {
        for process in self.servers() {
            let maps = std::fs::read_to_string(format!("/proc/{process}/maps"));
            let maps = maps.unwrap_or_default();
            let files = maps
                .lines()
                .filter_map(|line| line.find('/').map(|at| &line[at..]));
            let foreign = files
                .filter(|file| !self.is_expected(file))
                .map(str::to_owned);
            let foreign: Vec<String> = foreign.collect();
            self.foreign.extend(foreign);
        }
    }

    fn is_expected(&self, file: &str) -> bool {
        let name = file.rsplit('/').next().unwrap_or_default();
        Path::new(file).starts_with(&self.packed)
            || OF_THE_MACHINE.contains(&name)
            // The runtime and the hooks.
            || file.starts_with("/memfd:")
    }
}
