//! Any bytes are either a trace, which then reads to its end or to an error, or refused.
#![no_main]

use corehop_traces::Trace;
use libfuzzer_sys::fuzz_target;
use std::io::Write;

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for a small file");
    if let Ok(trace) = Trace::open(file.path()) {
        let mut executions = trace.executions();
        while let Ok(Some(_)) = executions.next() {}
    }
});
