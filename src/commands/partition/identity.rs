//! Identifies the search of a checkpoint: what must be equal in a search that continues it.

use crate::options::scope::Scope;
use corehop_partitioner::attribution::options;
use corehop_partitioner::checkpoint::Identity;
use corehop_partitioner::machine_list;
use corehop_partitioner::weights::Weighted;
use corehop_traces::{FunctionId, Trace};

/// Returns the settings that determine evaluations, by name. Seeds and limits only determine where
/// to search, so they are excluded.
pub fn identity(trace: &Trace, machines: &[Weighted], scope: &Scope) -> Identity {
    let functions = (0..trace.functions().len()).map(FunctionId::from_index);
    let at_calls = functions.filter(|&of| trace.call_meant(of).is_some());
    let rule = match at_calls.count() {
        0 => scope.admitted(),
        calls => format!("{}, and {calls} single calls", scope.admitted()),
    };
    let trace = format!(
        "of {} bytes with checksum {:08x}{}",
        trace.size_bytes(),
        trace.checksum(),
        options(trace)
    );
    let identity = [
        ("trace", trace),
        ("machine", machine_list::together(machines)),
        ("requests", scope.drawn()),
        ("rule for candidates", rule),
    ];
    identity.map(|(what, value)| (what.into(), value)).into()
}
