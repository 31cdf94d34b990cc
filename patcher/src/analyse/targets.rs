//! Everything that may lead control, or a pointer, into the first bytes of a function.
//!
//! A jump written over those bytes is safe only if nothing enters them after the first. One linear
//! sweep over all executable bytes, restarted at every known start, collects direct branches, code
//! addresses taken, and jump tables. Relocations give the pointers, and so do data words in files
//! linked for a fixed address. Data between functions decodes to nonsense, which can only add
//! targets: then a function is refused unnecessarily, but never patched wrongly.

use super::functions::Layout;
use crate::elf::abi::{DT_FINI, DT_INIT, PF_W, PF_X, PT_LOAD};
use crate::elf::bytes::u32_at;
use crate::elf::{Image, pointers};
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use std::fmt::{Display, Formatter};

/// Furthest byte of a function that a jump can displace: endbr64, four bytes, a long instruction.
const WINDOW: u64 = 4 + 4 + 15;

/// How a target was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    Branch,
    Table,
    Reference,
    Relocation,
    Word,
    Loader,
}

/// An address in a function's first bytes, not its entry, that something refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub address: u64,
    /// The instruction, table entry, or relocated word that refers to it.
    pub from: u64,
    pub how: How,
}

impl Display for Target {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let (address, from) = (self.address, self.from);
        match self.how {
            How::Branch => write!(
                formatter,
                "the instruction at {from:#x} branches to {address:#x}"
            ),
            How::Table => write!(
                formatter,
                "the jump table entry at {from:#x} leads to {address:#x}"
            ),
            How::Reference => write!(
                formatter,
                "the instruction at {from:#x} takes address {address:#x}"
            ),
            How::Relocation => write!(
                formatter,
                "the relocation of {from:#x} points to {address:#x}"
            ),
            How::Loader => write!(
                formatter,
                "the loader starts the program's code at {address:#x}"
            ),
            How::Word => write!(
                formatter,
                "the data word at {from:#x} may point to {address:#x}"
            ),
        }
    }
}

/// A file whose code spans more bytes than this is neither analyzed nor patched.
pub(super) const SPAN_LIMIT: u64 = 1 << 31;

/// The first executable address and the distance to the last.
pub(super) fn code_span(image: &Image) -> (u64, u64) {
    let code = || image.segments.iter().filter(|s| s.is_loaded(PF_X));
    let base = code().map(|s| s.address).min().unwrap_or(0);
    let end = code().map(|s| s.address + s.file_size).max();
    (base, end.unwrap_or(0).saturating_sub(base))
}

/// Every address in code that something refers to, one bit each.
pub(super) struct Landings(Watched);

impl Landings {
    /// Whether something may lead to `address`.
    pub fn has(&self, address: u64) -> bool {
        self.0.has(address)
    }
}

/// One bit per executable address that is worth remembering.
struct Watched {
    base: u64,
    bits: Vec<u64>,
}

impl Watched {
    fn none(image: &Image) -> Watched {
        let (base, span) = code_span(image);
        let span = span.min(SPAN_LIMIT);
        Watched {
            base,
            bits: vec![0; (span / 64 + 1) as usize],
        }
    }

    fn new(image: &Image, layout: &Layout) -> Watched {
        let mut watched = Watched::none(image);
        let entered = layout.functions.iter().map(|function| function.offset);
        for entry in entered.chain(layout.stubs.keys().copied()) {
            for address in entry + 1..entry + WINDOW {
                watched.put(address, true);
            }
        }
        for &start in &layout.starts {
            watched.put(start, false);
        }
        watched
    }

    fn put(&mut self, address: u64, value: bool) {
        let Some(distance) = address.checked_sub(self.base) else {
            return;
        };
        if let Some(word) = self.bits.get_mut((distance / 64) as usize) {
            let bit = 1 << (distance % 64);
            *word = if value { *word | bit } else { *word & !bit };
        }
    }

    fn has(&self, address: u64) -> bool {
        address.checked_sub(self.base).is_some_and(|distance| {
            let word = self.bits.get((distance / 64) as usize);
            word.is_some_and(|word| word >> (distance % 64) & 1 == 1)
        })
    }
}

/// The collector: the sweep's findings so far.
struct Sweep<'a> {
    image: &'a Image,
    watched: Watched,
    landings: Watched,
    targets: Vec<Target>,
    /// Read-only addresses that some instruction takes: each may be a jump table.
    tables: Vec<u64>,
}

