// SPDX-License-Identifier: GPL-2.0-or-later
//! The halves of the address space: the lower for user code, the upper for the kernel.

/// Whether an address is in the kernel's half.
pub(crate) fn is_kernel(address: u64) -> bool {
    address >> 47 != 0
}
