//! The translations of a replay: which pages its accesses look up, and what walks they cause.
//!
//! Each core has separate TLBs, and a thread that hops uses those of the other core. Only
//! replacement removes an entry.

use crate::error::Error;
use crate::ids::CoreId;
use crate::machine::{Machine, WalkStart};
use crate::report::observer::Translated;
use crate::report::tlb_counters::TlbCounters;
use crate::translation::{Mmu, PageSizes, ServedBy, entry_address};
use corehop_traces::Kind;
use corehop_traces::execution::LINE_SHIFT;

/// What translates, by core, and what it counted.
pub(super) struct Translator {
    page_sizes: PageSizes,
    /// The cache at which walks begin.
    pub start: WalkStart,
    mmus: Vec<Mmu>,
    counters: Vec<TlbCounters>,
}

/// What a lookup took.
pub(super) struct Lookup {
    pub missed_l1: bool,
    /// Addresses of entries of page tables, in the order in which the walk reads them.
    entries: [u64; 4],
    count: usize,
}

impl Lookup {
    /// Addresses of the entries of page tables that a walk reads, in order; empty without a walk.
    pub fn walk(&self) -> &[u64] {
        &self.entries[..self.count]
    }
}

impl Translator {
    /// Of so many cores, all of whose TLBs are empty.
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

    /// Looks the page of a line up, unless it is `page`, where the same access was before.
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

    /// Counts what a lookup was.
    pub fn count(&mut self, (core, kind): (CoreId, Kind), translated: &Translated) {
        self.counters[core.index()].count(kind, translated);
    }

    /// Starts counting afresh; the TLBs stay as they are.
    pub fn start_counting(&mut self) {
        self.counters.fill(TlbCounters::default());
    }

    /// What was counted, by core.
    pub fn into_counters(self) -> Vec<TlbCounters> {
        self.counters
    }
}
