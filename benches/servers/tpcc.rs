//! mariadbd under TPC-C (loads/tpcc), on one to 32 connections.
//!
//! Its working set is mariadbd's code and the tables' hot pages, which no option scales to a share
//! of an L2, so it has no adjustable size. The client is a separate process that sends one
//! statement at a time and waits for its answer, so on one connection, client and server alternate.
//! All variants start with copies of the same tables, and all get the same transactions. Time is
//! that of a statement. If connections' threads are to be pinned, the load does it, before its
//! first transaction.

use crate::Outcome;
use crate::mariadb::{self, installed, make_tables, succeed, tpcc};
use crate::pristine::Pristine;
use crate::running::{Place, Running};
use crate::server::{Answered, Launch, Load, Server};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Transactions of each connection per batch.
const TRANSACTIONS: u64 = 20;

/// mariadbd, and unmodified tables.
pub struct Mariadb {
    connections: &'static [u32],
    pristine: Pristine,
}

impl Mariadb {
    /// Creates the server to be measured with each of these numbers of connections.
    pub fn on(connections: &'static [u32]) -> Mariadb {
        Mariadb {
            connections,
            pristine: Pristine::default(),
        }
    }
}

struct Tpcc {
    socket: PathBuf,
    connections: u32,
    /// CPUs for the connections' threads, assigned round-robin; `None` if threads are not pinned.
    pinned_to: Option<String>,
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
        &[("/usr/sbin/mariadbd", "mariadb-server-core")]
    }

    fn connections(&self) -> &[u32] {
        self.connections
    }

    fn request_at(&self) -> &'static str {
        "dispatch_command"
    }

    fn recorded_requests(&self) -> u64 {
        400
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        self.pristine.launch(place, make)
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        let socket = mariadb::socket(&running.folder);
        running.wait_for("mariadbd to make its socket", || {
            socket.exists().then_some(())
        })?;
        mariadb::wait(&load(), &socket, 300)
    }

    fn connect(&self, running: &mut Running, connections: u32) -> Outcome<Box<dyn Load>> {
        let socket = mariadb::socket(&running.folder);
        Ok(Box::new(Tpcc {
            socket,
            connections,
            pinned_to: running.is_pinned.then(|| processors(&running.cpus)),
            seed: 0,
        }))
    }
}

impl Load for Tpcc {
    /// Runs the same transactions on every variant, but other ones in each batch.
    fn batch(&mut self) -> Outcome<Answered> {
        let connections = self.connections.to_string();
        let transactions = (TRANSACTIONS * u64::from(self.connections)).to_string();
        self.seed += 1;
        let seed = self.seed.to_string();
        let words = ["run", "--json", "--seed", &seed, "--transactions"];
        let more = [&*transactions, "--connections", &connections];
        let pinning = self
            .pinned_to
            .iter()
            .flat_map(|cpus| ["--pin", cpus.as_str()]);
        let words: Vec<&str> = words.into_iter().chain(more).chain(pinning).collect();
        answered(&tpcc(&load(), &words, &self.socket)?)
    }
}

/// Returns CPUs in the syntax of the load's command line.
fn processors(cpus: &[usize]) -> String {
    let numbers: Vec<String> = cpus.iter().map(usize::to_string).collect();
    numbers.join(",")
}

/// Parses the load's report.
fn answered(said: &[u8]) -> Outcome<Answered> {
    let report: serde_json::Value = serde_json::from_slice(said)?;
    let requests = report["requests"].as_u64();
    let seconds = report["seconds"].as_f64();
    Ok(Answered {
        requests: requests.ok_or("no requests in the load's report")?,
        seconds: seconds.ok_or("no seconds in the load's report")?,
    })
}

/// Creates the tables in a folder.
fn make(folder: &Path) -> Outcome<()> {
    if installed::packed().is_none() {
        build_load()?;
    }
    make_tables(folder, &load())
}

/// Returns the load's command, which is built into the folder of corehop.
pub fn load() -> PathBuf {
    installed::corehop().with_file_name("corehop-tpcc")
}

fn build_load() -> Outcome<()> {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--locked", "--bins"]);
    match cfg!(debug_assertions) {
        // With the features that `cargo test --workspace` uses.
        true => build.args(["--workspace", "--bench", "servers"]),
        false => build.args(["--release", "-p", "corehop-tpcc"]),
    };
    build.current_dir(env!("CARGO_MANIFEST_DIR"));
    succeed(&mut build)?;
    Ok(())
}
