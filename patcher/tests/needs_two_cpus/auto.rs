//! `auto` keeps hops that help, stops those that do not, and reports which.
//!
//! It decides by the program's speed, and other programs use CPUs. Hops that should help must
//! therefore help even with other programs. Phases last milliseconds, so that the few milliseconds
//! for which a hop waits for a busy CPU matter little. The program ends once it sees the result, at
//! any time (`prefers.cpp`), and the first result must be the right one. The number of trials also
//! depends on other programs; `decides.rs` checks exact numbers with a synthetic clock.

use crate::workshop::{self, Statistics, build, order, patched, plan_of, request_at, run, start};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// A program with two phases, each fast on one CPU, patched to hop to core 0 and core 1 for them.
struct Prefers {
    folder: tempfile::TempDir,
    program: PathBuf,
    processors: [String; 2],
}

/// On a machine with one CPU, the two phases cannot have separate CPUs.
fn prefers() -> Prefers {
    let processors = workshop::two_cpus();
    let (first, second) = processors.split_once(',').unwrap();
    let folder = tempfile::tempdir().unwrap();
    let plain = build(folder.path(), "prefers", &["-std=c++20"], &["prefers.cpp"]);
    let mut plan = plan_of(&plain, 2, &[("first_phase", 0), ("second_phase", 1)]);
    let request = plan_of(&plain, 2, &[("request", 0)]).functions.remove(0);
    plan.request = Some(request_at(&request));
    Prefers {
        program: patched(&plain, &plan, folder.path()).output,
        folder,
        processors: [first.into(), second.into()],
    }
}

/// Microseconds of a phase on the CPU where it is fast. Hops to it help even with busy programs.
const LONG: &str = "5000";
/// Hops away from it never help, and the result comes soon.
const SHORT: &str = "100";

impl Prefers {
    /// The plan moves each phase to the CPU where it is fast.
    fn paying(&self, ends: &str) -> Command {
        let [first, second] = &self.processors;
        self.command([ends, first, second, LONG])
    }

    /// The plan moves each phase to a CPU where it is slow.
    fn losing(&self, ends: &str) -> Command {
        let [first, second] = &self.processors;
        self.command([ends, second, first, SHORT])
    }

    fn command(&self, arguments: [&str; 4]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("COREHOP_BACKEND", "auto")
            .env("COREHOP_STATS", "statistics")
            .env("COREHOP_CPUS", self.processors.join(","))
            // Regardless of other load on the machine.
            .env("COREHOP_RUN_DELAY", "100")
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        command
    }

    fn statistics(&self) -> Statistics {
        Statistics::read(&self.folder.path().join("statistics"))
    }

    /// Returns the final result of auto, and the program's output.
    fn judged(&self, command: &mut Command) -> (Value, Vec<u64>) {
        let ran = run(command);
        assert!(ran.status.success(), "{}", ran.errors);
        assert_eq!(ran.errors, "");
        let statistics = self.statistics();
        assert_eq!(statistics.0["backend"], "auto");
        let numbers = ran.output.split_whitespace();
        let numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
        assert_eq!(statistics.of("request"), (numbers[0], 0));
        (statistics.0["auto"].clone(), numbers)
    }
}

#[test]
fn hops_that_pay_stay() {
    let prefers = prefers();
    let (verdict, _) = prefers.judged(&mut prefers.paying("carried"));
    assert_eq!(verdict["verdict"], "gain", "{verdict}");
    assert_eq!(verdict["gains"], verdict["trials"], "{verdict}");
}

#[test]
fn hops_that_do_not_pay_go() {
    let prefers = prefers();
    let (verdict, _) = prefers.judged(&mut prefers.losing("alone"));
    assert_eq!(verdict["verdict"], "no gain", "{verdict}");
    assert_eq!(verdict["gains"], 0, "{verdict}");
}

#[test]
fn a_load_that_comes_late_is_not_taken_for_a_slow_one() {
    let prefers = prefers();
    let (verdict, numbers) = prefers.judged(prefers.losing("alone").arg("late"));
    assert_eq!(verdict["verdict"], "no gain", "{verdict}");
    // A window of this load has a hundred requests without hops and fewer with them. As for a slow
    // load, it would have about a thousand. Others come before the trial, and before the end.
    let windows = 2 * verdict["pairs"].as_u64().unwrap();
    let others = 2000 + 1500;
    assert!(numbers[0] < others + 250 * windows, "{numbers:?} {verdict}");
}

