//! `corehop partition`: finds the split of a trace and writes it as a plan.
//!
//! The search itself is the crate `corehop-partitioner`; this file is its command line, and the
//! folder beside it says the result in words, in JSON and as a plan.

mod asked;
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
mod named;
mod returns;
mod sweep;
mod text;
mod timed;

use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::jobs::Jobs;
use crate::machines;
use crate::one_way;
use crate::progress::Bar;
use crate::scope::Scope;
use crate::taken::Taken;
use asked::Asked;
use by_argument::ByArgument;
use calls::{Beside, Calls};
use checks::{check_functions, machines_of};
use choices::{Aim, By, How, Points, Returns, seconds};
use clap::Args;
use corehop_partitioner::checkpoint::Checkpoint;
use corehop_partitioner::delegation::Delegate;
use corehop_partitioner::fewer::functions;
use corehop_partitioner::kth_calls::for_search;
use corehop_partitioner::plan::SearchResult;
use corehop_partitioner::resamples::{Resample, resample};
use corehop_partitioner::weights::Weighted;
use corehop_partitioner::{Settings, machine_list};
use corehop_support::atomic_file::Output;
use corehop_traces::{FunctionId, Trace};
use delivery::Delivery;
use finished_search::FinishedSearch;
use identity::identity;
use named::Named;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use sweep::MachineSweep;

/// Find the best split of a server over cores.
#[derive(Args)]
#[command(after_help = "\
Example: corehop partition --cores 4 bank.trace -o split.toml
Then:    corehop patch --plan split.toml /usr/sbin/mariadbd -o mariadbd.hop
Calls:   corehop partition --delegate 1 bank.trace -o delegated.toml
By data: corehop partition --cores 2 --by-argument bank.trace -o by-object.toml")]
pub struct Arguments {
    /// The trace to search; the bundled sample (MariaDB under TPC-C) when none is named.
    trace: Option<PathBuf>,
    /// Number of cores to split over.
    #[arg(long, required_unless_present = "delegate")]
    cores: Option<u32>,
    #[command(flatten)]
    calls: Calls,
    /// Number of functions to hop at; with more than cores, several share a core. As many as cores
    /// unless named.
    #[arg(long)]
    functions: Option<u32>,
    /// Take fewer cores where they do as well, within 1 % on requests not searched.
    #[arg(long, conflicts_with_all = ["sweep", "all_requests"])]
    fewer: bool,
    /// Where to write the plan; `-` for standard output (the report then goes to standard error).
    #[arg(short, long, value_name = "PLAN")]
    output: Option<PathBuf>,
    /// Write the plan even when its gain is none, or no larger than the draws lie apart, and in the
    /// place of an existing one.
    #[arg(long)]
    force: bool,
    /// The same, but never replace an existing plan.
    #[arg(long)]
    anyway: bool,
    /// The machine to simulate: a bundled name, `host`, or a TOML file. Several, each perhaps with
    /// a weight, for the plan that is best for all of them, or for a sweep.
    #[arg(
        long,
        value_name = "NAME|FILE[=WEIGHT]",
        value_delimiter = ',',
        default_value = "xeon-e5-2620-v4"
    )]
    machine: Vec<String>,
    /// Search for 2 to --cores cores, on each machine, and say where splitting pays; keeps no plan.
    #[arg(long, conflicts_with = "output")]
    sweep: bool,
    /// What to make small. l3, cycles and throughput take the best of the 50 best splits without
    /// the L3's misses, which are replayed in full; throughput replays the best of these with
    /// clocks.
    #[arg(long, value_enum, default_value_t = Aim::L2)]
    objective: Aim,
    /// How threads will hop, whose cost cycles are then counted with; unless named, the verdict
    /// tells of each.
    #[arg(long, value_enum)]
    backend: Option<By>,
    /// For --objective throughput: connections that share the cores, each always with a request.
    #[arg(long, value_name = "NUMBER", default_value_t = 8,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
    /// For --objective throughput: let connections beyond those of the trace repeat them, on the
    /// same stack and data, so that the best splits are replayed with clocks all the same.
    #[arg(long)]
    repeat_connections: bool,
    /// Search so often, each time on other requests, and say how far the verdicts lie apart; all
    /// but the first time by local search.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    draws: u32,
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    by_argument: ByArgument,
    #[command(flatten)]
    named: Named,
    /// Where threads may change core: at entries of functions; or at any code block, which tells
    /// what that limit costs, and of which no plan can be made.
    #[arg(long, value_enum, default_value_t = Points::Entries)]
    points: Points,
    /// How to search: every split; branch and bound; local search; at random; or whichever of the
    /// first two proves the result at less cost.
    #[arg(long, value_enum, default_value_t = How::Auto)]
    strategy: How,
    /// Whether threads go back when a planned function's call returns: never, not even looked at;
    /// not, but the report says what it would do; or wherever that is better.
    #[arg(long, value_enum, default_value_t = Returns::Tell)]
    returns: Returns,
    /// Stop looking after so many seconds and keep the best so far, as Ctrl-C does. A sweep makes
    /// several searches, as does --fewer where fewer cores do as well: each has so long.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<Duration>,
    /// Keep what the search learns in this file every ten seconds and at its end; with the same
    /// file, a search that was stopped goes on where it was.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    #[command(flatten)]
    taken: Taken,
    #[command(flatten)]
    jobs: Jobs,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Cores used in all.
    fn cores(&self) -> u32 {
        self.cores.unwrap_or_else(|| self.calls.cores())
    }

    /// Whether what is asked has meaning at entries of functions only.
    fn has_use_for_entries(&self) -> bool {
        let goes_back = matches!(self.returns, Returns::Auto) || self.calls.are_asked();
        goes_back
            || self.output.is_some()
            || self.checkpoint.is_some()
            || self.scope.has_kth_calls()
    }

    /// How hops back are looked at.
    fn returns(&self) -> Delegate {
        match self.points {
            Points::Entries => self.returns.delegate(),
            Points::Blocks => Delegate::Never,
        }
    }

    /// The checkpoint named, of this search.
    fn checkpoint(
        &self,
        trace: &Trace,
        machines: &[Weighted],
    ) -> Result<Option<Checkpoint>, Failure> {
        let identity = || identity(trace, machines, &self.scope);
        let open = |path| Checkpoint::open(path, identity());
        Ok(self.checkpoint.as_deref().map(open).transpose()?)
    }

    /// What calls to delegate are asked beside.
    fn beside_calls(&self) -> Beside<'_> {
        Beside {
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
    machines::tell_host(arguments.machine.iter().map(String::as_str));
    let machines = machines_of(&arguments.machine, arguments.cores(), arguments.backend)?;
    check_functions(arguments.functions, arguments.cores())?;
    check_machines(arguments)?;
    arguments.calls.check(&arguments.beside_calls())?;
    // Known before the search: its result must not be lost.
    let output = arguments.output.as_deref();
    let output = output.map(|path| Output::at(path, arguments.force));
    let output = output.transpose()?;
    arguments.jobs.keep_to()?;
    interrupt::listen_for_search(arguments.checkpoint.as_deref())?;
    let (trace, trace_name) = arguments
        .taken
        .open_or_bundled(arguments.trace.as_deref())?;
    let found = search(arguments, &machines, (trace, &trace_name), output.as_ref());
    found.map_err(|failure| failure.of_trace(&trace_name))
}

