//! An ELF file as patching sees it: segments, sections, dynamic entries, bytes by virtual address.
//!
//! It is parsed here and not by a library's file object. Stripped, sectionless and damaged files
//! must be readable as far as possible: every access is checked, and returns `None` beyond the end.

use super::abi::{
    DF_1_PIE, DT_FLAGS_1, DT_NULL, DT_SONAME, DT_STRTAB, DYN_SIZE, EHDR_SIZE, EM_X86_64, ET_DYN,
    ET_EXEC, NT_GNU_BUILD_ID, PHDR_SIZE, PT_DYNAMIC, PT_INTERP, PT_LOAD, PT_NOTE, SHDR_SIZE,
    SHT_DYNSYM, SHT_NOBITS, SYMBOL_SIZE,
};
use super::bytes::{slice, text_at, u16_at, u32_at, u64_at};
use super::malformed::Malformed;
use crate::Error;
use std::path::{Path, PathBuf};

/// Far beyond the number that any linker writes, and small enough to read each quickly.
const MOST_SEGMENTS: u16 = 256;

/// A program header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub address: u64,
    pub file_size: u64,
    pub memory_size: u64,
    pub alignment: u64,
}

impl Segment {
    pub fn is_loaded(&self, flags: u32) -> bool {
        self.kind == PT_LOAD && self.flags & flags == flags
    }

    pub fn file_end(&self) -> u64 {
        self.offset + self.file_size
    }
}

/// A section header, with the offset at which it was read.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub name: String,
    pub header_offset: u64,
    pub kind: u32,
    pub address: u64,
    pub offset: u64,
    pub size: u64,
    pub link: u32,
}

/// A whole file, read and checked.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    /// Linked for a fixed address (`ET_EXEC`).
    pub fixed: bool,
    pub entry: u64,
    pub header_table: u64,
    pub segments: Vec<Segment>,
    pub sections: Vec<Section>,
    /// Tag and value of every dynamic entry before the first `DT_NULL`.
    pub dynamic: Vec<(u64, u64)>,
    pub build_id: Option<String>,
}

impl Image {
    /// Reads `bytes`; `path` only names the file in errors.
    pub fn new(bytes: Vec<u8>, path: &Path) -> Result<Image, Error> {
        let wrong = |problem| Error::malformed(path, &problem);
        check_header(&bytes).map_err(wrong)?;
        let field = |offset| u64_at(&bytes, offset).unwrap_or(0);
        let (entry, header_table) = (field(24), field(32));
        let segments = read_segments(&bytes, header_table).map_err(wrong)?;
        let sections = read_sections(&bytes).map_err(wrong)?;
        let mut image = Image {
            path: path.into(),
            fixed: u16_at(&bytes, 16) == Some(ET_EXEC),
            bytes,
            entry,
            header_table,
            segments,
            sections,
            dynamic: Vec::new(),
            build_id: None,
        };
        image.dynamic = image.read_dynamic();
        let id = image.note(b"GNU\0", NT_GNU_BUILD_ID);
        image.build_id = id.map(|id| id.iter().map(|b| format!("{b:02x}")).collect());
        Ok(image)
    }

