//! Functions that go to a core at one call of each request: the other calls stay where they are.

mod workshop;

use corehop_plans::{Destination, KthCall, Mode, Plan, VERSION_BY_ARGUMENT};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use workshop::{Statistics, build, patched, plan_of, request_at, run};

const BACKENDS: [&str; 3] = ["count", "affinity", "carrier"];

static PLAIN: LazyLock<(tempfile::TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    // Then there is room at the return.
    let plain = build(folder.path(), "requests", &["-O0"], &["requests.cpp"]);
    (folder, plain)
});

/// `serve`, which begins a request, goes to core 0, and `step` to core 1 at one of its calls.
fn plan(call: u32, mode: Mode) -> Plan {
    let mut plan = plan_of(&PLAIN.1, 2, &[("serve", 0), ("step", 1)]);
    let serve = plan.functions.iter().find(|f| f.symbol == "serve").unwrap();
    plan.request = Some(request_at(serve));
    let step = plan.functions.iter_mut().find(|f| f.symbol == "step");
    let step = step.unwrap();
    step.to = Destination::At(KthCall { core: 1, call });
    step.mode = mode;
    plan.version = VERSION_BY_ARGUMENT;
    plan
}

fn counted(program: &Path, folder: &Path, backend: &str, words: &[&str]) -> Statistics {
    let statistics = folder.join("statistics");
    let mut command = Command::new(program);
    command
        .args(words)
        .env("COREHOP_BACKEND", backend)
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
        .envs(workshop::WHEREVER)
        .env("COREHOP_STATS", &statistics);
    let processors = workshop::two_of_its_own().unwrap_or("0,0".into());
    command.env("COREHOP_CPUS", processors);
    let ran = run(&mut command);
    let plain = run(Command::new(&PLAIN.1).args(words));
    assert_eq!((&*ran.output, &*ran.errors), (&*plain.output, ""));
    Statistics::read(&statistics)
}

/// Calls of `step`, those meant, and hops at `serve` and at `step`, of threads one after another.
fn expected(digits: &[u8], threads: u64, call: u64) -> [u64; 4] {
    let (mut calls, mut reached, mut hops) = (3, 0, [0, 0]);
    let mut on = 0;
    for digit in digits {
        hops[0] += u64::from(on != 0);
        on = 0;
        calls += u64::from(digit - b'0');
        if u64::from(digit - b'0') >= call {
            reached += 1;
            hops[1] += 1;
            on = 1;
        }
    }
    [calls, reached, hops[0], hops[1]].map(|count| count * (1 + threads))
}

fn check(digits: &str, threads: u64, call: u32, backends: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let program = patched(&PLAIN.1, &plan(call, Mode::Enter), folder.path()).output;
    let words = [digits, &threads.to_string()];
    for backend in backends {
        let told = counted(&program, folder.path(), backend, &words);
        let (calls, at_step) = told.of("step");
        let counts = [
            calls,
            told.count("step", "reached"),
            told.of("serve").1,
            at_step,
        ];
        let expected = expected(digits.as_bytes(), threads, call.into());
        assert_eq!(counts, expected, "{backend} {digits} {threads} {call}");
        assert_eq!(told.count("step", "call"), u64::from(call));
        assert_eq!(told.count("step", "core"), 1);
    }
}

#[test]
fn one_call_of_each_request_hops_and_hops_are_exact() {
    check("35140923", 0, 3, &BACKENDS);
    check("35140923", 4, 1, &BACKENDS);
    check("35140923", 3, 200, &BACKENDS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_call_of_any_requests_does(digits in "[0-9]{1,30}", threads in 0..3u64, call in 1..9u32) {
        check(&digits, threads, call, &["count"]);
    }
}

#[test]
fn a_thread_may_go_back_when_that_call_ends() {
    let folder = tempfile::tempdir().unwrap();
    let program = patched(&PLAIN.1, &plan(2, Mode::Call), folder.path()).output;
    for backend in BACKENDS {
        let told = counted(&program, folder.path(), backend, &["31245"]);
        assert_eq!(told.of("step"), (3 + 15, 4), "{backend}");
        assert_eq!(told.count("step", "hops_back"), 4, "{backend}");
        assert_eq!(told.of("serve"), (5, 0), "{backend}");
    }
}

#[test]
fn a_plan_whose_requests_nobody_sees_begin_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(2, Mode::Enter);
    plan.request.as_mut().unwrap().build_id = "0a1b".into();
    let refused = corehop_patcher::patch(&PLAIN.1, &plan, &folder.path().join("patched"), false);
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("the plan counts calls of step"), "{said}");
}
