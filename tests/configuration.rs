//! `corehop.toml`: its options have the same effect as on the command line, which takes precedence.

use crate::server;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder with a trace and a configuration file with this content.
fn folder(file: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    server::record(&folder.path().join("bank.trace")).unwrap();
    let path = folder.path().join("corehop.toml");
    std::fs::write(&path, file).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    folder
}

fn corehop(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.current_dir(folder.path()).args(arguments);
    command.env_remove("COREHOP_CONFIG");
    command
}

fn said(folder: &TempDir, arguments: &[&str]) -> String {
    let output = corehop(folder, arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the exit code and the message.
fn refused(output: Output) -> (Option<i32>, String) {
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

const FUNCTIONS: [&str; 2] = ["functions", "bank.trace"];

#[test]
fn what_the_file_says_counts_unless_the_command_line_says_it() {
    let file = "min-share = 0.5\n[functions]\njson = true\ntop = 1\n[record]\nrequests = 5\n";
    let folder = folder(file);
    let one = said(&folder, &FUNCTIONS);
    assert!(
        one.contains("\"min_share\":0.5") && one.contains("\"entered_once\":5"),
        "{one}"
    );
    assert_eq!(one.matches("\"share\":").count(), 1);
    let two = said(
        &folder,
        &[&FUNCTIONS[..], &["--top", "2", "--min-share=1"]].concat(),
    );
    assert!(
        two.contains("\"min_share\":1.0") && two.contains("\"entered_once\":4"),
        "{two}"
    );
    assert_eq!(two.matches("\"share\":").count(), 2);
    // A command without these options ignores them.
    assert!(said(&folder, &["info", "bank.trace"]).contains("request"));
}

#[test]
fn a_table_goes_before_what_stands_at_the_top() {
    let folder = folder("top = 3\njson = true\n[functions]\ntop = 1\n");
    assert_eq!(said(&folder, &FUNCTIONS).matches("\"share\":").count(), 1);
}

#[test]
fn what_excludes_an_option_of_the_file_leaves_it_out() {
    let folder = folder("[candidates]\nrequests = 2\n");
    let counted = |arguments: &[&str]| {
        let arguments = [&["candidates", "bank.trace"], arguments].concat();
        said(&folder, &arguments).lines().next().unwrap().to_owned()
    };
    assert!(
        counted(&[]).contains("counted over 3 requests"),
        "{}",
        counted(&[])
    );
    assert!(counted(&["--all-requests"]).contains("counted over 4 requests"));
}

#[test]
fn the_server_can_stand_in_it() {
    let folder = folder("[record]\nrequest-at = \"syscalls\"\ncommand = [\"/nowhere/server\"]\n");
    let (code, text) = refused(corehop(&folder, &["record", "-o", "t"]).output().unwrap());
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("/nowhere/server"), "{text}");
    let given = ["record", "-o", "t", "--", "/elsewhere/server"];
    let (_, text) = refused(corehop(&folder, &given).output().unwrap());
    assert!(text.contains("/elsewhere/server"), "{text}");
}

#[test]
fn what_is_wrong_is_told_with_file_line_and_key() {
    for (file, told) in [
        (
            "\ntopp = 1\n",
            "corehop.toml:2: no command has an option `topp`",
        ),
        (
            "[functions]\ntopp = 1\n",
            "corehop.toml:2: `corehop functions` has no option `topp`",
        ),
        (
            "[functins]\n",
            "corehop.toml:1: there is no command `functins`",
        ),
        (
            "[functions]\n\ntop = \"x\"\n",
            "corehop.toml:3: `top`: invalid value 'x' for '--top",
        ),
        (
            "[functions]\ntop = true\n",
            "corehop.toml:2: `top`: it takes a value",
        ),
        (
            "[functions]\ntop = [1]\n",
            "corehop.toml:2: `top`: it takes one value, no list",
        ),
        (
            "[functions]\njson = 1\n",
            "corehop.toml:2: `json`: it is true or false",
        ),
        (
            "[functions]\ntop = { a = 1 }\n",
            "corehop.toml:2: `top` is neither text, a number",
        ),
        (
            "[record]\nforce = true\n",
            "corehop.toml:2: `force` is for the command line alone",
        ),
        ("top = 1\ntop\n", "corehop.toml:2: "),
    ] {
        let (code, text) = refused(corehop(&folder(file), &FUNCTIONS).output().unwrap());
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains(told), "{told}: {text}");
        assert!(!text.contains("panicked"), "{text}");
    }
    let (_, text) = refused(
        corehop(&folder("[functions]\ntpo = 1\n"), &FUNCTIONS)
            .output()
            .unwrap(),
    );
    assert!(
        text.contains("`top` is the closest that there is"),
        "{text}"
    );
}

#[test]
fn a_file_that_others_can_write_counts_only_when_it_is_named() {
    let folder = folder("[functions]\njson = true\n");
    let path = folder.path().join("corehop.toml");
    std::fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let (code, text) = refused(corehop(&folder, &FUNCTIONS).output().unwrap());
    assert_eq!(code, Some(5), "{text}");
    assert!(
        text.contains("corehop.toml: another user can write it"),
        "{text}"
    );
    let named = [&FUNCTIONS[..], &["--config", "corehop.toml"]].concat();
    assert!(said(&folder, &named).starts_with('{'));
    for (variable, begins_json) in [("corehop.toml", true), ("", false)] {
        let mut command = corehop(&folder, &FUNCTIONS);
        let output = command.env("COREHOP_CONFIG", variable).output().unwrap();
        assert_eq!(output.stdout.starts_with(b"{"), begins_json, "{output:?}");
    }
    let (code, text) = refused(
        corehop(&folder, &["doctor", "--config", "no"])
            .output()
            .unwrap(),
    );
    assert_eq!(code, Some(3));
    assert!(text.contains("no: No such file"), "{text}");
}
