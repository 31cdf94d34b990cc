//! Any text is either a plan, which is written and read back as the same plan, or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|text: &str| {
    if let Ok(plan) = corehop_plan::parse(text, Path::new("fuzzed")) {
        let again = corehop_plan::parse(&corehop_plan::render(&plan), Path::new("rendered"));
        assert_eq!(again.expect("a rendered plan reads back"), plan);
    }
});
