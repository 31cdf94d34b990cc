//! The real client: how long it thinks between an answer and its next statement, and what a
//! statement takes of the CPUs that is in no recording of the server.
//!
//! TPC-C's own think times are left out of the load, but its program needs time to read an answer
//! and to make the next statement, and meanwhile the connection has no request at the server. It is
//! measured on one connection: with more, clients wait for CPUs, which is no thinking. The client's
//! work and the kernel's for the server are what the kernel counts of their CPU time: on a machine
//! that both share they leave so much less for the server.

use crate::Outcome;
use crate::mariadb;
use crate::running::{Running, Variant, Way};
use crate::server::Server;
use crate::tpcc::{self, Mariadb};
use rustix::param::clock_ticks_per_second;
use serde_json::{Value, json};
use std::path::Path;

/// So many take seconds: the kernel tells user code from its own by its ticks.
const TRANSACTIONS: &str = "1000";
/// Fields of /proc/PID/stat (proc(5)): a process's time in the kernel, and of the children that it
/// has waited for the time in their own code and in the kernel; all in ticks.
const STIME: usize = 15;
const CHILDREN: [usize; 2] = [16, 17];

/// What one connection's client does.
pub struct Client {
    /// Between an answer and the next statement, in microseconds; the mean.
    pub think_us: f64,
    /// What a statement takes of the CPUs outside the server's own code: the client, and the kernel
    /// for both.
    pub outside_us: f64,
    /// Of a transaction.
    pub statements: f64,
}

impl Client {
    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "think_us": self.think_us, "outside_us": self.outside_us,
            "statements_per_transaction": self.statements,
        })
    }
}

/// Measures it on the server as it is, natively.
pub fn measure(server: &Mariadb, folder: &Path) -> Outcome<Client> {
    let way = Way::Hopping {
        variant: Variant::Original,
        plan: Path::new(""), // The original needs none.
    };
    let mut running = Running::start(server, &way, folder.join("client"))?;
    server.fill(&mut running)?;
    let socket = mariadb::socket(&running.folder);
    let words = ["run", "--json", "--transactions", TRANSACTIONS, "--seed"];
    let run = |seed| mariadb::tpcc(&tpcc::load(), &[&words[..], &[seed]].concat(), &socket);
    // The first warms up.
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

/// The sum of such fields of a process.
fn ticks(process: &str, fields: &[usize]) -> Outcome<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The second is the program's name in parentheses, which may hold anything.
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
