//! Address translation of a machine: its TLBs, its page-walk caches, and the cache that page walks
//! read first.
//!
//! Every core has private ones. `docs/reference/model.md` describes their behaviour.

use serde::{Deserialize, Serialize};

/// TLBs and page-walk caches of each core.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Translation {
    /// The first cache that page walks read.
    #[serde(default)]
    pub walks: WalkStart,
    /// Cycles that a lookup in a second-level TLB adds to an access. Only a replay with clocks uses
    /// it.
    #[serde(default = "second_level_cycles")]
    pub second_level_cycles: u32,
    /// Cycles of a page walk besides its loads; in a virtual machine, those of walking the
    /// hypervisor's tables. Only a replay with clocks uses it.
    #[serde(default)]
    pub walk_cycles: u32,
    /// The TLBs of both levels.
    #[serde(default, rename = "tlb")]
    pub tlbs: Vec<Tlb>,
    /// Caches of entries of upper-level page tables.
    #[serde(default, rename = "walk_cache")]
    pub walk_caches: Vec<WalkCache>,
}

/// The default of [`Translation::second_level_cycles`]. Sources: Intel 64 and IA-32 Architectures
/// Optimization Reference Manual, on Haswell; AMD, Software Optimization Guide for family 17h.
pub(super) fn second_level_cycles() -> u32 {
    7
}

/// A TLB of each core. It replaces the least recently used entry of a set.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tlb {
    /// 1, or 2 for a TLB that is searched after a miss of the first level.
    pub level: u32,
    /// The kinds of accesses that use it.
    #[serde(default)]
    pub of: TlbUse,
    /// Page sizes it holds. No other TLB of this level and use may hold the same sizes.
    pub page_sizes: Vec<PageSize>,
    /// Number of entries, one for each page.
    pub entries: u32,
    /// Entries in a set; the default in a machine file is all of them.
    #[serde(default)]
    pub ways: Option<u32>,
}

/// A page-walk cache of each core. It holds entries of the page tables of one level that point to a
/// further table, and replaces the least recently used entry of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WalkCache {
    /// Level of the tables: 4 for a PML4, 3 for a page-directory-pointer table, 2 for a page
    /// directory.
    pub level: u32,
    /// Number of entries.
    pub entries: u32,
    /// Entries in a set; the default in a machine file is all of them.
    #[serde(default)]
    pub ways: Option<u32>,
}

/// The kinds of accesses that use a TLB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlbUse {
    /// Fetches.
    Fetches,
    /// Loads and stores.
    Data,
    /// Both.
    #[default]
    All,
}

impl TlbUse {
    /// Returns whether it serves fetches (`fetch`), or otherwise loads and stores.
    pub fn includes(self, fetch: bool) -> bool {
        match self {
            TlbUse::Fetches => fetch,
            TlbUse::Data => !fetch,
            TlbUse::All => true,
        }
    }
}

/// The first cache that page walks read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WalkStart {
    /// The core's L1D: loads of a walk behave like those of a program.
    #[default]
    L1d,
    /// The core's L2: loads of a walk change no L1.
    L2,
    /// None: loads of a walk are counted and change no cache.
    None,
}

/// Size of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub enum PageSize {
    /// 4 KiB, by an entry of a page table.
    #[default]
    #[serde(rename = "4K")]
    Small,
    /// 2 MiB, by an entry of a page directory.
    #[serde(rename = "2M")]
    Large,
    /// 1 GiB, by an entry of a page-directory-pointer table.
    #[serde(rename = "1G")]
    Huge,
}

impl PageSize {
    /// All sizes, smallest first.
    pub const ALL: [PageSize; 3] = [PageSize::Small, PageSize::Large, PageSize::Huge];

    /// Returns the number of address bits within the page.
    pub fn bits(self) -> u32 {
        bits_below(self.level())
    }

    /// Returns the level of the table that contains the page's entry, from 1.
    pub fn level(self) -> u32 {
        self as u32 + 1
    }

    /// Returns the name in machine files.
    pub fn name(self) -> &'static str {
        ["4K", "2M", "1G"][self as usize]
    }
}

/// Returns the number of address bits below those that index a table at `level`, from 1.
pub(crate) fn bits_below(level: u32) -> u32 {
    12 + 9 * (level - 1)
}

impl Tlb {
    /// Returns the number of entries in a set.
    pub fn ways(&self) -> u32 {
        self.ways.unwrap_or(self.entries)
    }
}

impl WalkCache {
    /// Returns the number of entries in a set.
    pub fn ways(&self) -> u32 {
        self.ways.unwrap_or(self.entries)
    }
}

impl Translation {
    /// Returns the index of the TLB of this level for pages of this size, if there is one.
    pub fn tlb(&self, level: u32, fetch: bool, size: PageSize) -> Option<usize> {
        let holds = |tlb: &Tlb| {
            tlb.level == level && tlb.of.includes(fetch) && tlb.page_sizes.contains(&size)
        };
        self.tlbs.iter().position(holds)
    }
}
