//! Where functions begin and end, from symbols and unwind tables.
//!
//! A stripped file has lost its symbols but not its unwind tables. These also distinguish a
//! function from a cold fragment of one: at a function's entry the canonical frame address is rsp +
//! 8, just above the return address. Code jumps to a fragment and does not call it, so a hook
//! cannot be placed at its entry.

use crate::elf::abi::{SHT_DYNSYM, SHT_SYMTAB, SYMBOL_SIZE};
use crate::elf::bytes::{text_at, u64_at};
use crate::elf::{self, Frames, Image, Stub};
use gimli::{CfaRule, UnwindContext, X86_64};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

/// A function of a binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Virtual address of the entry in the ELF file.
    pub offset: u64,
    /// Size in bytes; up to the next known start if the file does not record it.
    pub size_bytes: u64,
    /// Linker symbol, if the file still has one.
    pub symbol: Option<String>,
}

/// Functions in order of offset, and every address at which a new piece of code is known to begin.
pub(super) struct Layout {
    pub functions: Vec<Function>,
    /// Entries of functions and of fragments, in order.
    pub starts: Vec<u64>,
    /// By address, the stubs through which the file calls functions that it does not contain.
    pub stubs: BTreeMap<u64, Stub>,
    /// Entries that only the loader calls, to select an implementation of a function.
    pub resolvers: BTreeSet<u64>,
    /// Start and end of each fragment, in order.
    fragments: Vec<(u64, u64)>,
    /// Where the stack pointer points to the return address, in order; the ends are exclusive.
    bare: Vec<(u64, u64)>,
}

impl Layout {
    /// Whether a function begins at `start`, rather than a fragment.
    pub fn is_function(&self, start: u64) -> bool {
        let found = self.functions.binary_search_by_key(&start, |f| f.offset);
        found.is_ok()
    }

    /// Whether a function or a fragment begins at `address`.
    pub fn begins(&self, address: u64) -> bool {
        self.starts.binary_search(&address).is_ok()
    }

    /// The end of the function or stub that contains a hook at `entry`.
    pub fn end_of_entered(&self, entry: u64) -> Option<u64> {
        if let Some(stub) = self.stubs.get(&entry) {
            return Some(stub.end);
        }
        let function = self.functions.binary_search_by_key(&entry, |f| f.offset);
        let function = &self.functions[function.ok()?];
        Some(entry.saturating_add(function.size_bytes))
    }

    /// The end of the function or fragment that begins at `start`.
    pub fn end_of(&self, start: u64) -> Option<u64> {
        let function = self.functions.binary_search_by_key(&start, |f| f.offset);
        if let Ok(index) = function {
            return Some(start.saturating_add(self.functions[index].size_bytes));
        }
        let fragment = self.fragments.binary_search_by_key(&start, |f| f.0);
        Some(self.fragments[fragment.ok()?].1)
    }

    /// The start of the function or fragment that contains `address`.
    pub fn part_at(&self, address: u64) -> Option<u64> {
        let next = self.starts.partition_point(|&start| start <= address);
        let start = *self.starts.get(next.checked_sub(1)?)?;
        self.end_of(start).filter(|&end| address < end)?;
        Some(start)
    }

    /// Whether unwind information shows that the return address is on top of the stack at
    /// `address`.
    pub fn is_bare(&self, address: u64) -> bool {
        let next = self.bare.partition_point(|range| range.0 <= address);
        let before = next.checked_sub(1).map(|index| self.bare[index]);
        before.is_some_and(|(_, end)| address < end)
    }
}

const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;

#[derive(Default)]
struct Found {
    size_bytes: u64,
    symbol: Option<String>,
}

