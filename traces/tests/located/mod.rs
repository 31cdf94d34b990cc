//! Computes locations of addresses in the simplest way: in the memories of two processes, or in
//! physical memory.

use corehop_traces::{MAX_OBJECTS, Mapping, Page};

/// Returns a located address of process 1 or 2, whose threads are in that order. The number of its
/// memory is above bit 46: that of the process, or one after those of all processes for a shared
/// object. A shared object keeps the addresses of its first mapping.
pub fn located(mappings: &[Mapping], stamp: u64, process: u32, address: u64) -> u64 {
    if address >= 1 << 47 {
        return address;
    }
    let holds = |mapping: &&Mapping| {
        let there = mapping.start <= address && address < mapping.end;
        mapping.process_id == process && mapping.since <= stamp && there
    };
    // If stamps are equal, `max_by_key` returns the last.
    let mapping = mappings
        .iter()
        .filter(holds)
        .max_by_key(|mapping| mapping.since);
    let Some((mapping, object)) = mapping.and_then(|own| Some((own, own.object?))) else {
        return u64::from(process - 1) << 47 | address;
    };
    let same = |other: &&Mapping| other.object == Some(object);
    // `min_by_key` returns the first.
    let first = mappings.iter().filter(same);
    let first = first.min_by_key(|mapping| mapping.since).unwrap();
    let place = address - mapping.start + mapping.offset;
    let place = (place + first.start).wrapping_sub(first.offset) % (1 << 47);
    u64::from(MAX_OBJECTS + object) << 47 | place
}

/// Returns an address in physical memory, with bit 63 set; `None` if these pages do not contain it.
#[allow(dead_code)] // Not every test that shares this needs it.
pub fn physical(pages: &[Page], stamp: u64, process: u32, address: u64) -> Option<u64> {
    let holds = |page: &&Page| {
        let is_own = address >= 1 << 63 || page.process_id == process;
        page.number == address / 4096 && page.since <= stamp && is_own
    };
    // If stamps are equal, `max_by_key` returns the last.
    let page = pages.iter().filter(holds).max_by_key(|page| page.since)?;
    Some(1 << 63 | (page.frame * 4096 + address % 4096))
}
