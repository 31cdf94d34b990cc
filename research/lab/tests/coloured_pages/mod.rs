//! A machine with page colours, and pages of which some are reused and others are not.

use std::ops::Range;

pub const PAGE: u64 = 4096;

/// Pages that are reused, of fifteen of the sixteen colours: 0 to 14.
pub const HOT: Range<u64> = 0x1000..0x100f;
/// Pages that are read once in each pass.
pub const STREAM: Range<u64> = 0x2000..0x2020;

/// Returns a machine with sixteen page colours of one way on each of `cores` cores.
pub fn machine(cores: u32) -> String {
    format!(
        "name = \"coloured\"\n\
         cores = {cores}\n\
         line_size_bytes = 64\n\
         memory_latency_cycles = 200\n\
         hop_cost_cycles = 10\n\
         l1i = {{ size_bytes = 64, ways = 1, latency_cycles = 1 }}\n\
         l1d = {{ size_bytes = 64, ways = 1, latency_cycles = 1 }}\n\
         l2 = {{ size_bytes = 65536, ways = 1, latency_cycles = 10, \
         inclusion = \"non-inclusive\" }}\n"
    )
}
