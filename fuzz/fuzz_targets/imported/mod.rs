//! Shared by the importers' targets: an imported trace, and its exported forms.
#![allow(dead_code)]

use corehop_traces::convert::{Error, Imported, drmemtrace, lackey};
use corehop_traces::{Header, Trace, Writer, WriterOptions, check};

/// Returns the trace that `import` creates, which must be valid; `None` if it was refused.
pub fn sound(import: impl FnOnce(Writer) -> Result<Imported, Error>) -> Option<Trace> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("trace");
    let header = Header::default();
    let writer = Writer::create(&path, &header, &WriterOptions::default()).expect("room");
    import(writer).ok()?;
    assert!(check(&path).expect("a readable trace").sound());
    Some(Trace::open(&path).expect("a sound trace"))
}

pub fn as_text(trace: &Trace) -> Vec<u8> {
    let mut text = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().expect("a sound trace") {
        for access in execution.accesses {
            lackey::write(access, &mut text).expect("memory");
        }
    }
    text
}

pub fn as_records(trace: &Trace) -> Vec<u8> {
    let mut branches = drmemtrace::Branches::default();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().expect("a sound trace") {
        branches.see(trace, &execution);
    }
    let mut records = Vec::new();
    let exporter = drmemtrace::Exporter::begin(trace, branches, &mut records);
    let mut exporter = exporter.expect("memory");
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().expect("a sound trace") {
        exporter.execution(&execution).expect("memory");
    }
    exporter.finish().expect("memory");
    records
}
