//! System calls in batches return the same results as single calls, for all uses of sockets in
//! servers.

use crate::workshop::{self, Finished, Statistics, build, run, start_reading};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const CALLS: &str = "read,readv,recv,recvfrom,recvmsg,write,writev,send,sendto,sendmsg,poll,\
                     epoll_wait";
const WAYS: [&str; 2] = ["batch", "batch:1"];

struct Sockets {
    folder: tempfile::TempDir,
    program: PathBuf,
    runtime: PathBuf,
}

fn sockets() -> Sockets {
    let folder = tempfile::tempdir().unwrap();
    // With checked buffers, as Debian builds its packages, there are more functions of libc.
    let flags = ["-w", "-O2", "-D_FORTIFY_SOURCE=2"];
    let program = build(
        folder.path(),
        "sockets",
        &flags,
        &["sockets.cpp", "sockets_wait.cpp"],
    );
    let runtime = folder.path().join(corehop_runtime::NAME);
    std::fs::write(&runtime, corehop_runtime::LIBRARY).unwrap();
    Sockets {
        folder,
        program,
        runtime,
    }
}

impl Sockets {
    fn command_for(&self, program: &PathBuf, calls: &str) -> Command {
        let mut command = Command::new(program);
        command
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

    fn command(&self, trial: &str, way: &str) -> Command {
        let mut command = self.command_for(&self.program, &format!("{CALLS}@{way}"));
        command.arg(trial);
        command
    }

    /// Runs a trial and returns its statistics of the calls.
    fn batched(&self, trial: &str, way: &str) -> serde_json::Value {
        let finished = run(&mut self.command(trial, way));
        let said = (finished.output.as_str(), finished.errors.as_str());
        assert_eq!(said, ("as expected\n", ""), "{trial} {way}");
        let statistics = Statistics::read(&self.folder.path().join("statistics"));
        let calls = statistics.0["system_calls"].clone();
        let parks = of_cores(&statistics, "parks");
        // Once for the end of the process, and once for each signal that a trial sends.
        let reasons = of_cores(&statistics, "wakes") + sum(&calls, "posted") + 100;
        assert!(parks <= reasons, "{trial} {way}: {:?}", statistics.0);
        calls
    }
}

/// A counter of all cores' waits.
fn of_cores(statistics: &Statistics, key: &str) -> u64 {
    let cores = statistics.0["waits"].as_array().unwrap().iter();
    cores.map(|core| core[key].as_u64().unwrap()).sum()
}

fn sum(calls: &serde_json::Value, key: &str) -> u64 {
    let calls = calls["calls"].as_array().unwrap().iter();
    calls.map(|call| call[key].as_u64().unwrap()).sum()
}

/// In all trials, a core without work sleeps until there is some.
#[test]
fn threads_that_talk_understand_each_other() {
    let sockets = sockets();
    for way in WAYS {
        let calls = sockets.batched("conversations", way);
        let counts = ["posted", "declined"].map(|key| sum(&calls, key));
        assert_eq!(counts, [9600, 0], "8 pairs, 300 rounds of 4 calls");
        assert_eq!(calls["by"], "batch");
        let entered = calls["enters"].as_u64().unwrap();
        assert!(entered < calls["requests"].as_u64().unwrap(), "{calls}");
    }
}

#[test]
fn without_a_list_all_calls_that_rings_can_make_are_batched() {
    let sockets = sockets();
    let mut command = sockets.command_for(&sockets.program, "@batch");
    let finished = run(command.arg("conversations"));
    let said = (finished.output.as_str(), finished.errors.as_str());
    assert_eq!(said, ("as expected\n", ""));
    let statistics = Statistics::read(&sockets.folder.path().join("statistics"));
    assert_eq!(sum(&statistics.0["system_calls"], "posted"), 9600);
}

#[test]
fn batches_of_one_are_batches_too() {
    let sockets = sockets();
    let mut command = sockets.command("conversations", "batch");
    let finished = run(command.env("COREHOP_BATCH", "1"));
    assert_eq!(finished.output, "as expected\n");
}

#[test]
fn what_a_socket_does_not_take_at_once_is_sent_all_the_same() {
    let sockets = sockets();
    for way in WAYS {
        sockets.batched("large", way);
    }
}

#[test]
fn errors_ends_and_limits_are_those_of_the_calls() {
    let sockets = sockets();
    for way in WAYS {
        sockets.batched("errors", way);
        sockets.batched("datagrams", way);
        sockets.batched("low water", way);
    }
}

#[test]
fn waits_end_when_they_should_and_hold_up_nobody() {
    let sockets = sockets();
    for way in WAYS {
        sockets.batched("polls", way);
        sockets.batched("locks", way);
    }
}

#[test]
fn signals_and_cancellation_end_waits_in_the_ring() {
    let sockets = sockets();
    for way in WAYS {
        let calls = sockets.batched("signals", way);
        assert_eq!(calls["waits"], 9, "three ways to wait, three ends of each");
    }
}

#[test]
fn children_new_programs_and_new_rights_lose_no_call() {
    let sockets = sockets();
    for way in WAYS {
        let calls = sockets.batched("processes", way);
        assert_eq!(sum(&calls, "declined"), 0, "{way}");
    }
}

#[test]
fn a_program_that_closes_the_ring_goes_on_without() {
    let sockets = sockets();
    for way in WAYS {
        let finished = run(&mut sockets.command("closes", way));
        assert_eq!(finished.output, "as expected\n", "{way}");
        // One for each of the one or two rings that a thread uses afterwards.
        let complaints = finished.errors.lines();
        let known = complaints.filter(|line| line.contains("takes no more calls from the ring"));
        let known: Vec<&str> = known.collect();
        let rings: BTreeSet<&str> = known.iter().copied().collect();
        assert_eq!(rings.len(), known.len(), "{way}: {}", finished.errors);
        assert!(matches!(known.len(), 1 | 2), "{way}: {}", finished.errors);
    }
}

#[test]
fn a_stopped_process_loses_nothing_and_a_killed_one_is_gone() {
    let sockets = sockets();
    for way in WAYS {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut command = sockets.command("echoes", way);
        let running = start_reading(&mut command, Stdio::from(OwnedFd::from(theirs)));
        drop(command);
        let number = Pid::from_raw(running.number().cast_signed()).unwrap();
        let mut answer = [0; 17];
        for _ in 0..10 {
            ours.write_all(b"letters ").unwrap();
            kill_process(number, Signal::STOP).unwrap();
            ours.write_all(b"and more ").unwrap();
            kill_process(number, Signal::CONT).unwrap();
            ours.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"letters and more ", "{way}");
        }
        kill_process(number, Signal::KILL).unwrap();
        assert_eq!(running.finish().status.signal(), Some(9), "{way}");
        assert_eq!(ours.read(&mut answer).unwrap(), 0, "somebody still has it");
    }
}

