//! Programs that print whether they notice migrations: each trial prints the same unpatched, under
//! each backend, and with asynchronous calls.

use super::{Finished, build, hops_by, patched, plan_of, run};
use std::path::PathBuf;
use std::process::Command;

pub const BACKENDS: [&str; 5] = ["carrier", "affinity", "auto", "count", "off"];
/// Calls made on another core, after the others of their core, and in batches.
const POSTED: [&str; 3] = [
    "read,write,open,close,recv,send@1",
    "read,write,open,close,recv,send@yield",
    "read,write,recv,send,poll,epoll_wait@batch",
];

pub struct Notices {
    pub folder: tempfile::TempDir,
    pub plain: PathBuf,
    program: PathBuf,
}

impl Notices {
    pub fn of(name: &str) -> Notices {
        Notices::built(name, &["-std=c++20"])
    }

    pub fn built(name: &str, flags: &[&str]) -> Notices {
        let folder = tempfile::tempdir().unwrap();
        let plain = build(folder.path(), name, flags, &[&format!("{name}.cpp")]);
        let plan = plan_of(&plain, 2, &[("first_core", 0), ("second_core", 1)]);
        let program = patched(&plain, &plan, folder.path()).output;
        Notices {
            folder,
            plain,
            program,
        }
    }

    pub fn bare(&self, trial: &str) -> Finished {
        let mut command = Command::new(&self.plain);
        command
            .current_dir(self.folder.path())
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        let bare = run(command.arg(trial));
        assert!(bare.status.success(), "{trial}: {}", bare.errors);
        assert!(!bare.output.is_empty(), "{trial}");
        bare
    }

    pub fn command(&self, backend: &str, trial: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(trial).current_dir(self.folder.path());
        hops_by(&mut command, backend);
        command
    }

    /// Runs a trial under this backend; it must print the same as the unpatched program.
    pub fn same_under(&self, backend: &str, trial: &str) -> Finished {
        let bare = self.bare(trial);
        let moved = run(&mut self.command(backend, trial));
        let what = format!("{trial} under {backend}: {:?}", moved.status);
        assert!(
            moved.status.success(),
            "{what}: {}{}",
            moved.output,
            moved.errors
        );
        assert_eq!(moved.output, bare.output, "{what}");
        moved
    }

    pub fn same(&self, trial: &str) {
        for backend in BACKENDS {
            let moved = self.same_under(backend, trial);
            assert_eq!(moved.errors, "", "{trial} under {backend}");
        }
        self.same_with_posted_calls(trial);
    }

    fn same_with_posted_calls(&self, trial: &str) {
        let bare = self.bare(trial);
        for calls in POSTED {
            let mut command = self.command("carrier", trial);
            let posted = run(command.env("COREHOP_SYSCALLS", calls));
            let what = format!("{trial} with {calls}: {:?}", posted.status);
            assert_eq!(posted.errors, "", "{what}{}", posted.output);
            assert_eq!(posted.output, bare.output, "{what}");
            assert!(posted.status.success(), "{what}");
        }
    }
}
