//! `run --pin`: the server's thread of each connection stays on one CPU.
//!
//! The server says which of the system's threads serves a connection, and the load, as the same
//! user, pins that thread by `sched_setaffinity`, before the first transaction. Rejected: pinning
//! whatever threads the server's process has, since those in its background would be pinned too,
//! and a thread that has just been made would be missed.

use crate::error::Error;
use crate::session::Session;
use rustix::thread::{CpuSet, Pid, sched_setaffinity};

/// A text names no CPU.
#[derive(Debug, thiserror::Error)]
#[error("use numbers from 0 to {last}", last = CpuSet::MAX_CPU - 1)]
pub struct NoCpu;

/// A CPU's number on the command line.
///
/// # Errors
/// [`NoCpu`].
pub fn cpu(text: &str) -> Result<usize, NoCpu> {
    match text.parse() {
        Ok(cpu) if cpu < CpuSet::MAX_CPU => Ok(cpu),
        _ => Err(NoCpu),
    }
}

/// Pins the server's thread of this connection.
///
/// # Errors
/// [`Error::Pin`], or what the server says instead of the thread's number.
pub fn pin(session: &mut Session, cpu: usize) -> Result<(), Error> {
    let query = "select tid from information_schema.processlist where id = connection_id()";
    let (thread,): (i32,) = session.one(query, &[])?;
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    let failed = |reason: String| Error::Pin {
        thread,
        cpu,
        reason,
    };
    let pid = Pid::from_raw(thread).ok_or_else(|| failed("there is no such thread".into()))?;
    sched_setaffinity(Some(pid), &cpus).map_err(|error| failed(error.to_string()))
}
