//! Threads return when calls end, in any way, and nothing else changes.

use crate::workshop::{self, Statistics, build, patched, plan_of, plan_of_all_calls, run};
use corehop_plan::{Mode, Plan};
use std::path::PathBuf;
use std::process::Command;

/// Every backend that a machine may have; all must count the same.
const BACKENDS: [&str; 3] = ["count", "affinity", "carrier"];

struct Delegates {
    folder: tempfile::TempDir,
    plain: PathBuf,
    program: PathBuf,
}

fn delegates(flags: &[&str], plan: impl FnOnce(&std::path::Path) -> Plan) -> Delegates {
    let folder = tempfile::tempdir().unwrap();
    let plain = build(folder.path(), "delegates", flags, &["delegates.cpp"]);
    let program = patched(&plain, &plan(&plain), folder.path()).output;
    Delegates {
        folder,
        plain,
        program,
    }
}

/// Creates a program with these functions on these cores; calls of those in `calls` return.
fn going_back(named: &[(&str, u32)], calls: &[&str]) -> Delegates {
    delegates(&[], |binary| {
        let mut plan = plan_of(binary, 2, named);
        for function in &mut plan.functions {
            if calls.contains(&function.symbol.as_str()) {
                function.mode = Mode::Call;
            }
        }
        plan
    })
}

impl Delegates {
    /// Runs a trial with a backend; it must print the same as the unpatched program.
    fn counts(&self, trial: &str, backend: &str) -> Statistics {
        let file = self.folder.path().join("statistics");
        let plain = run(Command::new(&self.plain).arg(trial));
        let mut command = Command::new(&self.program);
        command
            .arg(trial)
            .env("COREHOP_BACKEND", backend)
            .env("COREHOP_STATS", &file)
            .env("COREHOP_SIGNAL", "12")
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .envs(workshop::WHEREVER);
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        let hooked = run(&mut command);
        assert_eq!(hooked.errors, "", "{trial} {backend}");
        assert_eq!(hooked.output, plain.output, "{trial} {backend}");
        assert_eq!(hooked.status, plain.status, "{trial} {backend}");
        let statistics = Statistics::read(&file);
        assert_eq!(statistics.total("failed_hops"), 0, "{trial} {backend}");
        statistics.check_balance();
        statistics
    }

    /// Runs the trial with every backend; all must count the same.
    fn all_count(&self, trial: &str) -> Statistics {
        let counted = BACKENDS.map(|backend| self.counts(trial, backend));
        let [first, others @ ..] = counted;
        for other in others {
            assert_eq!(other.0["functions"], first.0["functions"], "{trial}");
            assert_eq!(other.total("hops"), first.total("hops"), "{trial}");
        }
        first
    }
}

/// Returns the counts of a function's entry and of the ends of its calls.
fn of(statistics: &Statistics, symbol: &str) -> [u64; 6] {
    [
        "calls",
        "hops",
        "returned",
        "unwound",
        "continued",
        "hops_back",
    ]
    .map(|key| statistics.count(symbol, key))
}

const TRIALS: [&str; 9] = [
    "returns",
    "exceptions",
    "jumps",
    "signals",
    "threads",
    "thread_ends",
    "processes",
    "contexts",
    "deep",
];

#[test]
fn nothing_changes_where_every_function_goes_back() {
    let shapes: [&[&str]; 3] = [
        &["-pie", "-fPIE"],
        &["-no-pie", "-fno-pie", "-fcf-protection=full"],
        &["-pie", "-fPIE", "-O0"],
    ];
    for flags in shapes {
        let delegates = delegates(flags, |binary| plan_of_all_calls(binary, 2));
        for trial in TRIALS {
            let statistics = delegates.all_count(trial);
            // The compiler determines how many returns can be hooked.
            assert!(statistics.of_calls("returned") > 0, "{trial}");
        }
    }
}

#[test]
fn a_call_takes_its_thread_along_and_brings_it_back() {
    let delegates = going_back(
        &[
            ("on_first", 0),
            ("on_second", 1),
            ("plain", 1),
            ("moves_inside", 0),
        ],
        &["plain", "moves_inside"],
    );
    let statistics = delegates.all_count("returns");
    assert_eq!(of(&statistics, "plain"), [1, 1, 1, 0, 0, 1]);
    // The thread is already on the function's core. Its callee leaves that core, and the end of the
    // call returns there.
    assert_eq!(of(&statistics, "moves_inside"), [1, 0, 1, 0, 0, 1]);
    assert_eq!(statistics.of("on_second"), (1, 1));
    assert_eq!(statistics.total("hops"), 4);
}

#[test]
fn calls_of_calls_end_from_the_inside_out() {
    let delegates = going_back(&[("on_first", 0), ("recursive", 1)], &["recursive"]);
    let statistics = delegates.all_count("returns");
    assert_eq!(of(&statistics, "recursive"), [11, 1, 11, 0, 0, 1]);
}

