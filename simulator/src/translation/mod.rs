//! Address translation: what the TLBs of each core hold, and which entries of page tables a walk
//! reads.
//!
//! What TLBs hold depends on the accesses of their core alone, not on caches. [`Mmu`] is what one
//! core has; `page_sizes` says which pages a program has, `page_tables` where their entries are, and
//! `lru_sets` is what every TLB and page-walk cache is made of. The replay makes a walk's loads.

mod lru_sets;
mod mmu;
mod page_sizes;
mod page_tables;

pub(crate) use mmu::{Mmu, ServedBy};
pub use page_sizes::PageSizes;
pub use page_tables::entry_address;
