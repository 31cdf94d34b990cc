//! The translations of a replay: which pages its accesses look up, and what walks they cause.
//!
//! Each core has TLBs of its own, and a thread that hops finds those of the other core. Nothing but
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
    start: WalkStart,
    mmus: Vec<Mmu>,
    counters: Vec<TlbCounters>,
}

/// What a look-up took.
pub(super) struct Walk {
    pub missed_l1: bool,
    pub walked: bool,
    pub start: WalkStart,
    /// Addresses of entries of page tables, in the order in which the walk reads them.
    entries: [u64; 4],
    count: usize,
}

impl Walk {
    /// Addresses of the entries of page tables that it reads, in order.
    pub fn entries(&self) -> &[u64] {
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
    ) -> Option<Walk> {
        let address = line << LINE_SHIFT;
        let size = self.page_sizes.of(address);
        let first = address >> size.bits() << size.bits();
        if page.replace(first) == Some(first) {
            return None;
        }
        let fetch = kind == Kind::Fetch;
        let served_by = self.mmus[core.index()].translate(fetch, address, size);
        let mut walk = Walk {
            missed_l1: served_by != ServedBy::L1,
            walked: false,
            start: self.start,
            entries: [0; 4],
            count: 0,
        };
        if let ServedBy::Walk { first } = served_by {
            walk.walked = true;
            for level in (size.level()..=first).rev() {
                walk.entries[walk.count] = entry_address(level, address);
                walk.count += 1;
            }
        }
        Some(walk)
    }

    /// Counts what a look-up was.
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
