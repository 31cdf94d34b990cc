//! Where pages are in physical memory, in a trace of a whole machine.

use crate::model::malformed::Malformed;

/// log2 of the size of a page.
pub const PAGE_SHIFT: u32 = 12;

/// Bits of a physical address.
pub(crate) const PHYSICAL_BITS: u32 = 47;

/// Where a process has one of its pages in physical memory, from one stamp on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The operating system's number of the process; means nothing for a page of the upper half of
    /// addresses, which all processes have in the same place.
    pub process_id: u32,
    /// Holds for the runs with this stamp and later ones; of equal stamps, the later in the trace
    /// holds.
    pub since: u64,
    /// Virtual address, divided by 4096.
    pub number: u64,
    /// Physical address, divided by 4096; below 2^35.
    pub frame: u64,
}

impl Page {
    /// Whether there can be such a page.
    pub fn is_possible(&self) -> bool {
        let below = |number: u64, bits: u32| number >> (bits - PAGE_SHIFT) == 0;
        below(self.number, u64::BITS) && below(self.frame, PHYSICAL_BITS)
    }

    /// What makes it no page, if anything.
    pub(crate) fn check(&self) -> Result<(), Malformed> {
        let (number, frame) = (self.number, self.frame);
        match self.is_possible() {
            true => Ok(()),
            false => Err(Malformed::NoPage { number, frame }),
        }
    }

    /// Whether its address is in the upper half, the kernel's.
    pub fn is_of_upper_half(&self) -> bool {
        is_of_upper_half(self.number)
    }
}

/// Whether the page of this number is in the upper half of addresses.
pub(crate) fn is_of_upper_half(number: u64) -> bool {
    number >> (u64::BITS - 1 - PAGE_SHIFT) != 0
}
