//! `auto` keeps hops where they pay and drops them where they do not, and says which.

use crate::workshop::{self, Statistics, build, patched, plan_of, request_at, run, start, tried};
use serde_json::Value;
use std::cmp::Ordering;
use std::path::PathBuf;
use std::process::Command;

/// A program whose phases are fast on one CPU each, patched to hop to core 0 and core 1 for them.
struct Prefers {
    folder: tempfile::TempDir,
    program: PathBuf,
    processors: [String; 2],
}

/// On a machine with one CPU no phase can have one of its own.
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

impl Prefers {
    fn command(&self, seconds: u32, [first, second]: [&String; 2]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args([&seconds.to_string(), first, second])
            .current_dir(self.folder.path())
            .env("COREHOP_BACKEND", "auto")
            .env("COREHOP_STATS", "statistics")
            .env("COREHOP_CPUS", self.processors.join(","))
            // Whatever else the machine does.
            .env("COREHOP_RUN_DELAY", "100")
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        command
    }

    fn statistics(&self) -> Statistics {
        Statistics::read(&self.folder.path().join("statistics"))
    }

    /// Runs it for some seconds, its phases fast on these CPUs; what auto says in the end.
    fn verdict(&self, processors: [&String; 2], expected: &str) -> Value {
        self.judged(&mut self.command(6, processors), expected).0
    }

    /// What auto says in the end, and the program; anew if that is not what is expected, as it may
    /// be where something else takes the CPUs in the midst of a trial.
    fn judged(&self, command: &mut Command, expected: &str) -> (Value, Vec<u64>) {
        let is_expected = |judged: &(Value, Vec<u64>)| judged.0["verdict"] == expected;
        tried(|| self.judged_once(command), is_expected)
    }

    fn judged_once(&self, command: &mut Command) -> (Value, Vec<u64>) {
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
    let [first, second] = &prefers.processors;
    let verdict = prefers.verdict([first, second], "gain");
    assert_eq!(verdict["verdict"], "gain", "{verdict}");
    assert_eq!(verdict["gains"], verdict["trials"]);
}

#[test]
fn hops_that_do_not_pay_go() {
    let prefers = prefers();
    let [first, second] = &prefers.processors;
    // Each phase is fast where the plan does not send it.
    let verdict = prefers.verdict([second, first], "no gain");
    assert_eq!(verdict["verdict"], "no gain", "{verdict}");
    assert_eq!(verdict["gains"], 0);
}

#[test]
fn a_load_that_comes_late_is_not_taken_for_a_slow_one() {
    let prefers = prefers();
    let [first, second] = &prefers.processors;
    // Windows of the longest kind, as for a slow load, would leave no time for an answer.
    let mut command = prefers.command(6, [first, second]);
    let (verdict, _) = prefers.judged(command.arg("late"), "gain");
    assert_eq!(verdict["verdict"], "gain", "{verdict}");
}

#[test]
fn while_hops_rest_no_other_thread_runs_and_a_new_load_is_looked_at() {
    let prefers = prefers();
    // Anew where something else takes the CPUs in the midst of a trial.
    let expected = ("gain".into(), 2.into(), 1.into());
    let told = tried(|| rests_and_looks_anew(&prefers), |told| *told == expected);
    assert_eq!(told, expected);
}

/// Its phases change places on the way: what is said in the end, of how many trials and gains.
fn rests_and_looks_anew(prefers: &Prefers) -> (Value, Value, Value) {
    let [first, second] = &prefers.processors;
    let mut command = prefers.command(18, [second, first]);
    let mut running = start(command.arg("5"));
    let process = running.number();
    for expected in [Ordering::Equal, Ordering::Greater, Ordering::Equal] {
        running.until(|| (threads(process).cmp(&1) == expected).then_some(()));
    }
    let ran = running.finish();
    assert!(ran.status.success(), "{}", ran.errors);
    let told = &prefers.statistics().0["auto"];
    let of = |key: &str| told[key].clone();
    (of("verdict"), of("trials"), of("gains"))
}

#[test]
fn a_load_that_comes_in_bursts_is_left_alone_once_hops_do_not_pay() {
    let prefers = prefers();
    let [first, second] = &prefers.processors;
    let mut command = prefers.command(6, [second, first]);
    let (verdict, numbers) = prefers.judged(command.arg("bursts"), "no gain");
    assert_eq!(verdict["verdict"], "no gain", "{verdict}");
    let [_, requests, accompanied] = numbers[..] else {
        panic!("{numbers:?}");
    };
    // The burst's first look at the load takes a thread, which does not stay.
    assert!(accompanied * 2 < requests, "{accompanied} of {requests}");
}

/// How many threads a process has.
fn threads(process: u32) -> usize {
    let listed = std::fs::read_dir(format!("/proc/{process}/task"));
    listed.map_or(0, |threads| threads.count())
}

#[test]
fn a_forked_worker_decides_for_itself() {
    let prefers = prefers();
    let [first, second] = &prefers.processors;
    let verdicts = || {
        let mut command = prefers.command(6, [first, second]);
        let mut running = start(command.arg("forked").env("COREHOP_STATS", "%p.json"));
        let parent = running.number();
        running.until(|| running_child(parent));
        let child = running_child(parent).unwrap();
        let ran = running.finish();
        assert!(ran.status.success(), "{}", ran.errors);
        [child, parent].map(|process| {
            let file = prefers.folder.path().join(format!("{process}.json"));
            Statistics::read(&file).0["auto"]["verdict"].clone()
        })
    };
    let found = tried(verdicts, |[child, _]| child == "gain");
    assert_eq!(found, ["gain", "none yet"]);
}

/// The process that this one has forked.
fn running_child(parent: u32) -> Option<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let listed = std::fs::read_to_string(path).ok()?;
    listed.split_whitespace().next()?.parse().ok()
}

