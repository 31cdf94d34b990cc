//! `corehop patch` as scripts see it: exit codes, JSON keys, and no incomplete files.

use crate::conforming;
use crate::memcached;
use crate::memcached::SERVER;
use corehop_plan::{Destination, KthCall, Request, VERSION_BY_ARGUMENT};
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a plan that hooks memcached's first three safe functions.
struct Bench {
    folder: tempfile::TempDir,
    plan: PathBuf,
    offsets: Vec<u64>,
}

fn bench() -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let (plan, offsets) = memcached::plan(folder.path());
    Bench {
        folder,
        plan,
        offsets,
    }
}

fn corehop(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.arg("patch").args(arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    conforming::read(&["patch"], &output.stdout)
}

fn verification(output: &Output) -> Value {
    conforming::read(&["patch", "--verify"], &output.stdout)
}

fn listing(output: &Output) -> Value {
    conforming::read(&["patch", "--list-unsafe"], &output.stdout)
}

impl Bench {
    fn patch(&self, more: &[&str]) -> Output {
        let (plan, output) = (self.plan.to_str().unwrap(), self.output());
        let arguments = [&["--plan", plan, SERVER, "-o", &output], more].concat();
        corehop(&arguments)
    }

    fn output(&self) -> String {
        self.folder.path().join("patched").to_str().unwrap().into()
    }

    fn files(&self) -> usize {
        std::fs::read_dir(self.folder.path()).unwrap().count()
    }
}

#[test]
fn names_that_are_not_utf_8_or_have_spaces_are_printed_so_that_they_can_be_used() {
    let bench = bench();
    let odd = bench.folder.path().join(OsStr::from_bytes(b"odd \xff"));
    std::fs::create_dir(&odd).unwrap();
    let program = odd.join("patched");
    let arguments: [&OsStr; 6] = [
        OsStr::new("--json"),
        OsStr::new("--plan"),
        bench.plan.as_os_str(),
        OsStr::new(SERVER),
        OsStr::new("-o"),
        program.as_os_str(),
    ];
    let patch = |arguments: &[&OsStr]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
        let output = command.arg("patch").args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output
    };
    let patched = json(&patch(&arguments));
    assert!(patched["command"].as_str().unwrap().ends_with("/patched'"));
    for mode in ["--verify", "--list-unsafe"] {
        let arguments = ["--json", mode].map(OsStr::new);
        patch(&[&arguments[..], &[program.as_os_str()]].concat());
    }
    let spaced = bench.folder.path().join("with a space");
    std::fs::create_dir(&spaced).unwrap();
    let (plan, program) = (bench.plan.to_str().unwrap(), spaced.join("patched"));
    let output = corehop(&["--plan", plan, SERVER, "-o", program.to_str().unwrap()]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("with a space/patched'"), "{said}");
}

