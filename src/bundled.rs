//! The bundled samples: real traces inside the executable, for machines without QEMU.
//!
//! Searches use the first sample if no trace is given. The second sample has several connections,
//! for replays that show how connections evict each other's lines.

use crate::failure::{Exit, Failure};
use crate::open;
use clap::ValueEnum;
use corehop_traces::{Trace, samples};
use std::io::Write;
use std::path::Path;

/// Name of the default sample in plans and reports.
const NAME: &str = "bundled sample (mariadb-tpcc)";

/// Which samples there are, named as their files in `traces/samples`.
#[derive(Clone, Copy, ValueEnum)]
pub enum Sample {
    /// MariaDB under TPC-C on one connection; the default trace of searches
    #[value(name = "mariadb-tpcc")]
    OneConnection,
    /// MariaDB under TPC-C on four connections
    #[value(name = "mariadb-tpcc-4")]
    FourConnections,
}

impl Sample {
    /// Returns the content of the trace file.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Sample::OneConnection => samples::MARIADB_TPCC,
            Sample::FourConnections => samples::MARIADB_TPCC_4,
        }
    }
}

/// Returns whether a plan's trace is the bundled sample.
pub fn is_bundled(name: &str) -> bool {
    name == NAME
}

/// Opens the trace at `path`, or the bundled sample without a path. Returns it with its display
/// name.
pub fn open_or_bundled(path: Option<&Path>) -> Result<(Trace, String), Failure> {
    match path {
        Some(path) => Ok((open::open(path)?, path.display().to_string())),
        None => Ok((bundled()?, NAME.into())),
    }
}

/// Opens the bundled sample. The reader maps files, so the bytes are first written to an unnamed
/// file.
fn bundled() -> Result<Trace, Failure> {
    let unpacked = || {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(Sample::OneConnection.bytes())?;
        Ok(file)
    };
    let file = unpacked().map_err(|error: std::io::Error| {
        Failure::new(
            Exit::Output,
            format!("cannot unpack the bundled sample: {error}"),
        )
        .remedy("set TMPDIR to a folder with 4 MB to spare")
    })?;
    Ok(Trace::open(file.path())?)
}
