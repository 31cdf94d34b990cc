//! Composes the patched file: the original's bytes, a few changed in place, and three new segments.
//!
//! After everything that the original loads come RW (the runtime's pointers, and the dynamic
//! section if it had no room to grow), RX (stub and trampolines), and R (program headers, notes,
//! hook table, string table, unwind tables). Linkers leave no room for more program headers, so the
//! table moves. New data is at file offset = address - load base, because kernels before 5.18
//! assume that when they pass the address of the program headers to the loader. The resulting gap
//! in the file is a hole.
//!
//! Rejected: to extend the last segment, whose tail must be zero-filled; and to use padding, which
//! is rarely large enough.

use super::code::Code;
use super::table::Table;
use super::trampoline::entry_jump;
use super::unfit::Unfit;
use super::unwind::UnwindTables;
use crate::Hook;
use crate::analyse::Analysis;
use crate::elf::abi::{
    DT_NEEDED, DT_NULL, DT_STRSZ, DT_STRTAB, DYN_SIZE, PF_R, PF_W, PF_X, PHDR_SIZE, PT_DYNAMIC,
    PT_GNU_EH_FRAME, PT_LOAD, PT_NOTE, PT_PHDR,
};
use crate::elf::{self, Change, Image, Manifest, Original, Section, Segment, Whole};
use std::collections::BTreeMap;

/// The manifest's name for this version of corehop.
pub(crate) const TOOL: &str = concat!("corehop ", env!("CARGO_PKG_VERSION"));

const PAGE: u64 = 4096;
const SLOT_SIZE: u64 = 24;

/// The libraries that the loader must load: the runtime in the patched file's own folder, and for a
/// library the one that reports it to the runtime.
pub(crate) fn needed(analysis: &Analysis) -> Vec<String> {
    let mut needed = vec![format!("$ORIGIN/{}", corehop_runtime::NAME)];
    if analysis.is_library() {
        let id = analysis.build_id().unwrap_or_default();
        needed.push(format!("$ORIGIN/{}", corehop_runtime::arrival_name(id)));
    }
    needed
}

/// A file as pieces: the original's bytes with changes, a hole, and a tail.
pub(crate) struct Composed {
    pub head: Vec<u8>,
    /// File offset of the tail; between the head's end and here lie zeros.
    pub tail_offset: u64,
    pub tail: Vec<u8>,
    /// Places changed in addition to the hooks' sites: returns that end calls.
    pub returns: usize,
}

impl Composed {
    /// A file that consists only of `bytes`.
    pub(crate) fn whole(bytes: &[u8]) -> Composed {
        Composed {
            head: bytes.into(),
            tail_offset: bytes.len() as u64,
            tail: Vec::new(),
            returns: 0,
        }
    }

    /// The whole file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.clone();
        bytes.resize(self.tail_offset as usize, 0);
        bytes.extend(&self.tail);
        bytes
    }
}

/// The file under construction.
struct Composer<'a> {
    analysis: &'a Analysis,
    image: &'a Image,
    base: u64,
    head: Vec<u8>,
    /// File offset and original bytes of every change in the head.
    changes: BTreeMap<u64, Vec<u8>>,
    tail_offset: u64,
    tail: Vec<u8>,
    new_segments: Vec<Segment>,
}

/// Installs `hooks`, this file's part of the plan. The analysis has found each of them safe.
///
/// # Errors
/// The reason why the file has no room for the change.
pub(crate) fn compose(
    analysis: &Analysis,
    hooks: &[Hook],
    whole: &Whole,
) -> Result<Composed, Unfit> {
    let mut composer = Composer::new(analysis)?;
    let slot = composer.address();
    composer.tail.resize(SLOT_SIZE as usize, 0);
    let moved_dynamic = composer.reserve_dynamic();
    composer.finish_segment(PF_R | PF_W);
    let code = composer.code(hooks, whole.first_hook(), slot)?;
    composer.finish_segment(PF_R | PF_X);
    let strings = composer.strings()?;
    composer.dynamic(moved_dynamic, &strings)?;
    let table = composer.append(&[], 8).address;
    let table = Table::new(hooks, whole, table);
    composer.append(&table.bytes, 8);
    let unwind = composer.unwind(&code)?;
    let headers = composer.reserve_headers();
    composer.describe_section(".dynstr", strings.piece)?;
    composer.file_header(headers)?;
    let returns = code.returns.len();
    let manifest = Manifest {
        version: elf::VERSION,
        tool: TOOL.into(),
        original: Original {
            build_id: analysis.build_id().unwrap_or_default().into(),
            size_bytes: composer.image.bytes.len() as u64,
            crc32c: crc32c::crc32c(&composer.image.bytes),
        },
        runtime: corehop_runtime::NAME.into(),
        abi: corehop_runtime::ABI,
        whole: whole.clone(),
        slot,
        stubs: code.stubs,
        hooks: code.hooks,
        returns: code.returns,
        changes: composer.changes(),
    };
    let notes = elf::render(&table.note(slot, whole), &manifest);
    let note = composer.append(&notes, 8);
    composer.finish_segment(PF_R);
    let moved = [
        (PT_PHDR, Some(headers)),
        (PT_DYNAMIC, moved_dynamic),
        (PT_GNU_EH_FRAME, unwind),
    ];
    composer.program_headers(headers, note, moved)?;
    Ok(Composed {
        head: composer.head,
        tail_offset: composer.tail_offset,
        tail: composer.tail,
        returns,
    })
}

