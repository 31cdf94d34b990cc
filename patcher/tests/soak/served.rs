//! One server under load: patched, served to clients that check its answers, and counted.

use crate::workshop::{self, Running, Statistics, patched, plan_of_all, start};
use corehop_plan::{Argument, By, Destination, Plan, VERSION_BY_ARGUMENT};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

pub const CLIENTS: usize = 4;
/// Requests on one connection.
pub const REQUESTS: usize = 50;
/// Within this many seconds, `auto` has tried hops at least once, even on a busy machine.
const LONG_SECONDS: u64 = 600;

/// A server, and how to run and use it in a folder.
pub struct Subject {
    pub binary: &'static str,
    /// Hooks the functions that each request calls.
    pub plan: fn(&Path, &Path) -> Plan,
    /// The argument of the plan's function at core 0 that points to the object of a request.
    pub object: Argument,
    pub prepare: fn(&Path),
    /// Gives the server its arguments.
    pub arguments: fn(&mut Command, &Path),
    /// One connection of a client: makes `REQUESTS` requests and checks the answers.
    pub talk: fn(&Path, usize),
}

fn seconds() -> u64 {
    let given = std::env::var("SOAK_SECONDS").ok();
    given.map_or(1, |text| text.parse().expect("SOAK_SECONDS is a number"))
}

pub fn connect(folder: &Path) -> BufReader<UnixStream> {
    BufReader::new(UnixStream::connect(folder.join("socket")).unwrap())
}

pub fn say(connection: &mut BufReader<UnixStream>, line: &str) {
    connection.get_mut().write_all(line.as_bytes()).unwrap();
}

pub fn expect(connection: &mut BufReader<UnixStream>, expected: &str) {
    let mut line = String::new();
    connection.read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), expected);
}

/// How functions hop: each has a core, or one of them hops to the core of its object.
const CORE: &str = "core";
const OBJECT: &str = "object";

/// Returns how functions hop if the hooks do not only count.
fn ways(backend: &str) -> &'static [&'static str] {
    match backend {
        "count" => &[CORE],
        _ => &[CORE, OBJECT],
    }
}

/// Returns the plan with its function at core 0 hopping by this argument, from the second call
/// about an object on.
fn by_object(mut plan: Plan, argument: Argument) -> Plan {
    let at_home = |to: &Destination| *to == Destination::Core(0);
    let mut functions = plan.functions.iter_mut();
    let function = functions.find(|function| at_home(&function.to));
    let function = function.expect("a function at core 0");
    function.to = Destination::By(By { argument, after: 1 });
    plan.version = VERSION_BY_ARGUMENT;
    plan
}

/// Starts the server and waits until it accepts connections.
pub fn serve(subject: &Subject, program: &Path, folder: &Path, backend: &str) -> Running {
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

/// Returns the counts of all processes of the server, summed by key.
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

/// Serves clients for a while; returns a row of the table and its figures.
fn soak_one(subject: &Subject, backend: &str, by: &str) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let binary = Path::new(subject.binary);
    let plan = match (backend, by) {
        ("count", _) => plan_of_all(binary, 2),
        (_, OBJECT) => by_object((subject.plan)(binary, folder), subject.object),
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
        // In short steps, which do not elapse while the machine is suspended.
        for _ in 0..seconds() * 20 {
            std::thread::sleep(Duration::from_millis(50)); // waits: the load lasts so long
        }
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
        // Only in trials, because these requests do not gain.
        ("auto", true) => 0,
        ("auto", false) => 1,
        // Requests about objects on core 1 stay there.
        _ if by == OBJECT => 1,
        _ => requests,
    };
    assert!(
        hops >= expected,
        "{backend}: {hops} hops of {requests} requests"
    );
    serde_json::json!({
        "backend": backend, "by": by, "hooks": plan.functions.len(), "seconds": seconds(),
        "connections": connections, "requests": requests, "calls": total("calls"), "hops": hops,
        "failed_hops": 0, "stalls": total("stalls"), "carriers": total("carriers"),
    })
}

pub fn soak(subject: &Subject) {
    let columns = [
        "backend",
        "by",
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
        for by in ways(backend) {
            let row = soak_one(subject, backend, by);
            let cell = |name| row[name].to_string().replace('"', "");
            let cells = columns.map(|name| format!("{:>14}", cell(name)));
            println!("{}", cells.concat());
            rows.push(row);
        }
    }
    println!(
        "{}",
        serde_json::json!({"server": subject.binary, "rows": rows})
    );
}
