//! Invalid requests are refused before anything is started, with the exit code for scripts.

use crate::recording::{compile, record};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Runs the command, and returns the exit code and the message.
fn run(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

fn in_folder(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = record();
    command
        .current_dir(folder)
        .args(["-o", "trace"])
        .args(arguments);
    command
}

fn script(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

const SERVER: &str = r#"
static volatile int x;
static void serve_one(void) { x++; }
void serve_two(void) { serve_one(); }
int main(void) { serve_two(); return 0; }
"#;

#[track_caller]
fn assert_refused(command: &mut Command, code: i32, parts: &[&str]) {
    let (exit, said) = run(command);
    assert_eq!(exit, Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
    assert!(said.contains("remedy:"), "{said}");
    let folder = command.get_current_dir().unwrap();
    assert!(!folder.join("trace.partial").exists());
}

#[test]
fn a_command_that_cannot_be_recorded_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    script(&here.join("script"), "#!/no/such/interpreter -x\n");
    script(&here.join("text"), "hello");
    std::fs::write(here.join("plain"), "hello").unwrap();
    let of = |name: &str| in_folder(here, &["--request-at", "f", "--", name]);
    assert_refused(
        &mut of("no-such-command"),
        3,
        &["command \"no-such-command\" not found in PATH"],
    );
    assert_refused(
        &mut of("./script"),
        3,
        &["cannot start ./script: No such file"],
    );
    assert_refused(&mut of("./text"), 3, &["not an x86-64 ELF program"]);
    assert_refused(&mut of("./plain"), 3, &["not an executable file"]);
}

#[test]
fn an_existing_trace_is_kept_unless_it_may_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    compile(here, "server", SERVER, &[]);
    std::fs::write(here.join("trace"), "precious").unwrap();
    let mut command = in_folder(here, &["--request-at", "serve_two", "--", "./server"]);
    assert_refused(&mut command, 4, &["trace exists already", "--force"]);
    assert_eq!(std::fs::read(here.join("trace")).unwrap(), b"precious");
    let arguments = ["--force", "--request-at", "serve_two", "--", "./server"];
    let (exit, said) = run(&mut in_folder(here, &arguments));
    assert_eq!(exit, Some(0), "{said}");
    assert!(corehop_traces::Trace::open(&here.join("trace")).is_ok());
}

#[test]
fn a_place_that_cannot_be_written_to_is_named() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", SERVER, &[]);
    for (output, problem) in [
        ("nowhere/trace", "nowhere/trace: cannot write"),
        (".", ". is a folder"),
        ("-", "cannot be written to standard output"),
    ] {
        let mut command = record();
        command.current_dir(folder.path()).args(["-o", output]);
        command.args(["--request-at", "serve_two", "--", "./server"]);
        let code = if output == "-" { 2 } else { 4 };
        assert_refused(&mut command, code, &[problem]);
    }
}

#[test]
fn a_request_marker_that_is_not_one_function_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    compile(here, "server", SERVER, &[]);
    let of = |marker: &str| in_folder(here, &["--request-at", marker, "--", "./server"]);
    assert_refused(
        &mut of("serve_too"),
        3,
        &["no function named \"serve_too\"", "serve_two"],
    );
    assert_refused(&mut of("server+0xfffffff"), 3, &["no code at 0xfffffff"]);
    assert_refused(&mut of("libnone.so:f"), 3, &["no module \"libnone.so\""]);
    let no_number = ["no number from 0 to 65535", "`magic` for all"];
    assert_refused(&mut of("magic:70000"), 3, &no_number);
}

#[test]
fn a_name_that_two_functions_have_is_refused_with_the_choices() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let second = "static int x; __attribute__((used)) static void twin(void) { x++; }";
    let library = compile(here, "second.o", second, &["-c"]);
    let first = format!("{second}\nint main(void) {{ twin(); return 0; }}");
    let first_object = compile(here, "first.o", &first, &["-c"]);
    let linked = Command::new("cc")
        .arg("-o")
        .arg(here.join("server"))
        .args([library, first_object])
        .status();
    assert!(linked.unwrap().success());
    let mut command = in_folder(here, &["--request-at", "twin", "--", "./server"]);
    assert_refused(&mut command, 3, &["\"twin\" is ambiguous", "server+0x"]);
}

#[test]
fn an_indirect_function_is_refused_with_its_implementations() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let source = r#"
static volatile int sink;
static int serve_wide(int x) { sink += x; return x + 1; }
static int serve_narrow(int x) { sink -= x; return x + 2; }
static int (*choose(void))(int) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? serve_wide : serve_narrow;
}
int serve(int) __attribute__((ifunc("choose")));
int main(void) {
    for (int i = 0; i < 5; i++) serve(i);
    return 0;
}"#;
    compile(here, "server", source, &[]);
    let refused = |marker: &str| {
        let arguments = ["--request-at", marker, "--", "./server"];
        let (exit, said) = run(&mut in_folder(here, &arguments));
        assert_eq!(exit, Some(3), "{said}");
        let names = ["serve_wide", "serve_narrow"];
        let lines = names.map(|name| said.lines().find(|line| line.ends_with(name)));
        lines.map(|line| line.unwrap_or_else(|| panic!("{said}")).trim().to_owned())
    };
    let choices = refused("serve");
    assert_eq!(refused("choose"), choices);
    // The requests enter one of them.
    let begun = choices.map(|choice| {
        let place = choice.split_whitespace().next().unwrap().to_owned();
        let arguments = ["--force", "--request-at", &place, "--", "./server"];
        run(&mut in_folder(here, &arguments)).0 == Some(0)
    });
    assert_eq!(begun.iter().filter(|is_begun| **is_begun).count(), 1);
    let trace = corehop_traces::Trace::open(&here.join("trace")).unwrap();
    assert_eq!(trace.requests().len(), 5);
}

