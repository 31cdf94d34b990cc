//! Checks that texts in a trace, plan, or machine cannot control a terminal or begin a line in
//! corehop's output for people.

use crate::conforming;
use crate::memcached;
use corehop_plan::{Destination, Mode, Plan, PlannedFunction};
use corehop_traces::{
    CodeBlock, EndReason, Error, Function, Header, Kind, Module, Writer, WriterOptions,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Sets a terminal's title, clears the screen, moves the cursor back, begins lines, and reverses
/// text.
const HOSTILE: &str = "x\u{1b}]0;title\u{7}\u{1b}[2J\u{8}\r\nFORGED\u{b}\u{7f}\u{85}\u{9b}31m\
                       \u{61c}\u{200e}\u{2028}FORGED\u{2029}\u{202e}\u{2066}\tend";

/// The printed form.
const SHOWN: &str = r"x\u{1b}]0;title\u{7}\u{1b}[2J\u{8}\r\nFORGED\u{b}";

const CODE: u64 = 0x40_0000;

const MACHINE: &str = include_str!("machines/tiny.toml");

fn hostile(what: &str) -> String {
    format!("{what}{HOSTILE}")
}

/// A folder with a trace, a plan, and a machine whose texts are all hostile.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    record(&path("bank.trace")).unwrap();
    corehop_plan::write(&plan(), &path("split.toml")).unwrap();
    // JSON strings are valid TOML.
    let name = serde_json::Value::from(hostile("machine")).to_string();
    let name = corehop_plan::inert_json(&name);
    std::fs::write(path("tiny.toml"), MACHINE.replace("\"tiny\"", &name)).unwrap();
    folder
}

/// Six requests of three functions, two of which access ten lines each: more than an L2 fits.
fn record(path: &Path) -> Result<(), Error> {
    let header = Header {
        created_by: hostile("created"),
        command: vec![hostile("command"), hostile("argument")],
        request_at: hostile("at"),
        qemu_version: hostile("qemu"),
        architecture: hostile("architecture"),
        has_address_spaces: true,
    };
    let mut writer = Writer::create(path, &header, &WriterOptions::default())?;
    for (start, build_id) in [(CODE, "0a1b".into()), (CODE + 4096, hostile("id"))] {
        writer.module(&Module {
            path: hostile("/module"),
            build_id,
            load_bias: start,
            start,
            end: start + 4096,
        })?;
    }
    let mut blocks = Vec::new();
    for (offset, name) in (0..).step_by(64).zip(["parse", "commit", "inlined"]) {
        let function = writer.function(&Function {
            module: 0,
            offset,
            size_bytes: 4,
            symbol: hostile(name),
            name: hostile(&format!("{name}()")),
            unpatchable: (name == "inlined").then(|| hostile("because")),
        })?;
        blocks.push(writer.code_block(&CodeBlock::new(CODE + offset, [4]), Some(function))?);
    }
    // Code outside known functions belongs to its module.
    blocks.push(writer.code_block(&CodeBlock::new(CODE + 4096, [4]), None)?);
    let thread = writer.thread(1, 1)?;
    for request in 0..6 {
        writer.stamp(thread, request)?;
        writer.request(thread)?;
        for (first, &block) in (1..).map(|place| place * 0x10_0000).zip(&blocks) {
            writer.execution(thread, block)?;
            for load in 0..400 {
                writer.data(thread, 0, Kind::Load, 8, first + load % 10 * 64)?;
            }
        }
    }
    writer.request(thread)?;
    writer.note(3, &hostile("note"))?;
    writer.finish(EndReason::Failed(hostile("failed")))?;
    Ok(())
}

fn plan() -> Plan {
    let planned = |(core, name): (u32, &str)| PlannedFunction {
        module: hostile("/module"),
        build_id: "0a1b".into(),
        offset: u64::from(core) * 64,
        symbol: hostile(name),
        to: Destination::Core(core),
        mode: Mode::Enter,
    };
    Plan {
        version: corehop_plan::VERSION,
        machine: "tiny.toml".into(),
        trace: hostile("trace"),
        cores: 2,
        seed: 1,
        carriers_refuse: None,
        request: None,
        expected: None,
        functions: (0..).zip(["parse", "commit"]).map(planned).collect(),
    }
}

fn corehop(folder: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let command = command.args(arguments).current_dir(folder.path());
    command.output().expect("the command starts")
}

