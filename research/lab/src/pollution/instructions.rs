//! Counts the instructions of a replay: those of every code block times its executions.

use corehop_simulator::ReplayOptions;
use corehop_traces::{Error, RequestId, Trace};

/// Returns the number of instructions executed in what [`corehop_simulator::replay()`] counts with
/// these options, which must be valid for it.
///
/// If the trace cannot be read.
pub fn executed_instructions(trace: &Trace, options: &ReplayOptions<'_>) -> Result<u64, Error> {
    let blocks = trace.code_blocks().iter();
    let instructions: Vec<u64> = blocks
        .map(|block| block.instructions.len() as u64)
        .collect();
    let first_counted = first_counted(trace, options);
    let mut counting = options.warm_up_requests == 0;
    let executions = trace.executions_chosen(options.requests.as_deref());
    let mut executions = match options.progress {
        Some(tell) => executions.telling(tell),
        None => executions,
    };
    let mut sum = 0;
    while let Some(execution) = executions.next()? {
        counting |= execution.request >= first_counted;
        if counting {
            sum += instructions[execution.code_block as usize];
        }
    }
    Ok(sum)
}

/// Returns the first counted request.
fn first_counted(trace: &Trace, options: &ReplayOptions<'_>) -> Option<RequestId> {
    let warm_up = options.warm_up_requests;
    let Some(requests) = &options.requests else {
        let all = 0..trace.requests().len();
        return all.map(RequestId::from_index).nth(warm_up);
    };
    let mut chosen = requests.clone();
    chosen.sort_unstable();
    chosen.dedup();
    chosen.get(warm_up).copied()
}
