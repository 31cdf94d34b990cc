//! Misses of each function's accesses, and the lines that caches lose to them, without delegation.
//!
//! The server's threads are placed round-robin on some cores, as a scheduler would, and stay there.
//! The effects of an access count for every function whose call is open. *Displaced* are lines that
//! an L2 evicted to make room for the function's. *Invalidated* are lines that its stores removed
//! from another core. Delegation is meant to reduce both.

use crate::characterize::error::Error;
use crate::characterize::open_sets::{OpenSets, Sets};
use crate::characterize::subject::Subject;
use corehop_partitioner::progress::{self, Progress};
use corehop_simulator::{
    CacheLevel, Cause, CoreId, LineId, Machine, Observer, ReplayOptions, Replayer, Split,
};
use corehop_traces::Kind;
use std::ops::AddAssign;

/// The effects of one function's accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of L2 misses.
    pub missed: u64,
    /// Misses on lines that another core's store had removed.
    pub missed_by_stores: u64,
    /// Number of lines that L2s evicted for lack of space.
    pub displaced: u64,
    /// Number of lines that stores removed from other cores.
    pub invalidated: u64,
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Traffic) {
        self.missed += other.missed;
        self.missed_by_stores += other.missed_by_stores;
        self.displaced += other.displaced;
        self.invalidated += other.invalidated;
    }
}

/// Counts for each set of open functions.
#[derive(Default)]
struct BySet {
    sets: Vec<Traffic>,
    current: usize,
}

impl BySet {
    fn now(&mut self) -> &mut Traffic {
        &mut self.sets[self.current]
    }

    /// Returns the sum over all sets, and the sum over the sets of each function.
    fn sums(&self, sets: &Sets, functions: usize) -> (Traffic, Vec<Traffic>) {
        let mut all = Traffic::default();
        let mut found = vec![Traffic::default(); functions];
        for (set, traffic) in (0..).zip(&self.sets) {
            all += *traffic;
            for &place in sets.members(set) {
                found[place as usize] += *traffic;
            }
        }
        (all, found)
    }
}

impl Observer for BySet {
    fn missed(&mut self, level: CacheLevel, _: CoreId, _: Kind, cause: Cause, _: LineId) {
        if level == CacheLevel::L2 {
            self.now().missed += 1;
            self.now().missed_by_stores += u64::from(cause == Cause::Coherence);
        }
    }

    fn replaced(&mut self, level: CacheLevel, _: usize, _: CoreId, _: LineId) {
        self.now().displaced += u64::from(level == CacheLevel::L2);
    }

    fn invalidated(&mut self, _: usize, _: CoreId, _: LineId) {
        self.now().invalidated += 1;
    }
}

impl Subject<'_> {
    /// Returns the effects of all accesses, and those of each function, in the requests of
    /// `options` after the warm-up; threads are placed on their start cores in `split`.
    ///
    /// # Errors
    /// If the trace is inconsistent, or the machine has too few cores.
    pub fn traffic(
        &self,
        machine: &Machine,
        split: &Split,
        options: &ReplayOptions<'_>,
        progress: &dyn Progress,
    ) -> Result<(Traffic, Vec<Traffic>), Error> {
        let mut requests = options.requests.clone().unwrap_or_default();
        requests.sort_unstable();
        let first_counted = requests.get(options.warm_up_requests).copied();
        let mut open = OpenSets::new(self.trace, &self.calls, &self.functions);
        let mut replayer = Replayer::new(machine, split)?;
        let mut by_set = BySet::default();
        let mut is_counting = false;
        let total = self.trace.executions_read(Some(&requests));
        let stage = ("code blocks replayed for what functions displace", total);
        progress::stage(progress, stage, |tell| -> Result<(), Error> {
            let mut executions = self.trace.executions_of(&requests).telling(tell);
            while let Some(execution) = executions.next()? {
                if !is_counting && execution.request >= first_counted {
                    is_counting = true;
                    by_set.sets.fill(Traffic::default());
                }
                by_set.current = open.come(&execution) as usize;
                by_set.sets.resize(open.sets.len(), Traffic::default());
                replayer.execute_observed(&execution, &mut by_set);
            }
            Ok(())
        })?;
        Ok(by_set.sums(&open.sets, self.functions.len()))
    }
}
