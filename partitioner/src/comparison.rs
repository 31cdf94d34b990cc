//! A comparison of a split with everything on one core, on the same requests.

use crate::backend::Backend;
use crate::hop_cost::break_even_cycles;
use crate::objective::Objective;
use corehop_simulator::{Counters, Machine, Replay};

/// Everything on one core and the split, on the same requests.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Number of requests counted.
    pub requests: u64,
    /// Everything on one core.
    pub baseline: Counters,
    /// With the split.
    pub split: Counters,
    /// Hops counted with the split.
    pub hops: u64,
    /// With the split, the cycles of each core.
    pub busy_cycles: Vec<u64>,
    /// Weight of this machine relative to others.
    pub weight: f64,
    /// The same on the other machines, if there are several.
    pub others: Vec<Comparison>,
}

impl Comparison {
    /// Compares another split of the same requests with the same baseline.
    pub(crate) fn with(&self, split: &Replay) -> Comparison {
        compare(self.baseline, split)
    }

    /// Returns this machine's comparison and those of the others.
    pub fn of_machines(&self) -> impl Iterator<Item = &Comparison> {
        [self].into_iter().chain(&self.others)
    }

    /// Returns the objective's value with the split as a share of that on one core. With several
    /// machines, this is the mean by their weights ([`crate::weights`]). `None` if the value on one
    /// core is 0.
    pub fn ratio(&self, objective: Objective) -> Option<f64> {
        let weight: f64 = self.of_machines().map(|of| of.weight).sum();
        let ratios = self
            .of_machines()
            .map(|of| Some(of.weight * of.ratio_here(objective)?));
        ratios.sum::<Option<f64>>().map(|sum| sum / weight)
    }

    /// Like [`Comparison::ratio`], on this machine alone.
    pub fn ratio_here(&self, objective: Objective) -> Option<f64> {
        let before = self.before(objective);
        (before > 0).then(|| self.after(objective) as f64 / before as f64)
    }

    /// Returns the objective's value on one core.
    pub fn before(&self, objective: Objective) -> u64 {
        objective.of_baseline(&self.baseline, self.busy_cycles.len() as u32)
    }

    /// Returns the objective's value with the split.
    pub fn after(&self, objective: Objective) -> u64 {
        objective.of_cores(&self.split, &self.busy_cycles)
    }

    /// See [`Backend::cycles_ratio`].
    pub fn cycles_ratio(&self, machine: &Machine, backend: Backend) -> Option<f64> {
        backend.cycles_ratio(machine, &self.baseline, &self.split, self.hops)
    }

    /// See [`break_even_cycles`].
    pub fn break_even_cycles(&self, machine: &Machine) -> Option<f64> {
        break_even_cycles(machine, &self.baseline, &self.split, self.hops)
    }
}

/// Compares a split with one core, on one machine.
pub(crate) fn compare(baseline: Counters, split: &Replay) -> Comparison {
    Comparison {
        requests: split.requests,
        baseline,
        split: split.counters,
        hops: split.hops,
        busy_cycles: split.per_core.iter().map(|core| core.cycles).collect(),
        weight: 1.0,
        others: Vec::new(),
    }
}
