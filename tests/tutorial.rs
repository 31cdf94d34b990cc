//! The tutorial's commands, extracted from its page and run in order as a reader would.

use crate::plugin::build_plugins;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the indented lines of the page.
fn commands() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/tutorial.md");
    let page = std::fs::read_to_string(page).unwrap();
    page.lines()
        .filter_map(|line| line.strip_prefix("    "))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn every_command_of_the_tutorial_does_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let commands = commands();
    let subcommands = [
        "doctor",
        "record",
        "info",
        "partition",
        "explain",
        "patch",
        "measure",
    ];
    for name in subcommands {
        assert!(
            commands.contains(&format!("corehop {name}")),
            "the page leaves out {name}"
        );
    }
    build_plugins();
    let corehop = Path::new(env!("CARGO_BIN_EXE_corehop")).parent().unwrap();
    let path = format!("{}:{}", corehop.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    let output = shell
        .current_dir(folder.path())
        .env("PATH", path)
        .args(["-e", "-c", &commands])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    // The last command measures, and redis may be slower on another machine.
    let is_done = matches!(output.status.code(), Some(0 | 8));
    assert!(is_done, "{}: {printed}\n{said}", output.status);
    // Two hooks of the plan, and one that counts requests unless the plan hooks that function.
    let holds = ["2", "3"].map(|hooks| format!("every promise holds ({hooks} hooks)"));
    assert!(holds.iter().any(|line| printed.contains(line)), "{printed}");
    assert!(printed.contains("verdict     "), "{printed}");
    let statistics = std::fs::read(folder.path().join("hops.json")).unwrap();
    let statistics: serde_json::Value = serde_json::from_slice(&statistics).unwrap();
    assert!(statistics["hops"].as_u64().unwrap() >= 150, "{statistics}");
}