/// The position of a piece of the tail.
#[derive(Clone, Copy)]
struct Piece {
    address: u64,
    size: u64,
}

/// The longer copy of the dynamic strings, and the offset at which the needed libraries' names
/// begin.
struct Strings {
    piece: Piece,
    needed: Vec<u64>,
}

impl<'a> Composer<'a> {
    fn new(analysis: &'a Analysis) -> Result<Self, Unfit> {
        let image = &analysis.image;
        let mut loaded = image.segments.iter().filter(|s| s.kind == PT_LOAD);
        let first = loaded.next().ok_or(Unfit::LoadsNothing)?;
        let base = first.address.checked_sub(first.offset);
        let base = base.filter(|base| base % PAGE == 0);
        let base = base.ok_or(Unfit::OddPlace)?;
        let last = loaded.next_back().unwrap_or(first);
        let end = (last.address + last.memory_size.max(last.file_size) - base)
            .max(image.bytes.len() as u64);
        Ok(Composer {
            analysis,
            image,
            base,
            head: image.bytes.clone(),
            changes: BTreeMap::new(),
            tail_offset: end.next_multiple_of(PAGE),
            tail: Vec::new(),
            new_segments: Vec::new(),
        })
    }

    /// The address of the next byte appended.
    fn address(&self) -> u64 {
        self.base + self.tail_offset + self.tail.len() as u64
    }

    fn append(&mut self, bytes: &[u8], alignment: usize) -> Piece {
        self.tail
            .resize(self.tail.len().next_multiple_of(alignment), 0);
        let piece = Piece {
            address: self.address(),
            size: bytes.len() as u64,
        };
        self.tail.extend(bytes);
        piece
    }

    /// Ends a segment that began at the end of the previous one, and fills its last page.
    fn finish_segment(&mut self, flags: u32) {
        let start = self
            .new_segments
            .last()
            .map_or(self.tail_offset, |s| s.file_end().next_multiple_of(PAGE));
        let size = self.tail_offset + self.tail.len() as u64 - start;
        self.new_segments.push(Segment {
            kind: PT_LOAD,
            flags,
            offset: start,
            address: self.base + start,
            file_size: size,
            memory_size: size,
            alignment: PAGE,
        });
        self.tail
            .resize(self.tail.len().next_multiple_of(PAGE as usize), 0);
    }

    /// Overwrites bytes of the original and records their former values.
    fn change(&mut self, at: u64, bytes: &[u8]) -> Result<(), Unfit> {
        let start = at as usize;
        let place = self.head.get_mut(start..start + bytes.len());
        let place = place.ok_or(Unfit::BeyondEnd(at))?;
        place.copy_from_slice(bytes);
        let was = &self.image.bytes[start..start + bytes.len()];
        self.changes.insert(at, was.into());
        Ok(())
    }

    fn changes(&self) -> Vec<Change> {
        let changes = self.changes.iter();
        changes.map(|(at, was)| Change::new(*at, was)).collect()
    }

    /// Room for the dynamic section and the additional libraries, if its own place has none left.
    fn reserve_dynamic(&mut self) -> Option<Piece> {
        let segment = self.image.segment(PT_DYNAMIC)?;
        let more = needed(self.analysis).len() + 1;
        let used = (self.image.dynamic.len() + more) as u64 * DYN_SIZE;
        if used <= segment.file_size {
            return None;
        }
        Some(self.append(&vec![0; used as usize], DYN_SIZE as usize))
    }

    /// Stubs and trampolines, and the jumps to them.
    fn code(&mut self, hooks: &[Hook], first: u32, slot: u64) -> Result<Code, Unfit> {
        let code = Code::new(self.analysis, hooks, first, self.address(), slot)?;
        self.append(&code.bytes, 1);
        for (site, trampoline) in code.jumps() {
            let place = self.image.file_offset(site);
            let place = place.ok_or(Unfit::NotInFile(site))?;
            self.change(place, &entry_jump(site, trampoline)?)?;
        }
        Ok(code)
    }

    /// Unwind tables for the original's code and the new code; returns the place of their search
    /// table.
    fn unwind(&mut self, code: &Code) -> Result<Option<Piece>, Unfit> {
        let address = self.append(&[], 8).address;
        let Some(tables) = UnwindTables::new(self.image, code, address) else {
            return Ok(None);
        };
        let frames = self.append(&tables.frames, 8);
        let index = self.append(&tables.index, 4);
        self.describe_section(".eh_frame", frames)?;
        self.describe_section(".eh_frame_hdr", index)?;
        Ok(Some(index))
    }

