//! The address translations of a replay: the page lookups of its accesses, and the walks they
//! cause.
//!
//! Each core has separate TLBs, and a thread that hops uses those of its new core. Only replacement
//! removes an entry.

use crate::error::Error;
use crate::ids::CoreId;
use crate::machine::{Machine, WalkStart};
use crate::report::observer::Translated;
use crate::report::tlb_counters::TlbCounters;
use crate::translation::{Mmu, PageSizes, ServedBy, entry_address};
use corehop_traces::Kind;
use corehop_traces::execution::LINE_SHIFT;

/// TLBs and page-walk caches of each core, and their counts.
pub(super) struct Translator {
    page_sizes: PageSizes,
    /// The first cache that page walks read.
    pub start: WalkStart,
    mmus: Vec<Mmu>,
    counters: Vec<TlbCounters>,
}

/// The result of a lookup.
pub(super) struct Lookup {
    pub missed_l1: bool,
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
    pub fn new(
        machine: &Machine,
        cores: usize,
        page_sizes: &PageSizes,
    ) -> Result<Translator, Error> {
        let Some(translation) = &machine.translation else {
            let machine = machine.name.clone();
            return Err(Error::NoTranslation { machine });
        };
        Ok(Translator {
            page_sizes: page_sizes.clone(),
            start: translation.walks,
            mmus: vec![Mmu::new(translation); cores],
            counters: vec![TlbCounters::default(); cores],
        })
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
        let fetch = kind == Kind::Fetch;
        let served_by = self.mmus[core.index()].translate(fetch, address, size);
        let mut lookup = Lookup {
            missed_l1: served_by != ServedBy::L1,
            entries: [0; 4],
            count: 0,
        };
        if let ServedBy::Walk { first } = served_by {
            for level in (size.level()..=first).rev() {
                lookup.entries[lookup.count] = entry_address(level, address);
                lookup.count += 1;
            }
        }
        Some(lookup)
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
    pub fn into_counters(self) -> Vec<TlbCounters> {
        self.counters
    }
}
