//! Checks before every parallel replay: whether requests, machines and splits match.

use super::set_partition::SetPartition;
use crate::error::Error;
use crate::hierarchy::geometry::Geometry;
use crate::machine::Machine;
use crate::options::ReplayOptions;
use crate::threads::split::Split;
use corehop_traces::{FunctionId, RequestId};

/// Returns the request at which counting begins; `None` if it begins immediately.
pub(crate) fn first_counted(
    options: &ReplayOptions<'_>,
    chosen: &[RequestId],
) -> Option<RequestId> {
    let first = chosen.get(options.warm_up_requests);
    first.copied().filter(|_| options.warm_up_requests > 0)
}

/// Returns an error if the split uses more cores than the machine has.
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

/// For each of a trace's `functions`, returns whether it is in `chosen`.
pub(crate) fn breaks(functions: usize, chosen: impl IntoIterator<Item = FunctionId>) -> Vec<bool> {
    let mut breaks = vec![false; functions];
    for function in chosen {
        if let Some(breaks) = breaks.get_mut(function.index()) {
            *breaks = true;
        }
    }
    breaks
}

/// Returns the number of set partitions for lines on all these machines. It is the minimum of the
/// machines' numbers, because all are powers of two.
pub(crate) fn set_partition_count_of<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> u64 {
    let set_partition_count = machines.into_iter().map(Geometry::set_partition_count_of);
    set_partition_count.min().unwrap_or(1)
}

/// Creates all set partitions, each with a state.
pub(crate) fn set_partitions<S>(
    set_partition_count: u64,
    state: impl Fn() -> S,
) -> Vec<(SetPartition, S)> {
    let with_state = |index| (SetPartition::new(index, set_partition_count), state());
    (0..set_partition_count).map(with_state).collect()
}
