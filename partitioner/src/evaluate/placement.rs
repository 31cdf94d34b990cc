//! A split as the search names it: functions, each with its core.

use corehop_simulator::CoreId;
use corehop_traces::FunctionId;

/// A split under evaluation: functions, as indices of those searched, ascending, each with its
/// core. Cores are numbered by their first functions, so that each split has one form.
pub type IndexedPlacement = Vec<(u32, u32)>;

/// A split with its functions as the trace numbers them, each with its core.
pub type Placement = Vec<(FunctionId, CoreId)>;

/// The same split by the numbers of `functions`, which are those searched.
pub fn named(split: &IndexedPlacement, functions: &[FunctionId]) -> Placement {
    let name = |&(index, core): &(u32, u32)| {
        let function = functions[index as usize];
        (function, CoreId(core))
    };
    split.iter().map(name).collect()
}

/// Number of cores that a split uses, at least 1.
pub fn cores_of(split: &[(u32, u32)]) -> usize {
    split
        .iter()
        .map(|&(_, core)| core as usize + 1)
        .max()
        .unwrap_or(1)
}
