//! What is refused, with which message; and that a refusal leaves no files behind.

use crate::workshop::{build, patched, plan_of, plan_of_all};
use corehop_patcher::{Error, patch, verify};
use corehop_plan::{Mode, Plan};
use corehop_support::atomic_file::Error::{Exists, Write as Unwritten};
use rustix::fs::{CWD, FileType, Mode as Rights, mknodat};
use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

struct Bench {
    folder: tempfile::TempDir,
    binary: PathBuf,
    plan: Plan,
}

fn bench() -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let binary = build(folder.path(), "entries", &["-pie"], &["entries.s"]);
    let plan = plan_of(&binary, 2, &[("plain", 0), ("calls_last", 1)]);
    Bench {
        folder,
        binary,
        plan,
    }
}

impl Bench {
    fn files(&self) -> BTreeSet<PathBuf> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Tries to patch, expects an error, and checks that no file appeared or vanished.
    fn refused(&self, binary: &Path, plan: &Plan, output: &Path) -> Error {
        let before = self.files();
        let error = patch(binary, plan, output, false).expect_err("it was patched");
        assert_eq!(before, self.files());
        error
    }

    /// Returns the reason of the plan's refusal.
    fn reason(&self, binary: &Path, plan: &Plan) -> String {
        match self.refused(binary, plan, &self.folder.path().join("out")) {
            Error::Refused { reason, .. } => reason,
            Error::Unhookable { functions, .. } => {
                let functions = functions.iter().map(ToString::to_string);
                functions.collect::<Vec<_>>().join("; ")
            }
            other => panic!("not a refusal: {other}"),
        }
    }

