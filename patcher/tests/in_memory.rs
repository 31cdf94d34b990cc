//! Hooks installed while a program starts: the same as in patched files, or the program does not
//! run.

use crate::workshop::{
    self, Finished, Statistics, build, joined, patched_all, plan_of, plan_of_all,
    plan_of_all_calls, run,
};
use corehop_patcher::{Error, InMemory};
use corehop_plan::Plan;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program linked with a library, in one folder.
struct Bench {
    folder: tempfile::TempDir,
    program: PathBuf,
    library: PathBuf,
}

fn bench(flags: &[&str]) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let library = ["-shared", "-fPIC", "-Wl,-soname,libacross.so.1"];
    let library = build(folder.path(), "libacross.so.1", &library, &["library.cpp"]);
    let beside = format!("-Wl,-z,now,--no-as-needed,{}", library.display());
    let flags = [&["-DLINKED", &beside], flags].concat();
    let program = build(folder.path(), "across", &flags, &["across.cpp"]);
    Bench {
        folder,
        program,
        library,
    }
}

impl Bench {
    fn plan(&self) -> Plan {
        joined([&self.program, &self.library].map(|file| plan_of_all_calls(file, 2)))
    }

    fn command(&self, program: &Path, backend: &str) -> Command {
        let mut command = Command::new(program);
        command
            .arg("calls")
            .env("LD_LIBRARY_PATH", self.folder.path())
            .env("COREHOP_BACKEND", backend)
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .envs(workshop::WHEREVER)
            .env("COREHOP_STATS", self.folder.path().join("statistics"));
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        command
    }

    fn statistics(&self) -> Statistics {
        Statistics::read(&self.folder.path().join("statistics"))
    }

    /// Starts the program hooked, after `change` to its command. It must refuse to run; returns the
    /// reason.
    fn refusal(&self, plan: &Plan, change: impl FnOnce(&mut Command)) -> String {
        let hooks = InMemory::new(&self.program, plan).unwrap();
        let mut command = self.command(&self.program, "count");
        hooks.hook(&mut command, None);
        change(&mut command);
        refused(&run(&mut command))
    }
}

fn refused(finished: &Finished) -> String {
    assert_eq!(finished.status.code(), Some(5), "{}", finished.errors);
    assert_eq!(finished.output, "", "it ran");
    let lines: Vec<&str> = finished.errors.lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines[0].into()
}

#[test]
fn hooks_in_memory_do_what_hooks_in_files_do() {
    let kinds: [&[&str]; 2] = [&[], &["-no-pie", "-fno-pie"]];
    for flags in kinds {
        let bench = bench(flags);
        let plan = bench.plan();
        let hop = bench.folder.path().join("hop");
        let files = patched_all(&plan, &hop);
        let plain = run(&mut bench.command(&bench.program, "off"));
        assert!(plain.status.success(), "{}", plain.errors);
        for backend in ["off", "count", "affinity", "carrier"] {
            let hooks = InMemory::new(&bench.program, &plan).unwrap();
            let mut command = bench.command(&bench.program, backend);
            let hooked = run(hooks.hook(&mut command, None));
            let said = (hooked.output, hooked.errors);
            let expected = (plain.output.clone(), String::new());
            assert_eq!(said, expected, "{flags:?} {backend}");
            if backend == "off" {
                continue;
            }
            let in_memory = bench.statistics();
            assert_eq!(in_memory.0["backend"], backend);
            assert_eq!(in_memory.total("failed_hops"), 0);
            let mut command = bench.command(&files[0].output, backend);
            run(command.env("LD_LIBRARY_PATH", &hop));
            let in_files = bench.statistics();
            assert_eq!(in_memory.of("library_adds").0, 3 * 601);
            for symbol in ["program_doubles", "library_adds", "program_throws"] {
                assert_eq!(
                    in_memory.of(symbol),
                    in_files.of(symbol),
                    "{flags:?} {backend}"
                );
            }
        }
    }
}

#[test]
fn a_program_far_from_its_libraries_and_one_of_no_place_below_it_are_hooked_alike() {
    // A program at the lowest address has no room below it, so the code is placed above its heap.
    let bench = bench(&["-no-pie", "-fno-pie", "-Wl,-Ttext-segment=0x10000"]);
    let plan = bench.plan();
    let hooks = InMemory::new(&bench.program, &plan).unwrap();
    let mut command = bench.command(&bench.program, "count");
    let hooked = run(hooks.hook(&mut command, None));
    assert_eq!(
        (hooked.status.code(), hooked.errors),
        (Some(0), String::new())
    );
    assert_eq!(bench.statistics().of("program_doubles").0, 3 * 601);
}

#[test]
fn what_the_program_starts_with_is_put_back() {
    let bench = bench(&[]);
    let users = "/lib/x86_64-linux-gnu/libm.so.6";
    for preload in ["", users] {
        let mut command = Command::new(&bench.program);
        command
            .arg("tells")
            .env("LD_LIBRARY_PATH", bench.folder.path())
            .env("COREHOP_BACKEND", "count")
            .env_remove("LD_PRELOAD");
        if !preload.is_empty() {
            command.env("LD_PRELOAD", preload);
        }
        let plain = run(&mut command);
        assert!(plain.output.contains("clean"), "{}", plain.output);
        let hooks = InMemory::new(&bench.program, &bench.plan()).unwrap();
        let hooked = run(hooks.hook(&mut command, Some(preload.into())));
        assert_eq!((hooked.output, hooked.errors), (plain.output, plain.errors));
    }
}

