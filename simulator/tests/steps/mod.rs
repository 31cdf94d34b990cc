//! What made-up programs do, step by step, for tests that write traces of them.

use corehop_traces::{EndReason, Error, Kind, ThreadId, Writer};

/// One execution of the recorded program.
#[derive(Clone, Debug)]
pub struct Step {
    pub thread: u32,
    pub begins_request: bool,
    /// Number of the code block.
    pub block: u32,
    /// Addresses, all of 8 bytes, and whether they are stored to.
    pub data: Vec<(u64, bool)>,
}

/// Writes what threads of these processes do, each step at its own stamp, and ends the trace.
/// Requests have these numbers in turn, and none beyond.
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
