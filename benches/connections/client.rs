//! The real client: how long it thinks between an answer and its next statement.
//!
//! TPC-C's own think times are left out of the load, but its program needs time to read an answer
//! and to make the next statement, and meanwhile the connection has no request at the server. It is
//! measured on one connection: with more, clients wait for CPUs, which is no thinking.

use crate::Outcome;
use crate::mariadb;
use crate::running::{Running, Variant, Way};
use crate::server::Server;
use crate::tpcc::{self, Mariadb};
use serde_json::{Value, json};
use std::path::Path;

const TRANSACTIONS: &str = "200";

/// What one connection's client does.
pub struct Client {
    /// Between an answer and the next statement, in microseconds; the mean.
    pub think_us: f64,
    /// Of a transaction.
    pub statements: f64,
}

impl Client {
    /// For programs.
    pub fn json(&self) -> Value {
        json!({"think_us": self.think_us, "statements_per_transaction": self.statements})
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
    let report: Value = serde_json::from_slice(&run("2")?)?;
    let number = |key: &str| {
        let number = report[key].as_f64();
        number.ok_or_else(|| format!("no {key} in the load's report"))
    };
    let statements = number("statements")?;
    let transactions = number("committed")? + number("rolled_back")?;
    Ok(Client {
        think_us: number("think_seconds")? * 1e6 / (statements - 1.0).max(1.0),
        statements: statements / transactions.max(1.0),
    })
}
