//! Functions that hop at single calls of each request; other calls do not hop.

use crate::workshop::{self, Statistics, build, patched, plan_of, request_at, run};
use corehop_plan::{Destination, KthCall, Mode, Plan, PlannedFunction, VERSION_BY_ARGUMENT};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

const BACKENDS: [&str; 3] = ["count", "affinity", "carrier"];

static PLAIN: LazyLock<(tempfile::TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    // Without optimization, there is room at the return.
    let plain = build(
        folder.path(),
        "requests",
        &["-O0", "-falign-functions=64"],
        &["requests.cpp"],
    );
    (folder, plain)
});

/// The core of each call.
type Calls = BTreeMap<u64, u64>;

/// Plans core 0 for `serve`, which begins a request, and these cores for the function's calls.
fn plan(symbol: &str, calls: &Calls, mode: Mode) -> Plan {
    let mut plan = plan_of(&PLAIN.1, 2, &[("serve", 0), (symbol, 1)]);
    let of = |symbol: &str| plan.functions.iter().find(|f| f.symbol == symbol).unwrap();
    let (serve, called) = (of("serve").clone(), of(symbol).clone());
    plan.request = Some(request_at(&serve));
    plan.version = VERSION_BY_ARGUMENT;
    // In an order different from that of the calls, and with another function between them.
    let calls = calls.iter().rev().map(|(&call, &core)| PlannedFunction {
        to: Destination::At(KthCall {
            core: core as u32,
            call: call as u32,
        }),
        mode,
        ..called.clone()
    });
    plan.functions = calls.collect();
    plan.functions.insert(1, serve);
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

/// The expected counts of requests, on one thread after another.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counts {
    calls: u64,
    /// By call: its count, and its hops.
    at_calls: BTreeMap<u64, (u64, u64)>,
    hops_at_serve: u64,
    hops_back: u64,
}

impl Counts {
    fn of(told: &Statistics, symbol: &str, calls: &Calls) -> Counts {
        let (function, hops) = told.of(symbol);
        let at_calls = told.at_calls(symbol);
        let cores: Calls = at_calls.iter().map(|at| (at["call"], at["core"])).collect();
        assert_eq!(&cores, calls);
        let hops_there: u64 = at_calls.iter().map(|at| at["hops"]).sum();
        assert_eq!(hops_there, hops);
        let counts = at_calls
            .iter()
            .map(|at| (at["call"], (at["reached"], at["hops"])));
        Counts {
            calls: function,
            at_calls: counts.collect(),
            hops_at_serve: told.of("serve").1,
            hops_back: told.of_calls("hops_back"),
        }
    }

    fn go(&mut self, call: u64, calls: &Calls, on: &mut u64) {
        self.calls += 1;
        let Some(&core) = calls.get(&call) else {
            return;
        };
        let (reached, hops) = self.at_calls.get_mut(&call).unwrap();
        *reached += 1;
        *hops += u64::from(*on != core);
        *on = core;
    }

    /// One request has this many calls, `nested` or one after another.
    fn serve(&mut self, left: u64, calls: &Calls, on: &mut u64, nested: Option<Mode>) {
        self.hops_at_serve += u64::from(*on != 0);
        *on = 0;
        match nested {
            None => (1..=left).for_each(|call| self.go(call, calls, on)),
            Some(mode) => {
                let mut came_from = Vec::new();
                for call in 1..=left {
                    came_from.push(*on);
                    self.go(call, calls, on);
                }
                for core in came_from.into_iter().rev().filter(|_| mode == Mode::Call) {
                    self.hops_back += u64::from(*on != core);
                    *on = core;
                }
            }
        }
    }

    /// The counts of `1 + threads` threads.
    fn times(mut self, threads: u64) -> Counts {
        let all = |count: &mut u64| *count *= 1 + threads;
        for (reached, hops) in self.at_calls.values_mut() {
            all(reached);
            all(hops);
        }
        all(&mut self.calls);
        all(&mut self.hops_at_serve);
        all(&mut self.hops_back);
        self
    }
}

fn digits(text: &str) -> impl Iterator<Item = u64> {
    text.bytes().map(|digit| u64::from(digit - b'0'))
}

fn begun(calls: &Calls) -> Counts {
    Counts {
        at_calls: calls.keys().map(|&call| (call, (0, 0))).collect(),
        ..Counts::default()
    }
}

