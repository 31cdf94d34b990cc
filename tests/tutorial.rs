//! The tutorial's commands, extracted from its page and run in order as a reader would.

use crate::plugin::build_plugins;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether this machine's redis jumps to a page, as the tutorial says of Redis 8, so that no plan
/// gains.
fn redis_jumps() -> bool {
    let output = Command::new("redis-server").arg("--version").output();
    let said = String::from_utf8(output.unwrap().stdout).unwrap();
    let version = said.split_once(" v=").unwrap().1.split('.').next();
    version.unwrap().parse::<u32>().unwrap() >= 8
}

/// Returns the commands for a redis whose plans are refused: `partition` exits with code 5, and its
/// reader continues with `--ignore-verdict`.
fn after_a_refusal(commands: &str) -> String {
    let lines = commands.lines().map(|line| match line {
        partition if partition.starts_with("corehop partition ") => {
            let anyway = partition.replace("partition", "partition --ignore-verdict");
            format!("code=0; {partition} || code=$?; test $code = 5\n{anyway}\n")
        }
        line => format!("{line}\n"),
    });
    lines.collect()
}

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
    let commands = match redis_jumps() {
        true => after_a_refusal(&commands),
        false => commands,
    };
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
