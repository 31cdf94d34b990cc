//! Real servers with every safe function hooked: they start, answer, and stop as before.

use crate::workshop::{
    self, Running, Statistics, patched, plan_of, plan_of_all, plan_of_all_imports, start,
    start_reading,
};
use corehop_patcher::InMemory;
use corehop_plan::Plan;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A hooked server's folder, its program, and the path of its statistics.
struct Server {
    folder: tempfile::TempDir,
    program: PathBuf,
    statistics: PathBuf,
    /// `None` for a patched server.
    hooks: Option<InMemory>,
}

/// Both ways to hook a server.
const WAYS: [fn(&Path, &Plan) -> Server; 2] = [in_file, in_memory];

fn in_file(binary: &Path, plan: &Plan) -> Server {
    let folder = tempfile::tempdir().unwrap();
    let patched = patched(binary, plan, folder.path());
    Server {
        statistics: folder.path().join("statistics"),
        folder,
        program: patched.output,
        hooks: None,
    }
}

fn in_memory(binary: &Path, plan: &Plan) -> Server {
    let folder = tempfile::tempdir().unwrap();
    Server {
        statistics: folder.path().join("statistics"),
        folder,
        program: binary.into(),
        hooks: Some(InMemory::new(binary, plan).unwrap()),
    }
}

impl Server {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, backend: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(self.folder.path())
            .env("COREHOP_BACKEND", backend)
            .env("COREHOP_STATS", &self.statistics)
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .envs(workshop::WHEREVER);
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        if let Some(hooks) = &self.hooks {
            hooks.hook(&mut command, None);
        }
        command
    }

    fn statistics(&self) -> Statistics {
        Statistics::read(&self.statistics)
    }
}

fn connect(server: &mut Running, socket: &Path) -> BufReader<UnixStream> {
    BufReader::new(server.until(|| UnixStream::connect(socket).ok()))
}

/// Sends a line and returns the line that answers it.
fn ask(connection: &mut BufReader<UnixStream>, line: &str) -> String {
    connection.get_mut().write_all(line.as_bytes()).unwrap();
    connection.get_mut().write_all(b"\r\n").unwrap();
    answer(connection)
}

fn answer(connection: &mut BufReader<UnixStream>) -> String {
    let mut line = String::new();
    connection.read_line(&mut line).unwrap();
    line.trim_end().into()
}

const ROUNDS: u64 = 200;

/// Runs a server with every possible function hooked, in the file and in memory. The hooks only
/// count, or each is on another core than its neighbors. Threads stay there, or return at the end
/// of every call that allows it, including functions in other files.
fn in_every_way(binary: &str, serve: impl Fn(&Server, &str)) {
    let binary = Path::new(binary);
    for plan in [plan_of_all(binary, 2), plan_of_all_imports(binary, 2)] {
        for way in WAYS {
            for backend in ["count", "carrier"] {
                serve(&way(binary, &plan), backend);
            }
        }
    }
}

/// Fails if the server gave up its backend at some point.
fn kept(statistics: &Statistics, backend: &str) {
    assert_eq!(statistics.0["backend"], backend);
    assert_eq!(statistics.total("failed_hops"), 0, "{backend}");
    // Memcached's four memory threads continue until it has ended.
    statistics.check_balance_within(4);
}

/// Starts redis, sets and gets `ROUNDS` keys, checks every answer, stops it.
fn serve_redis(server: &Server, backend: &str) -> Statistics {
    let socket = server.path("redis.sock");
    let mut command = server.command(backend);
    command.args([
        "--port",
        "0",
        "--save",
        "",
        "--loglevel",
        "warning",
        "--unixsocket",
    ]);
    let mut redis = start(command.arg(&socket));
    let mut connection = connect(&mut redis, &socket);
    for round in 0..ROUNDS {
        assert_eq!(
            ask(&mut connection, &format!("SET key{round} value{round}")),
            "+OK"
        );
    }
    for round in 0..ROUNDS {
        let value = format!("value{round}");
        let length = ask(&mut connection, &format!("GET key{round}"));
        assert_eq!(length, format!("${}", value.len()));
        assert_eq!(answer(&mut connection), value);
    }
    drop(connection);
    let finished = redis.stop();
    assert!(finished.status.success(), "{}", finished.errors);
    server.statistics()
}

#[test]
fn redis_serves_with_every_function_hooked() {
    in_every_way("/usr/bin/redis-server", |server, backend| {
        let statistics = serve_redis(server, backend);
        kept(&statistics, backend);
        assert_eq!(statistics.of("processCommand").0, 2 * ROUNDS);
        assert_eq!(statistics.of("setCommand").0, ROUNDS);
        assert_eq!(statistics.of("getCommand").0, ROUNDS);
        assert!(statistics.called() > 400, "{}", statistics.called());
    });
}

#[test]
fn redis_hops_as_often_as_the_plan_says() {
    let named = [("processCommand", 0), ("setCommand", 1), ("getCommand", 1)];
    let binary = Path::new("/usr/bin/redis-server");
    let plan = plan_of(binary, 2, &named);
    let backends = ["count", "affinity", "carrier"];
    for (way, backend) in WAYS.iter().flat_map(|way| backends.map(|b| (way, b))) {
        let server = way(binary, &plan);
        let statistics = serve_redis(&server, backend);
        // It starts on core 0, where the first command finds it; each command moves it to core 1,
        // and the next one moves it back.
        assert_eq!(
            statistics.of("processCommand"),
            (2 * ROUNDS, 2 * ROUNDS - 1),
            "{backend}"
        );
        assert_eq!(statistics.of("setCommand"), (ROUNDS, ROUNDS), "{backend}");
        assert_eq!(statistics.of("getCommand"), (ROUNDS, ROUNDS), "{backend}");
        assert_eq!(statistics.total("hops"), 4 * ROUNDS - 1, "{backend}");
        assert_eq!(statistics.total("failed_hops"), 0, "{backend}");
    }
}