#[test]
fn a_program_is_shown_by_the_link_that_was_run() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    compile(here, "behind", SERVER, &[]);
    std::os::unix::fs::symlink("behind", here.join("server")).unwrap();
    std::fs::hard_link(here.join("behind"), here.join("second")).unwrap();
    for name in ["server", "second"] {
        let arguments = [
            "--force",
            "--request-at",
            "serve_two",
            "--",
            &format!("./{name}"),
        ];
        let (exit, said) = run(&mut in_folder(here, &arguments));
        assert_eq!(exit, Some(0), "{said}");
        let trace = corehop_traces::Trace::open(&here.join("trace")).unwrap();
        let path = here.canonicalize().unwrap().join(name);
        let modules = trace.modules().iter();
        let programs: Vec<&str> = modules
            .map(|module| &*module.path)
            .filter(|module| module.starts_with(here.to_str().unwrap()))
            .collect();
        assert_eq!(programs, [path.to_str().unwrap()]);
        let is_served = |f: &&corehop_traces::Function| f.name == "serve_two";
        let served = trace.functions().iter().find(is_served).unwrap();
        let obstacle = served.unpatchable.as_deref().unwrap_or_default();
        assert!(!obstacle.contains("after the start"), "{obstacle}");
    }
    // Both names find the function.
    for marker in ["server:serve_two", "behind:serve_two"] {
        let arguments = ["--force", "--request-at", marker, "--", "./server"];
        let (exit, said) = run(&mut in_folder(here, &arguments));
        assert_eq!(exit, Some(0), "{said}");
    }
}

#[test]
fn a_qemu_that_takes_no_plugin_of_ours_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    compile(here, "server", SERVER, &[]);
    let of = |qemu: &str| {
        let mut command = in_folder(here, &["--request-at", "serve_two", "--", "./server"]);
        command.env("COREHOP_QEMU", qemu);
        command
    };
    assert_refused(&mut of("./none"), 6, &["cannot run ./none", "qemu-user"]);
    assert_refused(&mut of("true"), 6, &["true is not qemu-x86_64"]);
    let says = |version: &str, help: &str| {
        let text = format!(
            "#!/bin/sh\n[ $1 = --help ] && echo '{help}' || echo 'qemu-x86_64 version {version}'\n"
        );
        script(&here.join("qemu"), &text);
        of("./qemu")
    };
    assert_refused(
        &mut says("9.1.0", "-plugin"),
        6,
        &["version 9.1.0", "qemu-user"],
    );
    assert_refused(&mut says("5.2.0", "-plugin"), 6, &["version 5.2.0"]);
    assert_refused(
        &mut says("7.2.0", "-nothing"),
        6,
        &["built without plugins"],
    );
}

#[test]
fn a_plugin_of_another_api_is_refused_with_qemus_own_words() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    compile(here, "server", SERVER, &[]);
    let newer = "int qemu_plugin_version = 99; int qemu_plugin_install(void) { return 0; }";
    let plugin = compile(here, "newer.so", newer, &["-shared", "-fPIC"]);
    let mut command = in_folder(here, &["--request-at", "serve_two", "--", "./server"]);
    command.env("COREHOP_QEMU_PLUGIN", plugin);
    assert_refused(&mut command, 6, &["API version", "did not load the plugin"]);
    command.env("COREHOP_QEMU_PLUGIN", "./none.so");
    assert_refused(&mut command, 6, &["./none.so is not a file"]);
}

#[test]
fn a_missing_symbolizer_is_named_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", SERVER, &[]);
    let arguments = ["--request-at", "serve_two", "--", "./server"];
    let mut command = in_folder(folder.path(), &arguments);
    command.env("COREHOP_SYMBOLIZER", "/none/corehop-symbolizer");
    assert_refused(&mut command, 6, &["/none/corehop-symbolizer", "make build"]);
}

#[test]
fn a_command_line_that_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| run(&mut in_folder(folder.path(), arguments)).0;
    assert_eq!(run(&["--request-at", "f"]), Some(2));
    assert_eq!(run(&["--", "redis-server"]), Some(2));
    assert_eq!(
        run(&["--request-at", "f", "--requests", "0", "--", "true"]),
        Some(2)
    );
    assert_eq!(
        run(&["--request-at", "f", "--level", "99", "--", "true"]),
        Some(2)
    );
}
