//! Address translation: the contents of each core's TLBs, and the page-table entries that a walk
//! reads.
//!
//! The contents of TLBs depend only on the accesses of their core, not on caches. [`Mmu`] is the
//! hardware of one core; `page_sizes` defines the pages of a program, `page_tables` the addresses
//! of their entries, and `lru_sets` implements every TLB and page-walk cache. [`Translator`] has
//! all cores of a replay, which makes the loads of a walk.
//!
//! The rules, which the oracle of the tests also implements:
//!
//! - Before an access references its first line, and before its first line of each further page,
//!   the core looks up the page: once for each page of the access. The lookup follows the hop.
//! - A lookup that finds an entry, or a fill, makes it the most recently used of its set. A full
//!   set replaces the least recently used entry, and nothing else removes an entry.
//! - A page is in the TLB of its level, its size, and its use (fetches, or loads and stores). Its
//!   set is the page number (the located address divided by the page size) modulo the number of
//!   sets. If a level has no such TLB, the lookup misses.
//! - A miss of both levels is a walk. The page then enters both TLBs, the second level first.
//! - Level 4 of the page tables is the PML4, level 1 the page table. The last entry that a walk
//!   reads is of level 1 for a page of 4 KiB, 2 for 2 MiB, and 3 for 1 GiB.
//! - A page-walk cache holds entries of one level that point to a further table, never the last
//!   entry of a walk. A walk begins below the lowest level whose cache holds its entry, and
//!   otherwise at level 4. Only that cache counts this as a use. The entries that the walk then
//!   reads, except the last, enter the caches of their levels.
//! - An entry's address has bit 63, the level in bits 58 to 60, and 8 times the located address
//!   divided by the size that an entry of that level covers (4 KiB, 2 MiB, 1 GiB, 512 GiB).
//! - A page of a shared object is one page for all processes, and so is one of the kernel's half.

mod lru_sets;
mod mmu;
mod page_sizes;
mod page_tables;
mod translator;

pub(crate) use mmu::{Mmu, ServedBy};
pub use page_sizes::PageSizes;
pub use page_tables::entry_address;
pub(crate) use translator::Translator;
