//! A finished search with what it was asked: all that is printed of it, in words or as JSON.

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
    /// What was found, and what was asked.
    pub result: SearchResult<'a>,
    /// Functions at the end of whose calls no thread can go back, with the reasons.
    pub one_way: &'a [(FunctionId, String)],
    /// This search and those with other seeds.
    pub draws: Vec<Resample>,
    /// The backend named, whose hop cost the machines then have.
    pub backend: Option<Backend>,
    pub seconds: f64,
}

impl FinishedSearch<'_> {
    /// What the verdict is of: requests that were not searched, where there are any.
    pub fn judged_on(&self) -> &Comparison {
        self.result.outcome.evaluated.verdict()
    }

    /// The name of a function of the trace, cut to fit a table.
    pub fn name(&self, function: FunctionId) -> String {
        shortened(&self.result.trace.functions()[function.index()].name)
    }

    /// What a hop may cost at most, on each machine.
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

    /// The plan that carries out the split.
    pub fn plan(&self) -> Plan {
        plan::of(&self.result)
    }
}
