//! Progress on a terminal, and without it where `COREHOP_PROGRESS` is `never`, as in these tests.

use crate::interactive::pseudo_terminal;
use crate::partition::SAMPLE;
use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

/// Returns what a replay prints on a standard error that is a terminal.
fn printed(change: impl Fn(&mut Command) -> &mut Command) -> String {
    let (controller, terminal) = pseudo_terminal();
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.args(["replay", SAMPLE]).stdout(Stdio::null());
    let mut child = change(&mut command).stderr(terminal).spawn().unwrap();
    // It has the other end of the terminal, too.
    drop(command);
    let mut printed = Vec::new();
    // The controller fails as soon as nobody has the terminal open.
    let _ = File::from(controller).read_to_end(&mut printed);
    assert!(child.wait().unwrap().success());
    String::from_utf8_lossy(&printed).into_owned()
}

#[test]
fn a_bar_is_drawn_unless_the_variable_says_never() {
    let drawn = printed(|command| command.env_remove("COREHOP_PROGRESS"));
    assert!(drawn.contains("code blocks replayed"), "{drawn}");
    for other in ["", "always"] {
        let drawn = printed(|command| command.env("COREHOP_PROGRESS", other));
        assert!(drawn.contains("code blocks replayed"), "{drawn}");
    }
    let nothing = printed(|command| command.env("COREHOP_PROGRESS", "never"));
    assert_eq!(nothing, "");
}
