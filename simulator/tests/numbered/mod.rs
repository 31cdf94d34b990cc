//! Splits of made-up programs, which know functions and cores by their numbers.

use corehop_simulator::{CoreId, Split};
use corehop_traces::FunctionId;

/// The split of these functions, each with its core.
pub fn split(functions: impl IntoIterator<Item = (u32, u32)>) -> Split {
    let functions = functions.into_iter();
    Split::new(functions.map(|(function, core)| (FunctionId(function), CoreId(core))))
}
