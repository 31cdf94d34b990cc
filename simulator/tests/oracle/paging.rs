//! Address translation as lists: each set of a TLB is a list of pages in order of age, and every
//! lookup searches all of it.

use corehop_simulator::{PageSize, TlbCounters, TlbUse, Translation, WalkStart};
use std::collections::HashMap;

/// A range of addresses, first to last, with pages of at least this size.
pub type Region = (u64, u64, PageSize);

/// A page, or the part of memory that a page-table entry covers: its first address, and its size in
/// bytes.
type Part = (u64, u128);

/// The address translation of all cores.
pub struct Paging {
    translation: Translation,
    regions: Vec<Region>,
    /// Contents by core, index of the TLB or cache, and set; oldest first.
    tlbs: HashMap<(usize, usize, u64), Vec<Part>>,
    walk_caches: HashMap<(usize, usize, u64), Vec<Part>>,
    pub counters: Vec<TlbCounters>,
}

fn bytes(size: PageSize) -> u64 {
    match size {
        PageSize::Small => 4096,
        PageSize::Large => 2 << 20,
        PageSize::Huge => 1 << 30,
    }
}

/// Returns the number of bytes that an entry of a table of this level covers.
fn bytes_of_entry(level: u32) -> u128 {
    let mut bytes = 4096;
    for _ in 1..level {
        bytes *= 512;
    }
    bytes
}

impl Paging {
    pub fn new(translation: &Translation, regions: &[Region], cores: usize) -> Paging {
        Paging {
            translation: translation.clone(),
            regions: regions.to_vec(),
            tlbs: HashMap::new(),
            walk_caches: HashMap::new(),
            counters: vec![TlbCounters::default(); cores],
        }
    }

    pub fn walks(&self) -> WalkStart {
        self.translation.walks
    }

    pub fn size(&self, located: u64) -> PageSize {
        let address = match located >= 1 << 63 {
            true => located,
            false => located % (1 << 47),
        };
        let mut size = PageSize::Small;
        for &(first, last, larger) in &self.regions {
            let page = address / bytes(larger);
            if (first / bytes(larger)..=last / bytes(larger)).contains(&page) && larger > size {
                size = larger;
            }
        }
        size
    }

    /// Returns the first address and size of an address's page.
    pub fn page(&self, address: u64) -> Part {
        let bytes = bytes(self.size(address));
        (address / bytes * bytes, bytes.into())
    }

    /// Looks up an address; returns the addresses that a walk reads, in order.
    pub fn look_up(&mut self, core: usize, fetch: bool, address: u64) -> Vec<u64> {
        let size = self.size(address);
        let page = self.page(address);
        let counters = &mut self.counters[core];
        let counted = match fetch {
            true => &mut counters.fetch,
            false => &mut counters.data,
        };
        counted.lookups += 1;
        let mut found_at = 3;
        for level in [1, 2] {
            for (place, tlb) in self.translation.tlbs.iter().enumerate() {
                let is_for = match tlb.of {
                    TlbUse::Fetches => fetch,
                    TlbUse::Data => !fetch,
                    TlbUse::All => true,
                };
                if tlb.level != level || !is_for || !tlb.page_sizes.contains(&size) {
                    continue;
                }
                let ways = tlb.ways.unwrap_or(tlb.entries);
                let set = page.0 / bytes(size) % u64::from(tlb.entries / ways);
                let held = self.tlbs.entry((core, place, set)).or_default();
                if let Some(at) = held.iter().position(|&other| other == page) {
                    held.remove(at);
                    found_at = level;
                }
                held.push(page);
                if held.len() > ways as usize {
                    held.remove(0);
                }
            }
            if found_at == level {
                break;
            }
        }
        counted.l1_misses += u64::from(found_at > 1);
        counted.walks += u64::from(found_at > 2);
        match found_at {
            3 => self.walk(core, address, size),
            _ => Vec::new(),
        }
    }

    fn walk(&mut self, core: usize, address: u64, size: PageSize) -> Vec<u64> {
        let own = match size {
            PageSize::Small => 1,
            PageSize::Large => 2,
            PageSize::Huge => 3,
        };
        let mut read = Vec::new();
        let mut level = own;
        // From the page's own entry upwards, to the first that a cache holds.
        loop {
            if level > own && self.cached(core, level, address) {
                break;
            }
            let place = u128::from(address) / bytes_of_entry(level) * 8;
            read.insert(0, (1 << 63) + u64::from(level) * (1 << 58) + place as u64);
            if level == 4 {
                break;
            }
            level += 1;
        }
        self.counters[core].walk_loads += read.len() as u64;
        read
    }

    /// Returns whether a page-walk cache holds the entry of this level; it holds the entry
    /// afterwards in any case.
    fn cached(&mut self, core: usize, level: u32, address: u64) -> bool {
        let caches = &self.translation.walk_caches;
        let Some(place) = caches.iter().position(|cache| cache.level == level) else {
            return false;
        };
        let (entries, ways) = (caches[place].entries, caches[place].ways);
        let ways = ways.unwrap_or(entries);
        let bytes = bytes_of_entry(level);
        let number = u128::from(address) / bytes;
        let set = number as u64 % u64::from(entries / ways);
        let held = self.walk_caches.entry((core, place, set)).or_default();
        let part = ((number * bytes) as u64, bytes);
        let at = held.iter().position(|&other| other == part);
        if let Some(at) = at {
            held.remove(at);
        }
        held.push(part);
        if held.len() > ways as usize {
            held.remove(0);
        }
        at.is_some()
    }
}
