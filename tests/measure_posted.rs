//! `corehop measure --system-calls` on redis-server and on a server that drops root privileges:
//! counts asynchronous calls, without a plan.

use crate::figures;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const SERVER: &str = "/usr/bin/redis-server";

#[test]
fn posted_calls_are_counted_under_load_without_a_plan() {
    let folder = tempfile::tempdir().unwrap();
    let load = "redis-cli -s socket -r 200 ping > /dev/null; echo p99 3.5";
    for way in ["batch", "1"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
        command
            .current_dir(folder.path())
            .env("COREHOP_RUN_DELAY", "100")
            .env("COREHOP_QUEUE", "0")
            .args(["measure", "--system-calls", &format!("read,write@{way}")])
            .args(["--load", load, "--latency", "p99 ([0-9.]+)"])
            .args(["--rounds", "2", "--json", "--", SERVER])
            .args(["--port", "0", "--unixsocket", "socket", "--save", ""]);
        let output = command.output().unwrap();
        let figures = figures::of("measure", &output);
        let calls = &figures["hops"]["system_calls"];
        // A read and a write for each ping, and the requests of redis-cli when it connects.
        let counted = ["posted", "declined"].map(|key| calls[key].as_u64().unwrap());
        assert!(counted.iter().sum::<u64>() >= 2 * 200 * 2, "{figures}");
        assert!(counted[0] > 0, "{figures}");
        assert_eq!(figures["plan"], Value::Null);
        assert_eq!(figures["latency"]["patched"], serde_json::json!([3.5, 3.5]));
        assert_eq!(figures["system_calls"], format!("read,write@{way}"));
    }
}

/// Drops root privileges, as servers started by root do.
const BECOMES_NOBODY: &str = "use POSIX; POSIX::setgid(65534); POSIX::setuid(65534);";

/// The second start with hooks continues without them, because a program that the server executes
/// has none.
const LOSES_HOOKS: &str = r#"
    if ($ENV{COREHOP_SYSCALLS}) {
        if (-e "begun") { exec $^X, "-e", $ENV{ANSWERS} }
        open(my $begun, ">", "begun");
    }"#;

const ANSWERS: &str = r#"
    use Socket;
    socket(my $listener, PF_UNIX, SOCK_STREAM, 0);
    bind($listener, pack_sockaddr_un("\0$ENV{NAME}"));
    listen($listener, 5);
    while (accept(my $asking, $listener)) {
        while (sysread($asking, my $byte, 1)) { syswrite($asking, $byte) }
    }"#;

const ASKS: &str = r#"
    use Socket;
    socket(my $server, PF_UNIX, SOCK_STREAM, 0);
    connect($server, pack_sockaddr_un("\0$ENV{NAME}")) or die;
    for (1..100) { syswrite($server, "x"); sysread($server, my $byte, 1) }"#;

/// Runs `corehop measure` for a server in Perl that receives 100 requests in each of two rounds.
fn measured(folder: &Path, server: &str) -> Output {
    std::fs::write(folder.join("asks.pl"), ASKS).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command
        .current_dir(folder)
        .env("NAME", folder)
        .env("ANSWERS", ANSWERS)
        .args(["measure", "--system-calls", "read,write@yield"])
        .args(["--load", "perl asks.pl", "--rounds", "2", "--json"])
        .args(["--", "perl", "-e", server]);
    command.output().unwrap()
}

mod needs_root {
    use super::{ANSWERS, BECOMES_NOBODY, figures, measured};

    #[test]
    fn a_server_that_becomes_another_user_is_counted_too() {
        let is_root = rustix::process::geteuid().is_root();
        assert!(
            is_root,
            "only root can become another user: run the tests as root"
        );
        let folder = tempfile::tempdir().unwrap();
        let server = format!("{BECOMES_NOBODY}{ANSWERS}");
        let figures = figures::of("measure", &measured(folder.path(), &server));
        let posted = figures["hops"]["system_calls"]["posted"].as_u64();
        assert!(
            posted.is_some_and(|calls| calls >= 2 * 100 * 2),
            "{figures}"
        );
    }
}

#[test]
fn a_round_whose_server_lost_its_hooks_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let output = measured(folder.path(), &format!("{LOSES_HOOKS}{ANSWERS}"));
    let figures = figures::of("measure", &output);
    let posted = figures["hops"]["system_calls"]["posted"].as_u64().unwrap();
    assert!((100 * 2..2 * 100 * 2).contains(&posted), "{figures}");
    let said = String::from_utf8(output.stderr).unwrap();
    let warning = "in 1 of 2 rounds the patched server reported no statistics";
    assert!(said.contains(warning), "{said}");
}
