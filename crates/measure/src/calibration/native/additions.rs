//! A chain of additions, each of which needs the one before: one core cycle each on every x86-64.
//!
//! The sum of two registers, because recent processors rename additions of a constant away (Intel
//! since Golden Cove), which then take no cycle at all.

use std::arch::asm;

/// Additions in a round.
pub const IN_A_ROUND: u32 = 64;

/// Makes so many rounds of additions; at least one.
pub fn add(rounds: u32) {
    let rounds = u64::from(rounds.max(1));
    // SAFETY: it works in registers that it names, and ends after `rounds` rounds.
    unsafe {
        asm!(
            "2:",
            ".rept {count}",
            "add {sum}, {addend}",
            ".endr",
            "dec {rounds}",
            "jnz 2b",
            count = const IN_A_ROUND,
            sum = inout(reg) 0_u64 => _,
            addend = in(reg) 1_u64,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
}
