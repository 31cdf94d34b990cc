//! Finds all processes of a server.
//!
//! A server may fork itself into the background, into its own session, and then have another
//! parent. But every process of a recording runs under QEMU with a plugin that has this recorder's
//! memory as an argument, and this stays on its command line. Rejected: becoming the subreaper
//! (PR_SET_CHILD_SUBREAPER), which affects all children of this process, load generators too; and
//! control groups, which may be unavailable to a user.

use rustix::process::{Pid, Signal, getpgid, kill_process};
use std::path::Path;

/// Finds the processes of one recording.
#[derive(Clone)]
pub struct Family {
    /// The plugin argument that identifies the recording.
    mark: Vec<u8>,
}

impl Family {
    /// Returns the family whose plugin has the argument `mark`, escaped as on a command line.
    pub fn of(mark: &[u8]) -> Family {
        Family { mark: mark.into() }
    }

    /// Returns all running processes.
    pub fn members(&self) -> Vec<u32> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(|&process: &u32| self.has(process)).collect()
    }

    /// Whether no process is running. This checks twice: during one check, a process may start
    /// another at a place already checked, and end before it is reached.
    pub fn is_gone(&self) -> bool {
        self.members().is_empty() && self.members().is_empty()
    }

    /// Terminates all processes outside the group.
    pub fn ask_to_end_outside(&self, group: u32) {
        for pid in self.members().into_iter().filter_map(pid) {
            if getpgid(Some(pid)).ok() != self::pid(group) {
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    }

    /// Kills all processes.
    pub fn kill(&self) {
        for pid in self.members().into_iter().filter_map(pid) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    fn has(&self, process: u32) -> bool {
        let line = std::fs::read(Path::new("/proc").join(process.to_string()).join("cmdline"));
        line.is_ok_and(|line| is_marked(&line, &self.mark))
    }
}

fn pid(process: u32) -> Option<Pid> {
    Pid::from_raw(process.try_into().ok()?)
}

/// Whether a command line is `QEMU -plugin FILE,...,MARK,...`.
fn is_marked(line: &[u8], mark: &[u8]) -> bool {
    let mut arguments = line.split(|&byte| byte == 0).skip(1);
    if arguments.next() != Some(b"-plugin") {
        return false;
    }
    let plugin = arguments.next().unwrap_or_default();
    parts(plugin).any(|part| part == mark)
}

/// Splits an option at its single commas; a doubled comma is a literal comma.
fn parts(option: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(option);
    std::iter::from_fn(move || {
        let option = rest?;
        let mut place = 0;
        while let Some(comma) = option[place..].iter().position(|&byte| byte == b',') {
            let comma = place + comma;
            if option.get(comma + 1) != Some(&b',') {
                rest = Some(&option[comma + 1..]);
                return Some(&option[..comma]);
            }
            place = comma + 2;
        }
        rest = None;
        Some(option)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_belongs_to_the_recording_whose_memory_its_plugin_was_told_of() {
        let mark = b"memory=/proc/7/fd/3";
        let is = |line: &str| is_marked(line.replace(' ', "\0").as_bytes(), mark);
        assert!(is("qemu -plugin p.so,memory=/proc/7/fd/3 server"));
        assert!(is(
            "qemu -plugin p,,q.so,memory=/proc/7/fd/3,elision=off server"
        ));
        assert!(!is("qemu -plugin p.so,memory=/proc/7/fd/33 server"));
        assert!(!is("qemu -plugin p.so,,memory=/proc/7/fd/3 server"));
        assert!(!is(
            "qemu -plugin p.so,a=b server -plugin p.so,memory=/proc/7/fd/3"
        ));
        assert!(!is("grep -r memory=/proc/7/fd/3"));
        assert!(!is_marked(b"", mark));
    }

    #[test]
    fn no_process_has_a_mark_that_nobody_gave() {
        let family = Family::of(b"memory=/proc/none/of/this/test");
        assert!(family.members().is_empty());
        assert!(family.is_gone());
    }
}
