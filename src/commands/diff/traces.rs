//! Compares two traces on one machine, by request, function, thread, and module.
//!
//! Each trace is replayed once. Figures are per request if both traces have requests, because two
//! recordings rarely have the same number. Otherwise figures are totals.

mod functions;

use super::pairs::{BuiltFile, paired};
use super::side::Side;
use crate::commands::replay::about;
use crate::failure::Failure;
use crate::options::addressing::AddressingOptions;
use crate::options::requests::CountedRequests;
use crate::terminal::progress::Bar;
use clap::Args;
use corehop_partitioner::attribution::remarks;
use corehop_partitioner::progress::Progress;
use corehop_plan::Plan;
use corehop_simulator::detail::{ByFunction, replay_by_function};
use corehop_simulator::{Machine, Split};
use corehop_traces::{Module, Trace};
use functions::Functions;
use std::path::{Path, PathBuf};

pub use functions::{FunctionPair, Use};

/// The parts of a comparison that only traces have.
pub struct Traces {
    /// The machine's name.
    pub machine: String,
    /// Number of counted requests.
    pub requests: [u64; 2],
    /// Number of requests that warmed the caches.
    pub warm_up: usize,
    /// Whether figures are per request; otherwise they are totals.
    pub is_per_request: bool,
    /// How the traces were recorded, as sentences.
    pub remarks: Vec<String>,
    /// The accesses and misses of code.
    pub functions: Functions,
    /// Requests that each thread served, if the numbers differ.
    pub threads: Vec<ThreadPair>,
    /// Files of one side only, and files whose build or path differs.
    pub modules: Vec<ModulePair>,
}

/// The number of requests of one thread.
pub struct ThreadPair {
    /// Its number in the trace, from 0.
    pub thread: usize,
    /// The values of A and B; `None` if the trace has fewer threads.
    pub requests: [Option<u64>; 2],
}

/// A file of both traces, or of one.
pub struct ModulePair(pub [Option<Module>; 2]);

impl Traces {
    /// Returns whether none of these parts differ.
    pub fn is_same(&self) -> bool {
        self.functions.is_same() && self.threads.is_empty() && self.modules.is_empty()
    }
}

/// How both traces are replayed.
#[derive(Args)]
pub struct Simulation {
    /// Machine that replays both traces: a bundled name, `host`, or a TOML file
    #[arg(
        long,
        value_name = "NAME|FILE",
        default_value = "xeon-e5-2620-v4",
        help_heading = "Simulation"
    )]
    pub machine: String,
    /// Plan to apply to both traces
    #[arg(long, value_name = "PLAN", help_heading = "Simulation")]
    plan: Option<PathBuf>,
    #[command(flatten)]
    counted: CountedRequests,
    #[command(flatten)]
    taken: AddressingOptions,
}

/// Opens and replays both traces.
pub fn compare(simulation: &Simulation, files: [&Path; 2]) -> Result<([Side; 2], Traces), Failure> {
    let machine = Machine::named_or_path(&simulation.machine)?;
    let plan = simulation.plan.as_deref();
    let plan = plan.map(|path| Ok::<_, Failure>((path, corehop_plan::read(path)?)));
    let plan = plan.transpose()?;
    let [a, b] = files.map(|file| simulation.taken.open(file));
    let traces = [a?, b?];
    let [a, b] = [0, 1].map(|side| {
        let (file, trace) = (files[side], &traces[side]);
        replayed(simulation, (file, trace), &machine, plan.as_ref())
    });
    let replays = [a?, b?];
    let requests = replays.each_ref().map(|of| of.replay.requests);
    let is_per_request = requests.iter().all(|&requests| requests > 0);
    let per = requests.map(|requests| if is_per_request { requests } else { 1 });
    let mut said = remarks(&traces[0]);
    let of_b = remarks(&traces[1]);
    let more: Vec<String> = of_b.into_iter().filter(|of| !said.contains(of)).collect();
    said.extend(more);
    let modules = paired(&built(&traces[0]), &built(&traces[1]));
    let compared = Traces {
        machine: machine.name.clone(),
        requests,
        warm_up: simulation.counted.warm_up,
        is_per_request,
        remarks: said,
        functions: Functions::of([&traces[0], &traces[1]], &replays, per, &modules),
        threads: threads(&traces),
        modules: differing_modules(&traces, &modules),
    };
    let sides = [0, 1].map(|side| {
        let mut of = settings(&traces[side]);
        figures(
            &mut of,
            &replays[side],
            (per[side], is_per_request),
            plan.is_some(),
        );
        of
    });
    Ok((sides, compared))
}

