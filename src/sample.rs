//! The bundled sample: a real trace inside the executable, for machines without QEMU.

use crate::failure::{Exit, Failure};
use crate::open;
use corehop_traces::Trace;
use std::io::Write;
use std::path::Path;

/// What plans and reports call the bundled sample.
const NAME: &str = "bundled sample (mariadb-tpcc)";

const BYTES: &[u8] = include_bytes!("../traces/samples/mariadb-tpcc.trace");

/// Whether a plan's trace is the bundled sample.
pub fn is_bundled(name: &str) -> bool {
    name == NAME
}

/// Opens the trace at `path`, or the bundled sample where none is named; and what to call it.
pub fn open_or_bundled(path: Option<&Path>) -> Result<(Trace, String), Failure> {
    match path {
        Some(path) => Ok((open::open(path)?, path.display().to_string())),
        None => Ok((bundled()?, NAME.into())),
    }
}

/// Opens the bundled sample. The reader maps files, so the bytes go to an unnamed one first.
fn bundled() -> Result<Trace, Failure> {
    let unpacked = || {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(BYTES)?;
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