#[test]
fn a_plan_for_another_program_is_refused_before_it_starts() {
    let bench = bench(&[]);
    let reason =
        |program: &Path, plan: &Plan| InMemory::new(program, plan).unwrap_err().to_string();
    let other = build(bench.folder.path(), "other", &[], &["places.cpp"]);
    let said = reason(&other, &bench.plan());
    assert!(
        said.contains("the plan is for another program or build"),
        "{said}"
    );
    let fixed = build(bench.folder.path(), "fixed", &["-static"], &["places.cpp"]);
    let said = reason(&fixed, &plan_of_all(&bench.library, 2));
    assert!(said.contains("statically linked"), "{said}");
    let script = bench.folder.path().join("script");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    let said = reason(&script, &bench.plan());
    assert!(
        said.contains("a script: name the program that runs it"),
        "{said}"
    );
    let mut moved = bench.plan();
    moved.functions[0].offset += 1;
    let said = reason(&bench.program, &moved);
    assert!(said.contains("not the entry of a function"), "{said}");
    let hop = bench.folder.path().join("hop");
    let patched = patched_all(&bench.plan(), &hop);
    let said = reason(&patched[0].output, &bench.plan());
    assert!(said.contains("already patched"), "{said}");
    let error = InMemory::new(Path::new("/nowhere"), &bench.plan()).unwrap_err();
    assert!(matches!(error, Error::Read { .. }), "{error}");
}

#[test]
fn a_library_that_is_not_there_at_the_start_ends_the_program() {
    let bench = bench(&[]);
    let plugin = ["-shared", "-fPIC", "-DANOTHER"];
    let plugin = build(bench.folder.path(), "plugin.so", &plugin, &["library.cpp"]);
    let plan = joined([bench.plan(), plan_of(&plugin, 2, &[("library_adds", 1)])]);
    let said = bench.refusal(&plan, |_| {});
    assert!(
        said.contains("plugin.so of the plan's build is not loaded"),
        "{said}"
    );
    assert!(said.contains("LD_PRELOAD"), "{said}");
}

#[test]
fn code_that_is_not_the_files_ends_the_program() {
    let bench = bench(&[]);
    let plan = bench.plan();
    let step = plan.functions.iter().find(|f| f.symbol == "library_adds");
    let offset = step.unwrap().offset as usize;
    // The build ID is the same, but another tool has changed the code.
    let elsewhere = bench.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let mut bytes = std::fs::read(&bench.library).unwrap();
    bytes[offset] = 0xcc;
    std::fs::write(elsewhere.join("libacross.so.1"), bytes).unwrap();
    let said = bench.refusal(&plan, |command| {
        command.env("LD_LIBRARY_PATH", &elsewhere);
    });
    assert!(said.contains("libacross.so.1: its code at"), "{said}");
    assert!(said.contains("something else has changed it"), "{said}");
}

#[test]
fn a_thread_before_main_ends_the_program() {
    let bench = bench(&[]);
    let flags = ["-shared", "-fPIC", "-DSTARTS_A_THREAD"];
    let early = build(bench.folder.path(), "early.so", &flags, &["library.cpp"]);
    let hooks = InMemory::new(&bench.program, &bench.plan()).unwrap();
    let mut command = bench.command(&bench.program, "count");
    let finished = run(hooks.hook(&mut command, Some(early.into())));
    let said = refused(&finished);
    assert!(said.contains("started a thread before main()"), "{said}");
}

#[test]
fn where_it_is_asked_to_it_starts_as_it_is() {
    let bench = bench(&[]);
    let flags = ["-shared", "-fPIC", "-DSTARTS_A_THREAD"];
    let early = build(bench.folder.path(), "early.so", &flags, &["library.cpp"]);
    for way in ["tells", "calls"] {
        let mut command = Command::new(&bench.program);
        command
            .arg(way)
            .env("LD_LIBRARY_PATH", bench.folder.path())
            .env("COREHOP_BACKEND", "count");
        let plain = run(command.env("LD_PRELOAD", &early));
        assert!(plain.status.success(), "{}", plain.errors);
        let hooks = InMemory::new(&bench.program, &bench.plan()).unwrap();
        let hooks = hooks.or_unhooked(true);
        let unhooked = run(hooks.hook(&mut command, Some(early.clone().into())));
        assert_eq!(
            (unhooked.status, unhooked.output),
            (plain.status, plain.output)
        );
        let said: Vec<&str> = unhooked.errors.lines().collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("started a thread before main()"));
        assert_eq!(said[1], "corehop: starting it without hooks");
    }
}

#[test]
fn a_system_that_lets_no_program_change_its_code_ends_it() {
    let bench = bench(&[]);
    let forbids = build(bench.folder.path(), "forbids", &[], &["forbids.cpp"]);
    let hooks = InMemory::new(&bench.program, &bench.plan()).unwrap();
    let mut command = Command::new(&forbids);
    hooks.hook(&mut command, Some("".into()));
    // `env` sets it, because the filter's own program must not use the server's variables.
    let taken = command.get_envs().filter_map(|(name, value)| {
        Some((
            name.to_owned(),
            format!("{}={}", name.display(), value?.display()),
        ))
    });
    let taken: Vec<_> = taken.collect();
    command.arg("/usr/bin/env");
    for (name, variable) in taken {
        command.env_remove(name).arg(variable);
    }
    command.arg(&bench.program).arg("calls");
    let said = refused(&run(command.env("LD_LIBRARY_PATH", bench.folder.path())));
    assert!(
        said.contains("lets no program change its code (error 13)"),
        "{said}"
    );
}

#[test]
fn a_program_that_the_loader_would_preload_nothing_into_is_refused() {
    let bench = bench(&[]);
    let mode = std::fs::Permissions::from_mode(0o4755);
    std::fs::set_permissions(&bench.program, mode).unwrap();
    let error = InMemory::new(&bench.program, &bench.plan()).unwrap_err();
    assert!(error.to_string().contains("set-user-id"), "{error}");
}
