//! Lower bounds of the misses of a set of delegated calls, without simulation.
//!
//! With a home core and one other core, a set of calls determines on which of the two each
//! occurrence runs. The unavoidable misses of each core, under any replacement policy, are counted
//! without simulating caches ([`corehop_simulator::LowerBound`]), for 32 sets at a time. The bound
//! also holds for a full replay: an inclusive L3 only removes lines from a core's caches.
//!
//! In addition, no set costs less than the misses that the capacity of all cores together cannot
//! avoid.

use crate::evaluate::{IndexedPlacement, Term};
use corehop_simulator::{CoreId, LANES, LowerBound};
use rayon::prelude::*;

/// Lower bounds of sets of delegated calls.
pub(super) struct Bounds<'a> {
    terms: &'a [Term],
    of_cores: Vec<LowerBound>,
    of_all_cores: Vec<LowerBound>,
}

/// Sets counted together: each uses one lane for either core.
pub(super) const SETS_AT_A_TIME: usize = LANES / 2;

impl<'a> Bounds<'a> {
    /// Returns the bounds for these terms of delegated calls, on `cores` cores in all.
    pub fn new(terms: &'a [Term], cores: u32) -> Bounds<'a> {
        let of = |cores| {
            let of_term = |term: &Term| LowerBound::of_together(&term.private_replay, cores);
            terms.iter().map(of_term).collect()
        };
        Bounds {
            terms,
            of_cores: of(1),
            of_all_cores: of(cores),
        }
    }

    /// Returns a bound for any set: all cores together hold no more lines than their capacity.
    pub fn least(&self) -> u64 {
        let runs = vec![1; self.occurrences()];
        self.of_lanes(&self.of_all_cores, &runs)[0]
    }

    fn occurrences(&self) -> usize {
        self.terms[0].private_replay.occurrences().len()
    }

    /// Returns the minimum cost of each set; `cores` returns the cores of its occurrences.
    pub fn of(
        &self,
        sets: &[IndexedPlacement],
        cores: impl Fn(&IndexedPlacement) -> Vec<CoreId> + Sync,
    ) -> Vec<u64> {
        let chunks = sets.par_chunks(SETS_AT_A_TIME);
        let of_chunk = |sets: &[IndexedPlacement]| {
            let mut runs = vec![0u64; self.occurrences()];
            for (lane, set) in sets.iter().enumerate() {
                for (runs, core) in runs.iter_mut().zip(cores(set)) {
                    let lane = lane + SETS_AT_A_TIME * usize::from(core != CoreId(0));
                    *runs |= 1 << lane;
                }
            }
            self.of_lanes(&self.of_cores, &runs)[..sets.len()].to_vec()
        };
        chunks.flat_map_iter(of_chunk).collect()
    }

    /// Returns, by lane of the lower half, the minimum cost of that lane and its upper-half
    /// partner.
    fn of_lanes(&self, bounds: &[LowerBound], runs: &[u64]) -> [u64; SETS_AT_A_TIME] {
        let mut sums = [0; SETS_AT_A_TIME];
        for (term, bounds) in self.terms.iter().zip(bounds) {
            let [fetch, data] = term.cost.of_missed().map(|cost| cost * term.factor);
            let room = [fetch, data].into_iter().filter(|&cost| cost > 0).min();
            for set_partition in 0..term.private_replay.set_partitions() {
                let counted = [fetch > 0, data > 0];
                let [fetches, loads_and_stores, full] = bounds.misses(set_partition, runs, counted);
                for lane in 0..LANES {
                    sums[lane % SETS_AT_A_TIME] += fetch * fetches[lane]
                        + data * loads_and_stores[lane]
                        + room.unwrap_or(0) * full[lane];
                }
            }
        }
        sums
    }
}
