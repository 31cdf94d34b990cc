//! Synthetic programs in which each execution enters a function, written as traces.

use crate::definitions;
use corehop_traces::{EndReason, Error, Kind, ThreadId, WriterOptions};
use std::path::Path;

/// Load address of the program.
pub const CODE: u64 = 0x10_000;

/// One execution: thread, entered function, referenced lines and whether each is stored to.
pub type Step = (u32, u32, Vec<(u64, bool)>);

/// Writes the steps of this many threads with this many functions, each at a different stamp.
pub fn record(steps: &[Step], functions: u32, threads: u32, path: &Path) -> Result<(), Error> {
    let (mut writer, module) = definitions::begin(path, &WriterOptions::default(), "f0", CODE)?;
    definitions::functions(&mut writer, (module, CODE), functions)?;
    for thread in 0..threads {
        writer.thread(1, thread)?;
    }
    for (stamp, (thread, function, data)) in (1..).zip(steps) {
        let thread = ThreadId(*thread);
        writer.stamp(thread, stamp)?;
        writer.execution(thread, *function)?;
        for &(line, store) in data {
            let kind = if store { Kind::Store } else { Kind::Load };
            writer.data(thread, 0, kind, 8, line * 64)?;
        }
    }
    writer.finish(EndReason::Interrupted)?;
    Ok(())
}
