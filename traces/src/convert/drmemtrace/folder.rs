//! Finds the traces in a folder.
//!
//! DynamoRIO writes a folder with one file for each thread or core. The files are in the folder
//! itself or in its folder `trace`, next to their raw records and auxiliary files. A trace is
//! recognized by its first record; names are used only to report what is missing.

use super::input::Input;
use super::record::kind;
use crate::convert::error::Error;
use crate::convert::unpack::Watch;
use crate::format::entry::{PREFIX_BYTES, has_magic};
use crate::partial_path;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Prefixes of names of files that are not traces.
const NO_TRACES: [&str; 8] = [
    "cpu_schedule.bin",
    "serial_schedule.bin",
    "modules.log",
    "funclist.log",
    "encodings.bin",
    "v2p.textproto",
    "kcore",
    "kallsyms",
];

/// Part of the names of converted files, however they are compressed.
const NAME_OF_TRACE: &str = ".trace";
/// Part of the names of unconverted files.
const NAME_OF_RAW: &str = ".raw";

/// The contents of a folder.
pub(super) struct Folder {
    /// The traces, by name.
    pub(super) traces: Vec<PathBuf>,
    /// Number of other files.
    pub(super) others: u64,
}

impl Folder {
    /// Lists the folder at `path`.
    ///
    /// # Errors
    /// [`Error::NoTrace`] if it has no trace; [`Error::Read`]; [`Error::Damaged`] for a file that
    /// is named like a trace and cannot be decompressed.
    pub(super) fn of(path: &Path) -> Result<Folder, Error> {
        let unreadable = |source| Error::Read {
            name: path.display().to_string(),
            source,
        };
        let within = path.join("trace");
        let place = if within.is_dir() { &within } else { path };
        let mut folder = Folder {
            traces: Vec::new(),
            others: 0,
        };
        let mut raw = path.join("raw").is_dir();
        for file in files(place).map_err(unreadable)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if NO_TRACES.iter().any(|known| name.starts_with(known)) || is_own(&file) {
                continue;
            }
            match name.contains(NAME_OF_TRACE) || begins_as_trace(&file) {
                true => folder.traces.push(file),
                false => {
                    raw |= name.contains(NAME_OF_RAW);
                    folder.others += 1;
                }
            }
        }
        match folder.traces.is_empty() {
            false => Ok(folder),
            true => Err(nothing(path, raw)),
        }
    }
}

/// Returns the files in a folder, by name.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn begins_as_trace(file: &Path) -> bool {
    let watch: &Watch<'_> = &|_| Ok(());
    let head = Input::of_file(file, watch).and_then(|mut input| input.head());
    matches!(head, Ok(Some(record)) if record.kind == kind::HEADER)
}

/// Returns whether the file is a trace of corehop, or becomes one: imports often write into the
/// folder that they read.
fn is_own(file: &Path) -> bool {
    let mut head = [0; PREFIX_BYTES];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut head));
    (read.is_ok() && has_magic(&head)) || file == partial_path(&file.with_extension(""))
}

fn nothing(path: &Path, raw: bool) -> Error {
    let name = path.display().to_string();
    match raw {
        true => Error::NoTrace {
            problem: "only raw records, which are not converted yet".into(),
            remedy: format!("convert them: drrun -t drmemtrace -indir {name}"),
            name,
        },
        false => Error::NoTrace {
            problem: "the folder holds no drmemtrace file".into(),
            remedy: "name the folder that drmemtrace wrote, drmemtrace.PROGRAM.NUMBERS.dir, or a \
                     file in its folder trace"
                .into(),
            name,
        },
    }
}
