//! What an output must not be: a file that the command reads, another output, or standard output
//! next to JSON.

use crate::failure::{Exit, Failure};
use corehop_support::atomic_file::folder_of;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Refuses an output that is one of the files that the command reads: `--force` replaces results,
/// and not what they come from.
pub fn keep<'p>(inputs: impl IntoIterator<Item = &'p Path>, output: &Path) -> Result<(), Failure> {
    let file = |path: &Path| {
        let there = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((there.dev(), there.ino()))
    };
    let is_output = |input: &&Path| file(input).is_some_and(|there| Some(there) == file(output));
    match inputs.into_iter().find(is_output) {
        None => Ok(()),
        Some(_) => {
            let message = format!("{} is also the input, which must stay", output.display());
            Err(Failure::new(Exit::Output, message).remedy("name another file with -o"))
        }
    }
}

/// Refuses two outputs that are one file, of which only the last would stay. Devices and pipes take
/// both.
pub fn distinct<'p>(outputs: impl IntoIterator<Item = &'p Path>) -> Result<(), Failure> {
    let mut places: Vec<PathBuf> = Vec::new();
    let is_stream = |output: &&Path| output.metadata().is_ok_and(|there| !there.is_file());
    for output in outputs.into_iter().filter(|output| !is_stream(output)) {
        let place = place(output);
        if places.contains(&place) {
            let message = format!("{} is two outputs at once", output.display());
            return Err(Failure::new(Exit::Usage, message).remedy("name a file for each"));
        }
        places.push(place);
    }
    Ok(())
}

/// Returns where a path leads, whether the file exists or not.
fn place(path: &Path) -> PathBuf {
    let whole = path.canonicalize().ok();
    let in_folder = || {
        let folder = folder_of(path).canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    whole.or_else(in_folder).unwrap_or_else(|| path.into())
}

/// Refuses a file and JSON that both go to standard output.
pub fn one_document(json: bool, output: &Path) -> Result<(), Failure> {
    match json && output.as_os_str() == "-" {
        false => Ok(()),
        true => {
            let message = "an output to - and --json would mix two documents on standard output";
            Err(Failure::new(Exit::Usage, message)
                .remedy("name a file instead of -, or omit --json"))
        }
    }
}
