//! Which memory an address of two processes is of, or where in a machine's, found the obvious way.

use corehop_traces::{MAX_OBJECTS, Mapping, Page};

/// An address of process 1 or 2, whose threads come in that order, with the number of its memory
/// above bit 46: that of the process, or one after all processes' for a shared object, which keeps
/// the addresses that it had in its first mapping.
pub fn located(mappings: &[Mapping], stamp: u64, process: u32, address: u64) -> u64 {
    if address >= 1 << 47 {
        return address;
    }
    let holds = |mapping: &&Mapping| {
        let there = mapping.start <= address && address < mapping.end;
        mapping.process_id == process && mapping.since <= stamp && there
    };
    // Of those with the same stamp, `max_by_key` takes the last.
    let mapping = mappings
        .iter()
        .filter(holds)
        .max_by_key(|mapping| mapping.since);
    let Some((mapping, object)) = mapping.and_then(|own| Some((own, own.object?))) else {
        return u64::from(process - 1) << 47 | address;
    };
    let same = |other: &&Mapping| other.object == Some(object);
    // `min_by_key` takes the first.
    let first = mappings.iter().filter(same);
    let first = first.min_by_key(|mapping| mapping.since).unwrap();
    let place = address - mapping.start + mapping.offset;
    let place = (place + first.start).wrapping_sub(first.offset) % (1 << 47);
    u64::from(MAX_OBJECTS + object) << 47 | place
}

/// Where an address is in physical memory, with bit 63 set; nowhere if these pages do not say.
#[allow(dead_code)] // Not every test that shares this needs it.
pub fn physical(pages: &[Page], stamp: u64, process: u32, address: u64) -> Option<u64> {
    let holds = |page: &&Page| {
        let is_own = address >= 1 << 63 || page.process_id == process;
        page.number == address / 4096 && page.since <= stamp && is_own
    };
    // Of those with the same stamp, `max_by_key` takes the last.
    let page = pages.iter().filter(holds).max_by_key(|page| page.since)?;
    Some(1 << 63 | (page.frame * 4096 + address % 4096))
}