/// Finds the functions of `image`.
pub(super) fn layout(image: &Image) -> Layout {
    let mut found = BTreeMap::<u64, Found>::new();
    let mut fragments = BTreeMap::new();
    let mut bare = Vec::new();
    read_frames(image, |start, size_bytes, bare_there| {
        if bare_there.first().is_some_and(|range| range.0 == start) {
            found.entry(start).or_default().size_bytes = size_bytes;
        } else {
            fragments.insert(start, size_bytes);
        }
        bare.extend(bare_there);
    });
    bare.sort_unstable();
    let mut resolvers = elf::resolvers(image);
    for kind in [SHT_SYMTAB, SHT_DYNSYM] {
        read_symbols(image, kind, |start, size_bytes, name, is_resolver| {
            if is_resolver {
                resolvers.insert(start);
            }
            if fragments.contains_key(&start) || name.ends_with(".cold") {
                fragments.entry(start).or_insert(size_bytes);
                return;
            }
            let function = found.entry(start).or_default();
            if function.size_bytes == 0 {
                function.size_bytes = size_bytes;
            }
            function.symbol.get_or_insert_with(|| name.into());
        });
    }
    found.retain(|start, _| !fragments.contains_key(start));
    let stubs = elf::stubs(image);
    let starts = found.keys().chain(fragments.keys()).chain(stubs.keys());
    let starts: BTreeSet<u64> = starts.copied().collect();
    let next = |offset| starts.range((Excluded(offset), Unbounded)).next().copied();
    let functions = found.into_iter().map(|(offset, found)| Function {
        offset,
        size_bytes: match found.size_bytes {
            0 => room(image, offset, next(offset)),
            known => known,
        },
        symbol: found.symbol,
    });
    Layout {
        functions: functions.collect(),
        fragments: fragments
            .iter()
            .map(|(&start, &size)| (start, start.saturating_add(size)))
            .collect(),
        starts: starts.iter().copied().collect(),
        bare,
        stubs,
        resolvers,
    }
}

/// Bytes from `start` to the next start or the end of the segment.
fn room(image: &Image, start: u64, next: Option<u64>) -> u64 {
    let left = image.bytes_at(start).map_or(0, |b| b.len() as u64);
    next.map_or(left, |next| left.min(next - start))
}

fn read_symbols(image: &Image, kind: u32, mut each: impl FnMut(u64, u64, &str, bool)) {
    let Some(section) = image.sections.iter().find(|s| s.kind == kind) else {
        return;
    };
    let names = image.sections.get(section.link as usize);
    let names = names.and_then(|s| image.contents(s)).unwrap_or_default();
    let symbols = image.contents(section).unwrap_or_default();
    for at in (0..symbols.len() as u64 / SYMBOL_SIZE).map(|i| i * SYMBOL_SIZE) {
        let (Some(head), Some(start), Some(size)) = (
            u64_at(symbols, at),
            u64_at(symbols, at + 8),
            u64_at(symbols, at + 16),
        ) else {
            return;
        };
        let (kind, section_index) = ((head >> 32) as u8 & 15, head >> 48);
        let defined = section_index != 0 && image.segment_at(start).is_some();
        if matches!(kind, STT_FUNC | STT_GNU_IFUNC) && defined {
            each(
                start,
                size,
                text_at(names, head & 0xffff_ffff).unwrap_or(""),
                kind == STT_GNU_IFUNC,
            );
        }
    }
}

/// Calls `each` for every frame description, with its start, its size, and the ranges in which the
/// canonical frame address is rsp + 8, as it is at an entry.
fn read_frames(image: &Image, mut each: impl FnMut(u64, u64, &[(u64, u64)])) {
    let Some(frames) = Frames::of(image) else {
        return;
    };
    let mut context = UnwindContext::new();
    for fde in frames.entries() {
        let start = fde.initial_address();
        if fde.is_signal_trampoline() || fde.len() == 0 || image.segment_at(start).is_none() {
            continue;
        }
        let at_entry = CfaRule::RegisterAndOffset {
            register: X86_64::RSP,
            offset: 8,
        };
        let mut bare = Vec::new();
        if let Ok(mut rows) = fde.rows(&frames.section, &frames.bases, &mut context) {
            while let Ok(Some(row)) = rows.next_row() {
                if *row.cfa() == at_entry {
                    bare.push((row.start_address(), row.end_address()));
                }
            }
        }
        each(start, fde.len(), &bare);
    }
}
