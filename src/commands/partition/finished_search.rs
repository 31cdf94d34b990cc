//! A finished search and its request: the input of all its output, as text or as JSON.

use corehop_partitioner::Comparison;
use corehop_partitioner::backend::Backend;
use corehop_partitioner::plan::{self, SearchResult};
use corehop_partitioner::resamples::Resample;
use corehop_plan::Plan;
use corehop_simulator::Machine;
use corehop_support::format::name::shortened;
use corehop_traces::FunctionId;

/// A finished search.
pub struct FinishedSearch<'a> {
    /// The result and the settings.
    pub result: SearchResult<'a>,
    /// Functions after whose calls no thread can migrate back, with the reasons.
    pub one_way: &'a [(FunctionId, String)],
    /// This search and those with other seeds.
    pub draws: Vec<Resample>,
    /// The selected backend, whose hop cost the machines then have.
    pub backend: Option<Backend>,
    pub seconds: f64,
}

impl FinishedSearch<'_> {
    /// Returns the comparison for the verdict: on held-out requests, if there are any.
    pub fn judged_on(&self) -> &Comparison {
        self.result.outcome.evaluated.verdict()
    }

    /// Returns the name of a function of the trace, shortened for a table.
    pub fn name(&self, function: FunctionId) -> String {
        shortened(&self.result.trace.functions()[function.index()].name)
    }

    /// Returns the maximum cost of a hop at which the split breaks even, on each machine.
    pub fn break_even_cycles(&self) -> impl Iterator<Item = (&Machine, Option<f64>)> {
        let of_machines = self
            .result
            .machines
            .iter()
            .zip(self.judged_on().of_machines());
        of_machines.map(|(of, judged_on)| {
            let machine = &of.machine;
            (machine, judged_on.break_even_cycles(machine))
        })
    }

    /// Returns the plan of the split.
    pub fn plan(&self) -> Plan {
        plan::of(&self.result)
    }
}
