//! `corehop partition`: finds the split of a trace and writes it as a plan.
//!
//! The crate `corehop-partitioner` searches; this file is its command line. The folder `partition`
//! writes the result as text, as JSON, and as a plan.

mod backends;
mod by_argument;
mod calls;
mod checks;
mod choices;
mod comparison;
mod delegated;
mod delivery;
mod doubts;
mod finished_search;
mod identity;
mod json;
mod looked_for;
mod request_selection;
mod returns;
mod search_request;
mod sweep;
mod text;
mod timed;

use crate::failure::{Exit, Failure};
use crate::one_way;
use crate::options::addressing::AddressingOptions;
use crate::options::jobs::Jobs;
use crate::options::machines;
use crate::options::scope::{MoreFunctions, Scope};
use crate::options::streams;
use crate::terminal::interrupt;
use crate::terminal::progress::Bar;
use by_argument::ByArgument;
use calls::{Calls, DelegationContext};
use checks::{check_functions, machines_of};
use choices::{BackendName, HopSites, ObjectiveName, Returns, StrategyName};
use clap::Args;
use corehop_partitioner::checkpoint::Checkpoint;
use corehop_partitioner::delegation::Delegate;
use corehop_partitioner::fewer::functions;
use corehop_partitioner::plan::SearchResult;
use corehop_partitioner::resamples::{Resample, resample};
use corehop_partitioner::weights::Weighted;
use corehop_partitioner::{Settings, machine_list};
use corehop_support::atomic_file::Output;
use corehop_support::quantity::duration::seconds;
use corehop_traces::{FunctionId, RequestId, Trace};
use delivery::Delivery;
use finished_search::FinishedSearch;
use identity::identity;
use request_selection::RequestSelection;
use search_request::SearchRequest;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sweep::MachineSweep;

