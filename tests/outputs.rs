//! Outputs whose name exists already: devices and pipes are written, --force replaces files, and
//! everything else is refused and left unchanged.

use crate::copied;
use crate::server;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const EXPORT: [&str; 3] = ["export", "bank.trace", "-o"];
const PARTITION: [&str; 8] = [
    "partition",
    "--cores",
    "2",
    "--requests",
    "3",
    "--resamples",
    "1",
    "-o",
];
const IMPORT: [&str; 5] = ["import", "--format", "lackey", "bank.lackey", "-o"];

/// A folder with a trace and a text to import.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    server::record(&folder.path().join("bank.trace")).unwrap();
    std::fs::write(folder.path().join("bank.lackey"), "I  00401000,4\n").unwrap();
    folder
}

fn corehop(folder: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let command = command.args(arguments).current_dir(folder.path());
    command.output().unwrap()
}

#[track_caller]
fn done(folder: &TempDir, arguments: &[&str]) {
    let output = corehop(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

/// Returns the message for a refused output.
#[track_caller]
fn refused(folder: &TempDir, arguments: &[&str]) -> String {
    let output = corehop(folder, arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("\n  remedy: "), "{said}");
    said.lines().next().unwrap().to_owned()
}

fn pipe(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("pipe");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    path
}

#[test]
fn what_is_written_goes_through_a_pipe() {
    let folder = folder();
    let pipe = pipe(&folder);
    let read = |arguments: &[&str]| {
        let from = pipe.clone();
        let reader = std::thread::spawn(move || std::fs::read_to_string(from).unwrap());
        done(&folder, &[arguments, &["pipe"]].concat());
        assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo());
        reader.join().unwrap()
    };
    let exported = read(&EXPORT);
    let on_standard_output = corehop(&folder, &["export", "bank.trace"]).stdout;
    assert_eq!(exported.as_bytes(), on_standard_output);
    let forced = [&EXPORT[..2], &["--force", "-o"]].concat();
    assert_eq!(read(&forced), exported);
    let plan = corehop_plan::parse(&read(&PARTITION), Path::new("pipe"));
    assert_eq!(plan.unwrap().cores, 2);
}

#[test]
fn a_link_to_a_device_stays() {
    let folder = folder();
    let link = folder.path().join("null");
    symlink("/dev/null", &link).unwrap();
    for arguments in [&EXPORT[..], &PARTITION[..]] {
        for force in [&["null"][..], &["null", "--force"]] {
            done(&folder, &[arguments, force].concat());
            assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("/dev/null"));
        }
    }
}

/// For any kind of file: opening a file by name would overwrite it from the beginning.
#[test]
fn standard_output_by_its_name_is_the_one_that_is_open() {
    let folder = folder();
    let path = folder.path().join("out");
    let script = "echo first; \"$0\" export bank.trace -o /dev/stdout; echo last";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_corehop")]);
    shell.current_dir(folder.path());
    let status = shell.stdout(std::fs::File::create(&path).unwrap()).status();
    assert!(status.unwrap().success());
    let exported = corehop(&folder, &["export", "bank.trace"]).stdout;
    let exported = String::from_utf8(exported).unwrap();
    let expected = format!("first\n{exported}last\n");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn what_is_neither_file_nor_stream_is_refused_before_any_work() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("file"), "precious").unwrap();
    symlink("file", at("link")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for arguments in [&EXPORT[..], &PARTITION[..], &IMPORT[..]] {
        for (name, what) in [
            ("link", "a symbolic link to a file"),
            ("dangling", "a symbolic link to nothing"),
            ("socket", "a socket"),
            (".", "a folder"),
        ] {
            let said = refused(&folder, &[arguments, &[name, "--force"]].concat());
            let expected = format!("corehop: {name} is {what}, which cannot be an output");
            assert_eq!(said, expected);
        }
    }
    assert_eq!(std::fs::read(at("file")).unwrap(), b"precious");
    assert_eq!(std::fs::read_link(at("link")).unwrap(), Path::new("file"));
    assert!(
        at("socket")
            .symlink_metadata()
            .unwrap()
            .file_type()
            .is_socket()
    );
}

