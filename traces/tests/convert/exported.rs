//! Exports a trace as bytes.

use corehop_traces::convert::drmemtrace::{Branches, Exporter};
use corehop_traces::{Executions, RequestId, Trace};

/// Exports the whole trace as drmemtrace's records.
pub fn as_records(trace: &Trace) -> Vec<u8> {
    of_executions(trace, trace.executions())
}

/// Exports some requests.
pub fn of_requests(trace: &Trace, requests: &[RequestId]) -> Vec<u8> {
    of_executions(trace, trace.executions_chosen(Some(requests)))
}

fn of_executions(trace: &Trace, mut executions: Executions<'_>) -> Vec<u8> {
    let mut branches = Branches::default();
    let mut all = trace.executions();
    while let Some(execution) = all.next().unwrap() {
        branches.see(trace, &execution);
    }
    let mut records = Vec::new();
    let mut exporter = Exporter::begin(trace, branches, &mut records).unwrap();
    while let Some(execution) = executions.next().unwrap() {
        exporter.execution(&execution).unwrap();
    }
    exporter.finish().unwrap();
    records
}
