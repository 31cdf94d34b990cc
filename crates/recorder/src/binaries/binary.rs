//! Properties of an ELF file for recording: its segments and its build.

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object};
use rustix::fs::OFlags;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Properties of one x86-64 ELF file.
#[derive(Clone, Debug)]
pub struct Binary {
    /// GNU build id in lower-case hexadecimal; empty if the file has none.
    pub build_id: String,
    /// The program's loader; none for a static program and most libraries.
    pub loader: Option<PathBuf>,
    segments: Vec<Segment>,
}

#[derive(Clone, Debug)]
struct Segment {
    file_offset: u64,
    file_bytes: u64,
    address: u64,
    memory_bytes: u64,
    executable: bool,
}

/// Why a file is not a recordable program.
#[derive(Debug)]
pub enum Unfit {
    /// It could not be read.
    Unreadable(std::io::Error),
    /// It is not an x86-64 ELF file.
    Foreign,
}

impl Binary {
    /// Reads the file at `path`. A server names files and may name a device or a pipe, so only
    /// regular files of up to 4 GiB are read.
    pub fn read(path: &Path) -> Result<Binary, Unfit> {
        let bytes = read_regular(path).map_err(Unfit::Unreadable)?;
        Binary::parse(&bytes).ok_or(Unfit::Foreign)
    }

    fn parse(bytes: &[u8]) -> Option<Binary> {
        let file = ElfFile64::<LittleEndian>::parse(bytes).ok()?;
        let endian = LittleEndian;
        if file.elf_header().e_machine(endian) != object::elf::EM_X86_64 {
            return None;
        }
        let build_id = file.build_id().ok().flatten().unwrap_or_default();
        let segments = file.elf_program_headers().iter();
        let mut interpreters = segments
            .clone()
            .filter(|header| header.p_type(endian) == object::elf::PT_INTERP);
        let loader = interpreters
            .next()
            .and_then(|header| header.data(endian, bytes).ok());
        let loader = loader.and_then(|name| name.split(|&byte| byte == 0).next());
        Some(Binary {
            build_id: build_id.iter().map(|byte| format!("{byte:02x}")).collect(),
            loader: loader.map(|name| OsStr::from_bytes(name).into()),
            segments: segments
                .filter(|header| header.p_type(endian) == object::elf::PT_LOAD)
                .map(|header| Segment {
                    file_offset: header.p_offset(endian),
                    file_bytes: header.p_filesz(endian),
                    address: header.p_vaddr(endian),
                    memory_bytes: header.p_memsz(endian),
                    executable: header.p_flags(endian).contains(object::elf::PF_X),
                })
                .collect(),
        })
    }

    /// Returns the file offset of the code at a virtual address.
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        self.code().find_map(|segment| {
            let within = address.checked_sub(segment.address)?;
            (within < segment.file_bytes).then(|| segment.file_offset + within)
        })
    }

    /// Returns the load bias if this file's bytes from `file_offset`, `size_bytes` long, are mapped
    /// at guest address `start` and contain code.
    pub fn load_bias(&self, start: u64, file_offset: u64, size_bytes: u64) -> Option<u64> {
        let mapped = file_offset..file_offset.saturating_add(size_bytes);
        self.code().find_map(|segment| {
            let end = segment.file_offset + segment.file_bytes;
            let overlap = segment.file_offset < mapped.end && mapped.start < end;
            let address = segment.address.wrapping_sub(segment.file_offset);
            overlap.then(|| start.wrapping_sub(file_offset).wrapping_sub(address))
        })
    }

    /// Returns the virtual address range of all code, end exclusive.
    pub fn code_range(&self) -> Option<(u64, u64)> {
        let start = self.code().map(|segment| segment.address).min()?;
        let end = self
            .code()
            .map(|segment| segment.address + segment.memory_bytes);
        Some((start, end.max()?))
    }

    /// Returns the file offset and length in bytes of each code segment.
    pub fn code_in_file(&self) -> impl Iterator<Item = (u64, u64)> {
        self.code()
            .map(|segment| (segment.file_offset, segment.file_bytes))
    }

    fn code(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| segment.executable)
    }
}

/// Largest file that is read; programs with full debug information are smaller.
const MOST_BYTES: u64 = 4 << 30;

fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe without a writer would block.
    let nonblocking = OFlags::NONBLOCK.bits() as i32;
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(nonblocking).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.len() > MOST_BYTES {
        return Err(ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode};

    fn reason(path: &Path) -> String {
        match Binary::read(path) {
            Err(Unfit::Unreadable(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn devices_folders_and_pipes_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        for path in [Path::new("/dev/zero"), folder.path(), &pipe] {
            assert_eq!(
                reason(path),
                "it is not a regular file",
                "{}",
                path.display()
            );
        }
    }

    #[test]
    fn a_file_too_large_to_be_a_program_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(
            reason(&path),
            io::Error::from(ErrorKind::FileTooLarge).to_string()
        );
    }
}
