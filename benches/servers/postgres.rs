//! postgres with joins of eight small tables, planned again for each query.
//!
//! Planning eight relations takes milliseconds and accesses most of the planner's code and catalog
//! caches; executing the plan takes little time. postgres determines the working set, so the load
//! has no adjustable size. Statements are simple queries, several sent together. Its postmaster
//! forks a process for each connection, which requires the QEMU of `make qemu` for recordings. JIT
//! is off, because its code is in no file that could be hooked.

use crate::Outcome;
use crate::running::{Place, Running};
use crate::server::{Answered, Launch, Load, Server};
use crate::started::PATIENCE;
use corehop_recorder::tools::built_qemu;
use std::io::{BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

const TABLES: u32 = 8;
/// Queries sent together.
const DEPTH: u64 = 5;
/// Protocol 3.0.
const PROTOCOL: u32 = 3 << 16;

/// postgres.
pub struct Postgres;

struct Session {
    connection: BufReader<TcpStream>,
    queries: Vec<u8>,
    depth: u64,
}

impl Server for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn load_name(&self) -> &'static str {
        "joins"
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[("/usr/lib/postgresql", "postgresql")]
    }

    fn lacks(&self) -> Option<String> {
        if let Err(error) = programs() {
            return Some(error.to_string());
        }
        let qemu = built_qemu();
        (!qemu.is_file()).then(|| {
            let qemu = qemu.display();
            format!("no {qemu}, without which postgres cannot be recorded: make qemu")
        })
    }

    fn request_at(&self) -> &'static str {
        "pg_parse_query"
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        let data = place.folder.join("data").display().to_string();
        let programs = programs()?;
        let mut initdb = unprivileged(programs.join("initdb").display().to_string());
        let options = [
            "-U",
            "postgres",
            "-A",
            "trust",
            "--no-locale",
            "--no-sync",
            "-D",
            &data,
        ];
        let made = initdb.args(options).output()?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr);
            return Err(format!("initdb: {said}").into());
        }
        let mut command = vec![
            programs.join("postgres").display().to_string(),
            "-D".into(),
            data,
        ];
        let settings = [
            format!("port={}", place.port),
            "listen_addresses=127.0.0.1".into(),
            "unix_socket_directories=".into(),
            "shared_buffers=16MB".into(),
            "max_connections=10".into(),
            "autovacuum=off".into(),
            "jit=off".into(),
            "fsync=off".into(),
            "max_parallel_workers_per_gather=0".into(),
        ];
        command.extend(
            settings
                .into_iter()
                .flat_map(|setting| ["-c".into(), setting]),
        );
        Ok(Launch {
            command,
            environment: vec![("COREHOP_QEMU".into(), built_qemu().display().to_string())],
            refuses_root: true,
        })
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        let mut session = Session::open(running)?;
        let mut statements = String::new();
        for table in 0..TABLES {
            statements += &format!(
                "drop table if exists t{table}; \
                 create table t{table} (id int primary key, next int, name text); \
                 insert into t{table} select i, (i * 7 + {table}) % 50, 'name ' || i \
                 from generate_series(0, 49) i; create index on t{table} (next); \
                 analyze t{table}; "
            );
        }
        session.ask(&statements)
    }

    fn connect(&self, running: &mut Running, _connections: u32) -> Outcome<Box<dyn Load>> {
        let mut session = Session::open(running)?;
        session.depth = if running.is_recorded { 1 } else { DEPTH };
        session.queries = query(&joins()).repeat(session.depth as usize);
        Ok(Box::new(session))
    }
}

/// Joins all eight tables, each to the previous one.
fn joins() -> String {
    let mut tables = String::from("t0");
    for table in 1..TABLES {
        tables += &format!(" join t{table} on t{table}.id = t{}.next", table - 1);
    }
    format!("select count(*), max(t7.name) from {tables} where t0.id = 7 and t3.name <> 'x'")
}

impl Session {
    fn open(running: &mut Running) -> Outcome<Session> {
        // It listens before it accepts sessions, and refuses them until then.
        let port = running.port;
        running.wait_for("postgres to be ready", || {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
            Session::greeted(stream).ok()
        })
    }

    fn greeted(stream: TcpStream) -> Outcome<Session> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut connection = BufReader::new(stream);
        let words = b"user\0postgres\0database\0postgres\0\0";
        let length = 8 + words.len() as u32;
        let head = [length.to_be_bytes(), PROTOCOL.to_be_bytes()].concat();
        connection
            .get_mut()
            .write_all(&[&head[..], words].concat())?;
        let mut session = Session {
            connection,
            queries: Vec::new(),
            depth: 0,
        };
        session.wait_until_ready()?;
        Ok(session)
    }

    fn ask(&mut self, statements: &str) -> Outcome<()> {
        self.connection.get_mut().write_all(&query(statements))?;
        self.wait_until_ready()
    }

    /// Reads up to ReadyForQuery.
    fn wait_until_ready(&mut self) -> Outcome<()> {
        loop {
            let mut head = [0; 5];
            self.connection.read_exact(&mut head)?;
            let [kind, length @ ..] = head;
            let length = u32::from_be_bytes(length).saturating_sub(4);
            let mut body = vec![0; length as usize];
            self.connection.read_exact(&mut body)?;
            match kind {
                b'Z' => return Ok(()),
                b'E' => {
                    let said = String::from_utf8_lossy(&body).replace('\0', " ");
                    return Err(format!("postgres says: {said}").into());
                }
                _ => {}
            }
        }
    }
}

impl Load for Session {
    fn batch(&mut self) -> Outcome<Answered> {
        let start = Instant::now();
        self.connection.get_mut().write_all(&self.queries)?;
        for _ in 0..self.depth {
            self.wait_until_ready()?;
        }
        Ok(Answered {
            requests: self.depth,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

/// Returns a simple query message.
fn query(statements: &str) -> Vec<u8> {
    let length = (statements.len() as u32 + 5).to_be_bytes();
    [&b"Q"[..], &length, statements.as_bytes(), b"\0"].concat()
}

/// Returns the folder of the newest installed version.
fn programs() -> Outcome<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql")?.flatten();
    let folders = versions.map(|version| version.path().join("bin"));
    let folder = folders
        .filter(|folder| folder.join("postgres").is_file())
        .max();
    Ok(folder.ok_or("no postgres: apt-get install postgresql")?)
}

/// Returns a command that runs as a user other than root.
fn unprivileged(program: String) -> Command {
    let words = crate::running::unprivileged();
    let mut words = words.iter().map(|&word| word.to_owned()).chain([program]);
    let mut command = Command::new(words.next().expect("at least the program"));
    command.args(words);
    command
}
