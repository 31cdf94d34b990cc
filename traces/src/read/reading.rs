//! Reads a file entry by entry, until it ends or something is wrong.
//!
//! Opening and checking a trace both use this; they differ in how they treat a file that does not
//! end normally.

use crate::format::entry::{self, Found, PREFIX_BYTES, VERSION};
use crate::format::rule::{Rule, Violation};
use crate::model::error::Error;
use crate::read::contents::{Contents, Refusal};
use memmap2::Mmap;
use std::path::Path;

/// Everything up to the point where reading stopped.
pub struct Reading {
    /// The contents of the entries.
    pub contents: Contents,
    /// Number of entries.
    pub entries: u32,
    /// Size of the entries in bytes.
    pub bytes: usize,
    /// Why reading stopped.
    pub stop: Stop,
}

/// Why reading stopped.
pub enum Stop {
    /// The file ends normally.
    End,
    /// The file ends before the recording does, possibly within an entry.
    Cut,
    /// The next entry is damaged or breaks a rule.
    Broken(Violation),
}

/// Reads as much of the file as possible.
///
/// # Errors
/// If the file is not a trace, or has a newer version of the format.
pub fn read(path: &Path, file: &[u8]) -> Result<Reading, Error> {
    recognise(path, file)?;
    let failed = |source| Error::Read {
        path: path.into(),
        source,
    };
    let mut contents = Contents::new().map_err(failed)?;
    let mut number = 0;
    let mut offset = 0;
    let stop = loop {
        let found = entry::look(file, offset, number);
        if contents.end.is_some() && !matches!(found, Found::End) {
            let detail = format!("{} bytes follow the end", file.len() - offset);
            break Stop::Broken(Rule::End.broken(detail));
        }
        match found {
            Found::Entry(bytes) => match contents.take(bytes, offset) {
                Ok(()) => {
                    number += 1;
                    offset += bytes.len();
                }
                Err(Refusal::Broken(violation)) => break Stop::Broken(violation),
                Err(Refusal::Newer(version)) => {
                    let (path, supported) = (path.into(), VERSION);
                    return Err(Error::Newer {
                        path,
                        version,
                        supported,
                    });
                }
            },
            Found::Damage(problem) => break Stop::Broken(Rule::Entries.broken(problem)),
            Found::End if contents.end.is_some() => break Stop::End,
            Found::End | Found::Cut => break Stop::Cut,
        }
    };
    Ok(Reading {
        contents,
        entries: number,
        bytes: offset,
        stop,
    })
}

/// Maps the file into memory.
pub fn map(path: &Path) -> Result<Mmap, Error> {
    let failed = |source| Error::Read {
        path: path.into(),
        source,
    };
    let file = std::fs::File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()));
    }
    if file.metadata().map_err(failed)?.len() == 0 {
        return Err(Error::Empty { path: path.into() });
    }
    // SAFETY: the map is private and only read. If another program truncates the file, SIGBUS ends
    // the process, as with any mapped file; a recording only ever grows it.
    unsafe { Mmap::map(&file) }.map_err(failed)
}

/// Distinguishes a trace, however damaged, from another file.
fn recognise(path: &Path, file: &[u8]) -> Result<(), Error> {
    let path = path.into();
    let bytes = file.len() as u64;
    // Every entry begins with the number of segments minus one, which is 0.
    if file.iter().take(4).any(|&byte| byte != 0) && entry::next_intact(file, 8).is_none() {
        return Err(Error::Foreign { path });
    }
    if file.len() < PREFIX_BYTES {
        return Err(Error::TooShort { path, bytes });
    }
    match entry::look(file, 0, 0) {
        Found::Cut => Err(Error::TooShort { path, bytes }),
        Found::Damage(_) if !entry::has_magic(file) && entry::next_intact(file, 8).is_none() => {
            Err(Error::Foreign { path })
        }
        _ => Ok(()),
    }
}
