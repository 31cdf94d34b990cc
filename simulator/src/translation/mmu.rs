//! Address translation of one core: two levels of TLBs, and page-walk caches.

use super::lru_sets::LruSets;
use crate::machine::{PageSize, Translation, bits_below};

/// Level of the topmost tables.
const TOP: u32 = 4;

/// The TLBs and page-walk caches of a core.
#[derive(Clone, Debug)]
pub(crate) struct Mmu {
    tlbs: Vec<LruSets>,
    /// By level from 1, by use (data, fetches), by size: the index of the TLB, if there is one.
    places: [[[Option<usize>; 3]; 2]; 2],
    /// Indexed by the level of the tables, from 0.
    walk_caches: [Option<LruSets>; 5],
}

/// What translated an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServedBy {
    /// A first-level TLB.
    L1,
    /// A second-level TLB.
    L2,
    /// A walk. It reads one entry of each level from `first` down to the page's own entry.
    Walk { first: u32 },
}

impl Mmu {
    /// Creates empty TLBs and page-walk caches.
    pub fn new(translation: &Translation) -> Mmu {
        let tlbs = translation.tlbs.iter();
        let place = |level, fetch| PageSize::ALL.map(|size| translation.tlb(level, fetch, size));
        let mut walk_caches = [const { None }; 5];
        for cache in &translation.walk_caches {
            let sets = LruSets::new(cache.entries, cache.ways());
            walk_caches[cache.level as usize] = Some(sets);
        }
        Mmu {
            tlbs: tlbs
                .map(|tlb| LruSets::new(tlb.entries, tlb.ways()))
                .collect(),
            places: [1, 2].map(|level| [place(level, false), place(level, true)]),
            walk_caches,
        }
    }

    /// Translates an address in a page of this size, and fills the TLBs that missed.
    #[inline]
    pub fn translate(&mut self, fetch: bool, address: u64, size: PageSize) -> ServedBy {
        let page = address >> size.bits();
        let key = page << 2 | size as u64;
        let [l1, l2] = self
            .places
            .map(|of_level| of_level[usize::from(fetch)][size as usize]);
        if l1.is_some_and(|tlb| self.tlbs[tlb].find(page, key)) {
            return ServedBy::L1;
        }
        let served_by = if l2.is_some_and(|tlb| self.tlbs[tlb].find(page, key)) {
            ServedBy::L2
        } else {
            if let Some(tlb) = l2 {
                self.tlbs[tlb].fill(page, key);
            }
            self.walk(address, size)
        };
        if let Some(tlb) = l1 {
            self.tlbs[tlb].fill(page, key);
        }
        served_by
    }

    /// Begins below the lowest table whose entry a page-walk cache holds, and fills these caches
    /// with the entries read above the page's own entry.
    fn walk(&mut self, address: u64, size: PageSize) -> ServedBy {
        let own = size.level();
        let mut first = TOP;
        for level in own + 1..=TOP {
            let number = address >> bits_below(level);
            let cache = &mut self.walk_caches[level as usize];
            if cache
                .as_mut()
                .is_some_and(|cache| cache.find(number, number))
            {
                first = level - 1;
                break;
            }
        }
        for level in own + 1..=first {
            let number = address >> bits_below(level);
            if let Some(cache) = &mut self.walk_caches[level as usize] {
                cache.fill(number, number);
            }
        }
        ServedBy::Walk { first }
    }
}
