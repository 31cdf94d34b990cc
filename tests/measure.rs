//! `corehop measure` on a real redis-server: its measurements, its output, and its files.
//!
//! No verdict here depends on the speed of this machine: tests that assert a verdict use a load
//! that prints prepared numbers.

use crate::figures;
use crate::interrupting::interrupt;
use corehop_patcher::Analysis;
use std::path::Path;
use std::process::{Command, Stdio};

const SERVER: &str = "/usr/bin/redis-server";

/// Two functions that every request enters once, one after the other.
const FUNCTIONS: [&str; 2] = ["processCommand", "call"];

/// Writes a plan for them into `folder`.
fn plan(folder: &Path) {
    let program = Path::new(SERVER).canonicalize().unwrap();
    let analysis = Analysis::of(&program).unwrap();
    let mut text = String::from(
        "version = 1\nmachine = 'xeon-e5-2620-v4'\ntrace = 't'\ncores = 2\nseed = 1\n",
    );
    for (core, name) in FUNCTIONS.into_iter().enumerate() {
        let named = |f: &&corehop_patcher::Function| f.symbol.as_deref() == Some(name);
        let offset = analysis.functions().iter().find(named).unwrap().offset;
        let (module, id) = (program.display(), analysis.build_id().unwrap());
        text += &format!(
            "[[function]]\nmodule = '{module}'\nbuild_id = '{id}'\noffset = {offset}\n\
             symbol = '{name}'\ncore = {core}\nmode = 'enter'\n"
        );
    }
    std::fs::write(folder.join("split.toml"), text).unwrap();
}

/// Returns `corehop measure` in `folder`, for a server on a socket there.
fn measure(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command
        .current_dir(folder)
        .env("COREHOP_BACKEND", "count")
        .args(["measure", "--plan", "split.toml"])
        .args(arguments)
        .args([
            "--",
            SERVER,
            "--port",
            "0",
            "--unixsocket",
            "socket",
            "--save",
            "",
        ]);
    command
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    plan(folder.path());
    folder
}

/// Returns a load that prints the next of these numbers at each run.
fn recorded(folder: &Path, numbers: &str) -> String {
    std::fs::write(folder.join("numbers"), numbers.replace(' ', "\n")).unwrap();
    "echo >> calls; echo \"rate $(sed -n \"$(wc -l < calls)p\" numbers)\"".into()
}

#[test]
fn requests_and_hops_under_load_are_counted_to_the_last() {
    let folder = folder();
    let load = "redis-cli -s socket -r 200 ping > /dev/null";
    let wanted = [
        "--load",
        load,
        "--count",
        "processCommand",
        "--rounds",
        "2",
        "--json",
    ];
    let output = measure(folder.path(), &wanted).output().unwrap();
    let figures = figures::of("measure", &output);
    // After two rounds, the verdict may be "slower".
    assert!(matches!(output.status.code(), Some(0 | 8)), "{figures}");
    assert_eq!(figures["hops"]["backend"], "count");
    // One request to each function, in two counted loads of 200; warm-up loads are not counted.
    assert_eq!(figures["hops"]["hops"], 2 * 200 * 2, "{figures}");
    assert_eq!(figures["hops"]["failed_hops"], 0);
    for side in ["original", "patched"] {
        let rates = figures[side].as_array().unwrap();
        assert_eq!(rates.len(), 2);
        assert!(rates.iter().all(|rate| rate.as_f64().unwrap() > 0.0));
    }
    let [low, high] = [0, 1].map(|end| figures["interval"][end].as_f64().unwrap());
    assert!((low..=high).contains(&figures["ratio"].as_f64().unwrap()));
    let is_counted = figures["counters"]["available"].as_bool().unwrap();
    assert_eq!(figures["counters"]["reason"].is_string(), !is_counted);
}

#[test]
fn sides_take_turns_and_what_the_load_prints_decides() {
    let folder = folder();
    // Original and patched, then patched and original.
    let load = recorded(folder.path(), "100 120 122 101 99 121 119 100");
    let throughput = [
        "--throughput",
        "rate ([0-9]+)",
        "--warm-up",
        "0",
        "--rounds",
        "4",
    ];
    let mut arguments = vec!["--load", &load, "--require-gain", "15"];
    arguments.extend(throughput);
    let output = measure(folder.path(), &arguments).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[0],
        "/usr/bin/redis-server: 4 rounds, original and patched in turn; medians"
    );
    assert_eq!(
        lines[3],
        "throughput              100.0000      121.0000   +21.0 %"
    );
    let line = |name: &str| lines.iter().find(|line| line.starts_with(name)).copied();
    assert_eq!(
        line("ratio"),
        Some("ratio       1.205; 95 % interval 1.184 to 1.227")
    );
    assert_eq!(
        line("these show"),
        Some("these show  changes of 1.8 % and more")
    );
    assert_eq!(line("verdict"), Some("verdict     faster: +20.5 %"));
    assert_eq!(output.status.code(), Some(0));
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(
        warning.contains("never hopped (backend count)"),
        "{warning}"
    );

    let load = recorded(folder.path(), "100 120 122 101 99 121 119 100");
    std::fs::remove_file(folder.path().join("calls")).unwrap();
    let mut arguments = vec!["--load", &load, "--require-gain", "19"];
    arguments.extend(throughput);
    let output = measure(folder.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("required gain: 19 %; the interval begins at 18.4 %"),
        "{said}"
    );
}

