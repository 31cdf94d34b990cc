//! Measures the real client: its think time between an answer and the next statement, and the CPU
//! time of a statement that is in no recording of the server.
//!
//! The load omits TPC-C's own think times, but its program needs time to read an answer and to
//! create the next statement. During that time, the connection has no request at the server. It is
//! measured on one connection: with more, clients wait for CPUs, which is not think time. The
//! client's CPU time, and the kernel's time for the server, come from the kernel's accounting. On a
//! machine that both share, they leave that much less time for the server.

use crate::Outcome;
use crate::mariadb;
use crate::running::{Running, Variant, Way};
use crate::server::Server;
use crate::tpcc::{self, Mariadb};
use rustix::param::clock_ticks_per_second;
use serde_json::{Value, json};
use std::path::Path;

/// This many take seconds: the kernel separates user and system time by its ticks.
const TRANSACTIONS: &str = "1000";
/// Fields of /proc/PID/stat (proc(5)), in ticks: a process's system time, and the user and system
/// time of its children that it has waited for.
const STIME: usize = 15;
const CHILDREN: [usize; 2] = [16, 17];

/// Behavior of one connection's client.
pub struct Client {
    /// Mean time between an answer and the next statement, in microseconds.
    pub think_us: f64,
    /// CPU time of a statement outside the server's own code, in microseconds: the client, and the
    /// kernel for both.
    pub outside_us: f64,
    /// Statements per transaction.
    pub statements: f64,
}

impl Client {
    /// Renders JSON.
    pub fn json(&self) -> Value {
        json!({
            "think_us": self.think_us, "outside_us": self.outside_us,
            "statements_per_transaction": self.statements,
        })
    }
}

/// Measures the client on the unmodified server, natively.
pub fn measure(server: &Mariadb, folder: &Path) -> Outcome<Client> {
    let way = Way::Hopping {
        variant: Variant::Original,
        plan: Path::new(""), // The original needs none.
        cpus: &[],
    };
    let mut running = Running::start(server, &way, folder.join("client"))?;
    server.fill(&mut running)?;
    let socket = mariadb::socket(&running.folder);
    let words = ["run", "--json", "--transactions", TRANSACTIONS, "--seed"];
    let run = |seed| mariadb::tpcc(&tpcc::load(), &[&words[..], &[seed]].concat(), &socket);
    // The first run warms up.
    run("1")?;
    let outside = || {
        Ok::<_, Box<dyn std::error::Error>>(
            ticks("self", &CHILDREN)? + ticks(&running.id().to_string(), &[STIME])?,
        )
    };
    let before = outside()?;
    let report: Value = serde_json::from_slice(&run("2")?)?;
    let outside = (outside()? - before) as f64 / clock_ticks_per_second() as f64;
    let number = |key: &str| {
        let number = report[key].as_f64();
        number.ok_or_else(|| format!("no {key} in the load's report"))
    };
    let statements = number("statements")?;
    let transactions = number("committed")? + number("rolled_back")?;
    Ok(Client {
        think_us: number("think_seconds")? * 1e6 / (statements - 1.0).max(1.0),
        outside_us: outside * 1e6 / statements.max(1.0),
        statements: statements / transactions.max(1.0),
    })
}

/// Returns the sum of these fields of a process.
fn ticks(process: &str, fields: &[usize]) -> Outcome<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The second field is the program's name in parentheses, which may contain anything.
    let behind = stat.rsplit_once(')').ok_or("no name in /proc/PID/stat")?.1;
    let all: Vec<&str> = behind.split_whitespace().collect();
    let ticks = |&field: &usize| -> Outcome<u64> {
        let text = all
            .get(field - 3)
            .ok_or("too few fields in /proc/PID/stat")?;
        Ok(text.parse()?)
    };
    fields.iter().map(ticks).sum()
}
