//! `corehop replay --timed`: connections on cores with clocks, under several schedulers.
//!
//! The simulation is `corehop_simulator::timing`; this file has its options. Every scheduler is
//! simulated with every number of connections, as many settings at once as there are host threads.

mod core_model;
mod json;
mod simulated;
mod text;

use super::at_fault::about;
use crate::console;
use crate::failure::{Exit, Failure};
use crate::line::Lines;
use crate::machines;
use crate::progress::Bar;
use crate::taken::Taken;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use core_model::ModelName;
use corehop_partitioner::progress;
use corehop_simulator::timing::{
    Choice, Error, Load, PREFETCHERS, PrefetcherName, QUANTUM_CYCLES, Setting, Streams,
};
use corehop_simulator::{Machine, Split};
use simulated::Report;
use std::path::Path;

/// The options of a timed replay.
#[derive(Args)]
#[command(next_help_heading = "Timed replay")]
pub struct TimedArguments {
    /// Simulate connections on cores with clocks instead: throughput, latency and queues
    #[arg(long, conflicts_with_all = ["detail", "requests", "baseline"])]
    pub timed: bool,
    /// How many connections send requests, such as 1,2,4. Default: those of the trace
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', requires = "timed")]
    connections: Vec<usize>,
    /// Let connections beyond those of the trace repeat them, on the same stack and data
    #[arg(long, requires = "timed")]
    repeat_connections: bool,
    /// Where threads run: free, pinned, split, split-if-idle[=D], split-cohort[=B], teams, wide,
    /// cohort[=B], steal, steal-random. Default: free,pinned, and split with a plan
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "timed")]
    scheduler: Vec<Choice>,
    /// What references and instructions cost a core
    #[arg(
        long,
        value_enum,
        value_name = "MODEL",
        default_value_t = ModelName::InOrder,
        requires = "timed"
    )]
    core_model: ModelName,
    /// What is brought to a core's L2 before it is referenced
    #[arg(
        long,
        value_name = "PREFETCHER",
        value_parser = prefetchers(),
        default_value = PrefetcherName::None.name(),
        requires = "timed"
    )]
    prefetcher: PrefetcherName,
    /// Use so many of the machine's cores. Default: all
    #[arg(long, value_name = "CORES", requires = "timed")]
    cores: Option<u32>,
    /// Cycles from the end of a request to the connection's next one
    #[arg(long, value_name = "CYCLES", default_value_t = 0, requires = "timed")]
    think_time: u64,
    /// Draw think times from an exponential distribution of that mean
    #[arg(long, requires = "timed")]
    exponential: bool,
    /// Let requests come at this rate, in requests per million cycles, whatever became of those
    /// before
    #[arg(
        long,
        value_name = "RATE",
        requires = "timed",
        conflicts_with_all = ["think_time", "exponential"]
    )]
    rate: Option<f64>,
    /// Cycles that a hop costs. Default: what the machine says
    #[arg(long, value_name = "CYCLES", requires = "timed")]
    hop_cost: Option<u32>,
    /// Count so many requests. Default: as many as the connections have in the trace
    #[arg(long, value_name = "REQUESTS", requires = "timed")]
    count: Option<u64>,
    /// Seed of arrivals, think times and random victims
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "timed")]
    seed: u64,
    /// Cycles that a core goes on before the one that is behind comes
    #[arg(
        long,
        value_name = "CYCLES",
        default_value_t = QUANTUM_CYCLES,
        requires = "timed"
    )]
    quantum: u64,
}

/// Takes the name of a prefetcher.
fn prefetchers() -> impl TypedValueParser<Value = PrefetcherName> {
    let value = |one: &PrefetcherName| PossibleValue::new(one.name()).help(one.summary());
    PossibleValuesParser::new(PREFETCHERS.iter().map(value)).map(|name| {
        let named = PREFETCHERS.iter().find(|one| one.name() == name);
        named.copied().unwrap_or_default()
    })
}

/// What of the other options a timed replay goes by.
pub struct Asked<'a> {
    pub trace: &'a Path,
    pub taken: &'a Taken,
    pub machine: &'a str,
    pub plan: Option<&'a Path>,
    pub warm_up: Option<usize>,
    pub json: bool,
}

