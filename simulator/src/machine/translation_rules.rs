//! Rules for TLBs and page-walk caches that their types cannot express, checked here so that a
//! replay need not check them.

use super::impossible::{ENTRIES_MAXIMUM, ENTRY_WAYS_MAXIMUM, ImpossibleMachine};
use super::translation::{PageSize, Translation};

/// Returns an error for the first broken rule of TLBs and page-walk caches.
pub(super) fn check(translation: &Translation) -> Result<(), ImpossibleMachine> {
    for tlb in &translation.tlbs {
        if !(1..=2).contains(&tlb.level) {
            return Err(ImpossibleMachine::TlbLevel { level: tlb.level });
        }
        if tlb.page_sizes.is_empty() {
            return Err(ImpossibleMachine::TlbOfNoPages { level: tlb.level });
        }
        check_entries("tlb", tlb.level, tlb.entries, tlb.ways())?;
    }
    for (place, tlb) in translation.tlbs.iter().enumerate() {
        for (at, &size) in tlb.page_sizes.iter().enumerate() {
            let twice = tlb.page_sizes[..at].contains(&size);
            let uses = [true, false].into_iter().filter(|&f| tlb.of.includes(f));
            let first = |fetch| translation.tlb(tlb.level, fetch, size) == Some(place);
            if twice || !uses.into_iter().all(first) {
                return Err(ImpossibleMachine::TwoTlbs {
                    level: tlb.level,
                    size: size.name(),
                });
            }
        }
    }
    for (fetch, of) in [(true, "fetches"), (false, "data")] {
        if translation.tlb(1, fetch, PageSize::Small).is_none() {
            return Err(ImpossibleMachine::NoTlb { of });
        }
    }
    for (place, cache) in translation.walk_caches.iter().enumerate() {
        let level = cache.level;
        let mut before = translation.walk_caches[..place].iter();
        if !(2..=4).contains(&level) || before.any(|other| other.level == level) {
            return Err(ImpossibleMachine::WalkCacheLevel { level });
        }
        check_entries("walk_cache", level, cache.entries, cache.ways())?;
    }
    Ok(())
}

fn check_entries(
    name: &'static str,
    level: u32,
    entries: u32,
    ways: u32,
) -> Result<(), ImpossibleMachine> {
    let some = 1..=ENTRIES_MAXIMUM;
    let of_set = 1..=ENTRY_WAYS_MAXIMUM;
    if !some.contains(&entries) || !of_set.contains(&ways) || !entries.is_multiple_of(ways) {
        return Err(ImpossibleMachine::Entries {
            name,
            level,
            entries,
            ways,
        });
    }
    Ok(())
}