#[test]
fn a_trace_is_no_stream() {
    let folder = folder();
    pipe(&folder);
    symlink("/dev/null", folder.path().join("null")).unwrap();
    for name in ["pipe", "null", "-"] {
        let said = refused(&folder, &[&IMPORT[..], &[name, "--force"]].concat());
        let expected = format!("corehop: {name} is a device or pipe, but must be a file");
        assert_eq!(said, expected);
    }
}

#[test]
fn an_import_keeps_an_unfinished_trace_unless_it_may_go() {
    let folder = folder();
    let partial = folder.path().join("x.trace.partial");
    std::fs::write(&partial, "what was recorded").unwrap();
    let import = [&IMPORT[..], &["x.trace"]].concat();
    let said = refused(&folder, &import);
    assert_eq!(said, "corehop: x.trace.partial exists already");
    assert_eq!(std::fs::read(&partial).unwrap(), b"what was recorded");
    done(&folder, &[&import[..], &["--force"]].concat());
    assert!(!partial.exists());
    // A link is replaced too, and its target stays.
    std::fs::write(folder.path().join("file"), "precious").unwrap();
    symlink("file", &partial).unwrap();
    let again = [&import[..], &["--force"]].concat();
    done(&folder, &again);
    let file = std::fs::read(folder.path().join("file")).unwrap();
    assert_eq!((partial.exists(), &file[..]), (false, &b"precious"[..]));
}

#[test]
fn what_holds_addresses_is_its_owners_alone_whatever_the_umask() {
    let folder = folder();
    let script = "umask 0; \"$@\"";
    let mode_of = |arguments: &[&str], name: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_corehop")]);
        shell.args(arguments).arg(name).current_dir(folder.path());
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        folder.path().join(name).metadata().unwrap().mode() & 0o777
    };
    assert_eq!(mode_of(&IMPORT, "x.trace"), 0o600);
    assert_eq!(mode_of(&EXPORT, "x.lackey"), 0o600);
    assert_eq!(mode_of(&PARTITION, "x.toml"), 0o644);
}

#[test]
fn manual_pages_replace_files_and_follow_no_link() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("man1")).unwrap();
    std::fs::write(at("man1/corehop.1"), "of another version").unwrap();
    std::fs::write(at("precious"), "precious").unwrap();
    done(&folder, &["man", "man1"]);
    let page = std::fs::read_to_string(at("man1/corehop.1")).unwrap();
    assert!(page.contains("Exit codes"));
    std::fs::remove_file(at("man1/corehop.1")).unwrap();
    symlink("../precious", at("man1/corehop.1")).unwrap();
    let said = refused(&folder, &["man", "man1"]);
    assert!(said.contains("a symbolic link to a file"), "{said}");
    assert_eq!(std::fs::read(at("precious")).unwrap(), b"precious");
}

/// Runs as a user without write permission for `shut`: root may write everywhere, so it becomes
/// nobody first.
fn as_nobody(folder: &TempDir, arguments: &[&str]) -> Output {
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open.clone()).unwrap();
    let program = folder.path().join("corehop");
    copied::corehop(&program);
    let trace = folder.path().join("bank.trace");
    std::fs::set_permissions(trace, open).unwrap();
    let mut command = match rustix::process::geteuid().is_root() {
        true => {
            let mut nobody = Command::new("setpriv");
            nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
            nobody.arg(program);
            nobody
        }
        false => Command::new(program),
    };
    command.args(arguments).current_dir(folder.path());
    command.output().unwrap()
}