#[test]
fn memcached_serves_with_every_function_hooked() {
    in_every_way("/usr/bin/memcached", serve_memcached);
}

fn serve_memcached(server: &Server, backend: &str) {
    let socket = server.path("memcached.sock");
    let mut command = server.command(backend);
    command.args(["-U", "0", "-u", "root", "-t", "2", "-s"]);
    let mut memcached = start(command.arg(&socket));
    let mut connection = connect(&mut memcached, &socket);
    for round in 0..ROUNDS {
        let set = format!("set key{round} 0 0 6\r\n{round:06}");
        assert_eq!(ask(&mut connection, &set), "STORED");
        let found = ask(&mut connection, &format!("get key{round}"));
        assert_eq!(found, format!("VALUE key{round} 0 6"));
        assert_eq!(answer(&mut connection), format!("{round:06}"));
        assert_eq!(answer(&mut connection), "END");
    }
    drop(connection);
    assert!(memcached.stop().status.success());
    let statistics = server.statistics();
    kept(&statistics, backend);
    assert!(statistics.called() > 80, "{}", statistics.called());
    assert!(statistics.total("calls") > 10 * ROUNDS);
}

#[test]
fn nginx_serves_with_every_function_hooked() {
    in_every_way("/usr/sbin/nginx", serve_nginx);
}

fn serve_nginx(server: &Server, backend: &str) {
    let socket = server.path("nginx.sock");
    std::fs::write(server.path("page.html"), "a page\n").unwrap();
    let root = server.folder.path().display();
    let configuration = format!(
        "user root; daemon off; worker_processes 1; pid {root}/pid; error_log {root}/errors;\n\
         events {{ worker_connections 64; }}\n\
         http {{ access_log off; client_body_temp_path {root}/a; proxy_temp_path {root}/b;\n\
         fastcgi_temp_path {root}/c; uwsgi_temp_path {root}/d; scgi_temp_path {root}/e;\n\
         server {{ listen unix:{}; root {root}; }} }}\n",
        socket.display()
    );
    let file = server.path("nginx.conf");
    std::fs::write(&file, configuration).unwrap();
    // The forked worker does the work: each process writes its own statistics.
    let pattern = server.path("statistics.%p");
    let mut command = server.command(backend);
    let errors = server.path("errors");
    let mut nginx = start(
        command
            .env("COREHOP_STATS", pattern)
            .arg("-e")
            .arg(errors)
            .arg("-c")
            .arg(&file),
    );
    for _ in 0..50 {
        let mut connection = connect(&mut nginx, &socket);
        let request = b"GET /page.html HTTP/1.0\r\n\r\n";
        connection.get_mut().write_all(request).unwrap();
        let mut page = String::new();
        connection.read_to_string(&mut page).unwrap();
        assert!(
            page.starts_with("HTTP/1.1 200 OK") && page.ends_with("\r\n\r\na page\n"),
            "{page}"
        );
    }
    assert!(nginx.stop().status.success());
    let files = std::fs::read_dir(server.folder.path()).unwrap();
    let written = files.filter_map(|entry| {
        let path = entry.unwrap().path();
        let is_ours = path.file_name()?.to_str()?.starts_with("statistics.");
        is_ours.then(|| Statistics::read(&path))
    });
    let requests = written.map(|s| s.of("ngx_http_process_request").0);
    let mut requests: Vec<u64> = requests.collect();
    requests.sort_unstable();
    assert_eq!(requests, [0, 50], "the master served none, its worker all");
}

#[test]
fn mariadbd_serves_with_every_function_hooked() {
    in_every_way("/usr/sbin/mariadbd", serve_mariadbd);
}

fn serve_mariadbd(server: &Server, backend: &str) {
    let answers = server.path("answers");
    std::fs::create_dir(server.path("data")).unwrap();
    let mut script = String::from("create database bank;\nuse bank;\n");
    script += "create table account (id int primary key, balance int, index (balance));\n";
    for id in 1..=50 {
        script += &format!("insert into account values ({id}, {id});\n");
    }
    script += "update account set balance = balance * 2 where id > 25;\n";
    script += &format!(
        "select count(*), sum(balance), max(balance) from account into outfile '{}';\n",
        answers.display()
    );
    let file = server.path("script.sql");
    std::fs::write(&file, script).unwrap();
    let mut command = server.command(backend);
    command
        .args([
            "--no-defaults",
            "--user=root",
            "--bootstrap",
            "--skip-grant-tables",
        ])
        .args(["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=4M"])
        .arg(format!("--datadir={}", server.path("data").display()));
    let input = std::fs::File::open(&file).unwrap().into();
    let finished = start_reading(&mut command, input).finish();
    assert!(finished.status.success(), "{}", finished.errors);
    // 1 + ... + 25, and twice 26 + ... + 50.
    assert_eq!(std::fs::read_to_string(answers).unwrap(), "50\t2225\t100\n");
    let statistics = server.statistics();
    kept(&statistics, backend);
    assert_eq!(statistics.of("_ZN7handler12ha_write_rowEPKh").0, 50);
    assert!(statistics.called() > 2000, "{}", statistics.called());
}
