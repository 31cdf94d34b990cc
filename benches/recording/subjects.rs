//! The programs that are recorded, and what drives each: redis, MariaDB under TPC-C, and sqlite3.

use crate::Outcome;
use crate::processes::{Running, Tools};
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A program and its load.
pub trait Subject {
    /// What drives one running program.
    type Load: Load;

    fn name(&self) -> &'static str;
    fn request_at(&self) -> &'static str;
    /// The program and its arguments, for a folder of its own.
    fn command(&self, folder: &Path) -> Outcome<Vec<String>>;
    /// Waits until the program answers.
    fn load(&self, running: &mut Running) -> Outcome<Self::Load>;
}

/// What drives a program.
pub trait Load {
    /// Has some requests answered; how many.
    fn drive(&mut self) -> Outcome<u64>;
}

fn succeed(command: &mut Command) -> Outcome<Vec<u8>> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}\n{said}", output.status).into());
    }
    Ok(output.stdout)
}

/// redis-server under redis-benchmark: so many SETs and as many GETs.
pub struct Redis {
    pub requests: u64,
}

pub struct RedisLoad {
    port: String,
    requests: u64,
}

impl Subject for Redis {
    type Load = RedisLoad;

    fn name(&self) -> &'static str {
        "redis"
    }

    fn request_at(&self) -> &'static str {
        "processCommand"
    }

    fn command(&self, folder: &Path) -> Outcome<Vec<String>> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        std::fs::write(folder.join("port"), port.to_string())?;
        let options = [
            "--save",
            "",
            "--appendonly",
            "no",
            "--bind",
            "127.0.0.1",
            "--port",
        ];
        let mut command = vec!["/usr/bin/redis-server".to_owned()];
        command.extend(options.map(str::to_owned));
        command.push(port.to_string());
        Ok(command)
    }

    fn load(&self, running: &mut Running) -> Outcome<RedisLoad> {
        let port = std::fs::read_to_string(running.folder().join("port"))?;
        let number: u16 = port.parse()?;
        running.wait_for("redis-server to listen", |_| {
            TcpStream::connect((Ipv4Addr::LOCALHOST, number)).ok()
        })?;
        Ok(RedisLoad {
            port,
            requests: self.requests,
        })
    }
}

impl Load for RedisLoad {
    fn drive(&mut self) -> Outcome<u64> {
        let half = (self.requests / 2).to_string();
        let mut command = Command::new("redis-benchmark");
        command.args(["-q", "-t", "set,get", "-c", "8", "-d", "64", "-r", "1000"]);
        succeed(command.args(["-p", &self.port, "-n", &half]))?;
        Ok(self.requests)
    }
}

/// mariadbd under TPC-C on one connection.
pub struct Mariadb {
    tpcc: PathBuf,
    transactions: u64,
    /// Tables that nobody has changed since they were loaded.
    pristine: TempDir,
}

pub struct MariadbLoad {
    tpcc: PathBuf,
    transactions: u64,
    socket: PathBuf,
    seed: u64,
}

const SYSTEM_TABLES: [&str; 2] = [
    "/usr/share/mysql/mysql_system_tables.sql",
    "/usr/share/mysql/mysql_system_tables_data.sql",
];

impl Mariadb {
    /// Makes the tables, natively.
    pub fn prepare(tools: &Tools, transactions: u64) -> Outcome<Mariadb> {
        let pristine = tempfile::Builder::new()
            .prefix("corehop-")
            .tempdir_in("/tmp")?;
        let folder = pristine.path();
        std::fs::create_dir(folder.join("data"))?;
        let mut statements = b"create database mysql;\nuse mysql;\n".to_vec();
        for file in SYSTEM_TABLES {
            statements.extend(std::fs::read(file)?);
        }
        std::fs::write(folder.join("statements"), statements)?;
        let [program, options @ ..] = &mariadbd(folder)[..] else {
            unreachable!("a command has a program");
        };
        let mut command = Command::new(program);
        command.args(options).arg("--bootstrap");
        succeed(command.stdin(File::open(folder.join("statements"))?))?;
        let mut server = Command::new(program);
        server
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut server = server.spawn()?;
        let socket = folder.join("socket");
        let loaded = [
            &["wait", "--max-seconds", "60"][..],
            &["load", "--scale", "20", "--seed", "1"],
        ]
        .iter()
        .try_for_each(|arguments| {
            let mut command = Command::new(&tools.tpcc);
            command.arg(arguments[0]).arg("--socket").arg(&socket);
            succeed(command.args(&arguments[1..])).map(|_| ())
        });
        // SAFETY: kill takes two numbers and touches no memory.
        unsafe { libc::kill(server.id().cast_signed(), libc::SIGTERM) };
        server.wait()?;
        loaded?;
        Ok(Mariadb {
            tpcc: tools.tpcc.clone(),
            transactions,
            pristine,
        })
    }
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
        "--skip-networking".into(),
        "--skip-log-bin".into(),
        "--innodb-log-file-size=16M".into(),
        "--innodb-flush-log-at-trx-commit=0".into(),
        "--max-connections=20".into(),
        "--table-open-cache=200".into(),
        // QEMU keeps flags for every reserved page; without a maximum, 8 TB are reserved.
        "--innodb-buffer-pool-size=64M".into(),
        "--innodb-buffer-pool-size-max=64M".into(),
    ];
    if rustix::process::getuid().is_root() {
        command.push("--user=root".into());
    }
    command
}

