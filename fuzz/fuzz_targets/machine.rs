//! Any text is either a machine that can be simulated, or refused.
#![no_main]

use corehop_simulator::{Machine, PrivateCaches};
use corehop_traces::Kind;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

/// Larger machines are possible, but building their caches is not what is being tried here.
const LARGEST_L2_BYTES: u64 = 1 << 26;

fuzz_target!(|text: &str| {
    if let Ok(machine) = Machine::from_toml(text, Path::new("fuzzed")) {
        if machine.l2.size_bytes <= LARGEST_L2_BYTES {
            PrivateCaches::new(&machine).access(Kind::Store, 1);
        }
    }
});
