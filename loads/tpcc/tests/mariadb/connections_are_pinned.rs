//! `run --pin` pins only the server's threads of the load's connections, and a run reports its
//! think time.

use crate::server::Server;
use serde_json::Value;

/// Returns the CPUs allowed for each of the server's threads, in the kernel's format.
fn allowed(server: &Server) -> Vec<String> {
    let tasks = format!("/proc/{}/task", server.process_id());
    let tasks = std::fs::read_dir(tasks).expect("a process").flatten();
    let status = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("status"));
    let list = |status: String| {
        let line = status.lines().find(|l| l.starts_with("Cpus_allowed_list"));
        line.map(|line| {
            line.split_whitespace()
                .last()
                .unwrap_or_default()
                .to_owned()
        })
    };
    tasks.filter_map(|task| list(status(task).ok()?)).collect()
}

mod needs_two_cpus {
    use super::{Server, allowed};

    #[test]
    fn each_connections_thread_is_pinned_and_no_other() {
        let server = Server::start();
        server.succeed(&["load", "--scale", "100"]);
        let before = allowed(&server);
        let missing = "the server may use one CPU: allow it another, or give the machine one";
        assert!(before.iter().any(|cpus| cpus != "0"), "{missing}");
        assert!(!before.contains(&"0".to_owned()), "{before:?}");
        let run = ["run", "--connections", "3", "--transactions", "30"];
        server.succeed(&[&run[..], &["--pin", "0"]].concat());
        // Threads of ended connections wait for new ones.
        let pinned = allowed(&server).into_iter().filter(|cpus| cpus == "0");
        assert_eq!(pinned.count(), 3);
    }
}

#[test]
fn a_cpu_that_cannot_be_is_refused() {
    let server = Server::start();
    server.succeed(&["load", "--scale", "100"]);
    for (cpus, code, words) in [
        ("0,none", 2, "use numbers from 0 to"),
        ("5000", 2, "use numbers from 0 to"),
        ("1000", 7, "to CPU 1000"),
    ] {
        let output = server.tpcc(&["run", "--transactions", "1", "--pin", cpus]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn the_time_between_answers_and_statements_is_part_of_the_run() {
    let server = Server::start();
    server.succeed(&["load", "--scale", "100"]);
    let run = [
        "run",
        "--connections",
        "2",
        "--transactions",
        "20",
        "--json",
    ];
    let report: Value = serde_json::from_str(&server.succeed(&run)).expect("JSON");
    let [thinking, all] = ["think_seconds", "seconds"].map(|key| report[key].as_f64());
    let (thinking, all) = (thinking.expect("a number"), all.expect("a number"));
    assert!(thinking > 0.0 && thinking < 2.0 * all, "{report}");
}
