//! Threads get the cores of the CPUs on which they ran, if the trace tells these.

use crate::generated::{BLOCKS, CODE, record};
use corehop_profile::recorded_cores;
use corehop_simulator::CoreId;
use corehop_traces::{CodeBlock, EndReason, Header, OnCpu, Trace, Writer, WriterOptions};
use std::path::Path;

/// Three threads, of which the first moves from one CPU to another and nothing is known of the
/// last.
fn moving(path: &Path) -> Result<Trace, corehop_traces::Error> {
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default())?;
    let block = writer.code_block(&CodeBlock::new(CODE, [4]), None)?;
    let on = |os_thread_id, since, cpu| OnCpu {
        process_id: 1,
        os_thread_id,
        since,
        cpu,
    };
    writer.cpus(&[on(7, 0, 9), on(7, 5, 4), on(8, 0, 4)])?;
    let threads = [
        writer.thread(1, 7)?,
        writer.thread(1, 8)?,
        writer.thread(1, 9)?,
    ];
    for (stamp, thread) in [(1, 0), (2, 1), (3, 0), (4, 2), (6, 0)] {
        writer.stamp(threads[thread], stamp)?;
        writer.execution(threads[thread], block)?;
    }
    writer.finish(EndReason::Interrupted)?;
    Trace::open(path)
}

#[test]
fn a_thread_has_the_core_of_the_cpu_that_it_was_on_most() {
    let folder = tempfile::tempdir().unwrap();
    let trace = moving(&folder.path().join("server.trace")).unwrap();
    let cores = recorded_cores(&trace).unwrap();
    assert_eq!(cores, Some([1, 0, 0].map(CoreId).to_vec()));
}

#[test]
fn a_trace_without_cpus_has_no_cores() {
    let folder = tempfile::tempdir().unwrap();
    let step = crate::generated::Step {
        thread: 0,
        begins_request: false,
        block: BLOCKS - 1,
        data: Vec::new(),
    };
    let trace = record(&folder.path().join("server.trace"), &[step]).unwrap();
    assert_eq!(recorded_cores(&trace).unwrap(), None);
}
