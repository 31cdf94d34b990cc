//! Address translation: what the TLBs of each core hold, and which entries of page tables a walk
//! reads.
//!
//! What TLBs hold depends on the accesses of their core alone, not on caches. [`Mmu`] is what one
//! core has; `page_sizes` says which pages a program has, `page_tables` where their entries are,
//! and `lru_sets` is what every TLB and page-walk cache is made of. The replay makes a walk's
//! loads.
//!
//! The rules, which the oracle of the tests follows, too:
//!
//! - Before an access references its first line, and before its first line of each further page,
//!   the core looks the page up: once for each page of the access. The lookup follows the hop.
//! - A lookup that finds an entry and a fill make it the most recently used of its set. A full set
//!   replaces the least recently used one, and nothing else removes an entry.
//! - A page is in the TLB of its level, its size, and its use (fetches, or loads and stores). Its
//!   set is the page number (the located address divided by the page's size) modulo the number of
//!   sets. If a level has no such TLB, it misses.
//! - A miss of both levels is a walk. The page then enters both TLBs, the L2's first.
//! - Level 4 of the page tables is the PML4, level 1 the page table. The last entry that a walk
//!   reads is of level 1 for a page of 4 KiB, 2 for 2 MiB, and 3 for 1 GiB.
//! - A page-walk cache holds entries of one level that refer to a further table, never the last
//!   entry of a walk. A walk begins below the lowest level whose cache holds its entry, and
//!   otherwise at level 4. Only that cache counts this as a use. The entries that the walk then
//!   reads, except the last, enter the caches of their levels.
//! - An entry's address has bit 63, the level in bits 58 to 60, and 8 times the located address
//!   divided by what an entry of that level covers (4 KiB, 2 MiB, 1 GiB, 512 GiB).
//! - A shared object's page is one page for all processes, and so is one of the kernel's half.

mod lru_sets;
mod mmu;
mod page_sizes;
mod page_tables;

pub(crate) use mmu::{Mmu, ServedBy};
pub use page_sizes::PageSizes;
pub use page_tables::entry_address;
