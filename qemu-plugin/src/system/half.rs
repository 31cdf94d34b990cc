// SPDX-License-Identifier: GPL-2.0-or-later
//! Whose an address is: user code has the lower half, the kernel the upper.

/// Whether an address is in the kernel's half.
pub(crate) fn is_kernel(address: u64) -> bool {
    address >> 47 != 0
}
