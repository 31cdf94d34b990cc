//! The memory and processor time of a server, from /proc.
//!
//! A server may fork, and its workers may be in their own sessions. So its processes are found as
//! the children of its threads, recursively. The kernel adds the time of an ended process to the
//! parent that waited for it.

use procfs::process::{Process, Status};
use std::time::Duration;

/// Resources of all processes of a server together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Resident memory. Memory that forked processes share with their parent counts for each of
    /// them, unless it belongs to a file.
    pub resident_bytes: u64,
    /// Processor time since their start, including ended processes.
    pub cpu: Duration,
}

/// Returns the resources of these processes and their descendants; zero once they have ended. File
/// pages count only for the first process.
pub fn of(processes: &[u32]) -> Taken {
    let mut taken = Taken::default();
    for (place, process) in with_descendants(processes).into_iter().enumerate() {
        taken.resident_bytes += match place {
            0 => resident_bytes(process),
            _ => status_bytes(process, |status| status.rssanon),
        };
        taken.cpu += cpu(process);
    }
    taken
}

/// Returns a process's resident memory; 0 once it has ended.
pub fn resident_bytes(process: u32) -> u64 {
    status_bytes(process, |status| status.vmrss)
}

fn open(process: u32) -> Option<Process> {
    Process::new(process.try_into().ok()?).ok()
}

fn status_bytes(process: u32, kibibytes: impl Fn(&Status) -> Option<u64>) -> u64 {
    let status = open(process).and_then(|process| process.status().ok());
    status.as_ref().and_then(kibibytes).unwrap_or(0) * 1024
}

/// Returns the time of a process and of the children that it has waited for.
fn cpu(process: u32) -> Duration {
    let Some(stat) = open(process).and_then(|process| process.stat().ok()) else {
        return Duration::ZERO;
    };
    let waited_for = (stat.cutime + stat.cstime).max(0).cast_unsigned();
    let ticks = stat.utime + stat.stime + waited_for;
    Duration::from_millis(ticks * 1000 / procfs::ticks_per_second())
}

/// Returns these processes and their descendants, each once.
fn with_descendants(processes: &[u32]) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    let mut waiting: Vec<u32> = processes.iter().rev().copied().collect();
    while let Some(process) = waiting.pop() {
        if found.contains(&process) {
            continue;
        }
        found.push(process);
        let tasks = open(process).and_then(|process| process.tasks().ok());
        for task in tasks.into_iter().flatten().flatten() {
            waiting.extend(task.children().unwrap_or_default());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn a_server_takes_what_its_processes_take_and_those_they_have_waited_for() {
        // The first child works and ends; the second, in its own session, works and stays.
        let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let script =
            format!("sh -c '{work}'; setsid sh -c '{work}; echo done; exec sleep 1000' & wait");
        let mut shell = Command::new("sh")
            .args(["-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(shell.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
        let whole = of(&[shell.id()]);
        let alone = Taken {
            resident_bytes: resident_bytes(shell.id()),
            cpu: cpu(shell.id()),
        };
        let processes = with_descendants(&[shell.id()]);
        assert_eq!(processes.len(), 2);
        // A process that is also listed counts once.
        assert_eq!(with_descendants(&processes), processes);
        assert!(whole.cpu > alone.cpu && alone.cpu > Duration::ZERO);
        assert!(whole.resident_bytes > alone.resident_bytes && alone.resident_bytes > 0);
        for process in processes.into_iter().skip(1) {
            let number = Pid::from_raw(process.cast_signed()).unwrap();
            kill_process(number, Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
        assert_eq!(of(&[shell.id()]), Taken::default());
    }
}
