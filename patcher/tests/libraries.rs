//! Hooks in real libraries: SQLite under its shell and under Python, and a module of nginx.

use crate::workshop::{
    self, Statistics, joined, patched_all, plan_of, plan_of_all, plan_of_all_calls, run, start,
};
use corehop_patcher::InMemory;
use corehop_plan::Plan;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

const SQLITE: &str = "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0";
const SHELL: &str = "/usr/bin/sqlite3";
const PYTHON: &str = "/usr/bin/python3";
const ROWS: u64 = 100;

/// Returns the SQL of an in-memory bank with known answers.
fn script() -> String {
    let mut script = String::from("create table account (id integer primary key, balance int);\n");
    for id in 1..=ROWS {
        script += &format!("insert into account values ({id}, {id});\n");
    }
    script += "create index by_balance on account (balance);\n";
    script += "update account set balance = balance * 2 where id > 50;\n";
    script += "select count(*), sum(balance), max(balance) from account;\n";
    script
}

/// 1 + ... + 50, and twice 51 + ... + 100.
const ANSWER: &str = "100|8825|200\n";

/// One statement each for the table, the rows, the index, the update and the answer. The library
/// adds three: it reads the schema at first, and the new parts after the table and after the index.
const STATEMENTS: u64 = ROWS + 4 + 3;

struct Bench {
    folder: tempfile::TempDir,
    hop: PathBuf,
}

fn bench(plan: &Plan) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let hop = folder.path().join("hop");
    patched_all(plan, &hop);
    Bench { folder, hop }
}

impl Bench {
    fn prepare<'a>(&self, command: &'a mut Command, backend: &str) -> &'a mut Command {
        command
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("COREHOP_BACKEND", backend)
            .env("COREHOP_STATS", self.folder.path().join("statistics"))
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .envs(workshop::WHEREVER);
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        command
    }

    /// Runs the SQL in the shell and returns the statistics.
    fn shell(&self, command: &mut Command, backend: &str) -> Statistics {
        let command = self.prepare(command, backend);
        let finished = run(command.args([":memory:", &script()]));
        let said = (finished.output.as_str(), finished.errors.as_str());
        assert_eq!(said, (ANSWER, ""), "{backend}");
        assert!(finished.status.success());
        let statistics = Statistics::read(&self.folder.path().join("statistics"));
        assert_eq!(statistics.0["backend"], backend);
        assert_eq!(statistics.total("failed_hops"), 0);
        statistics.check_balance();
        statistics
    }
}

#[test]
fn the_shell_and_its_library_hop_at_every_entry() {
    let (shell, library) = (Path::new(SHELL), Path::new(SQLITE));
    for plan_of_each in [plan_of_all, plan_of_all_calls] {
        let plan = joined([shell, library].map(|file| plan_of_each(file, 2)));
        assert!(plan.functions.len() > 2700, "{}", plan.functions.len());
        hops_at_every_entry(&plan, shell);
    }
}

/// Also checks hops back at the end of calls, for functions with that mode in the plan.
fn hops_at_every_entry(plan: &Plan, shell: &Path) {
    let bench = bench(plan);
    for backend in ["count", "carrier"] {
        let mut patched = Command::new(bench.hop.join("sqlite3"));
        patched.env("LD_LIBRARY_PATH", &bench.hop);
        let hooks = InMemory::new(shell, plan).unwrap();
        let mut in_memory = Command::new(shell);
        hooks.hook(&mut in_memory, None);
        for command in [&mut patched, &mut in_memory] {
            let statistics = bench.shell(command, backend);
            assert_eq!(statistics.of("sqlite3_prepare_v2").0, STATEMENTS);
            assert_eq!(
                statistics.module_of("sqlite3_prepare_v2"),
                "libsqlite3.so.0"
            );
            assert!(statistics.called() > 500, "{}", statistics.called());
        }
    }
}

#[test]
fn a_library_of_a_program_that_is_not_patched_hops_on_its_request_path() {
    let named = [("sqlite3_prepare_v2", 0), ("sqlite3_step", 1)];
    let bench = bench(&plan_of(Path::new(SQLITE), 2, &named));
    let preload = [corehop_runtime::NAME, "libsqlite3.so.0"];
    let preload = preload.map(|name| bench.hop.join(name).display().to_string());
    for backend in ["count", "affinity", "carrier"] {
        let mut command = Command::new(SHELL);
        let statistics = bench.shell(command.env("LD_PRELOAD", preload.join(":")), backend);
        // The thread starts on core 0, and migrates to core 1 and back with each statement.
        let (prepared, back) = statistics.of("sqlite3_prepare_v2");
        // The first call finds it on core 0, and reads the schema before any step.
        assert_eq!((prepared, back), (STATEMENTS, STATEMENTS - 2), "{backend}");
        assert_eq!(statistics.of("sqlite3_step").1, STATEMENTS - 1, "{backend}");
    }
}

