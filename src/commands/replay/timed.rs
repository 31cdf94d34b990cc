//! `corehop replay --timed`: simulates connections on cores with clocks, under several schedulers.
//!
//! `corehop_simulator::timing` simulates; this file has its options. Every scheduler is simulated
//! with every number of connections, on all host threads. An experiment may have further schedulers
//! (`research/`): it passes the complete list.

mod core_model;
mod json;
mod simulated;
mod text;

use super::at_fault::about;
use crate::failure::{Exit, Failure};
use crate::options::addressing::AddressingOptions;
use crate::options::machines;
use crate::options::translation::TranslationOptions;
use crate::terminal::console;
use crate::terminal::line::Lines;
use crate::terminal::progress::Bar;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use core_model::ModelName;
use corehop_partitioner::progress;
use corehop_simulator::branches::{BRANCH_PREDICTORS, BranchPredictorName};
use corehop_simulator::timing::{
    Choice, Entry, Error, Load, Needs, PREFETCHERS, PrefetcherName, QUANTUM_CYCLES, Setting,
    Streams,
};
use corehop_simulator::{Machine, PageSizes, Split};
use simulated::Report;
use std::path::Path;

/// The options of a timed replay, which require an argument `timed`.
#[derive(Args)]
#[command(next_help_heading = "Timed replay")]
pub struct TimedArguments {
    /// Numbers of connections that send requests, such as 1,2,4
    ///
    /// Default: the number of connections in the trace.
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', requires = "timed")]
    connections: Vec<usize>,
    /// Let connections beyond those of the trace repeat them, with the same stack and data
    #[arg(long, requires = "timed", hide_short_help = true)]
    repeat_connections: bool,
    /// Schedulers, which determine where threads run
    ///
    /// The values are free, pinned, split, split-if-idle[=D], teams, wide, steal, and steal-random
    /// (docs/reference/timed.md). Default: free,pinned; with --plan also split.
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "timed")]
    scheduler: Vec<String>,
    /// Core model, which determines the cost of instructions and accesses
    #[arg(
        long,
        value_enum,
        value_name = "MODEL",
        default_value_t = ModelName::InOrder,
        requires = "timed"
    )]
    core_model: ModelName,
    /// Prefetcher of each L2
    #[arg(
        long,
        value_name = "PREFETCHER",
        value_parser = named(PREFETCHERS, |one| (one.name(), one.summary())),
        default_value = PrefetcherName::None.name(),
        requires = "timed",
        hide_short_help = true
    )]
    prefetcher: PrefetcherName,
    /// Branch predictor of each core
    #[arg(
        long,
        value_name = "PREDICTOR",
        value_parser = named(BRANCH_PREDICTORS, |one| (one.name(), one.summary())),
        default_value = BranchPredictorName::None.name(),
        requires = "timed",
        hide_short_help = true
    )]
    branch_predictor: BranchPredictorName,
    /// Number of the machine's cores to use
    ///
    /// Default: all cores of the machine.
    #[arg(long, value_name = "CORES", requires = "timed", hide_short_help = true)]
    cores: Option<u32>,
    /// Cycles from the end of a request to the next request of the connection
    #[arg(
        long,
        value_name = "CYCLES",
        default_value_t = 0,
        requires = "timed",
        hide_short_help = true
    )]
    think_time: u64,
    /// Draw think times from an exponential distribution with mean --think-time
    #[arg(long, requires = "timed", hide_short_help = true)]
    exponential: bool,
    /// Rate at which requests arrive, in requests per million cycles
    ///
    /// Requests then arrive in a Poisson process, whether or not earlier ones have ended. Default:
    /// each connection sends a request when its previous one has ended.
    #[arg(
        long,
        value_name = "RATE",
        requires = "timed",
        conflicts_with_all = ["think_time", "exponential"],
        hide_short_help = true
    )]
    rate: Option<f64>,
    /// Place pages at random in the sets of each L2, as physical memory does, with these seeds
    ///
    /// Each seed, such as of 1,2,3, is a start of the server. Default: the sets of virtual
    /// addresses, as if physical memory was contiguous.
    #[arg(
        long,
        value_name = "SEED",
        value_delimiter = ',',
        requires = "timed",
        hide_short_help = true
    )]
    random_pages: Vec<u64>,
    /// Cost of a hop in cycles
    ///
    /// Default: the machine's hop_cost_cycles, or its busy_hop_cost_cycles for a thread that waited
    /// in the queue of the core.
    #[arg(long, value_name = "CYCLES", requires = "timed")]
    hop_cost: Option<u32>,
    /// Number of requests to count, after those of --warm-up
    ///
    /// Default: as many as the connections have in the trace.
    #[arg(
        long,
        value_name = "REQUESTS",
        requires = "timed",
        hide_short_help = true
    )]
    count: Option<u64>,
    /// Seed of random arrivals, think times, and steals
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        requires = "timed",
        hide_short_help = true
    )]
    seed: u64,
    /// Quantum in cycles: the maximum difference between the clocks of two cores
    #[arg(
        long,
        value_name = "CYCLES",
        default_value_t = QUANTUM_CYCLES,
        requires = "timed",
        hide_short_help = true
    )]
    quantum: u64,
}

