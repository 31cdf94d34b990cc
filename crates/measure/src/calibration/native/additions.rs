//! A chain of dependent additions: one core cycle each on every x86-64 processor.
//!
//! It adds two registers. Recent processors (Intel since Golden Cove) eliminate additions of a
//! constant at rename, and these take no cycle.

use std::arch::asm;

/// Additions in a round.
pub const IN_A_ROUND: u32 = 64;

/// Executes this many rounds of additions, at least one.
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
