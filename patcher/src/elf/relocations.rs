//! The dynamic relocations: what the loader changes in a file that it has placed.

use super::Image;
use super::abi::{
    DT_JMPREL, DT_PLTRELSZ, DT_RELA, DT_RELASZ, DT_RELR, DT_RELRSZ, DT_SYMTAB, R_X86_64_IRELATIVE,
    RELA_SIZE, SYMBOL_SIZE,
};
use super::bytes::{u32_at, u64_at};
use std::collections::BTreeSet;

/// Every dynamic relocation, as the word that it changes and the address that it stores there. If
/// the value depends on a symbol, it is the symbol's value plus the addend.
pub(crate) fn pointers(image: &Image) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let symbols = image
        .dynamic_value(DT_SYMTAB)
        .and_then(|a| image.bytes_at(a));
    for entry in entries(image) {
        let value = symbols
            .filter(|_| entry.symbol != 0)
            .and_then(|symbols| u64_at(symbols, u64::from(entry.symbol) * SYMBOL_SIZE + 8))
            .unwrap_or(0);
        found.push((entry.place, value.wrapping_add(entry.addend)));
    }
    let mut next = 0u64;
    for word in table_of(image, DT_RELR, DT_RELRSZ).chunks_exact(8) {
        let word = u64_at(word, 0).unwrap_or(0);
        let mut put = |place: u64| {
            let held = image.bytes_at(place).and_then(|b| u64_at(b, 0));
            found.extend(held.map(|held| (place, held)));
        };
        if word & 1 == 0 {
            put(word);
            next = word.wrapping_add(8);
        } else {
            for bit in (0..63).filter(|bit| word >> (bit + 1) & 1 == 1) {
                put(next.wrapping_add(bit * 8));
            }
            next = next.wrapping_add(63 * 8);
        }
    }
    found
}

/// The functions that the loader calls to find the address of a function (`R_X86_64_IRELATIVE`).
pub(crate) fn resolvers(image: &Image) -> BTreeSet<u64> {
    let indirect = entries(image).filter(|entry| entry.kind == R_X86_64_IRELATIVE);
    indirect.map(|entry| entry.addend).collect()
}

/// A relocation with an addend.
pub(super) struct Entry {
    /// The word that it changes.
    pub place: u64,
    pub kind: u32,
    /// Number of its symbol; 0 for none.
    pub symbol: u32,
    pub addend: u64,
}

/// The relocations with addends, those of the procedure linkage table last.
pub(super) fn entries(image: &Image) -> impl Iterator<Item = Entry> {
    let tables = [(DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)];
    let entries = tables
        .into_iter()
        .flat_map(|(table, size)| table_of(image, table, size).chunks_exact(RELA_SIZE as usize));
    entries.map(|entry| Entry {
        place: u64_at(entry, 0).unwrap_or(0),
        kind: u32_at(entry, 8).unwrap_or(0),
        symbol: u32_at(entry, 12).unwrap_or(0),
        addend: u64_at(entry, 16).unwrap_or(0),
    })
}

fn table_of(image: &Image, table: u64, size: u64) -> &[u8] {
    let start = image.dynamic_value(table).and_then(|a| image.bytes_at(a));
    let size = image.dynamic_value(size).unwrap_or(0);
    let start = start.unwrap_or_default();
    &start[..start.len().min(usize::try_from(size).unwrap_or(usize::MAX))]
}
