//! A loop with a branch that the bytes of a table decide.

use std::arch::asm;

/// Branches once for each byte: over an addition if it is 0.
pub fn branch(bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let range = bytes.as_ptr_range();
    // SAFETY: it loads the bytes of the slice, one after the other, and writes nothing.
    unsafe {
        asm!(
            "2:",
            "cmp byte ptr [{at}], 0",
            "je 3f",
            "add {sum}, 1",
            "3:",
            "add {at}, 1",
            "cmp {at}, {end}",
            "jne 2b",
            at = inout(reg) range.start => _,
            end = in(reg) range.end,
            sum = inout(reg) 0_u64 => _,
            options(readonly, nostack),
        );
    }
}
