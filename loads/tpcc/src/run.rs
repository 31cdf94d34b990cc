//! `run`: active terminals, with one connection and one thread each.
//!
//! With one connection, the seed determines everything, down to the last byte of the tables. With
//! several, it determines the input of each. But the server determines the order of concurrent
//! transactions. So order numbers, stock and balances differ between runs, and only `check` can
//! verify the result.

use crate::connection::Server;
use crate::error::Error;
use crate::pinning;
use crate::population::loaded_size;
use crate::progress;
use crate::report::{Report, Tally};
use crate::session::{Refusal, Session};
use crate::size::Size;
use crate::terminal::Terminal;
use crate::transactions::{Outcome, Transaction};
use clap::Args;
use corehop_support::quantity::duration::seconds;
use indicatif::ProgressBar;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of attempts for a transaction in conflict with others.
const ATTEMPTS: u32 = 50;

/// The command line of `run`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    server: Server,
    /// Number of connections; only with one are two runs' tables comparable
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    connections: u32,
    /// Number of transactions, shared out evenly over the connections
    #[arg(long, value_name = "N", default_value_t = 200)]
    transactions: u64,
    /// Seed of all input
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Pin the server's thread of each connection to one of these CPUs, in turn; for a server on
    /// this machine, of this user, that has a thread for each connection
    #[arg(long, value_name = "CPUS", value_delimiter = ',', value_parser = pinning::cpu)]
    pin: Vec<usize>,
    /// Time after which to stop, done or not, in seconds or such as 5m
    #[arg(long, value_name = "TIME", default_value = "600", value_parser = seconds)]
    max_seconds: Duration,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// Set by Ctrl-C and SIGTERM; every terminal checks it between transactions.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Runs the transactions and prints the report.
///
/// # Errors
/// Fails if the server fails, or if time runs out; the report of completed work is printed first.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    // Only a second handler would fail, and there is none yet.
    let _ = ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed));
    let patience = arguments.max_seconds.max(Duration::from_secs(1));
    let database = Some(arguments.server.database.as_str());
    let mut sessions = Vec::new();
    for _ in 0..arguments.connections {
        sessions.push(arguments.server.connect(database, patience)?);
    }
    let size = loaded_size(&mut sessions[0], &arguments.server)?;
    for (session, &cpu) in sessions.iter_mut().zip(arguments.pin.iter().cycle()) {
        pinning::pin(session, cpu)?;
    }

    let start = Instant::now();
    let bar = progress::bar("transactions", arguments.transactions);
    let results = work_all(arguments, sessions, size, start + patience, &bar);
    bar.finish_and_clear();

    let mut tallies = Vec::new();
    let mut failure = None;
    for (tally, error) in results {
        tallies.push(tally);
        failure = failure.or(error);
    }
    let report = Report::new(arguments.seed, tallies, start.elapsed());
    report.print(arguments.json);
    match failure {
        Some(error) => Err(error),
        None if INTERRUPTED.load(Ordering::Relaxed) => Err(Error::Interrupted),
        None if report.done() < arguments.transactions => Err(Error::TimeLimit {
            done: report.done(),
            wanted: arguments.transactions,
            seconds: arguments.max_seconds.as_secs_f64(),
        }),
        None => Ok(()),
    }
}

/// Runs every terminal in its own thread and collects their counts.
fn work_all(
    arguments: &Arguments,
    sessions: Vec<Session>,
    size: Size,
    end: Instant,
    bar: &ProgressBar,
) -> Vec<(Tally, Option<Error>)> {
    let connections = u64::from(arguments.connections);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..arguments.connections)
            .zip(sessions)
            .map(|(connection, session)| {
                let place = u64::from(connection);
                let extra = u64::from(place < arguments.transactions % connections);
                let share = arguments.transactions / connections + extra;
                let terminal = Terminal::new(arguments.seed, connection, size);
                scope.spawn(move || work(terminal, session, share, end, bar))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a terminal does not panic"))
            .collect()
    })
}

/// Runs `count` transactions of one terminal; an error includes the counts before it.
fn work(
    mut terminal: Terminal,
    mut session: Session,
    count: u64,
    end: Instant,
    bar: &ProgressBar,
) -> (Tally, Option<Error>) {
    let mut tally = Tally::default();
    let mut failure = session
        .execute("set autocommit = 0", &[])
        .err()
        .map(Error::from);
    for _ in 0..count {
        if failure.is_some() || INTERRUPTED.load(Ordering::Relaxed) || Instant::now() >= end {
            break;
        }
        let transaction = Transaction::next(&mut terminal);
        match perform(&transaction, &mut session, &mut tally) {
            Ok(outcome) => tally.add(transaction.kind(), outcome),
            Err(error) => failure = Some(error),
        }
        bar.inc(1);
    }
    tally.statements = session.statements();
    tally.thinking = session.thinking();
    (tally, failure)
}

/// Executes a transaction, repeatedly if it conflicts with others.
fn perform(
    transaction: &Transaction,
    session: &mut Session,
    tally: &mut Tally,
) -> Result<Outcome, Error> {
    for _ in 0..ATTEMPTS {
        match transaction.execute(session) {
            Ok(outcome) => return Ok(outcome),
            Err(Refusal::Final(error)) => return Err(error),
            Err(Refusal::Contention) => {
                tally.retries += 1;
                // A lock timeout rolls back only the statement.
                session.execute("rollback", &[])?;
            }
        }
    }
    Err(Error::Contention {
        kind: transaction.kind().name(),
        attempts: ATTEMPTS,
    })
}
