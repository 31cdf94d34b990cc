//! Plans for several files: a program and its libraries hop together, or not at all.

use crate::workshop::{
    self, Finished, Statistics, build, joined, patched_all, plan_of, plan_of_all,
    plan_of_all_calls, run,
};
use corehop_patcher::{Error, patch_all};
use corehop_plan::Plan;
use std::path::{Path, PathBuf};
use std::process::Command;

const BACKENDS: [&str; 4] = ["off", "count", "affinity", "carrier"];

/// A program linked with a library, both unpatched in one folder and patched in another.
struct Pair {
    folder: tempfile::TempDir,
    plain: PathBuf,
    hop: PathBuf,
}

fn plain_pair(flags: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::create_dir(&plain).unwrap();
    let library = ["-shared", "-fPIC", "-Wl,-soname,libacross.so.1"];
    let library = [&library, flags].concat();
    build(&plain, "libacross.so.1", &library, &["library.cpp"]);
    // Bound at start: threads that bind at the same time call the library's resolver twice.
    let beside = format!(
        "-Wl,-z,now,--no-as-needed,{}/libacross.so.1",
        plain.display()
    );
    build(&plain, "across", &["-DLINKED", &beside], &["across.cpp"]);
    (folder, plain)
}

fn pair(flags: &[&str]) -> Pair {
    let (folder, plain) = plain_pair(flags);
    let files = ["across", "libacross.so.1"].map(|name| plan_of_all_calls(&plain.join(name), 2));
    let hop = folder.path().join("hop");
    let files = patched_all(&joined(files), &hop);
    assert_eq!(
        files.iter().map(|f| f.is_library).collect::<Vec<_>>(),
        [false, true]
    );
    Pair { folder, plain, hop }
}

impl Pair {
    /// Returns the command of the program in one folder, with the library of the same or the other
    /// folder.
    fn command(&self, program: &Path, library: &Path, backend: &str) -> Command {
        let mut command = Command::new(program.join("across"));
        command
            .arg("calls")
            .env("LD_LIBRARY_PATH", library)
            .env("COREHOP_BACKEND", backend)
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .envs(workshop::WHEREVER)
            .env("COREHOP_STATS", self.folder.path().join(backend));
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        command
    }

    fn statistics(&self, backend: &str) -> Option<Statistics> {
        let file = self.folder.path().join(backend);
        file.exists().then(|| Statistics::read(&file))
    }
}

fn only_line(finished: &Finished) -> &str {
    let lines: Vec<&str> = finished.errors.lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines[0]
}

#[test]
fn a_program_and_its_library_hop_as_one() {
    let kinds: [&[&str]; 5] = [
        &[],
        &["-Wl,-z,now,-z,relro"],
        &["-Wl,-Bsymbolic", "-fcf-protection=none"],
        &["-Wl,--spare-dynamic-tags=0"],
        &["-s"],
    ];
    for flags in kinds {
        let pair = pair(flags);
        let plain = run(&mut pair.command(&pair.plain, &pair.plain, "off"));
        assert!(plain.status.success(), "{}", plain.errors);
        for backend in BACKENDS {
            let hooked = run(&mut pair.command(&pair.hop, &pair.hop, backend));
            let said = (hooked.output, hooked.errors);
            assert_eq!(
                said,
                (plain.output.clone(), String::new()),
                "{flags:?} {backend}"
            );
            assert_eq!(hooked.status, plain.status);
            let Some(statistics) = pair.statistics(backend) else {
                assert_eq!(backend, "off");
                continue;
            };
            let calls = |symbol| statistics.of(symbol).0;
            assert_eq!(statistics.0["backend"], backend);
            assert_eq!(statistics.total("failed_hops"), 0);
            // Three threads do the same: 600 rounds, and one more way to the library and back.
            assert_eq!(calls("program_doubles"), 3 * 601);
            assert_eq!(calls("library_adds"), 3 * 601);
            assert_eq!(calls("library_throws"), 3 * 600);
            // Half of the rounds end in an exception before the program is called back.
            assert_eq!(calls("program_throws"), 3 * 300);
            assert_eq!(statistics.module_of("program_doubles"), "across");
            assert_eq!(statistics.module_of("library_adds"), "libacross.so.1");
        }
        let [count, affinity, carrier] =
            ["count", "affinity", "carrier"].map(|name| pair.statistics(name).unwrap());
        assert_eq!(count.0["functions"], affinity.0["functions"], "{flags:?}");
        // A thread of the carrier backend returns to its host thread before it ends, and no longer
        // hops.
        assert_eq!(count.total("calls"), carrier.total("calls"), "{flags:?}");
        for symbol in ["program_doubles", "library_adds"] {
            assert_eq!(count.of(symbol), carrier.of(symbol), "{flags:?} {symbol}");
        }
    }
}

