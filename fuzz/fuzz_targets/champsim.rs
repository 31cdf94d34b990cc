//! Any bytes are either ChampSim's records, compressed or not, and become a valid trace that counts
//! each instruction; or they are refused.
#![no_main]

use corehop_traces::convert::{Options, champsim};
use libfuzzer_sys::fuzz_target;

mod imported;

fuzz_target!(|bytes: &[u8]| {
    let options = Options {
        request_at: Some(0x40_1000),
        join: false,
    };
    let trace = imported::sound(|writer| {
        let imported = champsim::import(bytes, "fuzzed", writer, &options)?;
        assert!(imported.instructions > Some(0));
        Ok(imported)
    });
    if let Some(trace) = trace {
        let mut executions = trace.executions();
        while let Some(execution) = executions.next().expect("a sound trace") {
            assert!(!execution.accesses.is_empty());
        }
    }
});
