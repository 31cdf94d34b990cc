//! What a set of delegated calls misses at least, without simulating it.
//!
//! Around a home core, with one other, a set of calls says of every occurrence on which of the two
//! it runs. What each of the two misses at least, whatever its caches replace, takes no caches to
//! count ([`corehop_simulator::LowerBound`]), and is counted for 32 sets at a time. It holds for a
//! full replay too: that an inclusive L3 takes lines from a core leaves it with fewer.
//!
//! No set at all costs less than what all its cores together have no room for.

use crate::evaluate::{IndexedPlacement, Term};
use corehop_simulator::{CoreId, LANES, LowerBound};
use rayon::prelude::*;

/// Lower bounds of sets.
pub(super) struct Bounds<'a> {
    terms: &'a [Term],
    of_cores: Vec<LowerBound>,
    of_all_cores: Vec<LowerBound>,
}

/// Sets that are counted together: each has a lane for either core.
pub(super) const SETS_AT_A_TIME: usize = LANES / 2;

impl<'a> Bounds<'a> {
    /// With these terms, of delegated calls, on so many cores in all.
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

    /// Whatever calls are delegated, all cores together hold no more lines than they have room for.
    pub fn least(&self) -> u64 {
        let runs = vec![1; self.occurrences()];
        self.of_lanes(&self.of_all_cores, &runs)[0]
    }

    fn occurrences(&self) -> usize {
        self.terms[0].private_replay.occurrences().len()
    }

    /// What each set costs at least; `cores` says where its occurrences run.
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

    /// By lane of the lower half, what it and that of the upper half cost at least.
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
