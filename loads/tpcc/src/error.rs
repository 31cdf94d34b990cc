//! All errors, each with a remedy.

use thiserror::Error;

/// Why a subcommand failed.
#[derive(Debug, Error)]
pub enum Error {
    #[error(
        "cannot connect to {address}: {reason}; start the server, or name it with --socket or \
         --host and --port"
    )]
    Connect { address: String, reason: String },
    #[error("the server refused '{statement}': {reason}; look at its error log")]
    Statement { statement: String, reason: String },
    #[error("no TPC-C tables in database '{database}'; make them with 'corehop-tpcc load'")]
    NotLoaded { database: String },
    #[error("database '{database}' exists; name another with --database, or add --force")]
    Exists { database: String },
    #[error(
        "a {kind} transaction met a deadlock or a lock timeout {attempts} times in a row; use \
         fewer connections or more warehouses"
    )]
    Contention { kind: &'static str, attempts: u32 },
    #[error(
        "stopped after {done} of {wanted} transactions: {seconds} s were over; raise --max-seconds"
    )]
    TimeLimit {
        done: u64,
        wanted: u64,
        seconds: f64,
    },
    #[error("clause {clause} does not hold for {violations} rows; the server lost or broke data")]
    Inconsistent {
        clause: &'static str,
        violations: u64,
    },
    #[error("'{statement}' gave no row where TPC-C guarantees one; load the database again")]
    NoRow { statement: String },
    #[error(
        "cannot pin the server's thread {thread} to CPU {cpu}: {reason}; run as the server's user, \
         on its machine, and name CPUs that it may use"
    )]
    Pin {
        thread: i32,
        cpu: usize,
        reason: String,
    },
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Returns the exit code, as listed in `--help`.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Inconsistent { .. } => 1,
            Error::NotLoaded { .. } | Error::Exists { .. } | Error::NoRow { .. } => 3,
            Error::Connect { .. }
            | Error::Statement { .. }
            | Error::Contention { .. }
            | Error::Pin { .. }
            | Error::TimeLimit { .. } => 7,
            Error::Interrupted => 130,
        }
    }
}
