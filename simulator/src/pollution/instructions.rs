//! How many instructions a replay counts: those of every code block as often as it is executed.

use crate::error::Error;
use crate::options::{ReplayOptions, chosen_requests};
use corehop_traces::Trace;

/// Instructions executed in what [`crate::replay()`] counts with these options.
///
/// # Errors
/// Those of [`crate::replay()`].
pub fn executed_instructions(trace: &Trace, options: &ReplayOptions<'_>) -> Result<u64, Error> {
    let chosen = chosen_requests(options, trace.requests().len())?;
    let blocks = trace.code_blocks().iter();
    let instructions: Vec<u64> = blocks
        .map(|block| block.instructions.len() as u64)
        .collect();
    let first_counted = chosen.get(options.warm_up_requests).copied();
    let mut counting = options.warm_up_requests == 0;
    let mut executions = options.played(trace);
    let mut sum = 0;
    while let Some(execution) = executions.next()? {
        counting |= execution.request >= first_counted;
        if counting {
            sum += instructions[execution.code_block as usize];
        }
    }
    Ok(sum)
}