/// Searches, and delivers what was found.
fn search(
    arguments: &Arguments,
    machines: &[Weighted],
    (trace, trace_name): (Trace, &str),
    output: Option<&Output>,
) -> Result<(), Failure> {
    if arguments.by_argument.is_asked() {
        return search_by_argument(arguments, (&trace, trace_name), machines, output);
    }
    let trace = with_more_points(trace, arguments)?;
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
        backend: arguments.backend.map(By::backend),
        seconds,
    };
    let delivered = deliver(&search, arguments, output);
    checkpoint.map_or(Ok(()), Checkpoint::finish)?;
    delivered
}

/// The trace with functions where the options let threads hop besides entries of functions.
fn with_more_points(mut trace: Trace, arguments: &Arguments) -> Result<Trace, Failure> {
    if arguments.scope.has_kth_calls() {
        trace = for_search(trace, &settings(arguments, None), &Bar::new())?;
    }
    Ok(match arguments.points {
        Points::Blocks => trace.with_a_function_at_every_block(),
        _ => trace,
    })
}

fn search_by_argument(
    arguments: &Arguments,
    (trace, trace_name): (&Trace, &str),
    machines: &[Weighted],
    output: Option<&Output>,
) -> Result<(), Failure> {
    by_argument::run(&Asked {
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

/// This search and those with other seeds, so many in all; without requests to judge them by, only
/// this one.
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

/// Prints the result, and keeps the plan unless too much speaks against it.
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
        false => text::render(search, &plan, delivery.output().map(Output::path)),
    };
    delivery.make(&said)
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
        _ if arguments.points == Points::Blocks && arguments.has_use_for_entries() => usage(
            "--points blocks: in the middle of functions no code is patched, nor do calls begin",
            "leave out --output, --delegate, --checkpoint, --kth-calls and --returns auto",
        ),
        (false, Returns::Auto) if arguments.machine.len() > 1 => usage(
            "--returns auto: hops back are chosen for one machine",
            "name one machine, or leave --returns out",
        ),
        _ => Ok(()),
    }
}
