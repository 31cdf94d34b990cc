//! The results of a timed replay.

use crate::branches::BranchCounters;
use crate::{Counters, TlbCounters};
use std::ops::Add;

/// The counts since the end of the warm-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Number of requests that ended.
    pub requests: u64,
    /// Cycles from the latest end of a warm-up request (or cycle 0) to the latest end of a counted
    /// one.
    pub elapsed_cycles: u64,
    /// Latencies from arrival to end of each request that ended; ascending.
    pub latencies: Vec<u64>,
    /// Results of each core.
    pub per_core: Vec<CoreOutcome>,
    /// `evictions[a][b]`: lines of connection a that an access of connection b made an L2 replace.
    /// A line belongs to the connection that last looked it up in that L2.
    pub evictions: Vec<Vec<u64>>,
}

/// The results of one core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreOutcome {
    /// Accesses and misses, including the loads of page walks. Cycles are the sum of latencies and
    /// hops, as in a replay without clocks, plus the cycles that late prefetches add.
    pub counters: Counters,
    /// Counts of prefetches.
    pub prefetches: PrefetchCounters,
    /// Address translations; zero unless requested.
    pub tlbs: TlbCounters,
    /// Sum of the cycles of second-level lookups and page walks. The core model may have overlapped
    /// them with other work.
    pub translation_cycles: u64,
    /// Predictions of branches; zero unless requested.
    pub branches: BranchCounters,
    /// Cycles in which it ran threads, including hops.
    pub busy_cycles: u64,
    /// Cycles in which it ran no thread.
    pub idle_cycles: u64,
    /// Sum of the cycles that threads waited in its queue.
    pub queued_cycles: u64,
    /// Hops that ended here.
    pub hops: u64,
    /// Number of threads that the scheduler moved here from another core's queue, without a hop.
    pub migrations: u64,
    /// Number of times that a thread gave the core to another during a request.
    pub yields: u64,
}

/// Counts of prefetches into an L2. A prefetched line that is still unused when counting begins or
/// ends is counted on one side only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefetchCounters {
    /// Number of lines prefetched because of the core's references.
    pub issued: u64,
    /// Number of prefetched lines that a reference of the core used first.
    pub useful: u64,
    /// Useful prefetches that a reference had to wait for, longer than for an L2 hit.
    pub late: u64,
    /// Sum of the additional waiting cycles.
    pub late_cycles: u64,
    /// Number of lines prefetched for the core that the L2 lost before any use.
    pub unused: u64,
}

impl Add for PrefetchCounters {
    type Output = PrefetchCounters;

    fn add(self, other: PrefetchCounters) -> PrefetchCounters {
        PrefetchCounters {
            issued: self.issued + other.issued,
            useful: self.useful + other.useful,
            late: self.late + other.late,
            late_cycles: self.late_cycles + other.late_cycles,
            unused: self.unused + other.unused,
        }
    }
}

impl CoreOutcome {
    /// Returns the share of its time in which it ran threads.
    pub fn utilisation(&self) -> f64 {
        share(self.busy_cycles, self.busy_cycles + self.idle_cycles)
    }

    /// Returns the average number of threads that waited for it.
    pub fn mean_queue(&self) -> f64 {
        share(self.queued_cycles, self.busy_cycles + self.idle_cycles)
    }
}

impl Outcome {
    /// Returns the number of requests that ended in a million cycles.
    pub fn requests_per_million_cycles(&self) -> f64 {
        self.requests as f64 * 1e6 / self.elapsed_cycles.max(1) as f64
    }

    /// Returns the latency percentile by nearest rank, which is an actual latency; 0 without
    /// requests.
    pub fn latency_cycles(&self, percent: u64) -> u64 {
        let rank = (self.latencies.len() as u64 * percent).div_ceil(100);
        let place = rank.saturating_sub(1) as usize;
        self.latencies.get(place).copied().unwrap_or(0)
    }

    /// Returns the sum over all cores.
    pub fn counters(&self) -> Counters {
        self.per_core.iter().map(|core| core.counters).sum()
    }

    /// Returns the prefetches of all cores.
    pub fn prefetches(&self) -> PrefetchCounters {
        let of_cores = self.per_core.iter().map(|core| core.prefetches);
        of_cores.fold(PrefetchCounters::default(), Add::add)
    }

    /// Returns the address translations of all cores.
    pub fn tlbs(&self) -> TlbCounters {
        self.per_core.iter().map(|core| core.tlbs).sum()
    }

    /// Returns the cycles of the address translations of all cores.
    pub fn translation_cycles(&self) -> u64 {
        self.per_core
            .iter()
            .map(|core| core.translation_cycles)
            .sum()
    }

    /// Returns the predictions of branches of all cores.
    pub fn branches(&self) -> BranchCounters {
        let of_cores = self.per_core.iter().map(|core| core.branches);
        of_cores.fold(BranchCounters::default(), Add::add)
    }

    /// Returns the hops of all cores.
    pub fn hops(&self) -> u64 {
        self.per_core.iter().map(|core| core.hops).sum()
    }

    /// Returns the migrations of all cores.
    pub fn migrations(&self) -> u64 {
        self.per_core.iter().map(|core| core.migrations).sum()
    }

    /// Returns the yields of all cores.
    pub fn yields(&self) -> u64 {
        self.per_core.iter().map(|core| core.yields).sum()
    }

    /// Returns the share of the cores' time in which they ran threads.
    pub fn utilisation(&self) -> f64 {
        let sum = |of: fn(&CoreOutcome) -> u64| self.per_core.iter().map(of).sum::<u64>();
        let (busy, idle) = (sum(|core| core.busy_cycles), sum(|core| core.idle_cycles));
        share(busy, busy + idle)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_latencies_of_the_nearest_rank() {
        let outcome = |latencies: Vec<u64>| Outcome {
            requests: latencies.len() as u64,
            elapsed_cycles: 500_000,
            latencies,
            per_core: Vec::new(),
            evictions: Vec::new(),
        };
        let hundred = outcome((1..=100).collect());
        assert_eq!(
            [50, 95, 99].map(|p| hundred.latency_cycles(p)),
            [50, 95, 99]
        );
        let three = outcome(vec![10, 20, 30]);
        assert_eq!([50, 95, 99].map(|p| three.latency_cycles(p)), [20, 30, 30]);
        assert_eq!(outcome(Vec::new()).latency_cycles(99), 0);
        assert_eq!(hundred.requests_per_million_cycles(), 200.0);
    }
}
