//! Physical locations of pages, in a trace of a whole machine.

use crate::model::malformed::Malformed;

/// log2 of the size of a page.
pub const PAGE_SHIFT: u32 = 12;

/// Bits of a physical address.
pub(crate) const PHYSICAL_BITS: u32 = 47;

/// The physical location of a process's page, from one stamp on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The operating system's number of the process. Ignored for a page in the upper half of
    /// addresses, which is at the same location in all processes.
    pub process_id: u32,
    /// The location holds for runs with this stamp and later ones. If stamps are equal, the later
    /// one in the trace holds.
    pub since: u64,
    /// Virtual address, divided by 4096.
    pub number: u64,
    /// Physical address, divided by 4096; below 2^35.
    pub frame: u64,
}

impl Page {
    /// Returns whether the page number and the frame are in range.
    pub fn is_possible(&self) -> bool {
        let below = |number: u64, bits: u32| number >> (bits - PAGE_SHIFT) == 0;
        below(self.number, u64::BITS) && below(self.frame, PHYSICAL_BITS)
    }

    /// Checks that the page number and the frame are in range.
    pub(crate) fn check(&self) -> Result<(), Malformed> {
        let (number, frame) = (self.number, self.frame);
        match self.is_possible() {
            true => Ok(()),
            false => Err(Malformed::NoPage { number, frame }),
        }
    }

    /// Returns whether its address is in the upper half, which belongs to the kernel.
    pub fn is_of_upper_half(&self) -> bool {
        is_of_upper_half(self.number)
    }
}

/// Returns whether the page with this number is in the upper half of addresses.
pub(crate) fn is_of_upper_half(number: u64) -> bool {
    number >> (u64::BITS - 1 - PAGE_SHIFT) != 0
}