#[test]
fn where_a_user_may_not_write_the_remedy_is_another_place_and_not_room() {
    let folder = folder();
    let shut = folder.path().join("shut");
    std::fs::create_dir(&shut).unwrap();
    std::fs::set_permissions(&shut, std::fs::Permissions::from_mode(0o555)).unwrap();
    let remedy = "  remedy: choose a writable path: this user may not write to shut,";
    let ways: [&[&str]; 4] = [
        &[&EXPORT[..], &["shut/bank.lackey"]].concat(),
        &[&PARTITION[..], &["shut/split.toml", "bank.trace"]].concat(),
        &["sample", "mariadb-tpcc", "-o", "shut/one.trace"],
        &["man", "shut"],
    ];
    for words in ways {
        let output = as_nobody(&folder, words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{words:?}: {said}");
        assert!(said.contains(remedy), "{words:?}: {said}");
        assert!(!said.contains("space"), "{words:?}: {said}");
    }
    assert_eq!(std::fs::read_dir(&shut).unwrap().count(), 0);
}

#[test]
fn where_there_is_no_folder_the_remedy_is_to_make_it() {
    let folder = folder();
    let output = corehop(&folder, &[&EXPORT[..], &["missing/bank.lackey"]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    let remedy = "  remedy: create the folder first: missing does not exist\n";
    assert!(said.ends_with(remedy), "{said}");
}

/// Beyond the limit on file sizes, each command fails as on a full disk, and leaves nothing.
#[test]
fn a_file_beyond_the_limit_is_an_output_that_cannot_be_written() {
    let folder = folder();
    let text = "I  00401000,4\n L 1ffefff000,8\n".repeat(20_000);
    std::fs::write(folder.path().join("bank.lackey"), text).unwrap();
    let before = std::fs::read_dir(folder.path()).unwrap().count();
    for command in [
        "export bank.trace -o written",
        "export --format corehop bank.trace -o written",
        "import --format lackey bank.lackey -o written",
        "sample mariadb-tpcc -o written",
        "schema >written; code=$?; rm written; exit $code",
    ] {
        let program = env!("CARGO_BIN_EXE_corehop");
        let script = format!("ulimit -f 1; {program} {command}");
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &script]).current_dir(folder.path());
        let output = shell.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{command}: {said}");
        assert!(said.contains("ulimit -f"), "{command}: {said}");
        let after = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(after, before, "{command}");
    }
}

#[test]
fn no_input_is_replaced_although_files_may_be() {
    let folder = folder();
    symlink("bank.trace", folder.path().join("link.trace")).unwrap();
    let force = |arguments: &[&'static str]| [arguments, &["--force", "-o"]].concat();
    let partition = force(&PARTITION[..PARTITION.len() - 1]);
    for arguments in [
        force(&["export", "bank.trace"]),
        force(&["export", "link.trace"]),
        force(&["export", "--format", "corehop", "bank.trace"]),
        force(&["profile", "--format", "callgrind", "bank.trace"]),
        [&["partition", "bank.trace"], &partition[1..]].concat(),
    ] {
        kept(&folder, &arguments, "bank.trace");
    }
    let import = force(&["import", "--format", "lackey", "bank.lackey"]);
    kept(&folder, &import, "bank.lackey");
    let machine = std::fs::read_to_string("configs/machines/xeon-e5-2620-v4.toml").unwrap();
    std::fs::write(folder.path().join("host.toml"), machine).unwrap();
    let profile = [
        "profile",
        "--format",
        "callgrind",
        "--machine",
        "host.toml",
        "bank.trace",
    ];
    kept(&folder, &force(&profile), "host.toml");
    let partition = [
        &["partition", "--machine", "host.toml", "bank.trace"][..],
        &partition[1..],
    ];
    kept(&folder, &partition.concat(), "host.toml");
}

#[test]
fn two_outputs_are_not_one_file() {
    let folder = folder();
    symlink(".", folder.path().join("here")).unwrap();
    let checkpoint = ["here/new.toml", "--checkpoint", "new.toml", "bank.trace"];
    let report = ["report", "new.toml", "-o", "page", "--folded", "./page"];
    for (arguments, said) in [
        (
            [&PARTITION[..], &checkpoint].concat(),
            "new.toml is two outputs at once",
        ),
        (report.to_vec(), "./page is two outputs at once"),
    ] {
        let output = corehop(&folder, &arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(said), "{error}");
    }
    assert!(!folder.path().join("new.toml").exists());
}

#[track_caller]
fn kept(folder: &TempDir, arguments: &[&str], input: &str) {
    let before = std::fs::read(folder.path().join(input)).unwrap();
    let said = refused(folder, &[arguments, &[input]].concat());
    let expected = format!("corehop: {input} is also the input, which must stay");
    assert_eq!(said, expected);
    assert_eq!(std::fs::read(folder.path().join(input)).unwrap(), before);
}

#[test]
fn a_file_and_json_do_not_share_standard_output() {
    let folder = folder();
    let output = corehop(
        &folder,
        &[&PARTITION[..], &["-", "--json", "bank.trace"]].concat(),
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("two documents on standard output"), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn help_that_cannot_be_printed_is_a_failure() {
    for arguments in [&["--help"][..], &["record", "-h"], &["--version"]] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
            .args(arguments)
            .stdout(full.unwrap())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.starts_with("corehop: standard output: "), "{said}");
    }
}
