//! Additions in a chain, of which each takes one core cycle on every x86-64 processor, and
//! additions that do not depend on each other, of which a core does several per cycle.
//!
//! They add two registers. Recent processors (Intel since Golden Cove) eliminate additions of a
//! constant at rename, and these take no cycle.

use std::arch::asm;

/// Additions in a round.
pub const IN_A_ROUND: u32 = 64;
/// Independent additions in a round: some in each of six registers, more than cores add at once.
pub const INDEPENDENT_IN_A_ROUND: u32 = 6 * STEPS;
const STEPS: u32 = 10;

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

/// Executes this many rounds of independent additions, at least one.
pub fn add_independent(rounds: u32) {
    let rounds = u64::from(rounds.max(1));
    // SAFETY: it works in registers that it names, and ends after `rounds` rounds.
    unsafe {
        asm!(
            "2:",
            ".rept {count}",
            "add {a}, {addend}",
            "add {b}, {addend}",
            "add {c}, {addend}",
            "add {d}, {addend}",
            "add {e}, {addend}",
            "add {f}, {addend}",
            ".endr",
            "dec {rounds}",
            "jnz 2b",
            count = const STEPS,
            a = inout(reg) 0_u64 => _,
            b = inout(reg) 0_u64 => _,
            c = inout(reg) 0_u64 => _,
            d = inout(reg) 0_u64 => _,
            e = inout(reg) 0_u64 => _,
            f = inout(reg) 0_u64 => _,
            addend = in(reg) 1_u64,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
}
