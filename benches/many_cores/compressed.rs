//! The large files of a packed folder, compressed until the first run.
//!
//! A run unpacks them next to the compressed ones, where later runs find them. Each file is
//! complete or not there. Rejected: to unpack into a temporary folder, which each run would do
//! again, and which may not allow programs.

use crate::Outcome;
use crate::mariadb::installed::{BIN, ROOT};
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The program that unpacks the others. It cannot be compressed.
pub const OWN: &str = "many-cores";
const SUFFIX: &str = "zst";
const UNPACKED_MODE: u32 = 0o755;

/// Compresses the programs and the files of servers in a packed folder.
pub fn compress(folder: &Path, level: i32) -> Outcome<()> {
    for path in files(folder)? {
        let name = path.file_name().unwrap_or_default();
        if name == OWN {
            continue;
        }
        let mut compressed = File::create(with_suffix(&path, SUFFIX))?;
        zstd::stream::copy_encode(File::open(&path)?, &mut compressed, level)?;
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Unpacks what is not unpacked yet.
pub fn unpack(folder: &Path) -> Outcome<()> {
    for compressed in files(folder)? {
        let path = compressed.with_extension("");
        let is_compressed = compressed
            .extension()
            .is_some_and(|suffix| suffix == SUFFIX);
        if !is_compressed || path.exists() {
            continue;
        }
        let failed = |error: std::io::Error| {
            let shown = folder.display();
            format!(
                "{} cannot be unpacked: {error}; copy {shown} to where you may write, with \
                     100 MiB left",
                path.display()
            )
        };
        unpack_one(&compressed, &path).map_err(failed)?;
    }
    Ok(())
}

fn unpack_one(compressed: &Path, path: &Path) -> std::io::Result<()> {
    // Another run may unpack the same file.
    let part = with_suffix(path, &format!("{}.part", std::process::id()));
    let mut unpacked = File::create(&part)?;
    zstd::stream::copy_decode(File::open(compressed)?, &mut unpacked)?;
    unpacked.set_permissions(Permissions::from_mode(UNPACKED_MODE))?;
    // An open file that could be written cannot be executed.
    drop(unpacked);
    std::fs::rename(part, path)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

/// Returns the programs and the files of servers.
fn files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    for part in [BIN, ROOT] {
        list(&folder.join(part), &mut files)?;
    }
    Ok(files)
}

/// Adds all files in a folder and its folders.
pub fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Outcome<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => list(&entry.path(), files)?,
            false => files.push(entry.path()),
        }
    }
    Ok(())
}
