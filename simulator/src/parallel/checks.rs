//! What every parallel replay checks before it begins: do the requests, machines and splits fit?

use super::set_partition::SetPartition;
use crate::error::Error;
use crate::hierarchy::geometry::Geometry;
use crate::machine::Machine;
use crate::options::ReplayOptions;
use crate::threads::split::Split;
use corehop_traces::{FunctionId, RequestId};

/// The request with which counting begins; `None` when it begins at once.
pub(crate) fn first_counted(
    options: &ReplayOptions<'_>,
    chosen: &[RequestId],
) -> Option<RequestId> {
    let first = chosen.get(options.warm_up_requests);
    first.copied().filter(|_| options.warm_up_requests > 0)
}

/// Whether the machine has enough cores for the split.
pub(crate) fn check_cores(machine: &Machine, split: &Split) -> Result<(), Error> {
    if split.cores() > machine.cores {
        return Err(Error::TooManyCores {
            cores: split.cores(),
            machine: machine.name.clone(),
            machine_cores: machine.cores,
        });
    }
    Ok(())
}

/// By function, which of a trace's `functions` are among these.
pub(crate) fn breaks(functions: usize, chosen: impl IntoIterator<Item = FunctionId>) -> Vec<bool> {
    let mut breaks = vec![false; functions];
    for function in chosen {
        if let Some(breaks) = breaks.get_mut(function.index()) {
            *breaks = true;
        }
    }
    breaks
}

/// The number of set partitions that lines fall into on all these machines: the smallest that any
/// has, since each has a power of two.
pub(crate) fn set_partition_count_of<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> u64 {
    let set_partition_count = machines.into_iter().map(Geometry::set_partition_count_of);
    set_partition_count.min().unwrap_or(1)
}

/// All set partitions, each with a state.
pub(crate) fn set_partitions<S>(
    set_partition_count: u64,
    state: impl Fn() -> S,
) -> Vec<(SetPartition, S)> {
    let with_state = |index| (SetPartition::new(index, set_partition_count), state());
    (0..set_partition_count).map(with_state).collect()
}
