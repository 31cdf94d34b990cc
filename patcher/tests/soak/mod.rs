//! Real servers that hop on their request path while clients connect, disconnect and check every
//! answer.
//!
//! `make soak` runs each server and backend for SOAK_SECONDS, ten minutes by default. It expects at
//! least one hop per request; for `auto`, which hops in its trials, one in total. `make test` runs
//! the same briefly. With `count`, every entry that may be patched is hooked. With the other
//! backends, two functions that each request calls are hooked, so that it migrates there and back.
//! Then the first of the two hops by its argument to the core of its object. That needs only one
//! hop, because objects may be on the requests' cores. SOAK_BACKENDS selects the backends to run
//! (`carrier,auto`). Each server prints a table, and a JSON object as its last line.

mod served;

use crate::workshop::{Statistics, patched, plan_of, plan_of_all, start_reading};
use corehop_plan::{Argument, Destination, Plan};
use served::{CLIENTS, REQUESTS, Subject, connect, expect, say, serve, soak};
use std::io::{BufRead, Read};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn redis_answers_rightly_while_it_hops_and_clients_come_and_go() {
    soak(&Subject {
        binary: "/usr/bin/redis-server",
        plan: |binary, _| {
            let named = [("processCommand", 0), ("setCommand", 1), ("getCommand", 1)];
            plan_of(binary, 2, &named)
        },
        object: Argument::ALL[0],
        prepare: |_| (),
        arguments: |command, folder| {
            command.args(["--port", "0", "--save", "", "--loglevel", "warning"]);
            command.arg("--unixsocket").arg(folder.join("socket"));
        },
        talk: |folder, client| {
            let mut connection = connect(folder);
            for request in 0..REQUESTS / 2 {
                say(
                    &mut connection,
                    &format!("SET {client}:{request} {request:05}\r\n"),
                );
                expect(&mut connection, "+OK");
                say(&mut connection, &format!("GET {client}:{request}\r\n"));
                expect(&mut connection, "$5");
                expect(&mut connection, &format!("{request:05}"));
            }
        },
    });
}

fn memcached_arguments(command: &mut Command, folder: &Path) {
    command.args(["-U", "0", "-u", "root", "-t", "4", "-s"]);
    command.arg(folder.join("socket"));
}

fn talk_to_memcached(folder: &Path, client: usize) {
    let mut connection = connect(folder);
    for request in 0..REQUESTS / 2 {
        let key = format!("{client}:{request}");
        say(
            &mut connection,
            &format!("set {key} 0 0 5\r\n{request:05}\r\n"),
        );
        expect(&mut connection, "STORED");
        say(&mut connection, &format!("get {key}\r\n"));
        expect(&mut connection, &format!("VALUE {key} 0 5"));
        expect(&mut connection, &format!("{request:05}"));
        expect(&mut connection, "END");
    }
}

/// memcached has no symbols: plans two of its functions that each request calls once.
fn memcached_plan(binary: &Path, folder: &Path) -> Plan {
    let looked = folder.join("looked");
    std::fs::create_dir(&looked).unwrap();
    let every = plan_of_all(binary, 2);
    let program = patched(binary, &every, &looked).output;
    let subject = Subject {
        binary: "",
        plan: |_, _| unreachable!(),
        object: Argument::ALL[0],
        prepare: |_| (),
        arguments: memcached_arguments,
        talk: talk_to_memcached,
    };
    let server = serve(&subject, &program, &looked, "count");
    talk_to_memcached(&looked, 0);
    let id = server.number();
    assert!(server.stop().status.success());
    let counted = Statistics::read(&looked.join(format!("statistics.{id}")));
    let once = |symbol: &str| counted.of(symbol).0 == REQUESTS as u64;
    let mut chosen = every.functions.into_iter().filter(|f| once(&f.symbol));
    let [mut first, mut second] = [chosen.next().unwrap(), chosen.next_back().unwrap()];
    (first.to, second.to) = (Destination::Core(0), Destination::Core(1));
    Plan {
        functions: vec![first, second],
        ..plan_of_all(binary, 2)
    }
}

#[test]
fn memcached_answers_rightly_while_it_hops_and_clients_come_and_go() {
    soak(&Subject {
        binary: "/usr/bin/memcached",
        plan: memcached_plan,
        object: Argument::ALL[0],
        prepare: |_| (),
        arguments: memcached_arguments,
        talk: talk_to_memcached,
    });
}