/// Simulates all settings and prints what they tell.
pub fn run(arguments: &TimedArguments, asked: &Asked<'_>) -> Result<(), Failure> {
    machines::tell_host([asked.machine]);
    let mut machine = Machine::named_or_path(asked.machine)?;
    if let Some(cycles) = arguments.hop_cost {
        machine.set_hop_cost(cycles);
    }
    let plan = asked.plan.map(corehop_plan::read).transpose()?;
    let trace = asked.taken.open(asked.trace)?;
    let split = plan
        .as_ref()
        .map(|plan| Split::of_plan(plan, &trace).map_err(|error| about(asked.plan, error)));
    let split = split.transpose()?;
    let failed = |error| failure(error, asked);
    let bar = Bar::new();
    let splits: Vec<&Split> = split.iter().collect();
    let model = arguments.core_model;
    let stage = ("code blocks read", trace.execution_count());
    let streams = progress::stage(&bar, stage, |tell| {
        model.streams(&trace, &splits, arguments.prefetcher, tell)
    });
    let streams = streams.map_err(failed)?;
    let settings = arguments.settings(&machine, split.as_ref(), &streams, asked.warm_up);
    let stage = ("settings simulated", settings.len() as u64);
    let outcomes = progress::stage(&bar, stage, |tell| {
        model.simulate(&streams, &settings, tell)
    });
    let outcomes = outcomes.map_err(failed);
    let report = Report {
        trace_name: asked.trace,
        trace: &trace,
        machine: &machine,
        model,
        has_dependences: trace.has_dependences(),
        simulated: settings.into_iter().zip(outcomes?).collect(),
    };
    match asked.json {
        true => console::print(&Lines::of_json(&json::render(&report))),
        false => console::print(&text::render(&report)),
    }
}

impl TimedArguments {
    /// Every scheduler with every number of connections.
    fn settings<'a>(
        &self,
        machine: &'a Machine,
        split: Option<&'a Split>,
        streams: &Streams,
        warm_up: Option<usize>,
    ) -> Vec<Setting<'a>> {
        let load = match self.rate {
            Some(requests_per_million_cycles) => Load::Open {
                requests_per_million_cycles,
            },
            None => Load::Closed {
                think_cycles: self.think_time,
                exponential: self.exponential,
            },
        };
        let setting = |scheduler, connections| Setting {
            machine,
            cores: self.cores.unwrap_or(machine.cores),
            connections,
            repeat_connections: self.repeat_connections,
            split,
            scheduler,
            prefetcher: self.prefetcher,
            load,
            seed: self.seed,
            quantum_cycles: self.quantum,
            warm_up: warm_up.map_or_else(|| streams.requests(connections), |n| n as u64),
            requests: self.count.unwrap_or_else(|| streams.requests(connections)),
        };
        let schedulers = self.schedulers(split.is_some());
        let all = [streams.connections()];
        let connections = match &self.connections[..] {
            [] => &all[..],
            asked => asked,
        };
        let of_number = |&connections| {
            let schedulers = schedulers.iter();
            schedulers.map(move |&scheduler| setting(scheduler, connections))
        };
        connections.iter().flat_map(of_number).collect()
    }

    fn schedulers(&self, with_plan: bool) -> Vec<Choice> {
        if !self.scheduler.is_empty() {
            return self.scheduler.clone();
        }
        let names: &[&str] = match with_plan {
            true => &["free", "pinned", "split"],
            false => &["free", "pinned"],
        };
        names.iter().filter_map(|name| name.parse().ok()).collect()
    }
}

/// Names the file at fault.
fn failure(error: Error, asked: &Asked<'_>) -> Failure {
    let of_file = |path: &Path, error: Error| {
        Failure::new(Exit::Input, format!("{}: {error}", path.display())).explained()
    };
    match error {
        Error::Trace(error) => error.into(),
        Error::NoConnections | Error::TooFewConnections { .. } => of_file(asked.trace, error),
        Error::TooManyCores { .. } => of_file(asked.plan.unwrap_or(asked.trace), error),
        _ => Failure::new(Exit::Usage, error).explained(),
    }
}