    /// Returns what is wrong with the binary after `change`.
    fn problem(&self, change: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut bytes = std::fs::read(&self.binary).unwrap();
        change(&mut bytes);
        let changed = self.folder.path().join("changed");
        std::fs::write(&changed, bytes).unwrap();
        match self.refused(&changed, &self.plan, &self.folder.path().join("out")) {
            Error::Input { problem, .. }
            | Error::Refused {
                reason: problem, ..
            } => problem,
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_plan_for_another_build_is_refused() {
    let bench = bench();
    let mut plan = bench.plan.clone();
    plan.functions[1].build_id = "0123".into();
    let reason = bench.reason(&bench.binary, &plan);
    assert!(
        reason.contains("made for build id 0123, but this file's is "),
        "{reason}"
    );
    for function in &mut plan.functions {
        function.module = "/usr/sbin/other".into();
        function.build_id = "0123".into();
    }
    let reason = bench.reason(&bench.binary, &plan);
    assert!(
        reason.contains("the plan has no function of this file"),
        "{reason}"
    );
    plan.functions.clear();
    assert_eq!(bench.reason(&bench.binary, &plan), reason);
}

#[test]
fn going_back_where_no_return_can_be_hooked_is_refused() {
    let bench = bench();
    let mut plan = bench.plan.clone();
    plan.functions[1].mode = Mode::Call;
    let reason = bench.reason(&bench.binary, &plan);
    let symbol = &plan.functions[1].symbol;
    let offset = plan.functions[1].offset;
    let expected = format!(
        "{symbol} at {offset:#x} in mode \"call\" (mode \"enter\" would do): no unwind \
         information shows that the return at 0x"
    );
    assert!(reason.starts_with(&expected), "{reason}");
}

#[test]
fn half_a_plan_is_not_patched() {
    let bench = bench();
    let mut plan = bench.plan.clone();
    let other = "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0";
    let analysis = corehop_patcher::Analysis::of(Path::new(other)).unwrap();
    let symbol = |f: &&corehop_patcher::Function| f.symbol.as_deref() == Some("sqlite3_step");
    let step = analysis.functions().iter().find(symbol).unwrap();
    plan.functions[1].module = other.into();
    plan.functions[1].build_id = analysis.build_id().unwrap().into();
    plan.functions[1].offset = step.offset;
    let reason = bench.reason(&bench.binary, &plan);
    assert!(reason.contains("names functions of 2 files"), "{reason}");
    plan.functions[1].module = "/usr/lib/other.so".into();
    let output = bench.folder.path().join("out");
    let error = bench.refused(&bench.binary, &plan, &output);
    assert!(
        matches!(&error, Error::Read { path, .. } if path == Path::new("/usr/lib/other.so")),
        "{error}"
    );
}

#[test]
fn an_offset_that_is_no_entry_is_refused() {
    let bench = bench();
    let mut plan = bench.plan.clone();
    plan.functions[0].offset += 1;
    let reason = bench.reason(&bench.binary, &plan);
    assert!(reason.starts_with("plain at 0x"), "{reason}");
    assert!(reason.contains("not the entry of a function"), "{reason}");
}

#[test]
fn an_unsafe_entry_is_refused_with_its_reason() {
    let bench = bench();
    let plan = plan_of(&bench.binary, 1, &[("plain", 0), ("loops_behind_entry", 0)]);
    let reason = bench.reason(&bench.binary, &plan);
    assert!(reason.starts_with("loops_behind_entry at 0x"), "{reason}");
    assert!(reason.contains("branches to"), "{reason}");
}

#[test]
fn a_patched_file_is_not_patched_again() {
    let bench = bench();
    let output = patched(&bench.binary, &bench.plan, bench.folder.path()).output;
    let reason = bench.reason(&output, &bench.plan);
    assert!(reason.contains("already patched"), "{reason}");
}

#[test]
fn a_static_program_is_refused() {
    let bench = bench();
    for (name, flag) in [("static", "-static"), ("static-pie", "-static-pie")] {
        let binary = build(bench.folder.path(), name, &[flag], &["entries.s"]);
        let plan = plan_of(&binary, 1, &[("plain", 0)]);
        let reason = bench.reason(&binary, &plan);
        assert!(reason.contains("static"), "{reason}");
        assert!(
            reason.ends_with("link it dynamically, to glibc (without -static and -static-pie)")
        );
    }
}

#[test]
fn a_program_with_a_sanitizer_is_refused() {
    let bench = bench();
    for kind in ["address", "thread"] {
        let flag = format!("-fsanitize={kind}");
        let flags = ["-std=c++20", &flag];
        let binary = build(bench.folder.path(), kind, &flags, &["notices_rights.cpp"]);
        let plan = plan_of(&binary, 1, &[("first_core", 0)]);
        let reason = bench.reason(&binary, &plan);
        assert!(reason.ends_with("build it without"), "{reason}");
    }
}

#[test]
fn a_program_without_build_id_is_refused() {
    let bench = bench();
    let flags = ["-Wl,--build-id=none"];
    let binary = build(bench.folder.path(), "nameless", &flags, &["entries.s"]);
    let reason = bench.reason(&binary, &bench.plan);
    assert!(reason.contains("it has no build id"), "{reason}");
}

#[test]
fn a_set_user_id_program_is_refused() {
    let bench = bench();
    let mode = std::fs::Permissions::from_mode(0o4755);
    std::fs::set_permissions(&bench.binary, mode).unwrap();
    let reason = bench.reason(&bench.binary, &bench.plan);
    assert!(reason.contains("set-user-id"), "{reason}");
}

#[test]
fn a_foreign_or_damaged_file_is_named_as_such() {
    let bench = bench();
    let says = |change: fn(&mut Vec<u8>), part: &str| {
        let problem = bench.problem(change);
        assert!(problem.contains(part), "{part}: {problem}");
    };
    says(|bytes| bytes.clear(), "not an ELF file");
    says(|bytes| bytes[0] = b'#', "not an ELF file");
    says(
        |bytes| *bytes = b"#! /usr/bin/python3 -B\nimport this\n".to_vec(),
        "a script: name the program that runs it, and then the script: /usr/bin/python3 -B",
    );
    says(|bytes| bytes[4] = 1, "32-bit");
    says(|bytes| bytes[18] = 183, "another processor");
    says(
        |bytes| bytes[16] = 1,
        "neither a program nor a shared library",
    );
    says(
        |bytes| bytes[8..12].copy_from_slice(b"UPX!"),
        "packed with UPX",
    );
    says(
        |bytes| bytes[56..58].copy_from_slice(&[0xff; 2]),
        "65535 program headers",
    );
    says(
        |bytes| bytes.truncate(40),
        "cut short within the ELF header",
    );
    says(
        |bytes| bytes.truncate(100),
        "cut short within the program headers",
    );
    says(|bytes| bytes.truncate(5000), "cut short");
    says(|bytes| bytes.truncate(bytes.len() - 1), "cut short");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let bench = bench();
    let nowhere = bench.folder.path().join("nowhere");
    let output = bench.folder.path().join("out");
    let error = bench.refused(&nowhere, &bench.plan, &output);
    assert!(
        matches!(&error, Error::Read { path, .. } if *path == nowhere),
        "{error}"
    );
    let error = bench.refused(bench.folder.path(), &bench.plan, &output);
    assert!(matches!(error, Error::Read { .. }), "{error}");
}

#[test]
fn an_existing_output_is_kept_without_force() {
    let bench = bench();
    let output = bench.folder.path().join("out");
    std::fs::write(&output, "precious").unwrap();
    let error = bench.refused(&bench.binary, &bench.plan, &output);
    assert!(
        matches!(&error, Error::Output(Exists { path }) if *path == output),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "precious");
    patch(&bench.binary, &bench.plan, &output, true).unwrap();
    assert_eq!(
        verify(&output, Some(&bench.binary)).unwrap().findings,
        Vec::<String>::new()
    );
}

#[test]
fn a_different_runtime_in_the_folder_is_kept_without_force() {
    let bench = bench();
    let runtime = bench.folder.path().join(corehop_runtime::NAME);
    std::fs::write(&runtime, "of another build").unwrap();
    let output = bench.folder.path().join("out");
    let error = bench.refused(&bench.binary, &bench.plan, &output);
    assert!(
        matches!(&error, Error::Output(Exists { path }) if *path == runtime),
        "{error}"
    );
    patch(&bench.binary, &bench.plan, &output, true).unwrap();
    assert_eq!(std::fs::read(&runtime).unwrap(), corehop_runtime::LIBRARY);
}

/// A patched file is run, and found by its name: it must be a regular file.
#[test]
fn only_a_file_gives_way_to_an_output() {
    let bench = bench();
    let here = |name: &str| bench.folder.path().join(name);
    let pipe = FileType::Fifo;
    mknodat(CWD, here("pipe"), pipe, Rights::RUSR | Rights::WUSR, 0).unwrap();
    std::os::unix::fs::symlink("/dev/null", here("null")).unwrap();
    std::fs::write(here("file"), "precious").unwrap();
    std::os::unix::fs::symlink("file", here("link")).unwrap();
    for (name, what) in [
        ("pipe", "a device or pipe"),
        ("null", "a device or pipe"),
        ("link", "a symbolic link to a file"),
        ("link-to-nothing", "a symbolic link to nothing"),
    ] {
        let output = here(name);
        if name == "link-to-nothing" {
            std::os::unix::fs::symlink("nowhere", &output).unwrap();
        }
        let before = bench.files();
        let error = patch(&bench.binary, &bench.plan, &output, true).unwrap_err();
        assert!(matches!(error, Error::Output(_)), "{error}");
        let said = format!("{} is {what}", output.display());
        assert!(error.to_string().starts_with(&said), "{error}");
        assert_eq!(bench.files(), before);
    }
    // The same holds for the runtime that is written next to the output.
    let runtime = here(corehop_runtime::NAME);
    std::fs::write(here("runtime"), corehop_runtime::LIBRARY).unwrap();
    std::os::unix::fs::symlink("runtime", &runtime).unwrap();
    let error = patch(&bench.binary, &bench.plan, &here("out"), true).unwrap_err();
    let said = format!("{} is a symbolic link to a file", runtime.display());
    assert!(error.to_string().starts_with(&said), "{error}");
    let kinds = ["pipe", "null", "link"].map(|name| {
        let kind = here(name).symlink_metadata().unwrap().file_type();
        (kind.is_fifo(), kind.is_symlink())
    });
    assert_eq!(kinds, [(true, false), (false, true), (false, true)]);
    assert_eq!(std::fs::read(here("file")).unwrap(), b"precious");
}

#[test]
fn the_original_is_never_the_output() {
    let bench = bench();
    let before = std::fs::read(&bench.binary).unwrap();
    let error = patch(&bench.binary, &bench.plan, &bench.binary, true).unwrap_err();
    assert!(
        error.to_string().contains("the output is the original"),
        "{error}"
    );
    assert_eq!(std::fs::read(&bench.binary).unwrap(), before);
}

#[test]
fn an_output_folder_that_is_not_there_is_an_output_error() {
    let bench = bench();
    let output = bench.folder.path().join("missing/out");
    let error = bench.refused(&bench.binary, &bench.plan, &output);
    assert!(matches!(error, Error::Output(Unwritten { .. })), "{error}");
}

#[test]
fn what_is_appended_to_a_program_stays_at_its_end() {
    let bench = bench();
    let mut bytes = std::fs::read(&bench.binary).unwrap();
    bytes.extend([0; 5]);
    std::fs::write(&bench.binary, &bytes).unwrap();
    patched(&bench.binary, &bench.plan, bench.folder.path());
    bytes.extend(b"payload");
    std::fs::write(&bench.binary, &bytes).unwrap();
    let reason = bench.reason(&bench.binary, &bench.plan);
    assert!(
        reason.contains("12 bytes are appended to it") && reason.contains("`corehop run --plan`"),
        "{reason}"
    );
}

#[test]
fn mode_bits_are_kept_and_the_original_is_only_read() {
    let bench = bench();
    let before = std::fs::read(&bench.binary).unwrap();
    std::fs::set_permissions(&bench.binary, std::fs::Permissions::from_mode(0o750)).unwrap();
    let done = patched(
        &bench.binary,
        &plan_of_all(&bench.binary, 2),
        bench.folder.path(),
    );
    let mode = std::fs::metadata(&done.output)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o750);
    assert_eq!(std::fs::read(&bench.binary).unwrap(), before);
}

#[test]
fn verify_tells_a_wrong_original_and_an_unpatched_file() {
    let bench = bench();
    let output = patched(&bench.binary, &bench.plan, bench.folder.path()).output;
    let other = build(bench.folder.path(), "other", &[], &["places.cpp"]);
    let findings = verify(&output, Some(&other)).unwrap().findings;
    assert!(
        findings[0].contains("does not restore the given original"),
        "{findings:?}"
    );
    let error = verify(&bench.binary, None).unwrap_err();
    assert!(error.to_string().contains("it has no manifest"), "{error}");
}
