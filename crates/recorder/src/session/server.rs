//! A server under QEMU: the started process and all its descendants.
//!
//! The server has ended when the last of these has. A server that moves into the background leaves
//! the started process and continues.

use super::family::Family;
use corehop_support::processes::{GRACE, Process};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Interval between checks for the end: scanning all processes of the machine takes milliseconds.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const LOOK_WHILE_ENDING_EVERY: Duration = Duration::from_millis(20);
/// Time limit for killing: processes of another user cannot be killed.
const KILLED_WITHIN: Duration = Duration::from_secs(5);
/// Interval between searches for processes that have left the first one.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// A running server. Dropping it kills it.
pub struct Server {
    process: Process,
    family: Family,
    is_gone: bool,
    next_look: Instant,
    /// The processes at the last scan, and the time of the next scan.
    members: Vec<u32>,
    next_count: Instant,
}

impl Server {
    /// Starts the command; its plugin has the argument `mark`.
    pub fn start(command: &mut Command, mark: &[u8]) -> std::io::Result<Server> {
        let now = Instant::now();
        Ok(Server {
            process: Process::spawn(command)?,
            family: Family::of(mark),
            is_gone: false,
            next_look: now,
            members: Vec::new(),
            next_count: now,
        })
    }

    /// Returns the id of the started process, which is also its group's.
    fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the family that finds all its processes.
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// Returns the exit status of the started process, once the whole server has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.ended_by_a_look_every(LOOK_EVERY)
    }

    fn ended_by_a_look_every(&mut self, pause: Duration) -> Option<ExitStatus> {
        let status = self.process.ended()?;
        if !self.is_gone {
            let now = Instant::now();
            if now < self.next_look {
                return None;
            }
            self.is_gone = self.family.is_gone();
            self.next_look = Instant::now() + pause;
        }
        self.is_gone.then_some(status)
    }

    /// Returns the started process and those that have left it, at most one second old.
    pub fn processes(&mut self) -> Vec<u32> {
        let now = Instant::now();
        if now >= self.next_count {
            self.members = self.family.members();
            self.next_count = now + COUNT_EVERY;
        }
        let first = self.id();
        let others = self.members.iter().copied();
        std::iter::once(first)
            .chain(others.filter(|&member| member != first))
            .collect()
    }

    /// Terminates the server and waits until it has ended; kills it after a while, or at once if
    /// `hurry` returns true.
    pub fn end(&mut self, hurry: impl Fn() -> bool) {
        self.process.ask_to_end();
        let group = self.id();
        self.family.ask_to_end_outside(group);
        let deadline = Instant::now() + GRACE;
        while self
            .ended_by_a_look_every(LOOK_WHILE_ENDING_EVERY)
            .is_none()
        {
            if hurry() || Instant::now() >= deadline {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill();
    }

    /// Kills the remaining processes, and those that start in the meantime.
    fn kill(&mut self) {
        self.process.kill();
        let deadline = Instant::now() + KILLED_WITHIN;
        while !self.is_gone && Instant::now() < deadline {
            self.family.kill();
            self.is_gone = self.family.is_gone();
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