#[test]
fn a_library_that_comes_with_a_module_of_python_hops_from_then_on() {
    let named = [("sqlite3_prepare_v2", 0), ("sqlite3_step", 1)];
    let bench = bench(&plan_of(Path::new(SQLITE), 2, &named));
    let lines = "import sqlite3, sys\n\
                 bank = sqlite3.connect(':memory:')\n\
                 bank.executescript(sys.argv[1])\n\
                 query = 'select count(*), sum(balance), max(balance) from account where id > '\n\
                 for one in range(50):\n\
                 \x20   row, = bank.execute(query + str(-one))\n\
                 print(*row, sep='|')\n";
    for backend in ["count", "affinity"] {
        let mut command = Command::new(PYTHON);
        command
            .env("LD_LIBRARY_PATH", &bench.hop)
            .env("LD_PRELOAD", bench.hop.join(corehop_runtime::NAME))
            .args(["-c", lines, &script()]);
        let finished = run(bench.prepare(&mut command, backend));
        assert_eq!(
            (finished.output.as_str(), finished.errors.as_str()),
            (ANSWER, "")
        );
        let statistics = Statistics::read(&bench.folder.path().join("statistics"));
        assert_eq!(statistics.0["backend"], backend);
        let hops = statistics.of("sqlite3_step").1;
        assert!(hops >= 50, "{backend}: {hops}");
        assert_eq!(statistics.total("failed_hops"), 0);
    }
}

#[test]
fn a_module_that_nginx_loads_by_its_path_hops_with_it() {
    let (server, module) = (
        "/usr/sbin/nginx",
        "/usr/lib/nginx/modules/ngx_http_echo_module.so",
    );
    let plan = joined([server, module].map(|file| plan_of_all(Path::new(file), 2)));
    let bench = bench(&plan);
    let root = bench.folder.path();
    let socket = root.join("socket");
    let configuration = format!(
        "user root; daemon off; worker_processes 1; pid {0}/pid; error_log {0}/errors;\n\
         load_module {1}; events {{ worker_connections 64; }}\n\
         http {{ access_log off; client_body_temp_path {0}/a; proxy_temp_path {0}/b;\n\
         fastcgi_temp_path {0}/c; uwsgi_temp_path {0}/d; scgi_temp_path {0}/e;\n\
         server {{ listen unix:{2}; location / {{ echo a page; }} }} }}\n",
        root.display(),
        bench.hop.join("ngx_http_echo_module.so").display(),
        socket.display()
    );
    std::fs::write(root.join("conf"), configuration).unwrap();
    let mut command = Command::new(bench.hop.join("nginx"));
    bench.prepare(&mut command, "count");
    command
        .env("COREHOP_STATS", root.join("statistics.%p"))
        .args(["-e", "errors", "-c"])
        .arg(root.join("conf"));
    let mut nginx = start(&mut command);
    for _ in 0..20 {
        let mut connection = nginx.until(|| UnixStream::connect(&socket).ok());
        connection.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let mut page = String::new();
        connection.read_to_string(&mut page).unwrap();
        assert!(page.ends_with("\r\n\r\na page\n"), "{page}");
    }
    let finished = nginx.stop();
    assert!(finished.status.success(), "{}", finished.errors);
    assert_eq!(
        finished.errors,
        "corehop: hops begin when ngx_http_echo_module.so is loaded\n"
    );
    let files = std::fs::read_dir(root).unwrap();
    let written = files.map(|file| file.unwrap().path()).filter_map(|path| {
        let is_ours = path.file_name()?.to_str()?.starts_with("statistics.");
        is_ours.then(|| Statistics::read(&path))
    });
    let handled = written.map(|statistics| {
        let of = |symbol| statistics.of(symbol).0;
        (of("ngx_http_process_request"), of("ngx_http_echo_handler"))
    });
    let mut handled: Vec<_> = handled.collect();
    handled.sort_unstable();
    assert_eq!(
        handled,
        [(0, 0), (20, 20)],
        "the master served none, its worker all"
    );
}