    pub fn segment(&self, kind: u32) -> Option<&Segment> {
        self.segments.iter().find(|s| s.kind == kind)
    }

    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|s| s.name == name)
    }

    /// Returns the number of bytes behind all headers, segments, and sections, without zeros at the
    /// end; 0 for a file without section headers, where it is unknown what is part of it.
    pub fn appended_bytes(&self) -> usize {
        let Some(last) = self.sections.iter().map(|s| s.header_offset).max() else {
            return 0;
        };
        let sections = self.sections.iter().filter(|s| s.kind != SHT_NOBITS);
        let ends = sections.map(|s| s.offset.saturating_add(s.size));
        let ends = ends.chain(self.segments.iter().map(Segment::file_end));
        let end = ends.max().unwrap_or(0).max(last + SHDR_SIZE);
        let appended = usize::try_from(end)
            .ok()
            .and_then(|end| self.bytes.get(end..));
        let appended = appended.unwrap_or_default();
        appended
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1)
    }

    pub fn contents(&self, section: &Section) -> Option<&[u8]> {
        if section.kind == SHT_NOBITS {
            return None;
        }
        slice(&self.bytes, section.offset, section.size)
    }

    /// The loaded segment whose file part contains `address`.
    pub fn segment_at(&self, address: u64) -> Option<&Segment> {
        self.segments.iter().find(|s| {
            s.kind == PT_LOAD
                && address
                    .checked_sub(s.address)
                    .is_some_and(|d| d < s.file_size)
        })
    }

    /// Bytes from `address` to the end of its segment's file part.
    pub fn bytes_at(&self, address: u64) -> Option<&[u8]> {
        let segment = self.segment_at(address)?;
        let skipped = address - segment.address;
        slice(
            &self.bytes,
            segment.offset + skipped,
            segment.file_size - skipped,
        )
    }

    /// The file offset of `address`.
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        let segment = self.segment_at(address)?;
        Some(segment.offset + (address - segment.address))
    }

    /// Whether it is to be loaded into a program: it has a library name, or it has no loader and no
    /// flag of a program.
    pub fn is_library(&self) -> bool {
        let is_program = self.dynamic_value(DT_FLAGS_1).unwrap_or(0) & DF_1_PIE != 0;
        let asks_for_loader = self.segment(PT_INTERP).is_some();
        !self.fixed && (self.soname().is_some() || (!is_program && !asks_for_loader))
    }

    /// The program that loads this one.
    pub fn loader(&self) -> Option<&str> {
        let segment = self.segment(PT_INTERP)?;
        text_at(slice(&self.bytes, segment.offset, segment.file_size)?, 0)
    }

    /// The name by which programs request this library.
    pub fn soname(&self) -> Option<&str> {
        let names = self.bytes_at(self.dynamic_value(DT_STRTAB)?)?;
        text_at(names, self.dynamic_value(DT_SONAME)?)
    }

    /// The value of a dynamic entry.
    pub fn dynamic_value(&self, tag: u64) -> Option<u64> {
        self.dynamic.iter().find(|d| d.0 == tag).map(|d| d.1)
    }

    /// The address of an exported symbol, by the dynamic symbol table's section.
    pub fn dynamic_symbol(&self, name: &str) -> Option<u64> {
        let section = self.sections.iter().find(|s| s.kind == SHT_DYNSYM)?;
        let names = self.contents(self.sections.get(section.link as usize)?)?;
        let symbols = self.contents(section)?;
        let count = symbols.len() as u64 / SYMBOL_SIZE;
        let mut places = (0..count).map(|index| index * SYMBOL_SIZE);
        let found = places.find(|&at| {
            let place = u32_at(symbols, at).unwrap_or(0);
            text_at(names, place.into()) == Some(name)
        })?;
        u64_at(symbols, found + 8)
    }

    /// The descriptor of the first note with this owner (terminating zero included) and type.
    pub fn note(&self, owner: &[u8], kind: u32) -> Option<&[u8]> {
        let segments = self.segments.iter().filter(|s| s.kind == PT_NOTE);
        segments
            .filter_map(|s| Some((slice(&self.bytes, s.offset, s.file_size)?, s.alignment)))
            .find_map(|(notes, alignment)| find_note(notes, alignment, owner, kind))
    }

    fn read_dynamic(&self) -> Vec<(u64, u64)> {
        let Some(segment) = self.segment(PT_DYNAMIC) else {
            return Vec::new();
        };
        let entries = slice(&self.bytes, segment.offset, segment.file_size).unwrap_or_default();
        (0..entries.len() as u64 / DYN_SIZE)
            .filter_map(|i| Some((u64_at(entries, i * 16)?, u64_at(entries, i * 16 + 8)?)))
            .take_while(|entry| entry.0 != DT_NULL)
            .collect()
    }
}

/// The kernel reads no more of a script's first line.
const LONGEST_INTERPRETER: usize = 254;

fn check_header(bytes: &[u8]) -> Result<(), Malformed> {
    if let Some(rest) = bytes.strip_prefix(b"#!") {
        let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = &line[..line.len().min(LONGEST_INTERPRETER)];
        return Err(Malformed::Script(
            String::from_utf8_lossy(line).trim().into(),
        ));
    }
    if !bytes.starts_with(b"\x7fELF") {
        return Err(Malformed::OtherFormat);
    }
    if (bytes.len() as u64) < EHDR_SIZE {
        return Err(Malformed::FileHeaderCut);
    }
    match (bytes[4], bytes[5]) {
        (2, 1) => {}
        (1, _) => return Err(Malformed::Of32Bits),
        _ => return Err(Malformed::OtherByteOrder),
    }
    let machine = u16_at(bytes, 18).unwrap_or(0);
    if machine != EM_X86_64 {
        return Err(Malformed::OtherMachine(machine));
    }
    match u16_at(bytes, 16) {
        Some(ET_EXEC | ET_DYN) => Ok(()),
        _ => Err(Malformed::OtherKind),
    }
}

