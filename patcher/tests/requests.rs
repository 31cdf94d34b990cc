//! The function by which a plan counts requests is hooked like the others, but does not move
//! threads.

use crate::workshop::{
    self, Statistics, build, joined, patched, patched_all, plan_of, request_at, run,
};
use corehop_patcher::Analysis;
use corehop_plan::{Mode, Plan};
use std::path::{Path, PathBuf};
use std::process::Command;

struct Bench {
    folder: tempfile::TempDir,
    binary: PathBuf,
    plan: Plan,
}

/// A program that calls `main` once and hops a thousand times, and a plan that counts `counted`.
fn bench(counted: &str) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let binary = build(
        folder.path(),
        "shapes",
        &["-pie", "-fPIE"],
        &["shapes.cpp", "registers.S"],
    );
    let mut plan = plan_of(&binary, 2, &[("doubled", 0), ("catches", 1)]);
    let found = plan_of(&binary, 2, &[(counted, 0)]);
    plan.request = Some(request_at(&found.functions[0]));
    Bench {
        folder,
        binary,
        plan,
    }
}

impl Bench {
    fn statistics(&self, program: &Path, backend: &str) -> Statistics {
        let file = self.folder.path().join("statistics");
        let mut command = Command::new(program);
        command
            .env("COREHOP_BACKEND", backend)
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .env("COREHOP_STATS", &file);
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        let ran = run(&mut command);
        assert!(ran.status.success(), "{}", ran.errors);
        // Output of its forked child.
        assert!(ran.output.ends_with("\n18\n"), "{}", ran.output);
        Statistics::read(&file)
    }
}

#[test]
fn it_is_counted_and_moves_nobody() {
    let bench = bench("throws_if_odd");
    let patched = patched(&bench.binary, &bench.plan, bench.folder.path());
    let modes: Vec<Mode> = patched.hooks.iter().map(|hook| hook.mode).collect();
    assert_eq!(modes, [Mode::Enter, Mode::Enter, Mode::Count]);
    for backend in ["count", "affinity"] {
        let statistics = bench.statistics(&patched.output, backend);
        assert_eq!(
            statistics.of("throws_if_odd"),
            (100 + 12 * 1000, 0),
            "{backend}"
        );
        assert_eq!(statistics.of("catches").0, 100 + 12 * 1000, "{backend}");
    }
}

#[test]
fn a_child_that_is_forked_while_hops_rest_counts_its_own_requests() {
    // The parent has called it before. The child calls it before its counters exist.
    let bench = bench("doubled");
    let patched = patched(&bench.binary, &bench.plan, bench.folder.path());
    let statistics = bench.statistics(&patched.output, "auto");
    assert_eq!(statistics.of("doubled").0, 3 + 12 * 1000);
}

#[test]
fn a_function_that_is_hooked_anyway_is_hooked_once() {
    let mut bench = bench("catches");
    let with_it = patched(&bench.binary, &bench.plan, bench.folder.path());
    let modes: Vec<Mode> = with_it.hooks.iter().map(|hook| hook.mode).collect();
    assert_eq!(modes, [Mode::Enter, Mode::Enter]);
    let counted = bench.statistics(&with_it.output, "count");
    let whole = std::fs::read(&with_it.output).unwrap();
    bench.plan.request = None;
    std::fs::remove_file(&with_it.output).unwrap();
    let without = patched(&bench.binary, &bench.plan, bench.folder.path());
    let same = bench.statistics(&without.output, "count");
    assert_eq!(counted.0["functions"], same.0["functions"]);
    assert_ne!(
        whole,
        std::fs::read(&without.output).unwrap(),
        "it says which counts"
    );
}

#[test]
fn what_cannot_be_hooked_is_not_counted_and_the_plan_goes_on() {
    let mut bench = bench("catches");
    let request = bench.plan.request.as_mut().unwrap();
    // An address within the function.
    request.offset += 1;
    let analysis = Analysis::of(&bench.binary).unwrap();
    assert!(analysis.unsafe_reason(request.offset).is_some());
    let patched = patched(&bench.binary, &bench.plan, bench.folder.path());
    assert_eq!(patched.hooks.len(), 2);
}

#[test]
fn it_may_lie_in_any_of_the_plans_files_but_no_other_is_changed_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let library = ["-shared", "-fPIC", "-Wl,-soname,libacross.so.1"];
    let library = build(folder.path(), "libacross.so.1", &library, &["library.cpp"]);
    let beside = format!("-Wl,-z,now,--no-as-needed,{}", library.display());
    let program = build(
        folder.path(),
        "across",
        &["-DLINKED", &beside],
        &["across.cpp"],
    );
    let all = [&program, &library].map(|file| workshop::plan_of_all(file, 2));
    let [mut of_program, mut of_library] = all;
    let counted = request_at(&of_library.functions.pop().unwrap());
    of_program.functions.truncate(2);
    of_library.functions.truncate(2);
    of_program.request = Some(counted);
    let whole = joined([of_program.clone(), of_library]);
    let patched = patched_all(&whole, &folder.path().join("both"));
    let hooks: Vec<usize> = patched.iter().map(|file| file.hooks.len()).collect();
    assert_eq!(hooks, [2, 3]);
    let alone = patched_all(&of_program, &folder.path().join("alone"));
    assert_eq!((alone.len(), alone[0].hooks.len()), (1, 2));
}