/// Search for the best split of a server over cores, and write it as a plan
///
/// A split is a set of functions at whose entries threads migrate to another core. The search
/// replays a sample of requests on a simulated machine. It evaluates the result on held-out
/// requests, and reports the evidence for and against it.
///
/// With --output it writes the plan. It refuses with exit code 5 if the gain does not exceed the
/// noise, or if the plan takes more cycles than one core, whichever backend makes the hops.
///
/// --delegate searches for delegated calls: functions whose calls run on another core and come
/// back. docs/reference/search.md describes the strategies and all figures.
#[derive(Args)]
#[command(after_help = "\
Example: corehop partition --cores 4 bank.trace -o split.toml
Then:    corehop patch --plan split.toml /usr/sbin/mariadbd -o mariadbd.hop
Calls:   corehop partition --delegate 1 bank.trace -o delegated.toml
By data: corehop partition --cores 2 --by-argument bank.trace -o by-object.toml")]
pub struct Arguments {
    /// Trace to search; default: the bundled sample (MariaDB under TPC-C)
    trace: Option<PathBuf>,
    /// Number of cores to split over; required unless --delegate is used
    #[arg(long, required_unless_present = "delegate", help_heading = "Search")]
    cores: Option<u32>,
    #[command(flatten)]
    calls: Calls,
    /// Number of functions to hop at
    ///
    /// With more functions than cores, several share a core. Default: as many as cores.
    #[arg(long, help_heading = "Search", hide_short_help = true)]
    functions: Option<u32>,
    /// Use fewer cores if the result on held-out requests is within 1 %
    #[arg(
        long,
        conflicts_with_all = ["sweep", "all_requests"],
        help_heading = "Search",
        hide_short_help = true
    )]
    fewer: bool,
    /// File for the plan; `-` for standard output
    ///
    /// With `-` the report goes to standard error. Default: no plan is written.
    #[arg(short, long, value_name = "PLAN", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write the plan even if the evidence is against it, and replace an existing file
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Write the plan even if the evidence is against it, but never replace an existing file
    #[arg(
        long = "ignore-verdict",
        alias = "anyway",
        help_heading = "Output",
        hide_short_help = true
    )]
    anyway: bool,
    /// Machines to simulate: bundled names, `host`, or TOML files, each with an optional weight
    ///
    /// For the machine that corehop runs on, use `host`. With several machines, the search finds
    /// the plan that is best for all of them by their weights. The default weight is 1. With
    /// --sweep it searches for each machine separately.
    #[arg(
        long,
        value_name = "NAME|FILE[=WEIGHT]",
        value_delimiter = ',',
        default_value = "xeon-e5-2620-v4",
        help_heading = "Simulation"
    )]
    machine: Vec<String>,
    /// Search for 2 to --cores cores on each machine, and report where a split gains
    ///
    /// It prints a table and writes no plan.
    #[arg(long, conflicts_with = "output", help_heading = "Search")]
    sweep: bool,
    /// Objective to minimize
    ///
    /// The search first ranks splits by the private caches of each core. Then it replays the best
    /// in full: 50 for l3, cycles, and throughput, and 5 for the others.
    #[arg(
        long,
        value_enum,
        default_value_t = ObjectiveName::L2,
        help_heading = "Search"
    )]
    objective: ObjectiveName,
    /// Backend whose hop cost is counted in all cycles
    ///
    /// Default: the machine's hop cost; the verdict reports each backend.
    #[arg(long, value_enum, help_heading = "Simulation", hide_short_help = true)]
    backend: Option<BackendName>,
    /// For --objective throughput: number of connections that share the cores
    ///
    /// Each connection always has a request outstanding.
    #[arg(long, value_name = "NUMBER", default_value_t = 8, help_heading = "Simulation",
          hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
    /// For --objective throughput: let connections beyond those of the trace repeat them
    ///
    /// A repeated connection has the same stack and data. Without this option, the search skips the
    /// timed replay of the best splits if the trace has too few connections.
    #[arg(long, help_heading = "Simulation", hide_short_help = true)]
    repeat_connections: bool,
    /// Number of searches, each on another random sample of the requests
    ///
    /// The plan is that of the first search. The report shows how much the verdicts differ. Unless
    /// --strategy selects another one, the other searches are local searches.
    #[arg(long = "resamples", alias = "draws", value_name = "NUMBER", default_value_t = 3,
          help_heading = "Search", hide_short_help = true,
          value_parser = clap::value_parser!(u32).range(1..))]
    draws: u32,
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    by_argument: ByArgument,
    #[command(flatten)]
    named: RequestSelection,
    /// Where threads may hop
    #[arg(
        long,
        value_enum,
        default_value_t = HopSites::Entries,
        help_heading = "Search",
        hide_short_help = true
    )]
    points: HopSites,
    /// How to search
    #[arg(
        long,
        value_enum,
        default_value_t = StrategyName::Auto,
        help_heading = "Search",
        hide_short_help = true
    )]
    strategy: StrategyName,
    /// Whether threads hop back when the call of a planned function returns
    #[arg(
        long,
        value_enum,
        default_value_t = Returns::Tell,
        help_heading = "Search",
        hide_short_help = true
    )]
    returns: Returns,
    /// Time after which a search ends with the best result so far, in seconds or with a unit, such
    /// as 10m
    ///
    /// Ctrl-C does the same at any time. With --sweep or --fewer, the limit applies to each search.
    /// Default: no limit.
    #[arg(
        long,
        value_name = "TIME",
        value_parser = seconds,
        help_heading = "Search"
    )]
    time_limit: Option<Duration>,
    /// File for the state of the search, to resume it later
    ///
    /// The search writes it every 10 s and at the end. To resume, start the same search with the
    /// same file.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Search",
        hide_short_help = true
    )]
    checkpoint: Option<PathBuf>,
    #[command(flatten)]
    taken: AddressingOptions,
    #[command(flatten)]
    jobs: Jobs,
    /// Print one JSON object instead of the table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Arguments {
    /// Returns the total number of cores.
    fn cores(&self) -> u32 {
        self.cores.unwrap_or_else(|| self.calls.cores())
    }

    /// Returns whether an option was given that is only valid for hops at function entries.
    fn has_use_for_entries(&self) -> bool {
        let goes_back = matches!(self.returns, Returns::Auto) || self.calls.are_asked();
        goes_back || self.output.is_some() || self.checkpoint.is_some()
    }

    /// Returns how to search for hops back.
    fn returns(&self) -> Delegate {
        match self.points {
            HopSites::Entries => self.returns.delegate(),
            HopSites::Blocks => Delegate::Never,
        }
    }

    /// Opens the checkpoint of this search, if one is given.
    fn checkpoint(
        &self,
        trace: &Trace,
        machines: &[Weighted],
    ) -> Result<Option<Checkpoint>, Failure> {
        let identity = || identity(trace, machines, &self.scope);
        let open = |path| Checkpoint::open(path, identity());
        Ok(self.checkpoint.as_deref().map(open).transpose()?)
    }

    /// Returns the options that matter for delegated calls.
    fn beside_calls(&self) -> DelegationContext<'_> {
        DelegationContext {
            cores: self.cores,
            functions: self.functions,
            scope: &self.scope,
            objective: self.objective,
            strategy: self.strategy,
            returns: self.returns,
        }
    }
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    run_with(arguments, None)
}

