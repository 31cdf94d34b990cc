//! What a timed replay tells.

use crate::Counters;
use std::ops::Add;

/// What was counted, from the end of the warm-up on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Requests that ended.
    pub requests: u64,
    /// From the latest end of a request that warmed up (or cycle 0) to that of one counted.
    pub elapsed_cycles: u64,
    /// Of each request that ended, from when it came to its end; ascending.
    pub latencies: Vec<u64>,
    /// By core.
    pub per_core: Vec<CoreOutcome>,
    /// `evictions[a][b]`: lines of connection a that an access of connection b made an L2 replace.
    /// A line is of the connection that last looked it up in that L2.
    pub evictions: Vec<Vec<u64>>,
}

/// What one core did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreOutcome {
    /// Accesses and what became of them. Cycles are those of the latencies and hops added up, as in
    /// a replay without clocks, and what late prefetches added to these.
    pub counters: Counters,
    /// Prefetches and what became of them.
    pub prefetches: PrefetchCounters,
    /// Cycles that it ran threads, hops included.
    pub busy_cycles: u64,
    /// Cycles that it ran none.
    pub idle_cycles: u64,
    /// Cycles that threads waited in its queue, added up.
    pub queued_cycles: u64,
    /// Hops that ended here.
    pub hops: u64,
    /// Threads that the scheduler took here from another core, without a hop.
    pub migrations: u64,
    /// Times that a thread gave the core to another in the middle of a request.
    pub yields: u64,
}

/// Prefetches of an L2's lines, and what became of them. Those that wait to be used when counting
/// begins or ends are counted on one side only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefetchCounters {
    /// Lines that the core's references made its prefetcher bring.
    pub issued: u64,
    /// Prefetched lines that a reference of the core was the first to use.
    pub useful: u64,
    /// Those of them that it had to wait for, longer than for an L2 hit.
    pub late: u64,
    /// How much longer, added up.
    pub late_cycles: u64,
    /// Lines brought for the core that the L2 lost before anybody used them.
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
    /// The share of its time that it ran threads.
    pub fn utilisation(&self) -> f64 {
        share(self.busy_cycles, self.busy_cycles + self.idle_cycles)
    }

    /// How many threads waited for it on average.
    pub fn mean_queue(&self) -> f64 {
        share(self.queued_cycles, self.busy_cycles + self.idle_cycles)
    }
}

impl Outcome {
    /// Requests that ended in a million cycles.
    pub fn requests_per_million_cycles(&self) -> f64 {
        self.requests as f64 * 1e6 / self.elapsed_cycles.max(1) as f64
    }

    /// The latency that so many percent of the requests did not exceed (the nearest rank: an actual
    /// one). 0 of no requests.
    pub fn latency_cycles(&self, percent: u64) -> u64 {
        let rank = (self.latencies.len() as u64 * percent).div_ceil(100);
        let place = rank.saturating_sub(1) as usize;
        self.latencies.get(place).copied().unwrap_or(0)
    }

    /// All cores together.
    pub fn counters(&self) -> Counters {
        self.per_core.iter().map(|core| core.counters).sum()
    }

    /// Prefetches of all cores.
    pub fn prefetches(&self) -> PrefetchCounters {
        let of_cores = self.per_core.iter().map(|core| core.prefetches);
        of_cores.fold(PrefetchCounters::default(), Add::add)
    }

    /// Hops of all cores.
    pub fn hops(&self) -> u64 {
        self.per_core.iter().map(|core| core.hops).sum()
    }

    /// Migrations of all cores.
    pub fn migrations(&self) -> u64 {
        self.per_core.iter().map(|core| core.migrations).sum()
    }

    /// Yields of all cores.
    pub fn yields(&self) -> u64 {
        self.per_core.iter().map(|core| core.yields).sum()
    }

    /// The share of the cores' time that they ran threads.
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