fn replayed(
    simulation: &Simulation,
    (file, trace): (&Path, &Trace),
    machine: &Machine,
    plan: Option<&(&Path, Plan)>,
) -> Result<ByFunction, Failure> {
    let split = match plan {
        None => Split::default(),
        Some((path, plan)) => {
            Split::of_plan(plan, trace).map_err(|error| about(Some(path), error))?
        }
    };
    let bar = Bar::new();
    let progress = |executions| bar.advance(executions);
    let options = simulation.counted.options(trace, &progress);
    bar.begin("code blocks replayed", Some(options.executions(trace)));
    let replay = replay_by_function(trace, machine, &split, &options);
    bar.end();
    replay.map_err(|error| about(Some(file), error))
}

/// Returns what is known about the recording of a trace.
fn settings(trace: &Trace) -> Side {
    let header = trace.header();
    let mut side = Side::default();
    side.set("command", header.command.join(" "));
    side.set("request at", &header.request_at);
    side.set("QEMU", &header.qemu_version);
    side.set("architecture", &header.architecture);
    side.set("processes", trace.process_count());
    side.set("threads", trace.threads().len());
    side
}

/// Adds the totals of a replay. `per` is the number of requests to divide by, and whether to
/// divide.
fn figures(side: &mut Side, of: &ByFunction, per: (u64, bool), with_hops: bool) {
    let counters = &of.replay.counters;
    let (requests, is_per_request) = per;
    side.count("requests", of.replay.requests as f64, 0);
    let mut add = |name: &str, total: u64| {
        let decimals = if is_per_request { 2 } else { 0 };
        side.count(name, total as f64 / requests as f64, decimals);
    };
    add("instructions", of.instructions);
    add("accesses", counters.accesses());
    add("fetches", counters.l1i.accesses());
    add("loads and stores", counters.l1d.accesses());
    add("L1I misses", counters.l1i.misses());
    add("L1D misses", counters.l1d.misses());
    add("L2 misses", counters.l2.misses());
    add("L2 misses of fetches", counters.l2.fetch_misses());
    add("L2 misses of data", counters.l2.data_misses());
    add("L3 misses", counters.l3.misses());
    add("cycles", counters.cycles);
    if with_hops {
        add("hops", of.replay.hops);
    }
}

/// Returns the number of requests that each thread of a trace began.
fn requests_by_thread(trace: &Trace) -> Vec<u64> {
    let mut requests = vec![0; trace.threads().len()];
    for request in trace.requests() {
        requests[request.thread.index()] += 1;
    }
    requests
}

fn threads(traces: &[Trace; 2]) -> Vec<ThreadPair> {
    let [a, b] = traces.each_ref().map(requests_by_thread);
    let pairs = (0..a.len().max(b.len())).map(|thread| ThreadPair {
        thread,
        requests: [a.get(thread).copied(), b.get(thread).copied()],
    });
    pairs
        .filter(|of| of.requests[0] != of.requests[1])
        .collect()
}

fn built(trace: &Trace) -> Vec<BuiltFile<'_>> {
    let modules = trace.modules().iter();
    let files = modules.map(|module| BuiltFile::of(&module.path, &module.build_id));
    files.collect()
}

fn differing_modules(traces: &[Trace; 2], pairs: &[Option<usize>]) -> Vec<ModulePair> {
    let [a, b] = traces.each_ref().map(Trace::modules);
    let of_a = a.iter().zip(pairs);
    let of_a = of_a.map(|(module, pair)| [Some(module), pair.map(|at| &b[at])]);
    let only_b = (0..b.len()).filter(|at| !pairs.contains(&Some(*at)));
    let only_b = only_b.map(|at| [None, Some(&b[at])]);
    let is_same = |pair: &[Option<&Module>; 2]| {
        let [a, b] = pair.map(|of| of.map(|module| (&module.path, &module.build_id)));
        a == b
    };
    let differing = of_a.chain(only_b).filter(|pair| !is_same(pair));
    differing
        .map(|pair| ModulePair(pair.map(|of| of.cloned())))
        .collect()
}
