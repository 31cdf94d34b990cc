//! Calls of functions in other files are hooked at the program's calls, and threads return from
//! them however they end.

use crate::workshop::{
    self, Statistics, build, imported, patched, plan_of, plan_of_all_imports, run,
};
use corehop_patcher::{Analysis, Error, InMemory, patch};
use corehop_plan::{Mode, Plan};
use std::path::{Path, PathBuf};
use std::process::Command;

const BACKENDS: [&str; 3] = ["count", "affinity", "carrier"];
const PLAIN: &[&str] = &["-pie", "-fPIE"];

struct Importing {
    folder: tempfile::TempDir,
    plain: PathBuf,
    program: PathBuf,
    plan: Plan,
}

/// The fixture with the calls of these imported functions on core 1, and all others on core 0.
fn importing(flags: &[&str], delegated: &[&str]) -> Importing {
    hooked(flags, |plain| {
        let mut plan = plan_of(plain, 2, &[("on_first", 0), ("compares", 0)]);
        let mut calls = imported(plain, 2, |function, _| {
            let symbol = function.symbol.as_deref()?.strip_suffix("@plt")?;
            delegated.contains(&symbol).then_some(Mode::Call)
        });
        assert_eq!(calls.len(), delegated.len(), "{delegated:?}");
        for call in &mut calls {
            call.to = corehop_plan::Destination::Core(1);
        }
        plan.functions.extend(calls);
        plan
    })
}

fn hooked(flags: &[&str], plan: impl FnOnce(&Path) -> Plan) -> Importing {
    let folder = tempfile::tempdir().unwrap();
    let plain = build(folder.path(), "imports", flags, &["imports.cpp"]);
    let plan = plan(&plain);
    Importing {
        program: patched(&plain, &plan, folder.path()).output,
        folder,
        plain,
        plan,
    }
}

