//! TLBs of processors' cores, which a virtual machine cannot read from CPUID.
//!
//! Sizes of TLBs: Intel 64 and IA-32 Architectures Optimization Reference Manual, the chapters on
//! each microarchitecture (Golden Cove: Chips and Cheese, "Popping the Hood on Golden Cove", 2021);
//! AMD's Software Optimization Guides for families 17h (55723, 56305), 19h (56665, 57647) and 1Ah
//! (58455). Assumed, as in the bundled machine files: Intel's TLBs for loads also serve stores, all
//! page sizes share a second level that holds them, and the sizes of the page-walk caches.

use super::translation::{PageSize, Tlb, TlbUse, Translation, WalkCache, WalkStart};

/// The TLBs of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tlbs {
    /// First levels for each page size, and a second level for all accesses.
    Intel {
        /// Ways of the 128 entries for fetches, or 256 entries in 8 ways (0).
        fetch_ways: u32,
        /// Entries and ways for data.
        data: (u32, u32),
        /// Entries and ways of the second level.
        second: (u32, u32),
        /// Whether the second level holds pages of 2 MiB.
        holds_large: bool,
    },
    /// First levels for all page sizes, and separate second levels.
    Amd {
        /// Entries for data; fetches have 64.
        data: u32,
        /// Entries and ways of the second level for data.
        second_data: (u32, u32),
        /// Entries of the second level for fetches, in 8 ways.
        second_fetches: u32,
    },
}

const fn intel(fetch_ways: u32, data: (u32, u32), second: (u32, u32), holds_large: bool) -> Tlbs {
    Tlbs::Intel {
        fetch_ways,
        data,
        second,
        holds_large,
    }
}

const fn amd(data: u32, second_data: (u32, u32), second_fetches: u32) -> Tlbs {
    Tlbs::Amd {
        data,
        second_data,
        second_fetches,
    }
}

pub(super) const NEHALEM: Tlbs = intel(4, (64, 4), (512, 4), false);
pub(super) const SANDY_BRIDGE: Tlbs = intel(4, (64, 4), (512, 4), false);
pub(super) const HASWELL: Tlbs = intel(4, (64, 4), (1024, 8), true);
pub(super) const BROADWELL: Tlbs = intel(4, (64, 4), (1536, 6), true);
pub(super) const SKYLAKE: Tlbs = intel(8, (64, 4), (1536, 12), true);
pub(super) const SUNNY_COVE: Tlbs = intel(8, (64, 4), (2048, 16), true);
pub(super) const GOLDEN_COVE: Tlbs = intel(0, (96, 6), (2048, 16), true);
pub(super) const ZEN: Tlbs = amd(64, (1536, 12), 512);
pub(super) const ZEN_2: Tlbs = amd(64, (2048, 16), 512);
pub(super) const ZEN_3: Tlbs = amd(64, (2048, 16), 512);
pub(super) const ZEN_4: Tlbs = amd(72, (3072, 24), 512);
pub(super) const ZEN_5: Tlbs = amd(96, (4096, 16), 2048);

const SMALL: &[PageSize] = &[PageSize::Small];
const LARGE: &[PageSize] = &[PageSize::Large];
const HUGE: &[PageSize] = &[PageSize::Huge];
const UP_TO_LARGE: &[PageSize] = &[PageSize::Small, PageSize::Large];

/// A TLB of these entries and ways.
fn tlb(level: u32, of: TlbUse, page_sizes: &[PageSize], (entries, ways): (u32, u32)) -> Tlb {
    Tlb {
        level,
        of,
        page_sizes: page_sizes.to_vec(),
        entries,
        ways: Some(ways),
    }
}

impl Tlbs {
    /// Returns the description, as machine files have it.
    pub fn translation(self) -> Translation {
        let (walks, tlbs, caches) = match self {
            Tlbs::Intel {
                fetch_ways,
                data,
                second,
                holds_large,
            } => {
                let fetches = match fetch_ways {
                    0 => (256, 8),
                    ways => (128, ways),
                };
                let of_second = if holds_large { UP_TO_LARGE } else { SMALL };
                let tlbs = vec![
                    tlb(1, TlbUse::Fetches, SMALL, fetches),
                    tlb(1, TlbUse::Fetches, LARGE, (8, 8)),
                    tlb(1, TlbUse::Data, SMALL, data),
                    tlb(1, TlbUse::Data, LARGE, (32, 4)),
                    tlb(1, TlbUse::Data, HUGE, (4, 4)),
                    tlb(2, TlbUse::All, of_second, second),
                ];
                (WalkStart::L1d, tlbs, [(2, 32, 4), (3, 4, 4), (4, 2, 2)])
            }
            Tlbs::Amd {
                data,
                second_data,
                second_fetches,
            } => {
                let tlbs = vec![
                    tlb(1, TlbUse::Fetches, &PageSize::ALL, (64, 64)),
                    tlb(1, TlbUse::Data, &PageSize::ALL, (data, data)),
                    tlb(2, TlbUse::Fetches, UP_TO_LARGE, (second_fetches, 8)),
                    tlb(2, TlbUse::Data, UP_TO_LARGE, second_data),
                ];
                (WalkStart::L2, tlbs, [(2, 64, 64), (3, 8, 8), (4, 4, 4)])
            }
        };
        let cache = |(level, entries, ways)| WalkCache {
            level,
            entries,
            ways: Some(ways),
        };
        Translation {
            walks,
            second_level_cycles: super::translation::second_level_cycles(),
            walk_cycles: 0,
            tlbs,
            walk_caches: caches.map(cache).to_vec(),
        }
    }
}
