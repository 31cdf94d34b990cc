//! The steps of synthetic programs, for tests that write traces of them.

#![allow(dead_code)] // Each test uses its part.

use corehop_traces::{EndReason, Error, Kind, ThreadId, Writer};
use proptest::prelude::*;

/// One execution of the recorded program.
#[derive(Clone, Debug)]
pub struct Step {
    pub thread: u32,
    pub begins_request: bool,
    /// Number of the code block.
    pub block: u32,
    /// Addresses, all of 8 bytes, and whether each is stored to.
    pub data: Vec<(u64, bool)>,
}

/// Random steps with these distributions of the thread, the start of a request, the code block, and
/// the data.
pub fn steps_of(
    thread: impl Strategy<Value = u32>,
    begins_request: f64,
    block: impl Strategy<Value = u32>,
    data: impl Strategy<Value = Vec<(u64, bool)>>,
) -> impl Strategy<Value = Step> {
    let begins_request = prop::bool::weighted(begins_request);
    let parts = (thread, begins_request, block, data);
    parts.prop_map(|(thread, begins_request, block, data)| Step {
        thread,
        begins_request,
        block,
        data,
    })
}

/// Writes the steps of threads of these processes, each at a different stamp, and ends the trace.
/// Requests get these numbers in order; further ones get none.
pub fn perform(
    mut writer: Writer,
    processes: &[u32],
    steps: &[Step],
    numbers: &[u64],
) -> Result<(), Error> {
    let mut numbers = numbers.iter().copied();
    for (thread, &process) in (0..).zip(processes) {
        writer.thread(process, thread)?;
    }
    for (stamp, step) in (1..).zip(steps) {
        let thread = ThreadId(step.thread);
        writer.stamp(thread, stamp)?;
        if step.begins_request {
            writer.numbered_request(thread, numbers.next().unwrap_or(0))?;
        }
        writer.execution(thread, step.block)?;
        for &(address, store) in &step.data {
            let kind = if store { Kind::Store } else { Kind::Load };
            writer.data(thread, 0, kind, 8, address)?;
        }
    }
    writer.finish(EndReason::Interrupted)?;
    Ok(())
}