impl Importing {
    /// Runs a trial; it must print the same as the unpatched program.
    fn counts(&self, trial: &str, backend: &str, in_memory: bool) -> Statistics {
        let file = self.folder.path().join("statistics");
        let plain = run(Command::new(&self.plain).arg(trial));
        let program = match in_memory {
            true => &self.plain,
            false => &self.program,
        };
        let mut command = Command::new(program);
        command
            .arg(trial)
            .env("COREHOP_BACKEND", backend)
            .env("COREHOP_STATS", &file)
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .envs(workshop::WHEREVER);
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        let hooks = in_memory.then(|| InMemory::new(program, &self.plan).unwrap());
        if let Some(hooks) = &hooks {
            hooks.hook(&mut command, None);
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

    /// The same with every backend, in the file and in memory: all count the same.
    fn all_count(&self, trial: &str) -> Statistics {
        let first = self.counts(trial, "count", false);
        for backend in BACKENDS {
            for in_memory in [false, true] {
                let other = self.counts(trial, backend, in_memory);
                let how = format!("{trial} {backend} {in_memory}");
                assert_eq!(other.0["functions"], first.0["functions"], "{how}");
                assert_eq!(other.total("hops"), first.total("hops"), "{how}");
            }
        }
        first
    }
}

/// The counts of a function's entry and of the end of its calls.
fn of(statistics: &Statistics, symbol: &str) -> [u64; 5] {
    ["calls", "hops", "returned", "unwound", "hops_back"].map(|key| statistics.count(symbol, key))
}

const TRIALS: [&str; 7] = [
    "files",
    "numbers",
    "sorts",
    "leaves",
    "cancelled",
    "threads",
    "pointers",
];

/// Runs all trials with every import hooked, in a program linked with these flags, which determine
/// the form of stubs.
fn nothing_changes(flags: &[&str]) {
    let importing = hooked(flags, |plain| plan_of_all_imports(plain, 2));
    for trial in TRIALS {
        for backend in BACKENDS {
            let statistics = importing.counts(trial, backend, false);
            assert!(statistics.of_calls("returned") > 0, "{trial}");
        }
    }
}

#[test]
fn nothing_changes_where_every_import_is_hooked() {
    nothing_changes(PLAIN);
}

#[test]
fn nothing_changes_where_every_import_is_hooked_in_a_program_at_a_fixed_address() {
    nothing_changes(&["-no-pie", "-fno-pie"]);
}

#[test]
fn nothing_changes_where_every_import_is_hooked_and_bound_at_the_start() {
    nothing_changes(&["-pie", "-fPIE", "-Wl,-z,now"]);
}

#[test]
fn nothing_changes_where_every_import_is_hooked_behind_endbr64() {
    nothing_changes(&["-pie", "-fPIE", "-fcf-protection=full", "-Wl,-z,ibtplt"]);
}

#[test]
fn the_program_s_own_calls_of_libc_go_there_and_back() {
    let files = ["open", "read", "lseek", "mmap", "munmap", "close", "write"];
    let importing = importing(PLAIN, &files);
    let statistics = importing.all_count("files");
    let symbol = |name: &str| format!("{name}@plt");
    for name in &files[1..6] {
        let counted = of(&statistics, &symbol(name));
        assert_eq!(counted, [20, 20, 20, 0, 20], "{name}");
    }
    // One of them fails as well. libc itself writes printf's output.
    assert_eq!(of(&statistics, "open@plt"), [21, 21, 21, 0, 21]);
    assert_eq!(of(&statistics, "write@plt"), [1, 1, 1, 0, 1]);
    assert_eq!(statistics.total("hops"), 2 * (5 * 20 + 21 + 1));
}

#[test]
fn what_a_library_calls_back_may_hop_and_the_call_goes_back_all_the_same() {
    let importing = importing(PLAIN, &["qsort"]);
    let statistics = importing.all_count("sorts");
    assert_eq!(of(&statistics, "qsort@plt"), [1, 1, 1, 0, 0]);
    let (calls, hops) = statistics.of("compares");
    assert!(calls > 15 && hops == 1, "{calls} {hops}");
}

#[test]
fn exceptions_and_jumps_leave_a_call_of_libc() {
    let importing = importing(PLAIN, &["qsort"]);
    let statistics = importing.all_count("leaves");
    assert_eq!(of(&statistics, "qsort@plt"), [40, 40, 0, 40, 40]);
    assert_eq!(statistics.of("on_first"), (41, 0));
}

#[test]
fn a_thread_is_cancelled_within_its_call_and_unwinds() {
    let importing = importing(PLAIN, &["read"]);
    for backend in BACKENDS {
        let statistics = importing.counts("cancelled", backend, false);
        // With the carrier backend, a thread that is about to be cancelled stays on its host thread
        // and no longer hops.
        let [calls, _, returned, unwound, _] = of(&statistics, "read@plt");
        assert_eq!([calls, returned, unwound], [3, 0, 3], "{backend}");
    }
}

#[test]
fn values_of_every_kind_come_back() {
    let importing = importing(PLAIN, &["strtod", "strtold"]);
    let statistics = importing.all_count("numbers");
    for symbol in ["strtod@plt", "strtold@plt"] {
        assert_eq!(of(&statistics, symbol), [20, 20, 20, 0, 20]);
    }
}

#[test]
fn threads_allocate_on_another_core() {
    let importing = importing(PLAIN, &["malloc", "free"]);
    let statistics = importing.all_count("threads");
    let calls = statistics.count("malloc@plt", "calls");
    assert!(calls >= 2000, "{calls}");
    assert_eq!(statistics.count("malloc@plt", "returned"), calls);
}

#[test]
fn a_call_through_a_pointer_enters_no_stub() {
    let importing = importing(PLAIN, &["getppid"]);
    let statistics = importing.all_count("pointers");
    assert_eq!(of(&statistics, "getppid@plt"), [20, 20, 20, 0, 20]);
}

/// Calls of imports whose end is unknown are refused, with the reason.
#[test]
fn what_cannot_be_called_through_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let plain = build(folder.path(), "imports", PLAIN, &["imports.cpp"]);
    let analysis = Analysis::of(&plain).unwrap();
    let reason = |name: &str| {
        let symbol = format!("{name}@plt");
        let mut imports = analysis.imports();
        let found = imports.find(|import| import.symbol.as_deref() == Some(&symbol));
        analysis.return_reason(found.unwrap_or_else(|| panic!("no {symbol}")).offset)
    };
    let otherwise = "a call of it does not end with one return";
    let unknown = "it lies in another file, so it is unknown whether all its arguments are in \
                   registers";
    assert_eq!(reason("read"), None);
    assert_eq!(reason("longjmp").as_deref(), Some(otherwise));
    assert_eq!(reason("_setjmp").as_deref(), Some(otherwise));
    assert_eq!(reason("snprintf").as_deref(), Some(unknown));
    assert_eq!(reason("pthread_create").as_deref(), Some(unknown));
    let mut plan = plan_of(&plain, 2, &[("on_first", 0)]);
    plan.functions.extend(imported(&plain, 2, |function, _| {
        (function.symbol.as_deref() == Some("longjmp@plt")).then_some(Mode::Call)
    }));
    let refused = patch(&plain, &plan, &folder.path().join("hop"), false).unwrap_err();
    assert!(matches!(refused, Error::Unhookable { .. }));
    assert!(refused.to_string().contains(otherwise), "{refused}");
}

#[test]
fn calls_without_a_stub_are_no_imports() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["-pie", "-fPIE", "-fno-plt"];
    let plain = build(folder.path(), "imports", &flags, &["imports.cpp"]);
    let analysis = Analysis::of(&plain).unwrap();
    let symbols = analysis.imports().filter_map(|import| import.symbol);
    assert!(!symbols.into_iter().any(|symbol| symbol == "open@plt"));
}
