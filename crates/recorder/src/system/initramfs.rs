//! The guest's root file system, as an archive that the kernel unpacks into memory.
//!
//! The archive has cpio's "newc" format (the kernel's
//! Documentation/driver-api/early-userspace/buffer-format.rst). It is created for each recording:
//! this is just copying files. Files keep their modes and owners, except that the recording user's
//! files belong to root, because root starts everything in the guest.

use super::error::Error;
use super::files::{Entry, Files};
use super::parts::Parts;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Folders that every guest has.
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
/// Debian's links for some of them.
const NAMES: [(&str, &str); 4] = [
    ("bin", "usr/bin"),
    ("lib", "usr/lib"),
    ("lib64", "usr/lib64"),
    ("sbin", "usr/sbin"),
];

const FOLDER: u32 = 0o040_000;
const LINK: u32 = 0o120_777;
const FILE: u32 = 0o100_000;

/// Type, permissions and owner of a file.
#[derive(Clone, Copy)]
struct Access {
    mode: u32,
    owner: [u32; 2],
}

impl Access {
    const fn roots(mode: u32) -> Access {
        Access {
            mode,
            owner: [0, 0],
        }
    }

    /// Returns those of a file on the host.
    fn of(kind: u32, metadata: &Metadata) -> Access {
        let mode = kind | metadata.mode() & 0o7777;
        match metadata.uid() == rustix::process::geteuid().as_raw() {
            true => Access::roots(mode),
            false => Access {
                mode,
                owner: [metadata.uid(), metadata.gid()],
            },
        }
    }
}

/// Writes the archive; returns its size in bytes.
pub fn write(to: &File, parts: &Parts, files: &Files, script: &str) -> Result<u64, Error> {
    let mut archive = Archive {
        out: BufWriter::new(to),
        bytes: 0,
        entries: 0,
    };
    let path = &std::env::temp_dir();
    let unwritable = Error::of_file(path);
    let written = (|| {
        for folder in FOLDERS {
            archive.entry(folder.as_bytes(), Access::roots(FOLDER | 0o755), b"")?;
        }
        for (name, folder) in NAMES {
            archive.entry(name.as_bytes(), Access::roots(LINK), folder.as_bytes())?;
        }
        let init = Access::roots(FILE | 0o755);
        archive.entry(b"init", init, script.as_bytes())?;
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
        let added = match entry {
            Entry::Folder(from) => {
                let metadata = from.metadata().map_err(Error::of_file(from))?;
                archive.entry(bytes, Access::of(FOLDER, &metadata), b"")
            }
            Entry::Link(target) => {
                archive.entry(bytes, Access::roots(LINK), target.as_os_str().as_bytes())
            }
            Entry::File(from) => {
                archive.file(name, from)?;
                Ok(())
            }
        };
        added.map_err(Error::of_file(path))?;
    }
    archive.finish().map_err(Error::of_file(path))
}

struct Archive<'a> {
    out: BufWriter<&'a File>,
    bytes: u64,
    entries: u32,
}

impl Archive<'_> {
    fn file(&mut self, name: &Path, from: &Path) -> Result<(), Error> {
        let contents = std::fs::read(from).map_err(Error::of_file(from))?;
        let metadata = from.metadata().map_err(Error::of_file(from))?;
        let access = Access::of(FILE, &metadata);
        let added = self.entry(name.as_os_str().as_bytes(), access, &contents);
        added.map_err(Error::of_file(from))
    }

    fn entry(&mut self, name: &[u8], access: Access, contents: &[u8]) -> io::Result<()> {
        let size = u32::try_from(contents.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.entries += 1;
        // Inode number, mode, user, group, links, time, size, two devices of two numbers, name
        // length, checksum.
        let links = 1;
        let length = name.len() as u32 + 1;
        let [user, group] = access.owner;
        let fields = [
            self.entries,
            access.mode,
            user,
            group,
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
        self.entry(b"TRAILER!!!", Access::roots(0), b"")?;
        self.out.flush()?;
        Ok(self.bytes)
    }
}
