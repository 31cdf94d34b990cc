//! What the system's own books say that a server takes: memory and processor time.
//!
//! A server may fork, and its workers be in sessions of their own, so its processes are found as
//! the children of its threads, and so on. One that has ended is in the books of who waited for it.

use std::fmt::Display;
use std::time::Duration;

/// What the processes of a server take together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Resident memory. What forked processes share with their parent counts for each, unless it is
    /// a file's.
    pub resident_bytes: u64,
    /// Processor time since their start, of those that have ended too.
    pub cpu: Duration,
}

/// What a process takes, and all that it has started; nothing once it has ended.
pub fn of(process: u32) -> Taken {
    let mut taken = Taken {
        resident_bytes: status_bytes(process, "VmRSS:"),
        cpu: cpu(process),
    };
    for descendant in descendants(process) {
        taken.resident_bytes += status_bytes(descendant, "RssAnon:");
        taken.cpu += cpu(descendant);
    }
    taken
}

/// A process's resident memory; 0 once it has ended.
pub fn resident_bytes(process: u32) -> u64 {
    status_bytes(process, "VmRSS:")
}

fn read(process: u32, file: impl Display) -> String {
    std::fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default()
}

fn status_bytes(process: u32, name: &str) -> u64 {
    let status = read(process, "status");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kibibytes.unwrap_or(0u64) * 1024
}

/// Time of a process and of those that it has waited for: fields 14 to 17 of proc_pid_stat(5), the
/// first two of which come after a name that may hold anything.
fn cpu(process: u32) -> Duration {
    let stat = read(process, "stat");
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = fields.split(' ').skip(11).take(4);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_millis(ticks * 1000 / per_second)
}

fn descendants(process: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut parents = vec![process];
    while let Some(parent) = parents.pop() {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{parent}/task")) else {
            continue;
        };
        for thread in threads.flatten() {
            let children = read(
                parent,
                format!("task/{}/children", thread.file_name().display()),
            );
            let children = children.split_whitespace().flat_map(str::parse::<u32>);
            parents.extend(children.clone());
            found.extend(children);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn a_server_takes_what_its_processes_take_and_those_they_have_waited_for() {
        // The first child works and ends; the second, in a session of its own, works and stays.
        let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let script =
            format!("sh -c '{work}'; setsid sh -c '{work}; echo done; exec sleep 60' & wait");
        let mut shell = Command::new("sh")
            .args(["-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(shell.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
        let whole = of(shell.id());
        let alone = Taken {
            resident_bytes: resident_bytes(shell.id()),
            cpu: cpu(shell.id()),
        };
        assert_eq!(descendants(shell.id()).len(), 1);
        assert!(whole.cpu > alone.cpu && alone.cpu > Duration::ZERO);
        assert!(whole.resident_bytes > alone.resident_bytes && alone.resident_bytes > 0);
        for process in descendants(shell.id()) {
            // SAFETY: kill takes two numbers and touches no memory.
            unsafe { libc::kill(process.cast_signed(), libc::SIGKILL) };
        }
        shell.wait().unwrap();
        assert_eq!(of(shell.id()), Taken::default());
    }
}
