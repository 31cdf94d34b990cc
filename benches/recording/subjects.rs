//! The recorded programs and their loads: redis, MariaDB under TPC-C, and sqlite3.

use crate::Outcome;
use crate::mariadb::{self, copy_tables, make_tables, mariadbd, succeed, tpcc};
use crate::processes::{Running, Tools};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command};
use std::time::Duration;
use tempfile::TempDir;

/// A program and its load.
pub trait Subject {
    /// Load of one running program.
    type Load: Load;

    fn name(&self) -> &'static str;
    fn request_at(&self) -> &'static str;
    /// Returns the program and its arguments, for its own folder.
    fn command(&self, folder: &Path) -> Outcome<Vec<String>>;
    /// Waits until the program answers.
    fn load(&self, running: &mut Running) -> Outcome<Self::Load>;
}

/// A load of a program.
pub trait Load {
    /// Sends requests and waits for their answers. Returns their number.
    fn drive(&mut self) -> Outcome<u64>;
}

/// redis-server under redis-benchmark: this many SETs and as many GETs.
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
        running.wait_for("redis-server to listen", || {
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
    /// Tables as they were loaded, never modified.
    pristine: TempDir,
}

pub struct MariadbLoad {
    tpcc: PathBuf,
    transactions: u64,
    socket: PathBuf,
    seed: u64,
}

impl Mariadb {
    /// Creates the tables, natively.
    pub fn prepare(tools: &Tools, transactions: u64) -> Outcome<Mariadb> {
        let pristine = tempfile::Builder::new()
            .prefix("corehop-")
            .tempdir_in("/tmp")?;
        make_tables(pristine.path(), &tools.tpcc)?;
        Ok(Mariadb {
            tpcc: tools.tpcc.clone(),
            transactions,
            pristine,
        })
    }
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
        copy_tables(self.pristine.path(), folder)?;
        Ok(mariadbd(folder))
    }

    fn load(&self, running: &mut Running) -> Outcome<MariadbLoad> {
        let socket = mariadb::socket(running.folder());
        running.wait_for("mariadbd to make its socket", || {
            std::thread::sleep(Duration::from_millis(50));
            socket.exists().then_some(())
        })?;
        mariadb::wait(&self.tpcc, &socket, 300)?;
        Ok(MariadbLoad {
            tpcc: self.tpcc.clone(),
            transactions: self.transactions,
            socket,
            seed: 1,
        })
    }
}

impl Load for MariadbLoad {
    /// Runs the same transactions on every server, but other ones in each round.
    fn drive(&mut self) -> Outcome<u64> {
        let (transactions, seed) = (self.transactions.to_string(), self.seed.to_string());
        let words = [
            "run",
            "--json",
            "--transactions",
            &transactions,
            "--seed",
            &seed,
        ];
        let said = tpcc(&self.tpcc, &words, &self.socket)?;
        self.seed += 1;
        let report: serde_json::Value = serde_json::from_slice(&said)?;
        Ok(report["requests"]
            .as_u64()
            .ok_or("no requests in the load's report")?)
    }
}

/// sqlite3 on a CPU-bound script; each statement is a request.
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