#[test]
fn nginx_with_two_workers_answers_rightly_while_it_hops_and_clients_come_and_go() {
    soak(&Subject {
        binary: "/usr/sbin/nginx",
        plan: |binary, _| {
            let named = [("ngx_http_process_request", 0), ("ngx_http_send_header", 1)];
            plan_of(binary, 2, &named)
        },
        object: Argument::ALL[0],
        prepare: |folder| {
            let root = folder.display();
            std::fs::write(folder.join("page"), "a page\n").unwrap();
            let configuration = format!(
                "user root; daemon off; worker_processes 2; pid {root}/pid;\n\
                 error_log {root}/errors; events {{ worker_connections 64; }}\n\
                 http {{ access_log off; keepalive_requests 100000;\n\
                 client_body_temp_path {root}/a; proxy_temp_path {root}/b;\n\
                 fastcgi_temp_path {root}/c; uwsgi_temp_path {root}/d; scgi_temp_path {root}/e;\n\
                 server {{ listen unix:{root}/socket; root {root}; }} }}\n"
            );
            std::fs::write(folder.join("nginx.conf"), configuration).unwrap();
        },
        arguments: |command, folder| {
            command.arg("-e").arg(folder.join("errors"));
            command.arg("-c").arg(folder.join("nginx.conf"));
        },
        talk: |folder, _| {
            let mut connection = connect(folder);
            for _ in 0..REQUESTS {
                say(&mut connection, "GET /page HTTP/1.1\r\nHost: here\r\n\r\n");
                expect(&mut connection, "HTTP/1.1 200 OK");
                let mut line = String::from("-");
                while !line.trim_end().is_empty() {
                    line.clear();
                    assert_ne!(connection.read_line(&mut line).unwrap(), 0);
                }
                let mut page = [0; 7];
                connection.read_exact(&mut page).unwrap();
                assert_eq!(&page, b"a page\n");
            }
        },
    });
}

fn mariadbd_arguments(command: &mut Command, folder: &Path) {
    command
        .args([
            "--no-defaults",
            "--user=root",
            "--skip-networking",
            "--skip-grant-tables",
        ])
        .args(["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=4M"])
        .arg("--innodb-flush-log-at-trx-commit=0")
        .arg(format!("--socket={}", folder.join("socket").display()))
        .arg(format!("--tmpdir={}", folder.display()))
        .arg(format!("--datadir={}", folder.join("data").display()));
}

fn make_bank(folder: &Path) {
    std::fs::create_dir(folder.join("data")).unwrap();
    let mut script = String::from("create database mysql;\nuse mysql;\n");
    // The files of MariaDB 10.11 or 11.8.
    let tables = [
        "/usr/share/mysql/mysql_system_tables.sql",
        "/usr/share/mariadb/mariadb_system_tables.sql",
    ];
    script += &tables
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok())
        .expect("mariadb-server-core is installed");
    script += "create database bank;\nuse bank;\n";
    for client in 0..CLIENTS {
        let table = format!("account{client}");
        script += &format!("create table {table} (id int primary key, balance int);\n");
    }
    let file = folder.join("script.sql");
    std::fs::write(&file, script).unwrap();
    let mut command = Command::new("/usr/sbin/mariadbd");
    mariadbd_arguments(&mut command, folder);
    let input = std::fs::File::open(&file).unwrap().into();
    let finished = start_reading(command.arg("--bootstrap"), input).finish();
    assert!(finished.status.success(), "{}", finished.errors);
}

#[test]
fn mariadbd_answers_rightly_while_it_hops_and_clients_come_and_go() {
    soak(&Subject {
        binary: "/usr/sbin/mariadbd",
        plan: |binary, _| {
            let first = "_Z16dispatch_command19enum_server_commandP3THDPcjb";
            let second = "_Z21mysql_execute_commandP3THDb";
            plan_of(binary, 2, &[(first, 0), (second, 1)])
        },
        object: Argument::ALL[1],
        prepare: make_bank,
        arguments: mariadbd_arguments,
        talk: |folder, client| {
            let mut script = String::new();
            let mut expected = String::new();
            for request in 0..REQUESTS / 2 {
                let table = format!("account{client}");
                script += &format!("replace into {table} values ({request}, {request} * 3);\n");
                script += &format!("select balance from {table} where id = {request};\n");
                expected += &format!("{}\n", request * 3);
            }
            let file = folder.join(format!("script{client}"));
            std::fs::write(&file, script).unwrap();
            let mut command = Command::new("mariadb");
            command
                .args([
                    "--no-defaults",
                    "-N",
                    "-B",
                    "-u",
                    "root",
                    "-D",
                    "bank",
                    "-S",
                ])
                .arg(folder.join("socket"));
            let input: Stdio = std::fs::File::open(&file).unwrap().into();
            let finished = start_reading(&mut command, input).finish();
            assert_eq!(finished.output, expected, "{}", finished.errors);
        },
    });
}