impl Subject for Mariadb {
    type Load = MariadbLoad;

    fn name(&self) -> &'static str {
        "mariadbd"
    }

    fn request_at(&self) -> &'static str {
        "dispatch_command"
    }

    fn command(&self, folder: &Path) -> Outcome<Vec<String>> {
        let mut copy = Command::new("cp");
        copy.arg("-r")
            .arg(self.pristine.path().join("data"))
            .arg(folder);
        succeed(&mut copy)?;
        Ok(mariadbd(folder))
    }

    fn load(&self, running: &mut Running) -> Outcome<MariadbLoad> {
        let socket = running.folder().join("socket");
        running.wait_for("mariadbd to make its socket", |_| {
            std::thread::sleep(Duration::from_millis(50));
            socket.exists().then_some(())
        })?;
        let mut wait = Command::new(&self.tpcc);
        wait.arg("wait").arg("--socket").arg(&socket);
        succeed(wait.args(["--max-seconds", "300"]))?;
        Ok(MariadbLoad {
            tpcc: self.tpcc.clone(),
            transactions: self.transactions,
            socket,
            seed: 1,
        })
    }
}

impl Load for MariadbLoad {
    /// The same transactions on every server, but others in every round.
    fn drive(&mut self) -> Outcome<u64> {
        let mut command = Command::new(&self.tpcc);
        command
            .args(["run", "--json", "--socket"])
            .arg(&self.socket);
        command.args(["--transactions", &self.transactions.to_string()]);
        let said = succeed(command.args(["--seed", &self.seed.to_string()]))?;
        self.seed += 1;
        let report: serde_json::Value = serde_json::from_slice(&said)?;
        Ok(report["requests"]
            .as_u64()
            .ok_or("no requests in the load's report")?)
    }
}

/// sqlite3 on a script that takes nothing but processor time; each statement is a request.
pub struct Sqlite {
    pub statements: u64,
}

pub struct SqliteLoad {
    input: ChildStdin,
    output: PathBuf,
    statements: u64,
    driven: u64,
}

/// Two thousand rows in memory.
const TABLE: &str = "create table t(a integer primary key, b text, c integer);\n\
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)\n\
    insert into t select i, hex(i * 7919 % 100003), i * 31 % 97 from n;\n";

impl Subject for Sqlite {
    type Load = SqliteLoad;

    fn name(&self) -> &'static str {
        "sqlite3"
    }

    fn request_at(&self) -> &'static str {
        "libsqlite3.so.0:sqlite3_prepare_v2"
    }

    fn command(&self, _folder: &Path) -> Outcome<Vec<String>> {
        Ok(["/usr/bin/sqlite3", "-batch", ":memory:"]
            .map(str::to_owned)
            .into())
    }

    fn load(&self, running: &mut Running) -> Outcome<SqliteLoad> {
        let mut input = running.stdin().ok_or("no input")?;
        input.write_all(TABLE.as_bytes())?;
        Ok(SqliteLoad {
            input,
            output: running.folder().join("stdout"),
            statements: self.statements,
            driven: 0,
        })
    }
}

impl Load for SqliteLoad {
    fn drive(&mut self) -> Outcome<u64> {
        for statement in 0..self.statements {
            writeln!(
                self.input,
                "select c, count(*), sum(length(b)) from t where b like '%{}%' group by c \
                 having count(*) > 1000 order by 2;",
                statement % 10
            )?;
        }
        self.driven += 1;
        let end = format!("driven {}", self.driven);
        writeln!(self.input, ".print {end}")?;
        self.input.flush()?;
        for _ in 0..60_000 {
            if std::fs::read_to_string(&self.output)?.contains(&end) {
                return Ok(self.statements);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err("sqlite3 does not answer".into())
    }
}