#[test]
fn what_cannot_be_batched_is_refused_with_the_reason() {
    let sockets = sockets();
    let refused = [
        ("read,open@batch", "can be made in batches"),
        ("poll@1", "can be posted"),
        ("read@batch:", "neither a core of the plan, yield, batch"),
        ("read@batch:one", "neither a core of the plan, yield, batch"),
        ("read@batch:64", "no such core"),
    ];
    for (calls, reason) in refused {
        let mut command = sockets.command_for(&sockets.program, calls);
        let finished = run(command.arg("errors"));
        assert_eq!(finished.output, "as expected\n");
        assert_eq!(finished.errors.lines().count(), 1, "{}", finished.errors);
        assert!(
            finished.errors.contains(reason),
            "{calls}: {}",
            finished.errors
        );
    }
}

/// Runs the trial under a fixture that sets the variable by which the runtime is loaded.
fn run_under(sockets: &Sockets, fixture: (&str, &[&str]), trial: &str, calls: &str) -> Finished {
    let (name, flags) = fixture;
    let under = build(
        sockets.folder.path(),
        name,
        flags,
        &[&format!("{name}.cpp")],
    );
    let mut command = sockets.command_for(&under, calls);
    command
        .env_remove("LD_PRELOAD")
        .arg("LD_PRELOAD")
        .arg(&sockets.runtime);
    run(command.arg(&sockets.program).arg(trial))
}

#[test]
fn where_io_uring_is_forbidden_calls_are_made_where_they_are() {
    let sockets = sockets();
    // EPERM and ENOMEM
    let refused = [
        ("-DERROR=1", "may not use io_uring"),
        ("-DERROR=12", "ulimit -l"),
    ];
    for (error, reason) in refused {
        let flags = ["-DFORBIDDEN=SYS_io_uring_setup", error];
        let finished = run_under(&sockets, ("refuses", &flags), "errors", "read,write@batch");
        assert_eq!(finished.output, "as expected\n");
        assert_eq!(finished.errors.lines().count(), 1, "{}", finished.errors);
        assert!(finished.errors.contains(reason), "{}", finished.errors);
    }
}

#[test]
fn where_rings_that_were_closed_are_not_freed_yet_calls_are_posted_all_the_same() {
    let sockets = sockets();
    let calls = format!("{CALLS}@batch");
    let finished = run_under(&sockets, ("fills", &[]), "conversations", &calls);
    let said = (finished.output.as_str(), finished.errors.as_str());
    assert_eq!(said, ("as expected\n", ""));
    let statistics = Statistics::read(&sockets.folder.path().join("statistics"));
    assert_eq!(sum(&statistics.0["system_calls"], "posted"), 9600);
}
