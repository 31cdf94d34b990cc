//! The bundled sample: a real trace inside the executable, for machines without QEMU.

use crate::failure::{Exit, Failure};
use corehop_traces::Trace;
use std::io::Write;

/// What plans and reports call the bundled sample.
pub const NAME: &str = "bundled sample (mariadb-tpcc)";

const BYTES: &[u8] = include_bytes!("../../traces/samples/mariadb-tpcc.trace");

/// Opens the bundled sample. The reader maps files, so the bytes go to an unnamed one first.
pub fn open() -> Result<Trace, Failure> {
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
