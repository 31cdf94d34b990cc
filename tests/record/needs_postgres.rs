//! Postgres, whose postmaster forks a process for each connection, under the QEMU of `make qemu`.
//!
//! QEMU 7.2 crashes when postgres forks, so this is the only server here that needs another QEMU.

use crate::qemu10::Qemu10;
use crate::recording::{Recording, free_port};
use corehop_traces::{Trace, check};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Transactions of each of the two clients; each is one request, a `SELECT`.
const TRANSACTIONS: usize = 30;
const CLIENTS: usize = 2;
/// The message of postgres when it accepts connections; it listens before that.
const READY: &str = "ready to accept connections";

/// The requirements of the test.
struct Needs {
    qemu: Qemu10,
    /// The folder with postgres's programs.
    postgres: PathBuf,
}

/// Finds the requirements, or fails with a remedy.
fn needs() -> Needs {
    let qemu = Qemu10::found();
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut folders = versions.flatten().map(|version| version.path().join("bin"));
    let postgres = folders.find(|folder| folder.join("pgbench").is_file());
    let postgres = postgres.expect("no postgres (apt-get install postgresql-15)");
    Needs { qemu, postgres }
}

/// Returns a command that runs as another user than root, because postgres refuses to run as root.
/// It uses a namespace in which this user has another id.
fn unprivileged(program: &Path) -> Command {
    // SAFETY: geteuid has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Command::new(program);
    }
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-user=65534", "--map-group=65534"]);
    command.arg(program);
    command
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

/// Returns the settings of the server, whoever starts it.
fn settings(port: u16) -> Vec<String> {
    let port = format!("port={port}");
    let settings = [
        &port,
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "shared_buffers=16MB",
        "max_connections=10",
        "autovacuum=off",
        "jit=off",
        "fsync=off",
    ];
    settings
        .iter()
        .flat_map(|&setting| ["-c".into(), setting.into()])
        .collect()
}

/// Creates a cluster with pgbench's tables.
fn prepare(needs: &Needs, folder: &Path) {
    let program = |name| unprivileged(&needs.postgres.join(name));
    let data = folder.join("data");
    run(program("initdb")
        .args([
            "-U",
            "postgres",
            "-A",
            "trust",
            "--no-locale",
            "--no-sync",
            "-D",
        ])
        .arg(&data));
    let port = free_port();
    let log = folder.join("postgres.log");
    let mut server = program("postgres")
        .arg("-D")
        .arg(&data)
        .args(settings(port))
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    while !std::fs::read_to_string(&log).unwrap().contains(READY) {
        assert!(server.try_wait().unwrap().is_none(), "postgres has ended");
        std::thread::sleep(std::time::Duration::from_millis(20)); // waits: between looks
    }
    run(pgbench(needs, port).args(["-i", "-s", "1", "-q"]));
    crate::recording::send(server.id(), libc::SIGINT);
    server.wait().unwrap();
}

fn pgbench(needs: &Needs, port: u16) -> Command {
    let mut pgbench = Command::new(needs.postgres.join("pgbench"));
    pgbench.args(["-h", "127.0.0.1", "-U", "postgres", "-d", "postgres", "-p"]);
    pgbench.arg(port.to_string());
    pgbench
}

#[test]
fn postgres_is_recorded_with_a_process_for_each_connection() {
    let needs = needs();
    let folder = tempfile::tempdir().unwrap();
    prepare(&needs, folder.path());
    let port = free_port();
    let mut recording = start(&needs, folder, port);
    recording.wait_for("postgres to listen", || {
        recording.stderr().contains(READY).then_some(())
    });
    let [clients, transactions] = [CLIENTS, TRANSACTIONS].map(|count| count.to_string());
    run(pgbench(&needs, port).args(["-n", "-S", "-c", &clients, "-t", &transactions]));
    recording.signal(libc::SIGINT);
    assert_eq!(
        recording.finish().code(),
        Some(130),
        "{}",
        recording.stderr()
    );
    holds_all_requests(&recording.path());
}

/// Debian's postgres has no symbol for the function that handles a query, so system calls mark
/// requests.
fn start(needs: &Needs, folder: TempDir, port: u16) -> Recording {
    let mut record = unprivileged(Path::new(env!("CARGO_BIN_EXE_corehop")));
    needs.qemu.used_by(&mut record).arg("record");
    let postgres = needs.postgres.join("postgres").display().to_string();
    let data = folder.path().join("data").display().to_string();
    let server = [
        "--memory-limit",
        "3000",
        "--request-at",
        "syscalls",
        "--",
        &postgres,
        "-D",
        &data,
    ];
    let server = server.map(str::to_owned).into_iter().chain(settings(port));
    let server: Vec<String> = server.collect();
    Recording::start_as(record, folder, server.iter().map(String::as_str))
}

fn holds_all_requests(path: &Path) {
    let report = check(path).unwrap();
    assert_eq!(report.findings, []);
    let order = report.order.unwrap();
    assert!(
        order.threads >= CLIENTS as u32 && order.switches > 0,
        "{order:?}"
    );
    let trace = Trace::open(path).unwrap();
    assert!(trace.header().qemu_version.starts_with("10."));
    // pgbench itself sends one or two queries first, on separate connections.
    let mut by_thread = vec![0; trace.threads().len()];
    for request in trace.requests() {
        by_thread[request.thread.index()] += 1;
    }
    let clients = by_thread
        .iter()
        .filter(|&&requests| requests >= TRANSACTIONS);
    assert_eq!(clients.count(), CLIENTS, "{by_thread:?}");
    let processes: BTreeSet<u32> = trace.threads().iter().map(|t| t.process_id).collect();
    assert_eq!(
        processes.len(),
        trace.threads().len(),
        "each process has one thread"
    );
}
