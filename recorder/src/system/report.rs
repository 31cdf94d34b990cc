//! What a guest has said: how server and load have ended, and its console's last lines.

use std::path::Path;

/// How a guest has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server ended with this status, as a shell numbers it.
    Server(i32),
    /// The load did, before the server.
    Load(i32),
    /// Neither has: the kernel gave up, or never came to the server.
    Nothing,
}

/// How the guest has ended that reported to this file.
pub fn outcome(path: &Path) -> Outcome {
    outcome_of(&read(path))
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

/// Lines that are shown of a console.
const LAST_LINES: usize = 20;

/// The last lines of a console, without what moves its cursor.
pub fn last_lines(path: &Path) -> Vec<String> {
    let said = read(path);
    let lines: Vec<String> = said
        .lines()
        .map(|line| line.chars().filter(|letter| !letter.is_control()).collect())
        .filter(|line: &String| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(LAST_LINES);
    lines[first..].to_vec()
}

/// The text of a file that a guest wrote; nothing where there is none.
pub fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_ended_first_counts() {
        assert_eq!(outcome_of("ready\nload 0\nserver 143\n"), Outcome::Load(0));
        assert_eq!(outcome_of("ready\r\nserver 139\r\n"), Outcome::Server(139));
        assert_eq!(outcome_of("ready\nserver"), Outcome::Nothing);
        assert_eq!(outcome_of(""), Outcome::Nothing);
    }

    #[test]
    fn the_last_lines_are_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("console");
        let mut said = String::from("\x1bcboot\r\n\r\n");
        (0..30).for_each(|number| said.push_str(&format!("line {number}\r\n")));
        std::fs::write(&path, said).unwrap();
        let lines = last_lines(&path);
        assert_eq!(
            (lines.len(), &*lines[0], &*lines[19]),
            (20, "line 10", "line 29")
        );
        assert_eq!(last_lines(&folder.path().join("none")), [""; 0]);
    }
}
