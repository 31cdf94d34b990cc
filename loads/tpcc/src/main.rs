//! `corehop-tpcc`: TPC-C's schema and five transactions on MariaDB, scaled down and seeded.
//!
//! It provides a load for corehop that is realistic, the same in every run and small enough to
//! record. It follows TPC-C 5.11 clause by clause where possible. It omits think and keying times
//! (5.2.5), terminals and their screens (2.2), and the scaling rules (4.2): its figures are not
//! TPC-C results. Statements are formatted here and sent as text, which is the default of JDBC
//! drivers. So each statement is one COM_QUERY, i.e. one request to the server.

#![forbid(unsafe_code)]

mod checksum;
mod connection;
mod consistency;
mod date;
mod deck;
mod error;
mod money;
mod pinning;
mod population;
mod progress;
mod random;
mod report;
mod run;
mod schema;
mod session;
mod size;
mod sql;
mod terminal;
mod transactions;

use clap::{Args, Parser, Subcommand};
use connection::Server;
use corehop_support::quantity::duration::seconds;
use error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Parser)]
#[command(version, about, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Wait until the server answers
    Wait(Wait),
    /// Create the tables and fill them
    Load(population::Arguments),
    /// Run transactions
    Run(run::Arguments),
    /// Print a checksum of every table, to compare two servers' contents
    Checksum(checksum::Arguments),
    /// Check the consistency conditions of clause 3.3.2
    Check(consistency::Arguments),
}

#[derive(Args)]
struct Wait {
    #[command(flatten)]
    server: Server,
    /// Time after which to give up, in seconds or such as 5m
    #[arg(long, value_name = "TIME", default_value = "60", value_parser = seconds)]
    max_seconds: Duration,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  check found an inconsistency
  2  the command line makes no sense
  3  the database is not what the command needs
  7  the server cannot be reached, or refused a statement, or was too slow
  130  interrupted";

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Wait(arguments) => wait(&arguments),
        Command::Load(arguments) => population::load(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Checksum(arguments) => checksum::print(&arguments),
        Command::Check(arguments) => consistency::check(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("corehop-tpcc: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Tries to connect until it succeeds or time is up.
fn wait(arguments: &Wait) -> Result<(), Error> {
    let end = Instant::now() + arguments.max_seconds;
    loop {
        match arguments.server.connect(None, Duration::from_secs(5)) {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() >= end => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}