/// Runs the subcommand with additional functions that are not in the trace.
pub fn run_with(arguments: &Arguments, more: Option<MoreFunctions<'_>>) -> Result<(), Failure> {
    machines::tell_host(arguments.machine.iter().map(String::as_str));
    let machines = machines_of(&arguments.machine, arguments.cores(), arguments.backend)?;
    check_functions(arguments.functions, arguments.cores())?;
    check_machines(arguments)?;
    if more.is_some() {
        check_more(arguments)?;
    }
    arguments.calls.check(&arguments.beside_calls())?;
    // Checked before the search, so that its result is not lost.
    let output = arguments.output.as_deref();
    if let Some(output) = output {
        let machines = arguments.machine.iter().map(Path::new);
        streams::keep(
            arguments.trace.as_deref().into_iter().chain(machines),
            output,
        )?;
        streams::one_document(arguments.json, output)?;
    }
    streams::distinct(output.into_iter().chain(arguments.checkpoint.as_deref()))?;
    let output = output.map(|path| Output::at(path, arguments.force));
    let output = output.transpose()?;
    arguments.jobs.keep_to()?;
    interrupt::listen_for_search(arguments.checkpoint.as_deref())?;
    let (trace, trace_name) = arguments
        .taken
        .open_or_bundled(arguments.trace.as_deref())?;
    let searched = with_more(trace, arguments, more);
    let found = searched
        .and_then(|trace| search(arguments, &machines, (trace, &trace_name), output.as_ref()));
    found.map_err(|failure| failure.of_trace(&trace_name))
}

/// Adds more functions to the trace, if there are any.
fn with_more(
    trace: Trace,
    arguments: &Arguments,
    more: Option<MoreFunctions<'_>>,
) -> Result<Trace, Failure> {
    let Some(more) = more else {
        return Ok(trace);
    };
    let settings = settings(arguments, None);
    let train_test = settings.train_test_split(&trace)?;
    let learning: Vec<RequestId> = train_test.training().collect();
    more(trace, &learning, &settings.rule)
}

