//! One core: its clock, and its sums since counting began.

use crate::core_model::CoreModel;
use crate::timing::outcome::{CoreOutcome, PrefetchCounters};
use crate::{Machine, Tally};

pub(crate) struct Core<M> {
    pub model: M,
    /// Number of references by kind.
    pub references: [u64; 3],
    pub hops: u64,
    /// Cycles that hops took.
    pub hop_cycles: u64,
    pub migrations: u64,
    pub yields: u64,
    busy_cycles: u64,
    idle_cycles: u64,
    queued_cycles: u64,
    /// The cycle up to which busy cycles are included in the sum.
    summed_to: u64,
}

impl<M: CoreModel> Core<M> {
    pub fn new(model: M) -> Core<M> {
        Core {
            summed_to: model.cycle(),
            model,
            references: [0; 3],
            hops: 0,
            hop_cycles: 0,
            migrations: 0,
            yields: 0,
            busy_cycles: 0,
            idle_cycles: 0,
            queued_cycles: 0,
        }
    }

    /// Idles until `cycle`, and returns for how long. The time before `counting_since` is not
    /// counted.
    pub fn idle_until(&mut self, cycle: u64, counting_since: u64) -> u64 {
        let idle_cycles = cycle.saturating_sub(self.model.cycle());
        let from = self.model.cycle().max(counting_since);
        self.idle_cycles += cycle.saturating_sub(from);
        self.model.wait_until(cycle);
        self.summed_to = self.model.cycle();
        idle_cycles
    }

    /// Adds the cycles since the last call as busy ones.
    pub fn sum_up(&mut self) {
        let cycle = self.model.cycle();
        self.busy_cycles += cycle - self.summed_to;
        self.summed_to = cycle;
    }

    /// Adds the time that a thread waited in the queue, without the time before counting began.
    pub fn queued(&mut self, from: u64, to: u64, counting_since: u64) {
        self.queued_cycles += to.saturating_sub(from.max(counting_since));
    }

    /// Resets the counts.
    pub fn start_counting(&mut self) {
        self.references = [0; 3];
        (self.hops, self.hop_cycles) = (0, 0);
        (self.migrations, self.yields) = (0, 0);
        (self.busy_cycles, self.idle_cycles, self.queued_cycles) = (0, 0, 0);
    }

    /// Returns the results without translations, given the counts of its caches (`tally`) and of
    /// its prefetches.
    pub fn outcome(
        &self,
        (tally, prefetches): (&Tally, &PrefetchCounters),
        machine: &Machine,
    ) -> CoreOutcome {
        let mut counters = tally.counters(self.references, 0, machine);
        counters.cycles += self.hop_cycles + prefetches.late_cycles;
        CoreOutcome {
            counters,
            prefetches: *prefetches,
            busy_cycles: self.busy_cycles,
            idle_cycles: self.idle_cycles,
            queued_cycles: self.queued_cycles,
            hops: self.hops,
            migrations: self.migrations,
            yields: self.yields,
            ..CoreOutcome::default()
        }
    }
}
