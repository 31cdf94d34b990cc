//! The guest's root file system, as the archive that a kernel unpacks into memory.
//!
//! The archive is of cpio's "newc" kind (the kernel's Documentation/driver-api/early-userspace/
//! buffer-format.rst). It is made anew each time: to copy the files is all there is to it.

use super::error::{Error, create};
use super::files::{Entry, Files};
use super::parts::Parts;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Folders that a guest has in any case.
const FOLDERS: [&str; 10] = [
    "dev",
    "proc",
    "run",
    "sys",
    "tmp",
    "usr",
    "usr/bin",
    "usr/lib",
    "usr/lib64",
    "usr/sbin",
];
/// Names that Debian has for some of them.
const NAMES: [(&str, &str); 4] = [
    ("bin", "usr/bin"),
    ("lib", "usr/lib"),
    ("lib64", "usr/lib64"),
    ("sbin", "usr/sbin"),
];

const FOLDER: u32 = 0o040_755;
const LINK: u32 = 0o120_777;
const FILE: u32 = 0o100_000;

/// Writes the archive; its size in bytes.
pub fn write(path: &Path, parts: &Parts, files: &Files, script: &str) -> Result<u64, Error> {
    let mut archive = Archive {
        out: BufWriter::new(create(path)?),
        bytes: 0,
        entries: 0,
    };
    let unwritable = Error::of_file(path);
    let written = (|| {
        for folder in FOLDERS {
            archive.entry(folder.as_bytes(), FOLDER, b"")?;
        }
        for (name, folder) in NAMES {
            archive.entry(name.as_bytes(), LINK, folder.as_bytes())?;
        }
        archive.entry(b"init", FILE | 0o755, script.as_bytes())?;
        Ok(())
    })();
    written.map_err(unwritable)?;
    archive.file(Path::new("busybox"), &parts.busybox)?;
    for (name, entry) in files.entries() {
        let name = name.strip_prefix("/").unwrap_or(name);
        let is_there = |there: &str| name == Path::new(there);
        let named = || NAMES.iter().map(|(name, _)| *name);
        if FOLDERS.into_iter().chain(named()).any(is_there) {
            continue;
        }
        let bytes = name.as_os_str().as_bytes();
        match entry {
            Entry::Folder => archive.entry(bytes, FOLDER, b""),
            Entry::Link(target) => archive.entry(bytes, LINK, target.as_os_str().as_bytes()),
            Entry::File(from) => {
                archive.file(name, from)?;
                Ok(())
            }
        }
        .map_err(Error::of_file(path))?;
    }
    archive.finish().map_err(Error::of_file(path))
}

struct Archive {
    out: BufWriter<File>,
    bytes: u64,
    entries: u32,
}

impl Archive {
    fn file(&mut self, name: &Path, from: &Path) -> Result<(), Error> {
        let contents = std::fs::read(from).map_err(Error::of_file(from))?;
        let metadata = from.metadata().map_err(Error::of_file(from))?;
        let mode = FILE | metadata.permissions().mode() & 0o777;
        let added = self.entry(name.as_os_str().as_bytes(), mode, &contents);
        added.map_err(Error::of_file(from))
    }

    fn entry(&mut self, name: &[u8], mode: u32, contents: &[u8]) -> io::Result<()> {
        let size = u32::try_from(contents.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.entries += 1;
        // Number, mode, user, group, links, time, size, two devices of two numbers, length of the
        // name, checksum.
        let links = 1;
        let length = name.len() as u32 + 1;
        let fields = [
            self.entries,
            mode,
            0,
            0,
            links,
            0,
            size,
            0,
            0,
            0,
            0,
            length,
            0,
        ];
        let fields = fields.map(|field| format!("{field:08x}")).concat();
        self.write(b"070701")?;
        self.write(fields.as_bytes())?;
        self.write(name)?;
        self.write(&[0])?;
        self.pad()?;
        self.write(contents)?;
        self.pad()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn pad(&mut self) -> io::Result<()> {
        let missing = self.bytes.next_multiple_of(4) - self.bytes;
        self.write(&[0; 4][..missing as usize])
    }

    fn finish(mut self) -> io::Result<u64> {
        self.entry(b"TRAILER!!!", 0, b"")?;
        self.out.flush()?;
        Ok(self.bytes)
    }
}