#[test]
fn while_hops_rest_no_other_thread_runs_and_a_new_load_is_looked_at() {
    let prefers = prefers();
    let (verdict, _) = prefers.judged(prefers.losing("alone").arg("changes"));
    assert_eq!(verdict["verdict"], "gain", "{verdict}");
    // If other programs change the load during a trial, another one ends without an answer.
    assert!(verdict["trials"].as_u64() >= Some(2), "{verdict}");
    assert_eq!(verdict["gains"], 1, "{verdict}");
}

#[test]
fn a_load_that_comes_in_bursts_is_left_alone_once_hops_do_not_pay() {
    let prefers = prefers();
    let (verdict, numbers) = prefers.judged(prefers.losing("alone").arg("bursts"));
    assert_eq!(verdict["verdict"], "no gain", "{verdict}");
    let [_, requests, accompanied] = numbers[..] else {
        panic!("{numbers:?}");
    };
    // The burst's first look at the load starts a thread, which does not stay. In a trial it would
    // stay, and there is one if other programs make the load look changed.
    let is_rest = verdict["trials"] == 1;
    assert!(
        !is_rest || accompanied * 2 < requests,
        "{accompanied} of {requests}: {verdict}"
    );
}

#[test]
fn a_forked_worker_decides_for_itself() {
    let prefers = prefers();
    let mut command = prefers.paying("carried");
    let mut running = start(command.arg("forked").env("COREHOP_STATS", "%p.json"));
    let parent = running.number();
    let child = running.until(|| running_child(parent));
    let ran = running.finish();
    assert!(ran.status.success(), "{}", ran.errors);
    let verdicts = [child, parent].map(|process| {
        let file = prefers.folder.path().join(format!("{process}.json"));
        Statistics::read(&file).0["auto"]["verdict"].clone()
    });
    assert_eq!(verdicts, ["gain", "none yet"]);
}

/// Returns the process that this one has forked.
fn running_child(parent: u32) -> Option<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let listed = std::fs::read_to_string(path).ok()?;
    listed.split_whitespace().next()?.parse().ok()
}

#[test]
fn orders_end_a_trial_and_begin_one() {
    let prefers = prefers();
    let control = prefers.folder.path().join("control");
    order(&control, "auto");
    // Until it is ended.
    let mut command = prefers.paying("1000000000");
    let mut running = start(command.env("COREHOP_CONTROL", &control));
    let path = prefers.folder.path().join("statistics");
    for (asked, backend) in [
        ("off", "off"),
        ("auto", "auto"),
        ("count", "count"),
        ("auto", "auto"),
    ] {
        let told = running.until(|| {
            order(&control, asked);
            let text = std::fs::read(&path).ok()?;
            let told: Value = serde_json::from_slice(&text).unwrap();
            (told["backend"] == backend).then_some(told)
        });
        assert_eq!(told.get("auto").is_some(), backend == "auto", "{told}");
    }
    let verdict = running.until(|| {
        order(&control, "auto");
        let told = Statistics::read(&path).0["auto"]["verdict"].clone();
        (told != "none yet").then_some(told)
    });
    assert_eq!(verdict, "gain");
    running.stop();
}

#[test]
fn without_cpus_enough_it_runs_on_without_hops() {
    let prefers = prefers();
    let first = &prefers.processors[0];
    let mut command = prefers.paying("10");
    let ran = run(command.env("COREHOP_CPUS", first));
    assert!(ran.status.success());
    let expected = format!(
        "corehop: COREHOP_CPUS={first} names 1 CPUs, but the plan needs 2: name one for every \
         core; running without hops\n"
    );
    assert!(ran.errors.ends_with(&expected), "{}", ran.errors);
}

#[test]
fn where_carriers_refuse_it_tries_affinity() {
    let prefers = prefers();
    let mut command = prefers.paying("10");
    let ran = run(command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=1"));
    assert!(ran.status.success());
    assert_eq!(
        ran.errors,
        "corehop: COREHOP_BACKEND=auto: libc uses restartable sequences (start the program with \
         GLIBC_TUNABLES=glibc.pthread.rseq=0): using affinity, where that pays\n"
    );
    assert_eq!(prefers.statistics().0["auto"]["mover"], "affinity");
}
