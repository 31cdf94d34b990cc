//! How a machine translates addresses: its TLBs, its page-walk caches, and where walks read the
//! page tables.
//!
//! Every core has all of them for itself. `docs/reference/model.md` says what they do.

use serde::Deserialize;

/// What translates the addresses of each core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Translation {
    /// At which cache walks begin to look for entries of page tables.
    #[serde(default)]
    pub walks: WalkStart,
    /// The TLBs of both levels.
    #[serde(default, rename = "tlb")]
    pub tlbs: Vec<Tlb>,
    /// Caches of the entries of upper page tables.
    #[serde(default, rename = "walk_cache")]
    pub walk_caches: Vec<WalkCache>,
}

/// A TLB of each core. It replaces the least recently used entry of a set.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tlb {
    /// 1, or 2 for what the first level misses.
    pub level: u32,
    /// Whose pages it holds.
    #[serde(default)]
    pub of: TlbUse,
    /// Sizes of the pages that it holds; no other TLB of this level and use holds these.
    pub page_sizes: Vec<PageSize>,
    /// How many pages it holds.
    pub entries: u32,
    /// Entries in a set; all of them where a machine file does not say.
    #[serde(default)]
    pub ways: Option<u32>,
}

/// A page-walk cache of each core: entries of the page tables of one level that refer to a further
/// table. It replaces the least recently used entry of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkCache {
    /// Level of the tables: 4 for those of a PML4, 3 of a page-directory-pointer table, 2 of a page
    /// directory.
    pub level: u32,
    /// How many entries of tables it holds.
    pub entries: u32,
    /// Entries in a set; all of them where a machine file does not say.
    #[serde(default)]
    pub ways: Option<u32>,
}

/// What a TLB is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
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
    /// Whether it is for fetches, or for loads and stores.
    pub fn includes(self, fetch: bool) -> bool {
        match self {
            TlbUse::Fetches => fetch,
            TlbUse::Data => !fetch,
            TlbUse::All => true,
        }
    }
}

/// The cache at which walks begin to look for entries of page tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WalkStart {
    /// The core's L1D: a walk's loads are like those of a program.
    #[default]
    L1d,
    /// The core's L2: they change no L1.
    L2,
    /// None: they are counted, and change no cache.
    None,
}

/// Size of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
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
    /// All of them, smallest first.
    pub const ALL: [PageSize; 3] = [PageSize::Small, PageSize::Large, PageSize::Huge];

    /// Which bits of an address are those within the page.
    pub fn bits(self) -> u32 {
        bits_below(self.level())
    }

    /// Level of the table that has the page's entry, from 1.
    pub fn level(self) -> u32 {
        self as u32 + 1
    }

    /// As a machine file has it.
    pub fn name(self) -> &'static str {
        ["4K", "2M", "1G"][self as usize]
    }
}

/// How many bits of an address are below those that choose a table's entry at `level`, from 1.
pub(crate) fn bits_below(level: u32) -> u32 {
    12 + 9 * (level - 1)
}

impl Tlb {
    /// Entries in a set.
    pub fn ways(&self) -> u32 {
        self.ways.unwrap_or(self.entries)
    }
}

impl WalkCache {
    /// Entries in a set.
    pub fn ways(&self) -> u32 {
        self.ways.unwrap_or(self.entries)
    }
}

impl Translation {
    /// The TLB of this level for pages of this size, if there is one; by its place among all.
    pub fn tlb(&self, level: u32, fetch: bool, size: PageSize) -> Option<usize> {
        let holds = |tlb: &Tlb| {
            tlb.level == level && tlb.of.includes(fetch) && tlb.page_sizes.contains(&size)
        };
        self.tlbs.iter().position(holds)
    }
}
