//! A split in the form of the search: functions, each with its core.

use corehop_simulator::CoreId;
use corehop_traces::FunctionId;

/// A split under evaluation: indices of searched functions, ascending, each with a core. Cores are
/// numbered by their first functions, so each split has one canonical form.
pub type IndexedPlacement = Vec<(u32, u32)>;

/// A split with the trace's function numbers, each with its core.
pub type Placement = Vec<(FunctionId, CoreId)>;

/// Converts a split to function numbers; `functions` are the searched functions.
pub fn named(split: &IndexedPlacement, functions: &[FunctionId]) -> Placement {
    let name = |&(index, core): &(u32, u32)| {
        let function = functions[index as usize];
        (function, CoreId(core))
    };
    split.iter().map(name).collect()
}

/// Returns the number of cores that a split uses, at least 1.
pub fn cores_of(split: &[(u32, u32)]) -> usize {
    split
        .iter()
        .map(|&(_, core)| core as usize + 1)
        .max()
        .unwrap_or(1)
}
