//! Any bytes are either lackey's text, and become a valid trace that is written and read back as
//! the same accesses; or they are refused.
#![no_main]

use corehop_traces::convert::{Options, lackey};
use libfuzzer_sys::fuzz_target;

mod imported;

fuzz_target!(|bytes: &[u8]| {
    let joined = Options {
        request_at: Some(0x1000),
        join: true,
    };
    imported::sound(|writer| lackey::import(bytes, "fuzzed", writer, &joined));
    let plain = Options::default();
    let first = imported::sound(|writer| lackey::import(bytes, "fuzzed", writer, &plain));
    if let Some(text) = first.map(|trace| imported::as_text(&trace)) {
        let again = imported::sound(|writer| lackey::import(&*text, "again", writer, &plain));
        let again = again.expect("what was written reads back");
        assert_eq!(imported::as_text(&again), text);
    }
});