fn check_steps(text: &str, threads: u64, calls: &[(u64, u64)], backends: &[&str]) {
    let calls = Calls::from_iter(calls.iter().copied());
    let folder = tempfile::tempdir().unwrap();
    let plan = plan("step", &calls, Mode::Enter);
    let program = patched(&PLAIN.1, &plan, folder.path()).output;
    let (mut expected, mut on) = (begun(&calls), 0);
    // Before the first request.
    expected.calls = 3;
    digits(text).for_each(|count| expected.serve(count, &calls, &mut on, None));
    let expected = expected.times(threads);
    for backend in backends {
        let told = counted(
            &program,
            folder.path(),
            backend,
            &[text, &threads.to_string()],
        );
        let counts = Counts::of(&told, "step", &calls);
        assert_eq!(counts, expected, "{backend} {text} {threads}");
    }
}

/// Calls within calls.
fn check_dives(text: &str, calls: &[(u64, u64)], mode: Mode, backends: &[&str]) {
    let calls = Calls::from_iter(calls.iter().copied());
    let folder = tempfile::tempdir().unwrap();
    let program = patched(&PLAIN.1, &plan("dive", &calls, mode), folder.path()).output;
    let (mut expected, mut on) = (begun(&calls), 0);
    for depth in digits(text) {
        let left = depth + u64::from(depth > 0);
        expected.serve(left, &calls, &mut on, Some(mode));
    }
    for backend in backends {
        let told = counted(&program, folder.path(), backend, &[text]);
        let counts = Counts::of(&told, "dive", &calls);
        assert_eq!(counts, expected, "{backend} {text} {mode:?}");
        told.check_balance();
    }
}

#[test]
fn one_call_of_each_request_hops_and_hops_are_exact() {
    check_steps("35140923", 0, &[(3, 1)], &BACKENDS);
    check_steps("35140923", 4, &[(1, 1)], &BACKENDS);
    check_steps("35140923", 3, &[(200, 1)], &BACKENDS);
}

#[test]
fn several_calls_of_each_request_do_and_each_goes_to_its_core() {
    check_steps(
        "35140923",
        3,
        &[(1, 1), (2, 0), (4, 1), (5, 1), (200, 0)],
        &BACKENDS,
    );
    check_steps("99", 0, &[(1, 0), (4, 1), (7, 0)], &BACKENDS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_calls_of_any_requests_do(
        digits in "[0-9]{1,30}", threads in 0..3u64,
        calls in prop::collection::btree_map(1..9u64, 0..2u64, 1..5),
    ) {
        let calls: Vec<(u64, u64)> = calls.into_iter().collect();
        check_steps(&digits, threads, &calls, &["count"]);
    }

    #[test]
    fn so_do_calls_within_calls(
        digits in "[0-9]{1,20}", goes_back: bool,
        calls in prop::collection::btree_map(1..9u64, 0..2u64, 1..5),
    ) {
        let calls: Vec<(u64, u64)> = calls.into_iter().collect();
        let mode = if goes_back { Mode::Call } else { Mode::Enter };
        check_dives(&digits, &calls, mode, &["count"]);
    }
}

#[test]
fn a_thread_goes_back_when_one_of_these_calls_ends() {
    let folder = tempfile::tempdir().unwrap();
    let calls = Calls::from([(2, 1), (4, 1)]);
    let program = patched(&PLAIN.1, &plan("step", &calls, Mode::Call), folder.path()).output;
    for backend in BACKENDS {
        let told = counted(&program, folder.path(), backend, &["31245"]);
        assert_eq!(told.of("step"), (3 + 15, 4 + 2), "{backend}");
        assert_eq!(told.count("step", "hops_back"), 4 + 2, "{backend}");
        assert_eq!(told.of("serve"), (5, 0), "{backend}");
    }
    check_dives("31245", &[(2, 1), (3, 0), (5, 1)], Mode::Call, &BACKENDS);
}

#[test]
fn a_plan_whose_requests_nobody_sees_begin_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan("step", &Calls::from([(2, 1)]), Mode::Enter);
    plan.request.as_mut().unwrap().build_id = "0a1b".into();
    let refused = corehop_patcher::patch(&PLAIN.1, &plan, &folder.path().join("patched"), false);
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("the plan counts calls of step"), "{said}");
}
