//! Checks a trace with a function at every code block: the executions are the same, and each enters
//! a function.

use corehop_traces::{FunctionId, Trace};
use std::path::Path;

/// Returns for each execution its thread, start address, and the function it enters.
fn executions(trace: &Trace) -> Vec<(u32, u64, Option<FunctionId>)> {
    let mut all = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let start = trace.code_blocks()[execution.code_block as usize].start;
        all.push((execution.thread.0, start, execution.entry));
        if all.len() == 100_000 {
            break;
        }
    }
    all
}

#[test]
fn what_entered_nothing_enters_a_function_of_its_address() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/mariadb-tpcc.trace");
    let as_recorded = Trace::open(&path).unwrap();
    let of_blocks = Trace::open(&path).unwrap().with_a_function_at_every_block();
    let modules = of_blocks.modules();
    let functions = of_blocks.functions();
    assert!(functions.len() > as_recorded.functions().len());
    let both = executions(&as_recorded)
        .into_iter()
        .zip(executions(&of_blocks));
    let mut made_up = 0;
    for ((thread, start, entry), (same_thread, same_start, now)) in both {
        assert_eq!((thread, start), (same_thread, same_start));
        if entry.is_some() {
            assert_eq!(now, entry);
        } else if let Some(now) = now {
            made_up += 1;
            let function = &functions[now.index()];
            let bias = modules[function.module as usize].load_bias;
            assert_eq!(function.offset.wrapping_add(bias), start);
            assert!(now.index() >= as_recorded.functions().len());
        }
    }
    assert!(made_up > 50_000, "{made_up}");
}
