//! Finds functions after whose calls no thread can migrate back, because not every return can be
//! hooked.
//!
//! A trace records only whether an entry can be patched. The server's files are therefore analyzed
//! again if they are still the recorded ones. This module knows nothing about a file that no longer
//! exists; `corehop patch` finds out later.

use corehop_patcher::Analysis;
use corehop_traces::{FunctionId, Module, Trace};
use std::path::Path;

/// Returns the functions of `trace` that are known to be such, each with the reason.
pub fn known(trace: &Trace) -> Vec<(FunctionId, String)> {
    let analyses: Vec<Option<Analysis>> = trace.modules().iter().map(analysis).collect();
    let functions = (0..).map(FunctionId).zip(trace.functions());
    let reasons = functions.filter_map(|(id, function)| {
        if trace.call_meant(id).is_some() {
            return Some((id, "it is one call of the function".into()));
        }
        let analysis = analyses[function.module as usize].as_ref()?;
        Some((id, analysis.return_reason(function.offset)?))
    });
    reasons.collect()
}

fn analysis(module: &Module) -> Option<Analysis> {
    let analysis = Analysis::of(Path::new(&module.path)).ok()?;
    let is_it = analysis.build_id() == Some(&module.build_id);
    is_it.then_some(analysis)
}
