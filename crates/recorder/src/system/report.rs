//! Reports of a guest: how server and load ended, and the last lines of its console.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// How a guest ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server ended with this status, in a shell's numbering.
    Server(i32),
    /// The load ended with this status, before the server.
    Load(i32),
    /// Neither ended: the kernel panicked, or did not start the server.
    Nothing,
}

/// Stage of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The kernel is starting.
    Starting,
    /// The server has started.
    Started,
    /// The load has started.
    Loaded,
}

/// Returns the stage of the guest that reports to this file.
pub fn stage(file: &File) -> Stage {
    stage_of(&read(file))
}

fn stage_of(said: &str) -> Stage {
    let has = |word| said.lines().any(|line| line.trim() == word);
    match (has("started"), has("ready")) {
        (_, true) => Stage::Loaded,
        (true, false) => Stage::Started,
        (false, false) => Stage::Starting,
    }
}

/// Returns the outcome of the guest that reported to this file.
pub fn outcome(file: &File) -> Outcome {
    outcome_of(&read(file))
}

fn outcome_of(said: &str) -> Outcome {
    let ends = said.lines().find_map(|line| {
        let (what, status) = line.trim().split_once(' ')?;
        let status = status.parse().ok()?;
        match what {
            "server" => Some(Outcome::Server(status)),
            "load" => Some(Outcome::Load(status)),
            _ => None,
        }
    });
    ends.unwrap_or(Outcome::Nothing)
}

/// Number of console lines shown.
const LAST_LINES: usize = 20;

/// Beginning of a kernel panic; its text may be longer than the lines shown.
const PANIC: &str = "Kernel panic";

/// Returns the last lines of a console, without cursor movements. If the kernel panicked, the first
/// of them is that of the panic.
pub fn last_lines(file: &File) -> Vec<String> {
    let said = read(file);
    let lines: Vec<String> = said
        .lines()
        .map(|line| line.chars().filter(|letter| !letter.is_control()).collect())
        .filter(|line: &String| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(LAST_LINES);
    let mut last = lines[first..].to_vec();
    let panic = lines[..first].iter().rfind(|line| line.contains(PANIC));
    if let (Some(panic), Some(first)) = (panic, last.first_mut()) {
        first.clone_from(panic);
    }
    last
}

/// Returns the text of a file written by the guest; empty if it cannot be read.
pub fn read(file: &File) -> String {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = vec![0; length as usize];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn whatever_ended_first_counts() {
        assert_eq!(outcome_of("ready\nload 0\nserver 143\n"), Outcome::Load(0));
        assert_eq!(outcome_of("ready\r\nserver 139\r\n"), Outcome::Server(139));
        assert_eq!(outcome_of("ready\nserver"), Outcome::Nothing);
        assert_eq!(outcome_of(""), Outcome::Nothing);
    }

    #[test]
    fn stages_follow_each_other() {
        assert_eq!(stage_of(""), Stage::Starting);
        assert_eq!(stage_of("started\r\nread"), Stage::Started);
        assert_eq!(stage_of("started\nready\n"), Stage::Loaded);
    }

    #[test]
    fn the_last_lines_are_words() {
        let mut said = String::from("\x1bcboot\r\n\r\n");
        (0..30).for_each(|number| said.push_str(&format!("line {number}\r\n")));
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(said.as_bytes()).unwrap();
        let lines = last_lines(&file);
        assert_eq!(
            (lines.len(), &*lines[0], &*lines[19]),
            (20, "line 10", "line 29")
        );
        file.write_all(b"Kernel panic - of a test\n").unwrap();
        file.write_all(&b"line\n".repeat(25)).unwrap();
        let lines = last_lines(&file);
        assert_eq!((lines.len(), &*lines[0]), (20, "Kernel panic - of a test"));
        assert_eq!(last_lines(&tempfile::tempfile().unwrap()), [""; 0]);
    }
}
