//! Splits of synthetic programs, which identify functions and cores by number.

use corehop_simulator::{CoreId, Split};
use corehop_traces::FunctionId;

/// Returns the split of these functions, each with its core.
pub fn split(functions: impl IntoIterator<Item = (u32, u32)>) -> Split {
    let functions = functions.into_iter();
    Split::new(functions.map(|(function, core)| (FunctionId(function), CoreId(core))))
}
