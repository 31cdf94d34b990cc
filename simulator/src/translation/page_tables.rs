//! The addresses of page-table entries.
//!
//! A trace does not contain them, so they are synthetic: all tables of one level are contiguous, in
//! the order of the addresses that they translate. An entry's address thus follows from its page.
//! Located and physical addresses do not use these bits, so no access of a program hits a table.

use crate::machine::bits_below;

/// Number of address bits within an entry.
const ENTRY_BITS: u32 = 3;

/// Returns the address of the entry of a page table of `level`, 1 to 4, that a walk for `address`
/// reads.
pub fn entry_address(level: u32, address: u64) -> u64 {
    let place = (address >> bits_below(level)) << ENTRY_BITS;
    1 << 63 | u64::from(level) << 58 | place
}
