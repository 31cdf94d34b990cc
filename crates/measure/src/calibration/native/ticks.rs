//! The time stamp counter, which has a constant rate, independent of the core's clock.

use std::arch::asm;

/// Reads the counter.
pub fn now() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: it reads a counter that user mode may read wherever Linux runs programs unrestricted.
    unsafe {
        asm!("rdtsc", out("eax") low, out("edx") high, options(nomem, nostack));
    }
    u64::from(high) << 32 | u64::from(low)
}
