//! Any bytes are either drmemtrace's records, compressed or not, and become a valid trace that is
//! written and read back as the same records; or they are refused.
#![no_main]

use corehop_traces::convert::{Options, drmemtrace};
use libfuzzer_sys::fuzz_target;

mod imported;

fuzz_target!(|bytes: &[u8]| {
    let options = Options::default();
    let first = imported::sound(|writer| drmemtrace::import(bytes, "fuzzed", writer, &options));
    if let Some(records) = first.map(|trace| imported::as_records(&trace)) {
        let import = |writer| drmemtrace::import(&*records, "again", writer, &options);
        let again = imported::sound(import).expect("what was written reads back");
        assert!(imported::as_records(&again) == records);
    }
});
