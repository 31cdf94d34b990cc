//! Dependent loads: each load's address is the result of the previous load.

use std::arch::asm;

/// Loads in a round.
pub const IN_A_ROUND: usize = 16;

/// Follows pointers from `at` for this many rounds of [`IN_A_ROUND`] loads, at least one. Returns
/// the last pointer.
///
/// # Safety
/// `at`, and each pointer reachable from it, is the address of a word that stays mapped during the
/// call and holds such an address.
pub unsafe fn follow(at: *const u8, rounds: usize) -> *const u8 {
    let mut place = at;
    // SAFETY: the caller guarantees that each loaded word is mapped; nothing is written.
    unsafe {
        asm!(
            "2:",
            ".rept {count}",
            "mov {place}, [{place}]",
            ".endr",
            "dec {rounds}",
            "jnz 2b",
            count = const IN_A_ROUND,
            place = inout(reg) place,
            rounds = inout(reg) rounds.max(1) => _,
            options(readonly, nostack),
        );
    }
    place
}