#[test]
fn half_a_plan_never_hops() {
    let pair = pair(&[]);
    let plain = run(&mut pair.command(&pair.plain, &pair.plain, "off")).output;
    for (program, library, part) in [
        (
            &pair.hop,
            &pair.plain,
            "libacross.so.1 is not the patched libacross.so.1, but its original",
        ),
        (
            &pair.plain,
            &pair.hop,
            "the program is not the patched across, but its original",
        ),
    ] {
        let finished = run(&mut pair.command(program, library, "affinity"));
        assert_eq!(finished.output, plain);
        let line = only_line(&finished);
        assert!(line.contains(part), "{line}");
        assert!(line.contains("LD_LIBRARY_PATH"), "{line}");
        assert!(line.ends_with("running without hops"), "{line}");
        assert!(pair.statistics("affinity").is_none());
    }
}

#[test]
fn files_of_two_plans_never_hop_together() {
    let pair = pair(&[]);
    let names = ["across", "libacross.so.1"].map(|name| pair.plain.join(name));
    let other = pair.folder.path().join("other");
    let program = plan_of(&names[0], 2, &[("program_doubles", 0)]);
    let library = plan_of(&names[1], 2, &[("library_adds", 1)]);
    patched_all(&joined([program, library]), &other);
    let finished = run(&mut pair.command(&pair.hop, &other, "count"));
    assert!(finished.status.success());
    let line = only_line(&finished);
    assert!(line.contains("was patched by another plan"), "{line}");
    assert!(pair.statistics("count").is_none());
}

#[test]
fn a_library_alone_hops_once_the_runtime_stands_in_for_libc() {
    let (folder, plain) = plain_pair(&[]);
    let hop = folder.path().join("hop");
    let library = plan_of(&plain.join("libacross.so.1"), 2, &[("library_adds", 1)]);
    let files = patched_all(&library, &hop);
    let pair = Pair { folder, plain, hop };
    let mut alone = pair.command(&pair.plain, &pair.hop, "affinity");
    let line = run(&mut alone);
    let line = only_line(&line);
    assert!(line.contains("name it in LD_PRELOAD"), "{line}");
    assert!(pair.statistics("affinity").is_none());
    for backend in ["count", "affinity", "carrier"] {
        let both = format!(
            "{}:{}",
            files[0].runtime.display(),
            files[0].output.display()
        );
        let mut command = pair.command(&pair.plain, &pair.plain, backend);
        let finished = run(command.env("LD_PRELOAD", both));
        assert_eq!(finished.errors, "");
        let statistics = pair.statistics(backend).unwrap();
        assert_eq!(statistics.of("library_adds"), (3 * 601, 3), "{backend}");
        assert_eq!(statistics.0["backend"], backend);
    }
}

/// A program that loads the library twice by its path, with a plan for both.
fn opening(plan: impl FnOnce(&Path, &Path) -> Plan) -> (tempfile::TempDir, Command) {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "opens", &[], &["across.cpp"]);
    let library = build(
        folder.path(),
        "library.so",
        &["-shared", "-fPIC"],
        &["library.cpp"],
    );
    let hop = folder.path().join("hop");
    patched_all(&plan(&program, &library), &hop);
    let mut command = Command::new(hop.join("opens"));
    command
        .args(["opens".as_ref(), hop.join("library.so").as_os_str()])
        .env("COREHOP_STATS", folder.path().join("statistics"));
    (folder, command)
}

