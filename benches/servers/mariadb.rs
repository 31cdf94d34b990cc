//! mariadbd under TPC-C (loads/tpcc), on one to eight connections.
//!
//! Its working set is mariadbd's code and the tables' hot pages; no option makes it a share of an
//! L2, so it has no size. The client is a process of its own, asks one statement at a time and
//! waits for its answer, so on one connection client and server work in turn. All variants begin
//! with copies of the same tables, and all get the same transactions. Time is that of a statement.

use crate::Outcome;
use crate::running::{Place, Running};
use crate::server::{Answered, Launch, Load, Server};
use std::cell::OnceCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Of each connection, in a batch.
const TRANSACTIONS: u64 = 20;
/// Batches tried, of which one has to end well.
const ATTEMPTS: usize = 5;
const SYSTEM_TABLES: [&str; 2] = [
    "/usr/share/mysql/mysql_system_tables.sql",
    "/usr/share/mysql/mysql_system_tables_data.sql",
];

/// mariadbd, and tables that nobody has changed since they were loaded.
#[derive(Default)]
pub struct Mariadb {
    pristine: OnceCell<TempDir>,
}

struct Tpcc {
    socket: PathBuf,
    connections: u32,
    seed: u64,
}

impl Server for Mariadb {
    fn name(&self) -> &'static str {
        "mariadbd"
    }

    fn load_name(&self) -> &'static str {
        "tpcc"
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("/usr/sbin/mariadbd", "mariadb-server-core"),
            (SYSTEM_TABLES[0], "mariadb-server-core"),
        ]
    }

    fn connections(&self) -> &[u32] {
        &[1, 2, 4, 8]
    }

    fn request_at(&self) -> &'static str {
        "dispatch_command"
    }

    fn recorded_requests(&self) -> u64 {
        400
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        if self.pristine.get().is_none() {
            let _ = self.pristine.set(tables()?);
        }
        let pristine = self.pristine.get().ok_or("no tables")?.path();
        let mut copy = Command::new("cp");
        copy.arg("-r").arg(pristine.join("data")).arg(&place.folder);
        succeed(&mut copy)?;
        Ok(Launch {
            command: mariadbd(&place.folder),
            ..Launch::default()
        })
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        let socket = running.folder.join("socket");
        running.wait_for("mariadbd to make its socket", |_| {
            socket.exists().then_some(())
        })?;
        tpcc(&["wait", "--max-seconds", "300"], &socket).map(|_| ())
    }

    fn connect(&self, running: &mut Running, connections: u32) -> Outcome<Box<dyn Load>> {
        let socket = running.folder.join("socket");
        Ok(Box::new(Tpcc {
            socket,
            connections,
            seed: 0,
        }))
    }
}

impl Load for Tpcc {
    /// The same transactions on every variant, but others in every batch. A batch in which a
    /// transaction saw another's rows too early is not counted, and the next one is taken.
    fn batch(&mut self) -> Outcome<Answered> {
        let connections = self.connections.to_string();
        let transactions = (TRANSACTIONS * u64::from(self.connections)).to_string();
        let mut refused = None;
        for _ in 0..ATTEMPTS {
            self.seed += 1;
            let seed = self.seed.to_string();
            let words = ["run", "--json", "--seed", &seed, "--transactions"];
            let more = [&*transactions, "--connections", &connections];
            match tpcc(&[&words[..], &more].concat(), &self.socket) {
                Ok(said) => return answered(&said),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.ok_or("no attempt")?)
    }
}

/// From the load's report.
fn answered(said: &[u8]) -> Outcome<Answered> {
    let report: serde_json::Value = serde_json::from_slice(said)?;
    let requests = report["requests"].as_u64();
    let seconds = report["seconds"].as_f64();
    Ok(Answered {
        requests: requests.ok_or("no requests in the load's report")?,
        seconds: seconds.ok_or("no seconds in the load's report")?,
    })
}

/// Makes the tables.
fn tables() -> Outcome<TempDir> {
    build_load()?;
    let pristine = crate::running::folder()?;
    let folder = pristine.path();
    std::fs::create_dir(folder.join("data"))?;
    let mut statements = b"create database mysql;\nuse mysql;\n".to_vec();
    for file in SYSTEM_TABLES {
        statements.extend(std::fs::read(file)?);
    }
    std::fs::write(folder.join("statements"), statements)?;
    let words = mariadbd(folder);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg("--bootstrap");
    succeed(command.stdin(File::open(folder.join("statements"))?))?;
    let mut server = Command::new(&words[0]);
    server.args(&words[1..]).stdout(Stdio::null());
    let mut server = server.stderr(Stdio::null()).spawn()?;
    let socket = folder.join("socket");
    let loaded = tpcc(&["wait", "--max-seconds", "60"], &socket);
    let loaded = loaded.and_then(|_| tpcc(&["load", "--scale", "20", "--seed", "1"], &socket));
    // SAFETY: kill takes two numbers and touches no memory.
    unsafe { libc::kill(server.id().cast_signed(), libc::SIGTERM) };
    server.wait()?;
    loaded?;
    Ok(pristine)
}

fn build_load() -> Outcome<()> {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--locked", "-p", "corehop-tpcc"]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    build.current_dir(env!("CARGO_MANIFEST_DIR"));
    succeed(&mut build).map(|_| ())
}

fn tpcc(words: &[&str], socket: &Path) -> Outcome<Vec<u8>> {
    let program = Path::new(env!("CARGO_BIN_EXE_corehop")).with_file_name("corehop-tpcc");
    let mut command = Command::new(program);
    succeed(command.args(words).arg("--socket").arg(socket))
}

fn succeed(command: &mut Command) -> Outcome<Vec<u8>> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}\n{said}", output.status).into());
    }
    Ok(output.stdout)
}

fn mariadbd(folder: &Path) -> Vec<String> {
    let at = |option: &str, name: &str| format!("--{option}={}", folder.join(name).display());
    let mut command = vec![
        "/usr/sbin/mariadbd".into(),
        "--no-defaults".into(),
        at("datadir", "data"),
        at("tmpdir", ""),
        at("socket", "socket"),
        at("pid-file", "pid"),
    ];
    let options = [
        "--skip-networking",
        "--skip-log-bin",
        "--innodb-log-file-size=16M",
        "--innodb-flush-log-at-trx-commit=0",
        "--max-connections=20",
        // A delivery that locks an order newer than its snapshot would not find its customer.
        "--transaction-isolation=READ-COMMITTED",
        "--table-open-cache=200",
        // QEMU keeps flags for every reserved page; without a maximum, 8 TB are reserved.
        "--innodb-buffer-pool-size=64M",
        "--innodb-buffer-pool-size-max=64M",
    ];
    command.extend(options.map(str::to_owned));
    if rustix::process::geteuid().is_root() {
        command.push("--user=root".into());
    }
    command
}
