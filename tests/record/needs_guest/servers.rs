//! Debian's servers on a machine: one whose master forks a worker, and one with many threads and
//! its data in a folder.

use super::{assert_guest, entries};
use crate::recording::Recording;
use corehop_traces::Trace;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, contents) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }
    folder
}

fn record(folder: TempDir, more: &[&str], server: &[&str]) -> Trace {
    let system = ["--system", "--requests", "5"].iter().chain(more);
    let arguments = system.chain(&["--"]).chain(server);
    Recording::start_in(folder, arguments.copied()).trace()
}

/// Returns the numbers of requests, of processes, and of threads that serve requests. A server's
/// other threads may run at the same time.
fn counts(trace: &Trace) -> [usize; 3] {
    let requests = trace.requests();
    let serving: BTreeSet<_> = requests.iter().map(|request| request.thread.0).collect();
    [requests.len(), trace.process_count(), serving.len()]
}

#[test]
fn nginx_forks_a_worker_whose_requests_are_recorded_with_the_kernels_work_for_them() {
    let needs = [("/usr/sbin/nginx", "nginx-light")];
    assert_guest(&needs);
    let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let folders = folders.map(|of| format!("{of}_temp_path {of};")).concat();
    let configuration = format!(
        "user root; pid pid; error_log errors; events {{}}\n\
         http {{ access_log off; {folders} server {{ listen 127.0.0.1:7080; root files; }} }}\n"
    );
    let files = [
        ("nginx.conf", &*configuration),
        ("files/page.txt", "a page\n"),
    ];
    let folder = folder_with(&files);
    let here = folder.path().to_str().unwrap().to_owned();
    let load = "for number in 1 2 3 4 5 6; do wget -q -O - http://127.0.0.1:7080/page.txt | \
                grep -q 'a page' || exit 3; done";
    let options = [
        "--request-at",
        "ngx_http_process_request",
        "--copy",
        "files",
        "--load",
        load,
    ];
    let server = [
        "nginx",
        "-p",
        &here,
        "-c",
        "nginx.conf",
        "-e",
        "stderr",
        "-g",
        "daemon off;",
    ];
    let trace = record(folder, &options, &server);
    assert_eq!(counts(&trace), [5, 1, 1]);
    let functions = ["ngx_http_process_request", "__x64_sys_writev"];
    assert_eq!(functions.map(|name| entries(&trace, name)), [5, 5]);
}

/// Lets a server create its tables.
fn make_tables(folder: &Path, server: &[&str]) {
    std::fs::create_dir(folder.join("data")).unwrap();
    let statements = std::fs::File::open(folder.join("tables.sql")).unwrap();
    let mut command = Command::new(server[0]);
    command
        .args(&server[1..])
        .arg("--bootstrap")
        .current_dir(folder);
    let made = command.stdin(statements).stderr(Stdio::piped()).output();
    let made = made.unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{said}");
}

#[test]
fn mariadbd_has_its_folder_of_data_and_is_recorded_from_its_connections_thread() {
    let needs = [
        ("/usr/sbin/mariadbd", "mariadb-server-core"),
        ("/usr/bin/mariadb", "mariadb-client-core"),
    ];
    assert_guest(&needs);
    let tables = "create database bank;\nuse bank;\n\
        create table accounts (number int primary key, balance int) engine=innodb;\n\
        insert into accounts values (1, 10), (2, 20), (3, 30);\n";
    let queries = "select balance from bank.accounts where number = 2;\n".repeat(8);
    let folder = folder_with(&[("tables.sql", tables), ("queries.sql", &queries)]);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let [data, socket] = [("datadir", "data"), ("socket", "socket")]
        .map(|(option, name)| format!("--{option}={}", at(name)));
    let server = [
        "/usr/sbin/mariadbd",
        "--no-defaults",
        &data,
        &socket,
        "--tmpdir=/tmp",
        "--pid-file=pid",
        "--skip-networking",
        "--skip-grant-tables",
        "--user=root",
        "--innodb-log-file-size=8M",
        "--innodb-buffer-pool-size=64M",
        "--innodb-buffer-pool-size-max=64M",
    ];
    make_tables(folder.path(), &server);
    let load = format!("mariadb --no-defaults {socket} <queries.sql");
    let options = [
        "--request-at",
        "dispatch_command",
        "--copy",
        "data",
        "--load",
        &load,
    ];
    let trace = record(folder, &options, &server);
    assert_eq!(counts(&trace), [5, 1, 1]);
    // Each reply is one message. The server waits only for a query that has not arrived.
    assert_eq!(entries(&trace, "unix_stream_sendmsg"), 5);
}