/// Searches, and writes the result.
fn search(
    arguments: &Arguments,
    machines: &[Weighted],
    (trace, trace_name): (Trace, &str),
    output: Option<&Output>,
) -> Result<(), Failure> {
    if arguments.by_argument.is_asked() {
        return search_by_argument(arguments, (&trace, trace_name), machines, output);
    }
    let trace = match arguments.points {
        HopSites::Blocks => trace.with_a_function_at_every_block(),
        HopSites::Entries => trace,
    };
    let named = arguments.named.requests(&trace)?;
    let checkpoint = arguments.checkpoint(&trace, machines)?;
    let looks_for_returns = arguments.returns().is_asked() || arguments.calls.are_asked();
    let one_way = match looks_for_returns && !arguments.sweep {
        true => one_way::known(&trace),
        false => Vec::new(),
    };
    let never: Vec<FunctionId> = one_way.iter().map(|(function, _)| *function).collect();
    let mut settings = settings(arguments, checkpoint.as_ref());
    settings.one_way = &never;
    settings.only = arguments.named.only(&named);
    let bar = Bar::new();
    if arguments.sweep {
        let sweep = MachineSweep {
            machines,
            trace: &trace,
            trace_name,
            settings: &settings,
            functions: arguments.functions,
        };
        sweep.print(arguments.json, &bar)?;
        return checkpoint.map_or(Ok(()), |checkpoint| Ok(checkpoint.finish()?));
    }
    let started = Instant::now();
    let mut outcome = corehop_partitioner::partition(&trace, machines, &settings, &bar)?;
    if let Some(fewer) = outcome.as_good_with_fewer(settings.objective)
        && arguments.fewer
    {
        settings.functions = functions(fewer.cores, (settings.functions, settings.cores));
        settings.cores = fewer.cores;
        outcome = corehop_partitioner::partition(&trace, machines, &settings, &bar)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    let result = SearchResult {
        machines,
        trace_name,
        trace: &trace,
        settings: &settings,
        outcome: &outcome,
    };
    let search = FinishedSearch {
        draws: draws(&result, arguments.draws, &bar)?,
        result,
        one_way: &one_way,
        backend: arguments.backend.map(BackendName::backend),
        seconds,
    };
    let delivered = deliver(&search, arguments, output);
    checkpoint.map_or(Ok(()), Checkpoint::finish)?;
    delivered
}

fn search_by_argument(
    arguments: &Arguments,
    (trace, trace_name): (&Trace, &str),
    machines: &[Weighted],
    output: Option<&Output>,
) -> Result<(), Failure> {
    by_argument::run(&SearchRequest {
        trace,
        trace_name,
        machines,
        cores: arguments.cores(),
        objective: arguments.objective.objective(arguments.connections),
        scope: &arguments.scope,
        output,
        is_forced: arguments.anyway || arguments.force,
        json: arguments.json,
    })
}

/// Returns this search and those with other seeds, `number` in total; only this one without
/// held-out requests.
fn draws(result: &SearchResult<'_>, number: u32, bar: &Bar) -> Result<Vec<Resample>, Failure> {
    let SearchResult {
        machines,
        trace,
        settings,
        outcome,
        ..
    } = *result;
    let (seed, objective) = (settings.seed, settings.objective);
    let mut draws = vec![Resample::of(seed, &outcome.evaluated, objective)];
    if outcome.evaluated.held_out.is_some() {
        let more = number - 1;
        draws.extend(resample(trace, machines, settings, outcome, more, bar)?);
    }
    Ok(draws)
}

fn settings<'a>(arguments: &Arguments, checkpoint: Option<&'a Checkpoint>) -> Settings<'a> {
    Settings {
        cores: arguments.cores(),
        functions: arguments.functions.unwrap_or(arguments.cores()),
        searched: arguments.scope.searched(),
        only: None,
        rule: arguments.calls.rule(&arguments.beside_calls()),
        seed: arguments.scope.seed,
        objective: arguments.objective.objective(arguments.connections),
        repeat_connections: arguments.repeat_connections,
        strategy: arguments.strategy.strategy(),
        delegated_calls: arguments.calls.wanted(&arguments.beside_calls()),
        delegate: arguments.returns(),
        one_way: &[],
        time_limit: arguments.time_limit,
        evaluate_held_out: true,
        compare_fewer: !arguments.sweep && !arguments.calls.are_asked(),
        checkpoint,
    }
}

/// Prints the result, and writes the plan unless the evidence is against it.
fn deliver(
    search: &FinishedSearch<'_>,
    arguments: &Arguments,
    asked: Option<&Output>,
) -> Result<(), Failure> {
    let plan = search.plan();
    let is_forced = arguments.anyway || arguments.force;
    let against = doubts::against(search).filter(|_| asked.is_some() && !is_forced);
    let delivery = Delivery {
        plan: &plan,
        asked,
        against,
    };
    let said = match arguments.json {
        true => json::render(search, &plan),
        false => text::render(search, &delivery),
    };
    delivery.make(&said)
}

/// Refuses options that apply only to functions of the trace.
fn check_more(arguments: &Arguments) -> Result<(), Failure> {
    let refused = [
        (arguments.by_argument.is_asked(), "--by-argument"),
        (arguments.calls.are_asked(), "--delegate"),
        (arguments.points == HopSites::Blocks, "--points blocks"),
    ];
    match refused.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, option)) => {
            let message = format!("{option} supports only functions of the trace");
            let remedy = format!("leave {option} out, or use `corehop partition`");
            Err(Failure::new(Exit::Usage, message).remedy(remedy))
        }
        None => Ok(()),
    }
}

fn check_machines(arguments: &Arguments) -> Result<(), Failure> {
    let usage = |message: &str, remedy: &str| {
        let failure = Failure::new(Exit::Usage, message);
        Err(failure.remedy(remedy))
    };
    match (arguments.sweep, arguments.returns) {
        (true, _) if machine_list::has_weights(&arguments.machine) => usage(
            "--sweep searches each machine separately, so weights have no effect",
            "leave the weights out",
        ),
        _ if arguments.points == HopSites::Blocks && arguments.has_use_for_entries() => usage(
            "--points blocks: code within functions cannot be patched, and is no start of a call",
            "leave out --output, --delegate, --checkpoint and --returns auto",
        ),
        (false, Returns::Auto) if arguments.machine.len() > 1 => usage(
            "--returns auto: hops back are chosen for one machine",
            "name one machine, or leave --returns out",
        ),
        _ => Ok(()),
    }
}
