//! Any bytes are either a binary whose entries and exits can be analyzed, or are refused.
#![no_main]

use corehop_patcher::Analysis;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

/// Maximum number of functions to analyze: all functions of a file would take longer than reading
/// it.
const MOST_JUDGED: usize = 64;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(analysis) = Analysis::from_bytes(bytes.to_vec(), Path::new("fuzzed")) {
        let found = analysis.functions().iter().map(|f| f.offset);
        let offsets = found.take(MOST_JUDGED).chain([0, 1, 0x1000, u64::MAX]);
        for offset in offsets {
            let _reasons = (
                analysis.unsafe_reason(offset),
                analysis.entry_reason(offset),
                analysis.return_reason(offset),
            );
        }
    }
});
