//! Completions and manual pages as a shell and `man` receive them, and the output levels of
//! corehop.

use crate::server;
use std::path::Path;
use std::process::{Command, Output};

fn corehop(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the subcommands that `--help` lists.
fn subcommands() -> Vec<String> {
    let help = text(&corehop(Path::new("/"), &["--help"]).stdout);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| !line.is_empty());
    // A long description continues on the next line, further to the right.
    names
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect()
}

#[test]
fn bash_completes_subcommands_and_options() {
    let folder = tempfile::tempdir().unwrap();
    let script = corehop(folder.path(), &["completions", "bash"]).stdout;
    std::fs::write(folder.path().join("corehop.bash"), script).unwrap();
    let complete = |words: &str| {
        let program = format!(
            "source ./corehop.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _corehop corehop \"${{COMP_WORDS[COMP_CWORD]}}\" corehop; echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        let output = bash
            .current_dir(folder.path())
            .args(["-c", &program])
            .output()
            .unwrap();
        assert_eq!(text(&output.stderr), "");
        text(&output.stdout).trim().to_owned()
    };
    assert_eq!(complete("corehop par"), "partition");
    assert_eq!(complete("corehop partition --che"), "--checkpoint");
    assert_eq!(complete("corehop completions fi"), "fish");
}

#[test]
fn every_shell_is_told_every_subcommand() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = text(&corehop(Path::new("/"), &["completions", shell]).stdout);
        for name in subcommands() {
            assert!(script.contains(&name), "{shell} does not know {name}");
        }
    }
}

#[test]
fn every_subcommand_has_a_manual_page_with_its_example() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let written = corehop(folder.path(), &["man", "pages/man1"]);
        assert_eq!(written.status.code(), Some(0));
    }
    let page = |name: &str| std::fs::read_to_string(folder.path().join("pages/man1").join(name));
    for name in subcommands().iter().filter(|name| *name != "help") {
        let page = page(&format!("corehop-{name}.1")).unwrap();
        assert!(page.contains("Example"), "{name}");
    }
    assert!(page("corehop.1").unwrap().contains("Exit codes"));
    std::fs::write(folder.path().join("file"), "").unwrap();
    let refused = corehop(folder.path(), &["man", "file"]);
    assert_eq!(refused.status.code(), Some(4));
    assert!(text(&refused.stderr).contains("remedy:"));
}

#[test]
fn quiet_says_failures_alone_and_verbose_says_how_long_each_stage_took() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("bank.trace");
    server::record(&trace).unwrap();
    let said = |arguments: &[&str]| text(&corehop(folder.path(), arguments).stderr);
    assert_eq!(said(&["info", "bank.trace"]), "");
    let detail = said(&["info", "bank.trace", "--verbose"]);
    assert!(
        detail.starts_with("corehop: code blocks read: ") && detail.ends_with(" s\n"),
        "{detail}"
    );
    let whole = std::fs::read(&trace).unwrap();
    std::fs::write(&trace, &whole[..whole.len() - 40]).unwrap();
    let warned = said(&["replay", "bank.trace"]);
    assert!(warned.contains("the recording was cut off"), "{warned}");
    assert_eq!(said(&["--quiet", "replay", "bank.trace"]), "");
    assert!(said(&["-q", "replay", "nowhere.trace"]).contains("nowhere.trace"));
    let both = corehop(folder.path(), &["-q", "-v", "info", "bank.trace"]);
    assert_eq!(both.status.code(), Some(2));
}