#[test]
fn a_call_ends_where_the_function_that_it_jumps_to_returns() {
    let named = [("on_first", 0), ("calls_at_its_end", 1), ("tail_called", 1)];
    let delegates = going_back(&named, &["calls_at_its_end", "tail_called"]);
    let statistics = delegates.all_count("returns");
    assert_eq!(of(&statistics, "calls_at_its_end"), [1, 1, 1, 0, 0, 0]);
    assert_eq!(of(&statistics, "tail_called"), [1, 0, 0, 0, 1, 0]);
    // Here, on_first moves the thread back before the call ends.
    assert_eq!(statistics.of("on_first"), (2, 1));
    // The end is the same if the other function stays.
    let delegates = going_back(&named, &["calls_at_its_end"]);
    let statistics = delegates.all_count("returns");
    assert_eq!(of(&statistics, "calls_at_its_end"), [1, 1, 1, 0, 0, 0]);
}

#[test]
fn an_exception_brings_its_thread_back_before_it_is_handled() {
    let delegates = going_back(&[("on_first", 0), ("passes_on", 1)], &["passes_on"]);
    let statistics = delegates.all_count("exceptions");
    assert_eq!(of(&statistics, "passes_on"), [100, 100, 50, 50, 0, 100]);
    assert_eq!(statistics.of("on_first"), (51, 0));
}

#[test]
fn an_exception_brings_its_thread_back_step_by_step() {
    let named = [
        ("catches", 0),
        ("passes_on", 1),
        ("throws", 0),
        ("plain", 1),
    ];
    let delegates = going_back(&named, &["passes_on", "throws"]);
    let statistics = delegates.all_count("exceptions");
    // The next hook is the destructor, on the core of passes_on: its entry counts that move.
    assert_eq!(of(&statistics, "throws"), [100, 100, 50, 50, 0, 50]);
    assert_eq!(statistics.of("plain"), (100, 50));
    assert_eq!(of(&statistics, "passes_on"), [100, 100, 50, 50, 0, 100]);
}

#[test]
fn a_jump_out_brings_its_thread_back() {
    let delegates = going_back(&[("on_first", 0), ("jumps_out", 1)], &["jumps_out"]);
    let statistics = delegates.all_count("jumps");
    assert_eq!(of(&statistics, "jumps_out"), [31, 10, 0, 31, 0, 10]);
}

#[test]
fn signal_handlers_move_nobody() {
    let delegates = going_back(&[("on_first", 0), ("plain", 1), ("within", 1)], &["plain"]);
    let statistics = delegates.all_count("signals");
    assert_eq!(statistics.count("plain", "stayed"), 5);
    assert_eq!(of(&statistics, "plain")[..3], [10, 0, 5]);
}

#[test]
fn threads_have_calls_of_their_own_and_end_within_some() {
    let named = [
        ("on_first", 0),
        ("plain", 1),
        ("throws", 1),
        ("recursive", 0),
    ];
    let delegates = going_back(&named, &["plain", "throws", "recursive"]);
    let statistics = delegates.all_count("threads");
    // Half of them end at the beginning of plain, on the same core: a move back and forth does not
    // count.
    assert_eq!(of(&statistics, "throws"), [2000, 2000, 1000, 1000, 0, 1000]);
    assert_eq!(statistics.count("recursive", "returned"), 4 * (71 * 28 + 6));
    let delegates = going_back(&[("on_first", 0), ("ends_thread", 1)], &["ends_thread"]);
    let statistics = delegates.all_count("thread_ends");
    assert_eq!(of(&statistics, "ends_thread")[..4], [20, 20, 0, 20]);
}

#[test]
fn a_forked_child_begins_without_open_calls() {
    let delegates = going_back(&[("on_first", 0), ("forks", 1), ("plain", 0)], &["forks"]);
    let statistics = delegates.all_count("processes");
    assert_eq!(of(&statistics, "forks"), [1, 1, 1, 0, 0, 1]);
}

#[test]
fn calls_deeper_than_there_is_room_for_stay() {
    let delegates = going_back(&[("on_first", 0), ("recursive", 1)], &["recursive"]);
    let statistics = delegates.all_count("deep");
    assert_eq!(of(&statistics, "recursive"), [10_000, 1, 2048, 0, 0, 1]);
    assert_eq!(statistics.count("recursive", "stayed"), 10_000 - 2048);
}

#[test]
fn hops_may_be_switched_off_and_on_while_calls_are_open() {
    let delegates = delegates(&[], |binary| plan_of_all_calls(binary, 2));
    for backend in BACKENDS {
        delegates.counts("switched_off", backend);
    }
}
