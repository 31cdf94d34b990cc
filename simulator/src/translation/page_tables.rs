//! Where the entries of page tables are in memory.
//!
//! A trace does not say it, so it is made up: all tables of one level are one after the other, in
//! the order of the addresses that they translate. An entry's place thus follows from its page.
//! Located and physical addresses have no such bits, so no access of a program is to a table.

use crate::machine::bits_below;

/// Bytes of an entry, by their number of bits.
const ENTRY_BITS: u32 = 3;

/// Address of the entry of a page table of `level`, 1 to 4, that a walk for `address` reads.
pub fn entry_address(level: u32, address: u64) -> u64 {
    let place = (address >> bits_below(level)) << ENTRY_BITS;
    1 << 63 | u64::from(level) << 58 | place
}
