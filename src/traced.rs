//! The file of a trace that is to be written, by a recording or an import.
//!
//! It is written as `TRACE.partial`, because what a killed recording leaves is worth keeping, and
//! so that name can be foreseen. Whatever has it already stays, unless --force says that it may go:
//! it may be just what was kept, and `TRACE.control` tells whether someone still writes it.

use crate::failure::{Exit, Failure};
use crate::record::control;
use corehop_outputs::Output;
use corehop_traces::{Header, Writer, WriterOptions, partial_path};
use std::path::Path;

/// Finds out whether a trace can be written to `path`.
pub fn check(path: &Path, force: bool) -> Result<(), Failure> {
    Output::file_at(path, force)?;
    control::refuse_second(path)?;
    let partial = partial_path(path);
    let Ok(there) = partial.symlink_metadata() else {
        return Ok(());
    };
    let shown = partial.display();
    if there.is_dir() {
        let message = format!("{shown} is a folder, where the trace is to be written");
        return Err(Failure::new(Exit::Output, message).remedy("name another file with -o"));
    }
    match force {
        true => Ok(()),
        false => Err(
            Failure::new(Exit::Output, format!("{shown} exists already")).remedy(format!(
                "a killed recording leaves such a file, which is a trace (`corehop check --partial \
                 {shown}`): give it another name, or add --force to lose it"
            )),
        ),
    }
}

/// Begins the trace; with `force`, in place of one that was left unfinished.
pub fn begin(
    path: &Path,
    force: bool,
    header: &Header,
    options: &WriterOptions,
) -> Result<Writer, Failure> {
    check(path, force)?;
    if force {
        abandon(path);
    }
    Ok(Writer::create(path, header, options)?)
}

/// Removes what is not finished of a trace; of a link, the link.
pub fn abandon(path: &Path) {
    let _ = std::fs::remove_file(partial_path(path));
}
