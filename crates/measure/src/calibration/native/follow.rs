//! Loads whose address is what the load before gave: each waits for the one before in full.

use std::arch::asm;

/// Loads in a round.
pub const IN_A_ROUND: usize = 16;

/// Follows pointers from `at` for so many rounds of [`IN_A_ROUND`], at least one, and says where it
/// came to.
///
/// # Safety
/// `at`, and whatever is reached from it, is the address of a word that stays mapped meanwhile and
/// holds such an address.
pub unsafe fn follow(at: *const u8, rounds: usize) -> *const u8 {
    let mut place = at;
    // SAFETY: the caller promises that each word that is loaded is there; nothing is written.
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
