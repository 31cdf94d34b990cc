//! Any bytes are either a binary whose entries can be judged, or refused.
#![no_main]

use corehop_patcher::Analysis;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(analysis) = Analysis::from_bytes(bytes.to_vec(), Path::new("fuzzed")) {
        for offset in [0, 1, 0x1000, u64::MAX] {
            let _reason = analysis.unsafe_reason(offset);
        }
    }
});