    fn strings(&mut self) -> Result<Strings, Unfit> {
        let value = |tag| self.image.dynamic_value(tag);
        let found = value(DT_STRTAB)
            .zip(value(DT_STRSZ))
            .and_then(|(at, size)| self.image.bytes_at(at)?.get(..usize::try_from(size).ok()?));
        let mut strings = found.ok_or(Unfit::StringsOutside)?.to_vec();
        let mut places = Vec::new();
        for name in needed(self.analysis) {
            places.push(strings.len() as u64);
            strings.extend(name.bytes());
            strings.push(0);
        }
        Ok(Strings {
            piece: self.append(&strings, 8),
            needed: places,
        })
    }

    /// The dynamic section with the runtime as the first needed library. The loader searches
    /// libraries in that order for a symbol, so the runtime can interpose libc's functions.
    fn dynamic(&mut self, moved: Option<Piece>, strings: &Strings) -> Result<(), Unfit> {
        let segment = self.image.segment(PT_DYNAMIC).ok_or(Unfit::Static)?;
        let needed = strings.needed.iter().map(|&place| (DT_NEEDED, place));
        let mut entries: Vec<_> = needed.collect();
        entries.extend(self.image.dynamic.iter().map(|&(tag, value)| match tag {
            DT_STRTAB => (tag, strings.piece.address),
            DT_STRSZ => (tag, strings.piece.size),
            _ => (tag, value),
        }));
        entries.push((DT_NULL, 0));
        let fields = entries.iter().flat_map(|&(tag, value)| [tag, value]);
        let bytes: Vec<u8> = fields.flat_map(u64::to_le_bytes).collect();
        match moved {
            None => self.change(segment.offset, &bytes),
            Some(piece) => {
                let start = (piece.address - self.base - self.tail_offset) as usize;
                self.tail[start..start + bytes.len()].copy_from_slice(&bytes);
                self.describe_section(".dynamic", piece)
            }
        }
    }

    /// Room for the program headers: the original's, three segments and a note.
    fn reserve_headers(&mut self) -> Piece {
        let count = self.image.segments.len() + 4;
        self.append(&vec![0; count * PHDR_SIZE as usize], 8)
    }

    /// Stores the new place of its contents in the section header, if there is one. The loader
    /// ignores it, but readelf and gdb use it.
    fn describe_section(&mut self, name: &str, piece: Piece) -> Result<(), Unfit> {
        let Some(Section { header_offset, .. }) = self.image.section(name) else {
            return Ok(());
        };
        let fields = [piece.address, piece.address - self.base, piece.size];
        let bytes: Vec<u8> = fields.into_iter().flat_map(u64::to_le_bytes).collect();
        self.change(header_offset + 16, &bytes)
    }

    fn file_header(&mut self, headers: Piece) -> Result<(), Unfit> {
        let offset = headers.address - self.base;
        self.change(32, &offset.to_le_bytes())?;
        let count = headers.size / PHDR_SIZE;
        self.change(56, &(count as u16).to_le_bytes())
    }

    /// The original's program headers, updated, and the new ones after them: segments to load must
    /// stay in order of address.
    fn program_headers(
        &mut self,
        headers: Piece,
        note: Piece,
        moved: [(u32, Option<Piece>); 3],
    ) -> Result<(), Unfit> {
        let (base, tail_offset) = (self.base, self.tail_offset);
        let place = |segment: &mut Segment, piece: Piece| {
            segment.address = piece.address;
            segment.offset = piece.address - base;
            segment.file_size = piece.size;
            segment.memory_size = piece.size;
        };
        let mut segments = self.image.segments.clone();
        for segment in &mut segments {
            let piece = moved.iter().find(|(kind, _)| *kind == segment.kind);
            if let Some(piece) = piece.and_then(|(_, piece)| *piece) {
                place(segment, piece);
            }
        }
        let last = segments
            .iter()
            .rposition(|s| s.kind == PT_LOAD)
            .unwrap_or(0);
        segments.splice(last + 1..last + 1, self.new_segments.iter().cloned());
        let mut note_segment = self.new_segments[0].clone();
        (
            note_segment.kind,
            note_segment.flags,
            note_segment.alignment,
        ) = (PT_NOTE, PF_R, 4);
        place(&mut note_segment, note);
        segments.push(note_segment);
        let start = (headers.address - base - tail_offset) as usize;
        let bytes: Vec<u8> = segments.iter().flat_map(header_bytes).collect();
        let room = self.tail.get_mut(start..start + bytes.len());
        room.ok_or(Unfit::HeadersOutgrewPlace)?
            .copy_from_slice(&bytes);
        Ok(())
    }
}

fn header_bytes(segment: &Segment) -> Vec<u8> {
    let mut bytes = Vec::from(segment.kind.to_le_bytes());
    bytes.extend(segment.flags.to_le_bytes());
    for field in [
        segment.offset,
        segment.address,
        segment.address,
        segment.file_size,
        segment.memory_size,
        segment.alignment,
    ] {
        bytes.extend(field.to_le_bytes());
    }
    bytes
}
