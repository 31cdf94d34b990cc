//! The report of a run, as text and as JSON.

use crate::transactions::{Kind, Outcome};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Counts of one connection.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    committed: [u64; Kind::ALL.len()],
    rolled_back: [u64; Kind::ALL.len()],
    /// Number of retries of transactions.
    pub retries: u64,
    /// Number of statements, including those that set up the connection.
    pub statements: u64,
    /// Total time between responses and the next statements.
    pub thinking: Duration,
}

impl Tally {
    /// Counts a transaction.
    pub fn add(&mut self, kind: Kind, outcome: Outcome) {
        match outcome {
            Outcome::Committed => self.committed[kind as usize] += 1,
            Outcome::RolledBack => self.rolled_back[kind as usize] += 1,
        }
    }
}

/// Counts of all connections. With one connection, everything except times depends only on the
/// seed.
#[derive(Debug, Serialize)]
pub struct Report {
    seed: u64,
    connections: usize,
    transactions: BTreeMap<&'static str, Counts>,
    committed: u64,
    rolled_back: u64,
    retries: u64,
    statements: u64,
    statements_per_connection: Vec<u64>,
    /// Number of statements and of the final quit of each connection: the requests seen by the
    /// server.
    requests: u64,
    seconds: f64,
    /// Total think time of all connections, between a response and the next statement.
    think_seconds: f64,
    transactions_per_second: f64,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    committed: u64,
    rolled_back: u64,
}

impl Report {
    /// Sums up the counts of the connections.
    pub fn new(seed: u64, tallies: Vec<Tally>, duration: Duration) -> Self {
        let mut transactions = BTreeMap::new();
        for kind in Kind::ALL {
            let sum = |counts: fn(&Tally) -> &[u64]| -> u64 {
                tallies
                    .iter()
                    .map(|tally| counts(tally)[kind as usize])
                    .sum()
            };
            let counts = Counts {
                committed: sum(|tally| &tally.committed),
                rolled_back: sum(|tally| &tally.rolled_back),
            };
            transactions.insert(kind.name(), counts);
        }
        let committed = transactions.values().map(|counts| counts.committed).sum();
        let rolled_back = transactions.values().map(|counts| counts.rolled_back).sum();
        let statements_per_connection: Vec<u64> =
            tallies.iter().map(|tally| tally.statements).collect();
        let statements: u64 = statements_per_connection.iter().sum();
        let seconds = duration.as_secs_f64();
        let thinking: Duration = tallies.iter().map(|tally| tally.thinking).sum();
        Report {
            seed,
            connections: tallies.len(),
            transactions,
            committed,
            rolled_back,
            retries: tallies.iter().map(|tally| tally.retries).sum(),
            statements,
            requests: statements + tallies.len() as u64,
            statements_per_connection,
            seconds,
            think_seconds: thinking.as_secs_f64(),
            transactions_per_second: (committed + rolled_back) as f64 / seconds.max(1e-9),
        }
    }

    /// Returns the number of completed transactions, committed or rolled back.
    pub fn done(&self) -> u64 {
        self.committed + self.rolled_back
    }

    /// Prints the report to standard output.
    pub fn print(&self, as_json: bool) {
        if as_json {
            let text = serde_json::to_string(self).expect("numbers and names are valid JSON");
            println!("{text}");
            return;
        }
        println!(
            "{:<14}{:>10}{:>13}",
            "transaction", "committed", "rolled back"
        );
        for kind in Kind::ALL {
            let counts = self.transactions[kind.name()];
            let name = kind.name();
            println!(
                "{name:<14}{:>10}{:>13}",
                counts.committed, counts.rolled_back
            );
        }
        println!(
            "{:<14}{:>10}{:>13}",
            "total", self.committed, self.rolled_back
        );
        println!(
            "seed {}, {} connections, {} statements {:?}, {} retries",
            self.seed,
            self.connections,
            self.statements,
            self.statements_per_connection,
            self.retries
        );
        println!(
            "{:.2} s, {:.1} transactions/s (not a TPC-C result)",
            self.seconds, self.transactions_per_second
        );
    }
}
