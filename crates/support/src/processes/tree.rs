//! A server that corehop started, and all its descendants, including background processes.
//!
//! A server may fork itself into the background, into its own session. A process between corehop
//! and the server (`keeper`) becomes the parent of orphans, so all processes of the server are its
//! descendants. Rejected: a mark in the environment, because servers that change their title
//! overwrite it. Rejected too: the session, which a server leaves, and control groups, which a user
//! may not have.

use crate::processes::keeper::{Until, keep};
use crate::processes::process::{GRACE, Process};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashMap;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Maximum time to wait after killing; processes of another user cannot be killed.
const KILLED_WITHIN: Duration = Duration::from_secs(5);

/// A running program. Dropping it kills it with all its descendants; the kernel does so when this
/// process ends.
pub struct Tree {
    keeper: Process,
}

impl Tree {
    /// Starts the command.
    pub fn spawn(command: &mut Command, until: Until) -> std::io::Result<Tree> {
        keep(command, until);
        Ok(Tree {
            keeper: Process::spawn(command)?,
        })
    }

    /// Returns its exit status; `None` while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.keeper.ended()
    }

    /// Waits until it has ended, at most for this time ([`Process::ended_within`]).
    pub fn ended_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        self.keeper.ended_within(limit)
    }

    /// Returns the process whose [`descendants`] are all of its processes; it is not one of them.
    pub fn ancestor(&self) -> u32 {
        self.keeper.id()
    }

    /// Returns the ids of its processes.
    pub fn members(&self) -> Vec<u32> {
        descendants(self.ancestor())
    }

    /// Sends SIGTERM to all of it and waits until it has ended; kills it after [`GRACE`], or at
    /// once if `hurry` returns true.
    pub fn end(&mut self, hurry: impl Fn() -> bool) {
        self.signal(Signal::TERM);
        let deadline = Instant::now() + GRACE;
        while self.ended().is_none() && !hurry() && Instant::now() < deadline {
            self.ended_within(LOOK_EVERY);
        }
        self.kill();
    }

    fn kill(&mut self) {
        let deadline = Instant::now() + KILLED_WITHIN;
        while self.ended().is_none() && Instant::now() < deadline {
            self.signal(Signal::KILL);
            self.ended_within(LOOK_EVERY);
        }
    }

    fn signal(&self, signal: Signal) {
        let members = self.members().into_iter();
        for member in members.filter_map(|member| Pid::from_raw(member.cast_signed())) {
            let _ = kill_process(member, signal);
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns all descendants of this process that have not ended.
pub fn descendants(ancestor: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        let stat = std::fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
        if let Some((has_ended, parent)) = state_and_parent(&stat)
            && !has_ended
        {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = children.remove(&ancestor).unwrap_or_default();
    let mut known = 0;
    while let Some(parent) = found.get(known) {
        found.extend(children.remove(parent).unwrap_or_default());
        known += 1;
    }
    found
}

/// Returns from a process's `stat` whether it has ended, and its parent. The name in parentheses
/// may contain anything.
fn state_and_parent(stat: &[u8]) -> Option<(bool, u32)> {
    let name_ends = stat.iter().rposition(|&byte| byte == b')')?;
    let text = std::str::from_utf8(&stat[name_ends + 1..]).ok()?;
    let mut words = text.split_ascii_whitespace();
    let has_ended = matches!(words.next()?, "Z" | "X");
    Some((has_ended, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;

    fn shell(text: &str, folder: &Path, until: Until) -> Tree {
        let mut command = Command::new("sh");
        command.args(["-c", text]).current_dir(folder);
        Tree::spawn(&mut command, until).unwrap()
    }

    fn wait_for<T>(mut what: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match what() {
                Some(it) => return it,
                None => assert!(Instant::now() < deadline, "it never comes"),
            }
            std::thread::sleep(LOOK_EVERY); // waits: between looks
        }
    }

    /// Returns the process id that a process has written to a file.
    fn written(folder: &Path, name: &str) -> u32 {
        wait_for(|| {
            let text = std::fs::read_to_string(folder.join(name)).ok()?;
            text.strip_suffix('\n')?.parse().ok()
        })
    }

    fn runs(process: u32) -> bool {
        let stat = std::fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
        state_and_parent(&stat).is_some_and(|(has_ended, _)| !has_ended)
    }

    /// Returns a script whose background process, an orphan in its own session, sets this trap and
    /// runs `text`.
    fn in_the_background(trap: &str, text: &str) -> String {
        format!(
            "setsid sh -c '{trap}; echo $$ > one; {text}' & \
             until [ -s one ]; do sleep 0.01; done"
        )
    }

    #[test]
    fn what_goes_into_the_background_is_found_and_asked_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let trap = "trap \"touch asked; exit 0\" TERM";
        let text = in_the_background(trap, "while :; do sleep 0.01; done");
        let mut tree = shell(&text, folder.path(), Until::All);
        let one = written(folder.path(), "one");
        wait_for(|| (tree.members().first() == Some(&one)).then_some(()));
        assert_eq!(tree.ended(), None);
        tree.end(|| false);
        assert!(folder.path().join("asked").exists());
        assert!(!runs(one));
        assert_eq!(tree.ended().and_then(|status| status.code()), Some(0));
    }

    #[test]
    fn what_does_not_end_is_killed_with_what_it_began() {
        let folder = tempfile::tempdir().unwrap();
        let text = in_the_background(
            "trap \"\" TERM",
            "setsid sh -c \"trap : TERM; echo \\$\\$ > two; while :; do sleep 0.01; done\" & \
             while :; do sleep 0.01; done",
        );
        let tree = shell(&text, folder.path(), Until::All);
        let both = ["one", "two"].map(|name| written(folder.path(), name));
        drop(tree);
        assert!(!both.into_iter().any(runs));
    }

    #[test]
    fn it_ends_as_the_server_did() {
        let folder = tempfile::tempdir().unwrap();
        let ended = |text: &str, until| {
            let mut tree = shell(text, folder.path(), until);
            wait_for(|| tree.ended())
        };
        assert_eq!(ended("exit 3", Until::All).code(), Some(3));
        assert_eq!(
            ended("kill -SEGV $$", Until::All).signal(),
            Some(libc::SIGSEGV)
        );
        // It ends after the process that started it has ended and was waited for.
        let last = "while kill -0 $PPID 2> /dev/null; do sleep 0.01; done; exit 5";
        let fails = in_the_background(":", last);
        assert_eq!(ended(&fails, Until::All).code(), Some(5));
    }

    #[test]
    fn what_a_failure_or_a_program_that_ends_leaves_behind_is_killed() {
        for (end, until) in [("exit 4", Until::All), ("exit 0", Until::First)] {
            let folder = tempfile::tempdir().unwrap();
            let text = in_the_background(":", "sleep 1000") + "; " + end;
            let mut tree = shell(&text, folder.path(), until);
            let status = wait_for(|| tree.ended());
            assert_eq!(status.code(), end[5..].parse().ok());
            assert!(!runs(written(folder.path(), "one")));
        }
    }

    #[test]
    fn a_program_that_cannot_be_started_is_an_error() {
        let result = Tree::spawn(&mut Command::new("/nowhere/at/all"), Until::All);
        assert_eq!(
            result.err().map(|error| error.kind()),
            Some(std::io::ErrorKind::NotFound)
        );
    }

    #[test]
    fn a_name_may_have_parentheses() {
        assert_eq!(state_and_parent(b"7 (a) S 3 (b) R 5 1"), Some((false, 5)));
        assert_eq!(state_and_parent(b"7 (a) Z 5 1"), Some((true, 5)));
        assert_eq!(state_and_parent(b"7 (a) S"), None);
        assert_eq!(state_and_parent(b""), None);
    }
}