#[test]
fn hops_begin_when_the_last_library_is_loaded_and_survive_its_going() {
    let (folder, mut command) = opening(|program, library| {
        let program = plan_of(program, 2, &[("program_doubles", 0)]);
        joined([program, plan_of(library, 2, &[("library_adds", 1)])])
    });
    for backend in ["count", "affinity", "carrier"] {
        command
            .env("COREHOP_BACKEND", backend)
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        let finished = run(&mut command);
        assert_eq!(finished.output, "3675\ngone\n3675\ngone\n");
        assert_eq!(
            only_line(&finished),
            "corehop: hops begin when library.so is loaded"
        );
        let statistics = Statistics::read(&folder.path().join("statistics"));
        // The first call came before the library: 50, one behind it, one before its return, ...
        assert_eq!(statistics.of("program_doubles").0, 50 + 1 + 1 + 50 + 1);
        assert_eq!(statistics.of("library_adds"), (100, 100), "{backend}");
        assert_eq!(statistics.0["backend"], backend);
        assert_eq!(statistics.module_of("library_adds"), "library.so");
    }
}

#[test]
fn what_only_the_loader_calls_is_left_alone() {
    let (_folder, plain) = plain_pair(&[]);
    let analysis = corehop_patcher::Analysis::of(&plain.join("libacross.so.1")).unwrap();
    let reasons = analysis.functions().iter().filter_map(|function| {
        let reason = analysis.unsafe_reason(function.offset)?;
        reason.contains("only the loader calls it").then_some(())
    });
    assert_eq!(reasons.count(), 1);
}

#[test]
fn what_is_refused_of_a_program_is_refused_of_a_library() {
    let (folder, plain) = plain_pair(&[]);
    let library = plain.join("libacross.so.1");
    let plan = plan_of(&library, 2, &[("library_adds", 1)]);
    let hop = folder.path().join("hop");
    let reason = |plan: &Plan| {
        let refused = patch_all(&[], plan, &hop, false).unwrap_err().to_string();
        assert!(!hop.exists(), "{refused}");
        refused
    };
    let mut other = plan.clone();
    other.functions[0].build_id = "0123".into();
    assert!(reason(&other).contains("made for build id 0123, but this file's is"));
    let mut moved = plan.clone();
    moved.functions[0].offset += 1;
    assert!(reason(&moved).contains("not the entry of a function"));
    let mut wide = plan.clone();
    wide.cores = 1025;
    assert!(reason(&wide).contains("1024 is the most"));
    let bytes = std::fs::read(&library).unwrap();
    std::fs::write(&library, &bytes[..bytes.len() / 2]).unwrap();
    assert!(reason(&plan).contains("cut short"));
    std::fs::write(&library, &bytes).unwrap();
    let done = patched_all(&plan, &hop);
    let patched = std::fs::read(&done[0].output).unwrap();
    std::fs::remove_dir_all(&hop).unwrap();
    std::fs::write(&library, patched).unwrap();
    assert!(reason(&plan).contains("already patched"));
    let libc = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
    let libc = plan_of(libc, 2, &[("qsort", 0)]);
    assert!(reason(&libc).contains("a part of libc"));
}

#[test]
fn a_file_that_is_there_is_kept_and_so_are_all_others() {
    let (folder, plain) = plain_pair(&[]);
    let files = ["across", "libacross.so.1"].map(|name| plan_of_all(&plain.join(name), 2));
    let plan = joined(files);
    let hop = folder.path().join("hop");
    std::fs::create_dir(&hop).unwrap();
    std::fs::write(hop.join("libacross.so.1"), "precious").unwrap();
    let error = patch_all(&[], &plan, &hop, false).unwrap_err();
    assert!(matches!(error, Error::Output(_)), "{error}");
    assert_eq!(
        std::fs::read_dir(&hop).unwrap().count(),
        1,
        "the one that was there"
    );
    patch_all(&[], &plan, &hop, true).unwrap();
    assert_eq!(
        std::fs::read_dir(&hop).unwrap().count(),
        4,
        "with the runtime's two"
    );
}