fn read_segments(bytes: &[u8], table: u64) -> Result<Vec<Segment>, Malformed> {
    let (size, count) = (
        u16_at(bytes, 54).unwrap_or(0),
        u16_at(bytes, 56).unwrap_or(0),
    );
    if !(1..=MOST_SEGMENTS).contains(&count) || u64::from(size) != PHDR_SIZE {
        return Err(Malformed::ProgramHeaders { count, size });
    }
    let mut segments = Vec::new();
    let mut loaded_end = 0;
    for index in 0..u64::from(count) {
        let read = |field| {
            u64_at(
                bytes,
                table.checked_add(index * PHDR_SIZE)?.checked_add(field)?,
            )
        };
        let parse = || {
            let kind_and_flags = read(0)?;
            Some(Segment {
                kind: kind_and_flags as u32,
                flags: (kind_and_flags >> 32) as u32,
                offset: read(8)?,
                address: read(16)?,
                file_size: read(32)?,
                memory_size: read(40)?,
                alignment: read(48)?,
            })
        };
        let segment = parse().ok_or(Malformed::ProgramHeadersCut)?;
        let end = segment.offset.checked_add(segment.file_size);
        if end.is_none_or(|end| end > bytes.len() as u64) {
            return Err(Malformed::SegmentCut {
                index,
                size_bytes: bytes.len(),
            });
        }
        let memory = segment.memory_size.max(segment.file_size);
        if segment
            .address
            .checked_add(memory)
            .is_none_or(|end| end > 1 << 56)
        {
            return Err(Malformed::SegmentBeyond(index));
        }
        if segment.kind == PT_LOAD {
            if segment.address < loaded_end {
                return Err(Malformed::SegmentOverlaps(index));
            }
            loaded_end = segment.address + memory;
        }
        segments.push(segment);
    }
    Ok(segments)
}

fn read_sections(bytes: &[u8]) -> Result<Vec<Section>, Malformed> {
    let table = u64_at(bytes, 40).unwrap_or(0);
    let field = |offset| u64::from(u16_at(bytes, offset).unwrap_or(0));
    let (size, count, names) = (field(58), field(60), field(62));
    if table == 0 || count == 0 {
        return Ok(Vec::new());
    }
    let end = table.checked_add(count * SHDR_SIZE);
    if size != SHDR_SIZE || end.is_none_or(|end| end > bytes.len() as u64) {
        return Err(Malformed::SectionHeadersCut);
    }
    let read = |index: u64, field| u64_at(bytes, table + index * SHDR_SIZE + field).unwrap_or(0);
    let names = slice(bytes, read(names, 24), read(names, 32)).unwrap_or_default();
    let section = |index| {
        let name_and_kind = read(index, 0);
        Section {
            name: text_at(names, name_and_kind & 0xffff_ffff)
                .unwrap_or("")
                .into(),
            header_offset: table + index * SHDR_SIZE,
            kind: (name_and_kind >> 32) as u32,
            address: read(index, 16),
            offset: read(index, 24),
            size: read(index, 32),
            link: read(index, 40) as u32,
        }
    };
    Ok((0..count).map(section).collect())
}

/// Walks notes. Names and descriptors are padded to the segment's alignment (4, or 8 if it
/// specifies that), as in readers of GNU property notes.
fn find_note<'a>(notes: &'a [u8], alignment: u64, owner: &[u8], kind: u32) -> Option<&'a [u8]> {
    let alignment = if alignment == 8 { 8 } else { 4 };
    let mut at = 0u64;
    loop {
        let name_size = u64::from(u32_at(notes, at)?);
        let size = u64::from(u32_at(notes, at + 4)?);
        let name = slice(notes, at + 12, name_size)?;
        let start = (at + 12 + name_size).next_multiple_of(alignment);
        if name == owner && u32_at(notes, at + 8)? == kind {
            return slice(notes, start, size);
        }
        at = (start + size).next_multiple_of(alignment);
    }
}
