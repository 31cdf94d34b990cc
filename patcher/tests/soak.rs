//! Real servers that hop on their request path while clients come and go and check every answer.
//!
//! `make soak` gives each server and backend SOAK_SECONDS, ten minutes unless told otherwise, and
//! expects a million hops in that time (of `auto`, which hops in its trials, ten thousand);
//! `make test` runs the same for a moment. With `count` every entry that may be patched is hooked,
//! with the others two functions that each request calls, so that it goes there and back.
//! SOAK_BACKENDS names those to run (`carrier,auto`). Each server prints a table, and a JSON object
//! as its last line.

mod workshop;

use corehop_plans::{Destination, Plan};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use workshop::{Running, Statistics, patched, plan_of, plan_of_all, start, start_reading};

const CLIENTS: usize = 4;
/// Requests on one connection.
const REQUESTS: usize = 50;
/// In this many seconds `auto` has tried hops at least once, however busy the machine is.
const LONG_SECONDS: u64 = 600;

/// A server, and how to run and use it in a folder.
struct Subject {
    binary: &'static str,
    /// Hooks what each request calls.
    plan: fn(&Path, &Path) -> Plan,
    prepare: fn(&Path),
    /// Gives the server its arguments.
    arguments: fn(&mut Command, &Path),
    /// One connection of a client: makes `REQUESTS` requests and checks what comes back.
    talk: fn(&Path, usize),
}

fn seconds() -> u64 {
    let given = std::env::var("SOAK_SECONDS").ok();
    given.map_or(1, |text| text.parse().expect("SOAK_SECONDS is a number"))
}

fn connect(folder: &Path) -> BufReader<UnixStream> {
    BufReader::new(UnixStream::connect(folder.join("socket")).unwrap())
}

fn say(connection: &mut BufReader<UnixStream>, line: &str) {
    connection.get_mut().write_all(line.as_bytes()).unwrap();
}

fn expect(connection: &mut BufReader<UnixStream>, expected: &str) {
    let mut line = String::new();
    connection.read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), expected);
}

/// Starts the server and waits until it takes connections.
fn serve(subject: &Subject, program: &Path, folder: &Path, backend: &str) -> Running {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env("COREHOP_BACKEND", backend)
        .env("COREHOP_STATS", folder.join("statistics.%p"))
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    if backend == "carrier" {
        command.envs(workshop::WHEREVER);
    }
    if let Some(processors) = workshop::two_processors() {
        command.env("COREHOP_CPUS", processors);
    }
    (subject.arguments)(&mut command, folder);
    let mut server = start(&mut command);
    server.until(|| UnixStream::connect(folder.join("socket")).ok());
    server
}

/// What all processes of the server counted, summed by key.
fn totals(folder: &Path, backend: &str) -> impl Fn(&str) -> u64 + use<> {
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_ours = |path: &Path| {
        path.to_str()
            .is_some_and(|path| path.contains("/statistics."))
    };
    let all: Vec<Statistics> = files
        .filter(|path| is_ours(path))
        .map(|path| Statistics::read(&path))
        .collect();
    assert!(
        !all.is_empty() && all.iter().all(|s| s.0["backend"] == backend),
        "{backend}"
    );
    move |key| all.iter().map(|s| s.total(key)).sum()
}

/// Serves clients for a while; a row of the table and its figures.
fn soak_one(subject: &Subject, backend: &str) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let binary = Path::new(subject.binary);
    let plan = match backend {
        "count" => plan_of_all(binary, 2),
        _ => (subject.plan)(binary, folder),
    };
    let program = patched(binary, &plan, folder).output;
    (subject.prepare)(folder);
    let server = serve(subject, &program, folder, backend);
    let over = AtomicBool::new(false);
    let client = &|number: usize| {
        let mut connections = 0u64;
        while connections == 0 || !over.load(Relaxed) {
            (subject.talk)(folder, number);
            connections += 1;
        }
        connections
    };
    let connections: u64 = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| scope.spawn(move || client(n)))
            .collect();
        // In short steps, which a machine that is halted meanwhile does not take.
        (0..seconds() * 20).for_each(|_| std::thread::sleep(Duration::from_millis(50)));
        over.store(true, Relaxed);
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum()
    });
    let finished = server.stop();
    assert!(finished.status.success(), "{backend}: {}", finished.errors);
    assert!(!finished.errors.contains("corehop:"), "{}", finished.errors);
    let total = totals(folder, backend);
    let requests = connections * REQUESTS as u64;
    let hops = total("hops");
    assert_eq!(total("failed_hops"), 0, "{backend}");
    let expected = match (backend, seconds() < LONG_SECONDS) {
        // Only in trials, since these requests do not gain.
        ("auto", true) => 0,
        ("auto", false) => 1,
        _ => requests,
    };
    assert!(
        hops >= expected,
        "{backend}: {hops} hops of {requests} requests"
    );
    serde_json::json!({
        "backend": backend, "hooks": plan.functions.len(), "seconds": seconds(),
        "connections": connections, "requests": requests, "calls": total("calls"), "hops": hops,
        "failed_hops": 0, "stalls": total("stalls"), "carriers": total("carriers"),
    })
}

fn soak(subject: &Subject) {
    let columns = [
        "backend",
        "hooks",
        "seconds",
        "connections",
        "requests",
        "calls",
        "hops",
        "stalls",
        "carriers",
    ];
    println!("{}, checked answers", subject.binary);
    println!("{}", columns.map(|name| format!("{name:>14}")).concat());
    let mut rows = Vec::new();
    let chosen = std::env::var("SOAK_BACKENDS");
    let chosen = chosen.as_deref().unwrap_or("affinity,carrier,auto,count");
    for backend in chosen.split(',') {
        let row = soak_one(subject, backend);
        let cell = |name| row[name].to_string().replace('"', "");
        println!(
            "{}",
            columns.map(|name| format!("{:>14}", cell(name))).concat()
        );
        rows.push(row);
    }
    println!(
        "{}",
        serde_json::json!({"server": subject.binary, "rows": rows})
    );
}

#[test]
fn redis_answers_rightly_while_it_hops_and_clients_come_and_go() {
    soak(&Subject {
        binary: "/usr/bin/redis-server",
        plan: |binary, _| {
            let named = [("processCommand", 0), ("setCommand", 1), ("getCommand", 1)];
            plan_of(binary, 2, &named)
        },
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

/// memcached has no symbols: of its functions, two that are called once by each request.
fn memcached_plan(binary: &Path, folder: &Path) -> Plan {
    let looked = folder.join("looked");
    std::fs::create_dir(&looked).unwrap();
    let every = plan_of_all(binary, 2);
    let program = patched(binary, &every, &looked).output;
    let subject = Subject {
        binary: "",
        plan: |_, _| unreachable!(),
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
    script += &std::fs::read_to_string("/usr/share/mysql/mysql_system_tables.sql").unwrap();
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