/// Returns a parser for the names of these; `describe` returns a name and a summary.
fn named<T: Copy + Default + Send + Sync + 'static>(
    all: &'static [T],
    describe: fn(T) -> (&'static str, &'static str),
) -> impl TypedValueParser<Value = T> {
    let value = move |&one: &T| {
        let (name, summary) = describe(one);
        PossibleValue::new(name).help(summary)
    };
    PossibleValuesParser::new(all.iter().map(value)).map(move |name| {
        let named = all.iter().find(|&&one| describe(one).0 == name);
        named.copied().unwrap_or_default()
    })
}

/// The other options that a timed replay uses.
pub struct Asked<'a> {
    /// The trace to replay.
    pub trace: &'a Path,
    /// The addresses that it is read by.
    pub taken: &'a AddressingOptions,
    /// Whether addresses are translated.
    pub translation: &'a TranslationOptions,
    /// The machine to simulate: a bundled name, `host`, or a file.
    pub machine: &'a str,
    /// The plan that schedulers use.
    pub plan: Option<&'a Path>,
    /// Number of requests that end before counting starts.
    pub warm_up: Option<usize>,
    /// Whether JSON is printed instead of tables.
    pub json: bool,
    /// The available schedulers.
    pub schedulers: &'a [&'static Entry],
}

/// Simulates all settings and prints the results.
pub fn run(arguments: &TimedArguments, asked: &Asked<'_>) -> Result<(), Failure> {
    let schedulers = arguments.schedulers(asked)?;
    machines::tell_host([asked.machine]);
    let mut machine = Machine::named_or_path(asked.machine)?;
    if let Some(cycles) = arguments.hop_cost {
        machine.set_hop_cost(cycles);
    }
    asked.translation.check(std::slice::from_ref(&machine))?;
    let plan = asked.plan.map(corehop_plan::read).transpose()?;
    let trace = asked.taken.open(asked.trace)?;
    let page_sizes = asked.translation.page_sizes(&trace)?;
    let split = plan
        .as_ref()
        .map(|plan| Split::of_plan(plan, &trace).map_err(|error| about(asked.plan, error)));
    let split = split.transpose()?;
    let failed = |error| failure(error, asked);
    let bar = Bar::new();
    let splits: Vec<&Split> = split.iter().collect();
    let model = arguments.core_model;
    let stage = ("code blocks read", trace.execution_count());
    let needs = Needs {
        prefetcher: arguments.prefetcher,
        branch_predictor: arguments.branch_predictor,
    };
    let streams = progress::stage(&bar, stage, |tell| {
        model.streams(&trace, &splits, needs, tell)
    });
    let streams = streams.map_err(failed)?;
    let on = (&machine, split.as_ref(), page_sizes.as_ref());
    let settings = arguments.settings(on, &schedulers, &streams, asked.warm_up);
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
    /// Returns every scheduler with every number of connections, for each placement of pages.
    fn settings<'a>(
        &self,
        (machine, split, page_sizes): (&'a Machine, Option<&'a Split>, Option<&'a PageSizes>),
        schedulers: &[Choice],
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
        let setting = |scheduler, connections, random_pages| Setting {
            machine,
            cores: self.cores.unwrap_or(machine.cores),
            connections,
            repeat_connections: self.repeat_connections,
            split,
            scheduler,
            prefetcher: self.prefetcher,
            branch_predictor: self.branch_predictor,
            page_sizes,
            random_pages,
            load,
            seed: self.seed,
            quantum_cycles: self.quantum,
            warm_up: warm_up.map_or_else(|| streams.requests(connections), |n| n as u64),
            requests: self.count.unwrap_or_else(|| streams.requests(connections)),
        };
        let all = [streams.connections()];
        let connections = match &self.connections[..] {
            [] => &all[..],
            asked => asked,
        };
        let seeds: Vec<Option<u64>> = match &self.random_pages[..] {
            [] => vec![None],
            seeds => seeds.iter().copied().map(Some).collect(),
        };
        let mut settings = Vec::new();
        for seed in seeds {
            for &number in connections {
                let of = |&scheduler: &Choice| setting(scheduler, number, seed);
                settings.extend(schedulers.iter().map(of));
            }
        }
        settings
    }

    fn schedulers(&self, asked: &Asked<'_>) -> Result<Vec<Choice>, Failure> {
        let usual = ["free", "pinned", "split"];
        let names: Vec<&str> = match &self.scheduler[..] {
            [] if asked.plan.is_some() => usual.to_vec(),
            [] => usual[..2].to_vec(),
            named => named.iter().map(String::as_str).collect(),
        };
        let chosen = names.into_iter().map(|name| {
            let choice = Choice::of(asked.schedulers, name);
            choice.map_err(|error| {
                let message = format!("--scheduler: {error}");
                Failure::new(Exit::Usage, message).remedy("`--help` lists the schedulers")
            })
        });
        chosen.collect()
    }
}

/// Returns the failure, with the name of the file that caused it.
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
