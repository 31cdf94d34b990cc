//! Any bytes are either a profiler's samples with consistent lines and accesses, or are refused.
#![no_main]

use corehop_lab::characterize::perf_script::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let functions = [
        "parse_sql",
        "f",
        "(anonymous namespace)::parse",
        "Map<int, char>::get",
        "x.so:Parser::operator()",
    ];
    let functions = functions.map(str::to_owned);
    let Ok(found) = read(bytes, "fuzzed", &functions) else {
        return;
    };
    assert_eq!(found.totals.data.accesses, found.samples);
    for (classes, within) in found.classes.iter().zip(found.within) {
        let all = classes.data.all();
        assert_eq!(all.accesses, within);
        assert!(all.lines <= found.totals.data.lines && all.stores <= all.accesses);
    }
});
