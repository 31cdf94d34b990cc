//! What every sharded replay checks before it begins: do the requests, machines and splits fit?

use super::set_partition::Shard;
use crate::error::Error;
use crate::hierarchy::geometry::Geometry;
use crate::machine::Machine;
use crate::options::ReplayOptions;
use crate::threads::split::Split;

/// The request with which counting begins; `None` when it begins at once.
pub(crate) fn first_counted(options: &ReplayOptions<'_>, chosen: &[u32]) -> Option<u32> {
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

/// By function index, which of a trace's `functions` are among these.
pub(crate) fn breaks(functions: usize, chosen: impl IntoIterator<Item = u32>) -> Vec<bool> {
    let mut breaks = vec![false; functions];
    for function in chosen {
        if let Some(breaks) = breaks.get_mut(function as usize) {
            *breaks = true;
        }
    }
    breaks
}

/// The number of residues that lines fall into on all these machines: the smallest that any has,
/// since each has a power of two.
pub(crate) fn residues_of<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> u64 {
    let residues = machines.into_iter().map(Geometry::residues_of);
    residues.min().unwrap_or(1)
}

/// A shard a residue, each with a state.
pub(crate) fn shards<S>(residues: u64, state: impl Fn() -> S) -> Vec<(Shard, S)> {
    let shard = |residue| (Shard::new(residue, residues), state());
    (0..residues).map(shard).collect()
}
