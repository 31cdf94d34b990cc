//! System calls made on another core return the same results as synchronous ones.

use crate::workshop::{self, Finished, Statistics, build, run, start_reading};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Files other than sockets do not gain from the last two.
const WAYS: [&str; 4] = [
    "read,write,open,close@1",
    "read,write,open,close@yield",
    "read,write@batch",
    "read,write@batch:1",
];

/// An unpatched program, and the runtime to preload.
struct Posts {
    folder: tempfile::TempDir,
    program: PathBuf,
    runtime: PathBuf,
}

fn posts() -> Posts {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "posts", &["-w"], &["posts.cpp"]);
    let runtime = folder.path().join(corehop_runtime::NAME);
    std::fs::write(&runtime, corehop_runtime::LIBRARY).unwrap();
    Posts {
        folder,
        program,
        runtime,
    }
}

impl Posts {
    fn command(&self, trial: &str, calls: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg(trial)
            .env("COREHOP_SYSCALLS", calls)
            .env("COREHOP_STATS", self.folder.path().join("statistics"))
            .env("LD_PRELOAD", &self.runtime)
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .envs(workshop::WHEREVER);
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        command
    }

    /// Runs a trial with asynchronous calls; returns the numbers of asynchronous reads and writes.
    fn posted(&self, trial: &str, way: &str) -> [u64; 2] {
        let finished = run(&mut self.command(trial, way));
        let said = (finished.output.as_str(), finished.errors.as_str());
        assert_eq!(said, ("as expected\n", ""), "{trial} {way}");
        self.counts()
    }

    fn counts(&self) -> [u64; 2] {
        let statistics = Statistics::read(&self.folder.path().join("statistics"));
        let calls = &statistics.0["system_calls"]["calls"];
        ["read", "write"].map(|name| {
            let calls = calls.as_array().unwrap().iter();
            let call = calls.clone().find(|call| call["name"] == name).unwrap();
            assert_eq!(call["declined"], 0, "{name}");
            call["posted"].as_u64().unwrap()
        })
    }
}

#[test]
fn posted_calls_give_what_they_give_where_they_are() {
    let posts = posts();
    for way in WAYS {
        assert_eq!(posts.posted("round_trips", way), [100, 100]);
        assert_eq!(posts.posted("threads", way), [3000, 3000]);
    }
}

#[test]
fn calls_that_are_made_by_their_numbers_are_posted_too() {
    let posts = posts();
    for way in ["1", "yield"] {
        let calls = format!("recvmmsg,sendmmsg@{way}");
        let finished = run(&mut posts.command("by_number", &calls));
        assert_eq!(finished.output, "as expected\n", "{way}");
        let statistics = Statistics::read(&posts.folder.path().join("statistics"));
        let calls = statistics.0["system_calls"]["calls"].as_array().unwrap();
        let posted: Vec<_> = calls.iter().map(|call| call["posted"].as_u64()).collect();
        assert_eq!(posted, [Some(2), Some(2)], "{way}");
    }
}

#[test]
fn errno_is_kept() {
    let posts = posts();
    for way in WAYS {
        assert_eq!(posts.posted("errors", way), [1, 0]);
    }
}

#[test]
fn signals_interrupt_posted_calls_or_have_them_restarted_as_their_handlers_say() {
    let posts = posts();
    for way in WAYS {
        assert_eq!(posts.posted("interrupted", way), [1, 0]);
        assert_eq!(posts.posted("restarted", way), [1, 1]);
    }
}

#[test]
fn a_thread_is_cancelled_in_a_posted_read() {
    let posts = posts();
    for way in WAYS {
        assert_eq!(posts.posted("cancels", way), [1, 0]);
    }
}

#[test]
fn forked_children_post_calls_of_their_own_and_may_become_other_programs() {
    let posts = posts();
    for way in WAYS {
        assert_eq!(posts.posted("forks", way), [20, 20]);
    }
}

#[test]
fn nothing_is_lost_where_the_process_is_stopped_while_calls_are_posted() {
    let posts = posts();
    for way in WAYS {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut command = posts.command("stops", way);
        let mut running = start_reading(&mut command, Stdio::from(reader));
        drop(command);
        let number = Pid::from_raw(running.number().cast_signed()).unwrap();
        writer.write_all(b"begins ").unwrap();
        running.until_it_prints("begins ");
        for _ in 0..10 {
            writer.write_all(b"letters ").unwrap();
            kill_process(number, Signal::STOP).unwrap();
            writer.write_all(b"and more ").unwrap();
            kill_process(number, Signal::CONT).unwrap();
        }
        drop(writer);
        let finished = running.finish();
        let expected = format!("begins {}as expected\n", "letters and more ".repeat(10));
        assert_eq!(finished.output, expected, "{way}");
        assert_eq!(posts.counts(), [178, 177], "{way}");
    }
}

#[test]
fn a_process_that_is_killed_while_a_call_is_posted_is_gone() {
    let posts = posts();
    for way in WAYS {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut command = posts.command("stops", way);
        let mut running = start_reading(&mut command, Stdio::from(reader));
        drop(command);
        writer.write_all(b"letters").unwrap();
        running.until_it_prints("letters");
        running.until_asleep();
        let number = Pid::from_raw(running.number().cast_signed()).unwrap();
        kill_process(number, Signal::KILL).unwrap();
        assert_eq!(running.finish().status.signal(), Some(9), "{way}");
        assert!(writer.write_all(b"more").is_err(), "somebody still reads");
    }
}

fn refusal(finished: Finished) -> String {
    assert_eq!(finished.output, "as expected\n");
    assert_eq!(finished.errors.lines().count(), 1, "{}", finished.errors);
    finished.errors
}

#[test]
fn what_cannot_be_promised_is_refused_with_the_reason() {
    let posts = posts();
    let refused = [
        (
            "read,nope@1",
            "not all of these are calls that can be posted",
        ),
        (
            "epoll_wait@1",
            "not all of these are calls that can be posted",
        ),
        ("read", "it is not like read,write@1"),
        ("@1", "names of calls are missing"),
        ("read@", "neither a core of the plan, yield, batch"),
        ("read@one", "neither a core of the plan, yield, batch"),
        ("read@64", "no such core"),
    ];
    for (calls, reason) in refused {
        let said = refusal(run(&mut posts.command("errors", calls)));
        assert!(said.contains(reason), "{calls}: {said}");
    }
    let mut command = posts.command("errors", "read@1");
    let said = refusal(run(command.env("COREHOP_BACKEND", "affinity")));
    assert!(said.contains("only COREHOP_BACKEND=carrier"), "{said}");
}