#[test]
fn orders_end_a_trial_and_begin_one() {
    let prefers = prefers();
    let [first, second] = &prefers.processors;
    let control = prefers.folder.path().join("control");
    let order = |text: &str| {
        let beside = control.with_extension("part");
        std::fs::write(&beside, text).unwrap();
        std::fs::rename(beside, &control).unwrap();
    };
    order("auto");
    let mut command = prefers.command(1000, [first, second]);
    let mut running = start(command.env("COREHOP_CONTROL", &control));
    let path = prefers.folder.path().join("statistics");
    for (asked, backend) in [
        ("off", "off"),
        ("auto", "auto"),
        ("count", "count"),
        ("auto", "auto"),
    ] {
        let told = running.until(|| {
            order(asked);
            let text = std::fs::read(&path).ok()?;
            let told: Value = serde_json::from_slice(&text).unwrap();
            (told["backend"] == backend).then_some(told)
        });
        assert_eq!(told.get("auto").is_some(), backend == "auto", "{told}");
    }
    running.until(|| {
        order("auto");
        let told = Statistics::read(&path);
        (told.0["auto"]["verdict"] == "gain").then_some(())
    });
    running.stop();
}

#[test]
fn without_cpus_enough_it_runs_on_without_hops() {
    let prefers = prefers();
    let [first, second] = &prefers.processors;
    let mut command = prefers.command(1, [first, second]);
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
    let [first, second] = &prefers.processors;
    let mut command = prefers.command(1, [first, second]);
    let ran = run(command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=1"));
    assert!(ran.status.success());
    assert_eq!(
        ran.errors,
        "corehop: COREHOP_BACKEND=auto: libc uses restartable sequences (start the program with \
         GLIBC_TUNABLES=glibc.pthread.rseq=0): using affinity, where that pays\n"
    );
    assert_eq!(prefers.statistics().0["auto"]["mover"], "affinity");
}