/// All targets in the watched windows, in order of address, and the addresses of all targets.
pub(super) fn collect(image: &Image, layout: &Layout) -> (Vec<Target>, Landings) {
    let mut sweep = Sweep {
        image,
        watched: Watched::new(image, layout),
        landings: Watched::none(image),
        targets: Vec::new(),
        tables: Vec::new(),
    };
    for segment in image.segments.iter().filter(|s| s.is_loaded(PF_X)) {
        let end = segment.address + segment.file_size;
        let mut start = segment.address;
        let first = layout.starts.partition_point(|&s| s <= start);
        for &next in layout.starts[first..].iter().take_while(|&&s| s < end) {
            sweep.code(start, next);
            start = next;
        }
        sweep.code(start, end);
    }
    sweep.jump_tables();
    for (place, pointer) in pointers(image) {
        sweep.note(pointer, place, How::Relocation);
    }
    let started = [DT_INIT, DT_FINI].map(|tag| image.dynamic_value(tag));
    for address in started.into_iter().flatten().chain([image.entry]) {
        sweep.note(address, 0, How::Loader);
    }
    if image.fixed {
        sweep.words();
    }
    sweep.targets.sort_unstable();
    sweep.targets.dedup_by_key(|t| t.address);
    (sweep.targets, Landings(sweep.landings))
}

impl Sweep<'_> {
    fn note(&mut self, address: u64, from: u64, how: How) {
        self.landings.put(address, true);
        if self.watched.has(address) {
            self.targets.push(Target { address, from, how });
        }
    }

    /// Decodes `start..end` linearly.
    fn code(&mut self, start: u64, end: u64) {
        let Some(bytes) = self.image.bytes_at(start) else {
            return;
        };
        let size = bytes.len().min((end - start) as usize);
        let mut decoder = Decoder::with_ip(64, &bytes[..size], start, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            self.instruction(&instruction);
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        let from = instruction.ip();
        if instruction.code() == Code::INVALID {
            return;
        }
        match instruction.op0_kind() {
            OpKind::NearBranch64 => {
                return self.note(instruction.near_branch64(), from, How::Branch);
            }
            OpKind::FarBranch16 | OpKind::FarBranch32 => return,
            _ => {}
        }
        if instruction.is_ip_rel_memory_operand() {
            let address = instruction.ip_rel_memory_address();
            self.note(address, from, How::Reference);
            if instruction.mnemonic() == Mnemonic::Lea && self.is_constant(address) {
                self.tables.push(address);
            }
        } else if self.image.fixed {
            self.absolute(instruction);
        }
    }

    /// Addresses in immediates and displacements of code linked for a fixed address.
    fn absolute(&mut self, instruction: &Instruction) {
        let from = instruction.ip();
        for operand in 0..instruction.op_count() {
            match instruction.op_kind(operand) {
                OpKind::Memory if instruction.memory_base() == Register::None => {
                    self.note(instruction.memory_displacement64(), from, How::Reference);
                }
                OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64 => {
                    self.note(instruction.immediate(operand), from, How::Reference);
                }
                _ => {}
            }
        }
    }

    fn is_constant(&self, address: u64) -> bool {
        let segment = self.image.segment_at(address);
        segment.is_some_and(|s| s.flags & PF_W == 0)
    }

    /// Position-independent jump tables: 32-bit distances from the table to its targets. The end of
    /// a table is not recorded. So it is read until the next address that code takes, or the first
    /// entry that does not lead into code.
    fn jump_tables(&mut self) {
        let mut tables = std::mem::take(&mut self.tables);
        tables.sort_unstable();
        tables.dedup();
        let ends = tables.iter().copied().skip(1).chain([u64::MAX]);
        for (table, end) in tables.iter().copied().zip(ends) {
            let bytes = self.image.bytes_at(table).unwrap_or_default();
            for place in (table..end).step_by(4) {
                let Some(distance) = u32_at(bytes, place - table) else {
                    break;
                };
                let target = table.wrapping_add_signed(i64::from(distance as i32));
                let segment = self.image.segment_at(target);
                if !segment.is_some_and(|s| s.is_loaded(PF_X)) {
                    break;
                }
                self.note(target, place, How::Table);
            }
        }
    }

    /// Aligned words of a file linked for a fixed address: its pointers need no relocation.
    fn words(&mut self) {
        for segment in self.image.segments.iter().filter(|s| s.kind == PT_LOAD) {
            let aligned = segment.address.next_multiple_of(8);
            let bytes = self.image.bytes_at(aligned).unwrap_or_default();
            for (index, word) in bytes.chunks_exact(8).enumerate() {
                let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
                self.note(word, aligned + index as u64 * 8, How::Word);
            }
        }
    }
}
