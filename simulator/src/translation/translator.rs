//! The address translations of a replay: the page lookups of its accesses, and the walks they
//! cause.
//!
//! Each core has separate TLBs, and a thread that hops uses those of its new core. Only replacement
//! removes an entry. The replays make the loads of walks, because these go through their caches.

use super::{Mmu, PageSizes, ServedBy, entry_address};
use crate::ids::CoreId;
use crate::machine::{PageSize, Translation, WalkStart};
use crate::report::observer::Translated;
use crate::report::tlb_counters::TlbCounters;
use corehop_traces::Kind;
use corehop_traces::execution::LINE_SHIFT;

/// TLBs and page-walk caches of each core, and their counts.
pub(crate) struct Translator {
    page_sizes: PageSizes,
    /// The first cache that page walks read.
    pub start: WalkStart,
    mmus: Vec<Mmu>,
    counters: Vec<TlbCounters>,
    /// By use (data, fetches) and page size: the cycles that a miss of the first level adds before
    /// a walk.
    second_level_cycles: [[u32; 3]; 2],
    walk_cycles: u32,
}

/// The result of a lookup.
pub(crate) struct Lookup {
    pub missed_l1: bool,
    /// Cycles of the second-level lookup and of the walk, besides its loads.
    pub cycles: u32,
    /// Addresses of page-table entries, in the order in which the walk reads them.
    entries: [u64; 4],
    count: usize,
}

impl Lookup {
    /// Returns the addresses of the page-table entries that a walk reads, in order; empty without a
    /// walk.
    pub fn walk(&self) -> &[u64] {
        &self.entries[..self.count]
    }
}

impl Translator {
    /// Creates empty TLBs for this many cores.
    pub fn new(translation: &Translation, cores: usize, page_sizes: &PageSizes) -> Translator {
        let second_level_cycles = |fetch| {
            PageSize::ALL.map(|size| match translation.tlb(2, fetch, size) {
                Some(_) => translation.second_level_cycles,
                None => 0,
            })
        };
        Translator {
            page_sizes: page_sizes.clone(),
            start: translation.walks,
            mmus: vec![Mmu::new(translation); cores],
            counters: vec![TlbCounters::default(); cores],
            second_level_cycles: [false, true].map(second_level_cycles),
            walk_cycles: translation.walk_cycles,
        }
    }

    /// Looks up the page of a line. Returns `None` if it is `page`, which the same access already
    /// looked up.
    #[inline]
    pub fn translate(
        &mut self,
        (core, kind): (CoreId, Kind),
        line: u64,
        page: &mut Option<u64>,
    ) -> Option<Lookup> {
        let address = line << LINE_SHIFT;
        let size = self.page_sizes.of(address);
        let first = address >> size.bits() << size.bits();
        if page.replace(first) == Some(first) {
            return None;
        }
        Some(self.look_up((core, kind), address, size))
    }

    /// Looks up the page of a line.
    #[inline]
    pub fn look_up_line(&mut self, by: (CoreId, Kind), line: u64) -> Lookup {
        let address = line << LINE_SHIFT;
        let size = self.page_sizes.of(address);
        self.look_up(by, address, size)
    }

    #[inline]
    fn look_up(&mut self, (core, kind): (CoreId, Kind), address: u64, size: PageSize) -> Lookup {
        let fetch = kind == Kind::Fetch;
        let served_by = self.mmus[core.index()].translate(fetch, address, size);
        let mut lookup = Lookup {
            missed_l1: served_by != ServedBy::L1,
            cycles: 0,
            entries: [0; 4],
            count: 0,
        };
        if lookup.missed_l1 {
            lookup.cycles = self.second_level_cycles[usize::from(fetch)][size as usize];
        }
        if let ServedBy::Walk { first } = served_by {
            lookup.cycles = lookup.cycles.saturating_add(self.walk_cycles);
            for level in (size.level()..=first).rev() {
                lookup.entries[lookup.count] = entry_address(level, address);
                lookup.count += 1;
            }
        }
        lookup
    }

    /// Counts a lookup.
    pub fn count(&mut self, (core, kind): (CoreId, Kind), translated: &Translated) {
        self.counters[core.index()].count(kind, translated);
    }

    /// Resets the counts; the TLB contents do not change.
    pub fn start_counting(&mut self) {
        self.counters.fill(TlbCounters::default());
    }

    /// Returns the counts of each core.
    pub fn counters(&self) -> &[TlbCounters] {
        &self.counters
    }
}
