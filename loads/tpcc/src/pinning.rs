//! `run --pin`: keeps the server's thread of each connection on one CPU.
//!
//! The server reports which system thread serves a connection. The load, as the same user, pins
//! that thread by `sched_setaffinity` before the first transaction. Rejected: pinning all threads
//! of the server's process, because background threads would be pinned too, and a thread that has
//! just been created would be missed.

use crate::error::Error;
use crate::session::Session;
use rustix::thread::{CpuSet, Pid, sched_setaffinity};

/// The text is not a CPU number.
#[derive(Debug, thiserror::Error)]
#[error("use numbers from 0 to {last}", last = CpuSet::MAX_CPU - 1)]
pub struct NoCpu;

/// Parses a CPU number of the command line.
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
/// [`Error::Pin`], or an error of the server.
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