#[test]
fn several_calls_of_a_function_are_one_function_to_hook() {
    let bench = bench();
    let mut plan = corehop_plan::read(&bench.plan).unwrap();
    let [begins, called, _] = &plan.functions[..] else {
        panic!("three functions");
    };
    plan.request = Some(Request {
        module: begins.module.clone(),
        build_id: begins.build_id.clone(),
        offset: begins.offset,
        symbol: begins.symbol.clone(),
    });
    let calls = [(1, 64), (0, 1)].map(|(core, call)| {
        let mut function = called.clone();
        function.to = Destination::At(KthCall { core, call });
        function
    });
    plan.functions = [std::slice::from_ref(begins), &calls[..]].concat();
    plan.version = VERSION_BY_ARGUMENT;
    corehop_plan::write(&plan, &bench.plan).unwrap();
    let report = json(&bench.patch(&["--json"]));
    let hooks = report["files"][0]["hooks"].as_array().unwrap();
    let calls: Vec<(&Value, &Value)> = hooks.iter().map(|h| (&h["core"], &h["call"])).collect();
    let expected = [(0, Value::Null), (0, 1.into()), (1, 64.into())];
    let expected = expected.map(|(core, call)| (Value::from(core), call));
    assert_eq!(calls, expected.each_ref().map(|(core, call)| (core, call)));
    let told = bench.patch(&["--force"]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(
        told.contains("patched: 2 functions hooked, for 2 cores"),
        "{told}"
    );
    assert!(told.contains("core 1 at call 64  f1"), "{told}");
    let verified = verification(&corehop(&["--verify", &bench.output(), "--json"]));
    assert_eq!(
        (&verified["sound"], &verified["hooks"]),
        (&true.into(), &3.into())
    );
}

#[test]
fn patching_reports_what_it_wrote() {
    let bench = bench();
    let done = bench.patch(&["--json"]);
    assert_eq!(done.status.code(), Some(0));
    let report = json(&done);
    let file = &report["files"][0];
    assert_eq!(file["output"], bench.output().as_str());
    assert_eq!(report["command"], bench.output().as_str());
    assert!(Path::new(report["runtime"].as_str().unwrap()).exists());
    let hooks = file["hooks"].as_array().unwrap();
    assert_eq!(hooks.len(), 3);
    assert_eq!(hooks[1]["offset"], bench.offsets[1]);
    assert_eq!(
        (&hooks[1]["symbol"], &hooks[1]["core"]),
        (&"f1".into(), &1.into())
    );

    let again = bench.patch(&[]);
    assert_eq!(again.status.code(), Some(4), "it exists");
    assert!(String::from_utf8_lossy(&again.stderr).contains("--force"));
    assert_eq!(bench.patch(&["--force"]).status.code(), Some(0));

    let verified = corehop(&["--verify", &bench.output(), "--original", SERVER, "--json"]);
    assert_eq!(verified.status.code(), Some(0));
    assert_eq!(
        (
            &verification(&verified)["sound"],
            &verification(&verified)["hooks"]
        ),
        (&true.into(), &3.into())
    );
    let mut bytes = std::fs::read(bench.output()).unwrap();
    bytes[bench.offsets[0] as usize + 64] ^= 1;
    std::fs::write(bench.output(), bytes).unwrap();
    let damaged = corehop(&["--verify", &bench.output(), "--json"]);
    assert_eq!(damaged.status.code(), Some(1));
    assert_eq!(verification(&damaged)["sound"], false);
    assert_eq!(
        verification(&damaged)["findings"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn the_files_of_a_plan_go_into_one_folder_with_the_command_that_starts_them() {
    let bench = bench();
    let library = "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0";
    let analysis = corehop_patcher::Analysis::of(Path::new(library)).unwrap();
    let offset = analysis.functions()[0].offset;
    let mut text = std::fs::read_to_string(&bench.plan).unwrap();
    text += &format!(
        "[[function]]\nmodule = '{library}'\nbuild_id = '{}'\noffset = {offset}\n\
         symbol = 'first'\ncore = 1\nmode = 'enter'\n",
        analysis.build_id().unwrap()
    );
    std::fs::write(&bench.plan, &text).unwrap();
    let arguments = ["--plan", bench.plan.to_str().unwrap(), "--json", "-o"];
    let folder = bench.output();
    let done = corehop(&[&arguments[..], &[&folder]].concat());
    assert_eq!(done.status.code(), Some(0));
    let report = json(&done);
    assert_eq!(report["files"].as_array().unwrap().len(), 2);
    assert_eq!(
        report["command"],
        format!("LD_LIBRARY_PATH={folder} {folder}/memcached")
    );
    for name in ["memcached", "libsqlite3.so.0"] {
        let verified = corehop(&["--verify", &format!("{folder}/{name}")]);
        assert_eq!(verified.status.code(), Some(0), "{name}");
    }
    // Without the library that announces it to the runtime, a library's hooks would never become
    // active.
    let id = analysis.build_id().unwrap();
    std::fs::remove_file(format!("{folder}/libcorehop-arrival-{id}.so")).unwrap();
    let verified = corehop(&["--verify", &format!("{folder}/libsqlite3.so.0")]);
    assert_eq!(verified.status.code(), Some(1));
    // If one entry cannot be hooked, no file is written.
    let moved = text.replace(&format!("offset = {offset}\n"), "offset = 1\n");
    std::fs::write(&bench.plan, moved).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let refused = corehop(&[&arguments[..], &[&folder]].concat());
    assert_eq!(refused.status.code(), Some(5));
    assert_eq!(bench.files(), 1, "the plan alone");
}

#[test]
fn every_way_to_fail_has_its_exit_code_and_leaves_nothing() {
    let bench = bench();
    let plan = bench.plan.to_str().unwrap();
    let output = bench.output();
    let code = |arguments: &[&str]| corehop(arguments).status.code();
    assert_eq!(code(&[]), Some(2));
    assert_eq!(code(&["--plan", plan]), Some(2), "no output named");
    assert_eq!(
        code(&["--plan", "/nowhere", SERVER, "-o", &output]),
        Some(3)
    );
    assert_eq!(code(&["--plan", plan, "/nowhere", "-o", &output]), Some(3));
    assert_eq!(
        code(&["--plan", plan, plan, "-o", &output]),
        Some(3),
        "not ELF"
    );
    assert_eq!(
        code(&["--plan", plan, "/bin/sh", "-o", &output]),
        Some(5),
        "not its plan"
    );
    assert_eq!(
        code(&["--plan", plan, SERVER, "-o", "/nowhere/out"]),
        Some(4)
    );
    assert_eq!(code(&["--verify", SERVER]), Some(3), "not patched");
    assert_eq!(code(&["--list-unsafe", plan]), Some(3));
    let text = std::fs::read_to_string(plan).unwrap();
    let next = format!("offset = {}", bench.offsets[0] + 1);
    let moved = text.replacen(&format!("offset = {}", bench.offsets[0]), &next, 1);
    std::fs::write(plan, moved).unwrap();
    let refused = bench.patch(&[]);
    assert_eq!(refused.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot hook f0 at 0x"));
    assert_eq!(bench.files(), 1, "the plan alone");
}

/// Writes a plan of this number of functions that are no entries.
fn moved(bench: &Bench, functions: u64) {
    let text = std::fs::read_to_string(&bench.plan).unwrap();
    let (head, first) = text.split_once("[[function]]").unwrap();
    let (first, _) = first.split_once("[[function]]").unwrap();
    let offset = format!("offset = {}", bench.offsets[0]);
    let function = |number: u64| {
        let first = first.replace("'f0'", &format!("'g{number}'"));
        let next = format!("offset = {}", bench.offsets[0] + 1 + number);
        format!("[[function]]{}", first.replace(&offset, &next))
    };
    let functions: String = (0..functions).map(function).collect();
    std::fs::write(&bench.plan, head.to_owned() + &functions).unwrap();
}

#[test]
fn of_many_functions_that_cannot_be_hooked_ten_are_told_a_line_each() {
    let lines = |functions: u64| {
        let bench = bench();
        moved(&bench, functions);
        let refused = bench.patch(&[]);
        assert_eq!(refused.status.code(), Some(5));
        let said = String::from_utf8(refused.stderr).unwrap();
        let said: Vec<String> = said.lines().map(str::to_owned).collect();
        (said, bench.offsets[0] + 1)
    };
    let (said, first) = lines(12);
    assert_eq!(said.len(), 13, "{said:#?}");
    let head = format!("corehop: {SERVER}: cannot hook 12 functions of the plan");
    assert_eq!(said[0], head);
    for (number, line) in said[1..11].iter().enumerate() {
        let begins = format!("    g{number} at {:#x}: ", first + number as u64);
        assert!(line.starts_with(&begins), "{line}");
        assert!(line.len() > begins.len() && line.len() < 200, "{line}");
    }
    assert_eq!(said[11], "    and 2 more");
    assert!(said[12].starts_with("  remedy: "), "{said:#?}");
    assert_eq!(lines(10).0.len(), 12, "nothing more");
    let (said, _) = lines(1);
    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(said[0].contains("cannot hook g0 at 0x"), "{said:#?}");
}

#[test]
fn scripts_get_all_functions_that_cannot_be_hooked() {
    let bench = bench();
    moved(&bench, 12);
    let refused = bench.patch(&["--json"]);
    assert_eq!(refused.status.code(), Some(5));
    let report = json(&refused);
    assert_eq!(report["file"], SERVER);
    let functions = report["unhookable"].as_array().unwrap();
    assert_eq!(functions.len(), 12);
    assert_eq!(functions[11]["symbol"], "g11");
    assert_eq!(functions[11]["offset"], bench.offsets[0] + 12);
    assert_eq!(functions[11]["mode"], "enter");
    assert!(functions[11]["reason"].is_string());
}

#[test]
fn a_full_disk_leaves_nothing() {
    let bench = bench();
    let program = env!("CARGO_BIN_EXE_corehop");
    let script = format!(
        "ulimit -f 100; exec {program} patch --plan '{}' {SERVER} -o '{}'",
        bench.plan.display(),
        bench.output()
    );
    let failed = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(failed.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("cannot write"));
    assert_eq!(bench.files(), 1, "the plan alone");
}

#[test]
fn unsafe_entries_are_listed_with_their_share() {
    let listed = listing(&corehop(&["--list-unsafe", "/usr/sbin/nginx", "--json"]));
    let (functions, safe) = (
        listed["functions"].as_u64().unwrap(),
        listed["safe"].as_u64(),
    );
    let unsafe_ones = listed["unsafe"].as_array().unwrap();
    assert_eq!(functions - safe.unwrap(), unsafe_ones.len() as u64);
    assert!(listed["safe_share"].as_f64().unwrap() > 0.98);
    assert!(!unsafe_ones.is_empty());
    assert!(
        unsafe_ones
            .iter()
            .all(|f| f["reason"].is_string() && f["offset"].is_u64())
    );
    let text = corehop(&["--list-unsafe", "/usr/sbin/nginx"]).stdout;
    let text = String::from_utf8(text).unwrap();
    let one_way = listed["call_unsafe"].as_array().unwrap();
    assert_eq!(text.lines().count(), unsafe_ones.len() + one_way.len() + 1);
    let two_way = listed["call_safe"].as_u64().unwrap();
    assert_eq!(safe.unwrap() - two_way, one_way.len() as u64);
    assert!(listed["call_safe_share"].as_f64().unwrap() >= 0.9);
    assert!(text.contains("functions can be patched ("));
}

#[test]
fn entries_of_a_library_are_told_like_those_of_a_program() {
    let library = "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0";
    let listed = listing(&corehop(&["--list-unsafe", library, "--json"]));
    assert!(listed["safe_share"].as_f64().unwrap() >= 0.99);
    assert!(listed["refusal"].is_null());
}