/// Returns whether a character controls the terminal.
fn acts(character: char) -> bool {
    matches!(character, '\0'..' ' | '\u{7f}'..'\u{a0}' | '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
fn is_inert(text: &str, of: &str) {
    for line in text.split('\n') {
        assert!(!line.contains(acts), "{of}: {line:?}");
        assert!(!line.starts_with("FORGED"), "{of}: a forged line");
    }
}

/// Returns both outputs of the command, and asserts that they are inert.
#[track_caller]
fn said(folder: &TempDir, code: i32, arguments: &[&str]) -> [String; 2] {
    let output = corehop(folder, arguments);
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said:?}");
    for text in &said {
        is_inert(text, &arguments.join(" "));
    }
    said
}

/// Asserts that the command succeeds and prints hostile texts in inert form.
#[track_caller]
fn shown(folder: &TempDir, arguments: &[&str]) {
    let [out, _] = said(folder, 0, arguments);
    assert!(out.contains(SHOWN), "{arguments:?}: {out}");
}

/// Asserts that the command succeeds and prints JSON with hostile texts in inert form.
#[track_caller]
fn shown_to_scripts(folder: &TempDir, arguments: &[&str]) {
    let [out, _] = said(folder, 0, arguments);
    let value = conforming::read(arguments, &out);
    assert!(holds(&value, HOSTILE), "{arguments:?}: {out}");
}

fn holds(value: &serde_json::Value, text: &str) -> bool {
    match value {
        serde_json::Value::String(string) => string.contains(text),
        serde_json::Value::Array(values) => values.iter().any(|value| holds(value, text)),
        serde_json::Value::Object(keys) => keys.values().any(|value| holds(value, text)),
        _ => false,
    }
}

#[test]
fn what_is_in_a_trace_is_told() {
    let folder = folder();
    shown(&folder, &["info", "bank.trace", "--columns"]);
    shown_to_scripts(&folder, &["info", "bank.trace", "--json"]);
    said(&folder, 0, &["check", "bank.trace"]);
    said(&folder, 0, &["check", "bank.trace", "--json"]);
    said(&folder, 0, &["export", "bank.trace", "-v"]);
    shown(&folder, &["candidates", "bank.trace", "--all-requests"]);
    let candidates = ["candidates", "bank.trace", "--all-requests", "--json"];
    shown_to_scripts(&folder, &candidates);
}

#[test]
fn what_a_replay_counts_is_told() {
    let folder = folder();
    let replay = ["replay", "bank.trace", "--machine", "tiny.toml", "--detail"];
    let replay = |more: &'static [&str]| [&replay, more].concat();
    shown(&folder, &replay(&["--plan", "split.toml"]));
    shown_to_scripts(&folder, &replay(&["--plan", "split.toml", "--json"]));
    shown(&folder, &replay(&["--segments", "split.toml"]));
    let explain = ["explain", "bank.trace", "--plan", "split.toml"];
    shown(&folder, &explain);
    shown_to_scripts(&folder, &[&explain[..], &["--json"]].concat());
}

#[test]
fn what_a_search_finds_is_told() {
    let folder = folder();
    let search = [
        "partition",
        "bank.trace",
        "--cores",
        "2",
        "--machine",
        "tiny.toml",
    ];
    let few = ["--requests", "3", "--resamples", "2"];
    let search = |more: &'static [&str]| [&search[..], &few, more].concat();
    shown(&folder, &search(&["-v"]));
    shown_to_scripts(&folder, &search(&["--json"]));
    shown(&folder, &search(&["--sweep"]));
    shown_to_scripts(&folder, &search(&["--sweep", "--json"]));
    let [plan, report] = said(
        &folder,
        0,
        &search(&["-o", "-", "--force", "--returns", "auto"]),
    );
    assert!(report.contains(SHOWN), "{report}");
    let plan = corehop_plan::parse(&plan, Path::new("-")).unwrap();
    assert!(plan.functions.iter().any(|of| of.symbol.contains(HOSTILE)));
    said(&folder, 0, &search(&["-o", "found.toml", "--force"]));
    let written = std::fs::read_to_string(folder.path().join("found.toml")).unwrap();
    is_inert(&written, "the plan");
}

#[test]
fn what_is_written_for_people_is_as_inert() {
    let folder = folder();
    let report = [
        "report",
        "split.toml",
        "bank.trace",
        "--machine",
        "tiny.toml",
    ];
    let files = [
        "-o",
        "page.html",
        "--svg",
        "svg",
        "--csv",
        "csv",
        "--requests",
        "3-4",
    ];
    let calls = [
        "--folded",
        "folded",
        "--callgrind",
        "callgrind",
        "--perfetto",
        "perfetto.json",
    ];
    said(&folder, 0, &[&report[..], &files, &calls].concat());
    shown_to_scripts(&folder, &[&report[..], &["--json"]].concat());
    let named = ["page.html", "folded", "callgrind", "perfetto.json"];
    let mut paths = named.map(PathBuf::from).to_vec();
    for of in ["svg", "csv"] {
        let entries = std::fs::read_dir(folder.path().join(of)).unwrap();
        paths.extend(entries.map(|entry| entry.unwrap().path()));
    }
    assert!(paths.len() > 10);
    let mut showing = 0;
    for path in paths {
        let text = std::fs::read_to_string(folder.path().join(&path)).unwrap();
        // Comma-separated values have these line ends.
        is_inert(&text.replace("\r\n", "\n"), &path.display().to_string());
        showing += usize::from(text.contains(SHOWN));
    }
    assert!(showing > 4, "{showing} files name a function");
}

#[test]
fn what_other_profilers_show_is_as_inert() {
    let folder = folder();
    for format in ["callgrind", "speedscope", "firefox"] {
        let profile = ["profile", "bank.trace", "--machine", "tiny.toml"];
        let [file, _] = said(&folder, 0, &[&profile[..], &["--format", format]].concat());
        // A backslash is two in JSON.
        assert!(
            file.replace(r"\\", r"\").contains(SHOWN),
            "{format}: {file}"
        );
    }
}

#[test]
fn a_plan_that_does_not_fit_is_refused() {
    let folder = folder();
    let write = |name: &str, plan: &Plan| {
        corehop_plan::write(plan, &folder.path().join(name)).unwrap();
    };
    let mut other = plan();
    other.functions[0].build_id = "0123".into();
    write("build.toml", &other);
    other = plan();
    other.functions[0].offset = 4;
    write("offset.toml", &other);
    for plan in ["build.toml", "offset.toml"] {
        let [_, refused] = said(&folder, 3, &["replay", "bank.trace", "--plan", plan]);
        assert!(refused.contains(SHOWN), "{refused}");
    }
    // Characters that TOML allows unescaped in a file, valid or not.
    for (name, text) in [
        (
            "syntax.toml",
            "version = 1\nmachine = '\u{9b}31m\u{202e}'\ncores = \"\u{202e}\u{85}\n",
        ),
        (
            "key.toml",
            "version = 1\n\"\u{202e}\u{9b}\" = 1\nmachine = 'm'\n",
        ),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
        said(&folder, 3, &["replay", "bank.trace", "--plan", name]);
        said(&folder, 3, &["replay", "bank.trace", "--machine", name]);
        said(&folder, 3, &["patch", "--plan", name, "-o", "out"]);
    }
    let twice = std::fs::read_to_string(folder.path().join("split.toml")).unwrap();
    let twice = twice.replace("offset = 0x40", "offset = 0x0");
    std::fs::write(folder.path().join("twice.toml"), twice).unwrap();
    let [_, refused] = said(
        &folder,
        3,
        &["replay", "bank.trace", "--plan", "twice.toml"],
    );
    assert!(refused.contains(SHOWN), "{refused}");
}

#[test]
fn damaged_traces_and_foreign_files_are_refused() {
    let folder = folder();
    let whole = std::fs::read(folder.path().join("bank.trace")).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("cut.trace", &whole[..whole.len() - 40]);
    said(&folder, 1, &["check", "cut.trace"]);
    shown(&folder, &["info", "cut.trace"]);
    shown(&folder, &["candidates", "cut.trace", "--all-requests"]);
    write("foreign.lackey", hostile("I  00401000,4\n").as_bytes());
    let import = [
        "import",
        "--format",
        "lackey",
        "foreign.lackey",
        "-o",
        "out",
    ];
    said(&folder, 3, &import);
}

#[test]
fn what_is_patched_and_what_cannot_be_is_told() {
    let folder = folder();
    let (path, offsets) = memcached::plan(folder.path());
    let mut plan = corehop_plan::read(&path).unwrap();
    for function in &mut plan.functions {
        function.symbol = hostile("symbol");
    }
    corehop_plan::write(&plan, &path).unwrap();
    let patch = ["patch", "--plan", path.to_str().unwrap(), "-o", "patched"];
    shown(&folder, &patch);
    let again = [&patch[..], &["--force", "--json"]].concat();
    shown_to_scripts(&folder, &again);
    said(&folder, 0, &["patch", "--verify", "patched"]);
    for function in &mut plan.functions {
        function.offset += 1;
    }
    assert_eq!(plan.functions[0].offset, offsets[0] + 1);
    corehop_plan::write(&plan, &path).unwrap();
    let plan = path.to_str().unwrap();
    let measure = ["measure", "--plan", plan, "--", memcached::SERVER];
    for refused in [
        &again[..],
        &["run", "--plan", plan, "--", memcached::SERVER],
        &measure,
    ] {
        let [_, refused] = said(&folder, 5, refused);
        assert!(refused.contains(SHOWN), "{refused}");
    }
}