#[test]
fn a_program_that_ends_by_itself_is_its_own_load_and_no_difference_is_said() {
    let folder = folder();
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let arguments = [
        "--rounds",
        "2",
        "--warm-up",
        "0",
        "--throughput",
        "v=([0-9]+)",
        "--json",
    ];
    // The old name of the command.
    command
        .current_dir(folder.path())
        .args(["verify", "--plan", "split.toml"])
        .args(arguments)
        .args(["--require-gain", "0", "--", SERVER, "--version"]);
    let output = command.output().unwrap();
    let figures = figures::of("measure", &output);
    assert_eq!(figures["original"], figures["patched"]);
    assert_eq!(figures["interval"], serde_json::json!([1.0, 1.0]));
    assert_eq!(figures["verdict"], "no-difference");
    assert_eq!(figures["resolution_percent"], 0.0);
    assert_eq!(figures["is_met"], true, "no loss was all that was required");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn every_way_not_to_measure_has_its_exit_code_and_remedy() {
    let folder = folder();
    let failed = |arguments: &[&str], code: i32, word: &str| {
        let output = measure(folder.path(), arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(word) && said.contains("remedy: "), "{said}");
    };
    failed(&["--load", "echo no >&2; exit 9"], 7, "    no\n");
    failed(
        &["--load", "redis-cli -s socket shutdown nosave"],
        7,
        "the server ended, exit",
    );
    failed(
        &["--load", "true", "--ready", "false", "--ready-within", "0"],
        7,
        "not ready within",
    );
    failed(
        &["--load", "echo", "--throughput", "(1)"],
        3,
        "has no match",
    );
    failed(
        &["--load", "true", "--count", "call"],
        3,
        "the function was never called",
    );
    failed(
        &["--load", "true", "--count", "main"],
        2,
        "processCommand, call",
    );
    failed(&["--load", "true", "--trace", "nowhere"], 3, "nowhere");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    failed(
        &["--load", "true", "--ready-port", &port],
        3,
        "before the server is started",
    );
    let code = |arguments: &[&str]| {
        measure(folder.path(), arguments)
            .output()
            .unwrap()
            .status
            .code()
    };
    assert_eq!(code(&["--rounds", "1"]), Some(2));
    assert_eq!(code(&["--throughput", "[0-9]+"]), Some(2), "no group");
}

#[test]
fn after_an_interrupt_neither_server_nor_load_is_left() {
    let folder = folder();
    let load = "echo $$ > load; touch started; exec sleep 1000";
    let mut command = measure(folder.path(), &["--load", load]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    interrupt(&mut child, || folder.path().join("started").exists());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let load = std::fs::read_to_string(folder.path().join("load")).unwrap();
    assert!(
        !Path::new("/proc").join(load.trim()).exists(),
        "the load goes on"
    );
    let socket = std::os::unix::net::UnixStream::connect(folder.path().join("socket"));
    assert!(socket.is_err(), "the server goes on");
}

#[test]
fn after_an_interrupt_the_rounds_before_it_are_printed() {
    let folder = folder();
    let numbers = recorded(folder.path(), "100 120 122 101 99 121");
    let load =
        format!("[ $(wc -l < calls) -lt 6 ] || {{ touch hangs; exec sleep 1000; }}; {numbers}");
    let mut arguments = vec!["--load", &load, "--require-gain", "15", "--rounds", "9"];
    arguments.extend(["--throughput", "rate ([0-9]+)", "--warm-up", "0"]);
    let interrupted = |more: &[&str]| {
        std::fs::write(folder.path().join("calls"), "").unwrap();
        let hangs = folder.path().join("hangs");
        let _ = std::fs::remove_file(&hangs);
        let mut command = measure(folder.path(), &[&arguments[..], more].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        interrupt(&mut child, || hangs.exists());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        output
    };
    let output = interrupted(&[]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        printed.contains(": 3 rounds, original and patched in turn"),
        "{printed}"
    );
    assert!(
        printed.ends_with(
            "verdict     none: measuring ended early: interrupted; every server was ended\n"
        ),
        "{printed}"
    );
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.ends_with("the rounds before it are kept: they are above\n"),
        "{told}"
    );
    let figures = figures::of("measure", &interrupted(&["--json"]));
    assert_eq!(figures["rounds"], 3);
    assert_eq!(figures["verdict"], "inconclusive");
    assert_eq!(
        figures["ended_early"],
        "interrupted; every server was ended"
    );
}

#[test]
fn a_slower_server_has_an_exit_code_of_its_own_and_wide_intervals_say_nothing() {
    let folder = folder();
    let measured = |numbers: &str, more: &[&str]| {
        let _ = std::fs::remove_file(folder.path().join("calls"));
        let load = recorded(folder.path(), numbers);
        let mut arguments = vec!["--load", &load, "--throughput", "rate ([0-9]+)"];
        arguments.extend(["--warm-up", "0"]);
        arguments.extend(more);
        let output = measure(folder.path(), &arguments).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let verdict = said.lines().find(|line| line.starts_with("verdict"));
        (verdict.unwrap().to_owned(), output.status.code())
    };
    let slower = measured("100 80 81 101", &["--rounds", "2"]);
    assert_eq!(slower, ("verdict     slower: -19.9 %".into(), Some(8)));
    let (verdict, code) = measured("100 6 40 90", &["--rounds", "2"]);
    assert!(
        verdict.starts_with("verdict     inconclusive: "),
        "{verdict}"
    );
    assert_eq!(code, Some(0));
    // Six rounds: after the third they agree.
    let numbers = "100 100 130 100 100 101 101 100 100 101 101 100";
    let wide = measured(
        numbers,
        &["--rounds", "2", "--within", "0.1", "--max-rounds", "6"],
    );
    assert!(wide.0.starts_with("verdict     inconclusive: "), "{wide:?}");
    let narrow = measured(
        "100 120 120 100 100 120 120 100 100 120 120 100",
        &["--rounds", "2", "--within", "2"],
    );
    assert_eq!(narrow, ("verdict     faster: +20.0 %".into(), Some(0)));
    // Without --rounds, it ends at the first check with a verdict.
    let numbers = "100 80 81 101 100 82 80 100 100 81 81 100";
    let early = measured(numbers, &[]);
    assert_eq!(early, ("verdict     slower: -19.3 %".into(), Some(8)));
    let same = measured("100 101 100 101 100 100 99 100 100 101 100 100", &[]);
    let expected = "verdict     no difference of 5 % or more: the interval holds 1";
    assert_eq!(same, (expected.into(), Some(0)));
    // The required gain determines when it ends.
    let gains = "100 112 113 100 100 112 113 100 100 112 113 100";
    let required = |percent| measured(gains, &["--require-gain", percent]).1;
    assert_eq!([required("5"), required("20")], [Some(0), Some(1)]);
    // This needs no --within, and limits the rounds.
    let limited = measured("100 80 81 101", &["--max-rounds", "2"]);
    assert_eq!(limited, slower);
}

#[test]
fn a_number_of_the_load_that_may_be_another_is_refused() {
    let folder = folder();
    for (printed, expression, said) in [
        (
            "1,234",
            "([0-9.,]+) a second",
            "\"1,234\" may be 1234 or 1.234",
        ),
        (
            "1,234.5",
            "([0-9.]+) a second",
            "it matches \"234.5\", a part of \"1,234.5\"",
        ),
    ] {
        let load = format!("echo {printed} a second");
        let arguments = ["--rounds", "2", "--load", &load, "--throughput", expression];
        let output = measure(folder.path(), &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(said) && told.contains("remedy:"), "{told}");
    }
}

#[test]
fn on_fewer_cpus_than_the_plan_has_cores_nothing_is_measured() {
    let folder = folder();
    let load = ["--load", "redis-cli -s socket ping", "--rounds", "2"];
    let command = measure(folder.path(), &load);
    let cpu = corehop_support::topology::allowed()[0].to_string();
    let on_it = |backend: &str| {
        let mut pinned = Command::new("taskset");
        pinned.args(["-c", &cpu]).arg(command.get_program());
        pinned.args(command.get_args()).current_dir(folder.path());
        pinned
            .env("COREHOP_BACKEND", backend)
            .env_remove("COREHOP_CPUS");
        pinned.output().unwrap()
    };
    let refused = on_it("affinity");
    assert_eq!(refused.status.code(), Some(6), "{refused:?}");
    let expected = "corehop: the plan needs 2 cores, and corehop and what it starts may run on 1 \
                    CPU: nothing would hop\n  remedy: widen the mask (taskset, the container's \
                    CPUs)\n";
    assert_eq!(String::from_utf8_lossy(&refused.stderr), expected);
    // The backend `count` needs no additional CPU.
    let counted = on_it("count");
    assert!(matches!(counted.status.code(), Some(0 | 8)), "{counted:?}");
}
