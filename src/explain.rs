//! `corehop explain`: why a plan does what it does.
//!
//! `corehop replay --plan` says how much a plan changes; this says where: what each core runs and
//! holds, what cores take from each other, which functions miss less or more than on one core, and
//! what each hop is worth beside its alternatives. All figures are of one set of requests, by
//! default the second half of the trace after the first has warmed the caches.

pub mod json;
mod text;

use crate::console;
use crate::failure::{Exit, Failure};
use crate::jobs::Jobs;
use crate::line::Lines;
use crate::partition::machines::first;
use crate::progress::Bar;
use crate::sample;
use clap::Args;
use corehop_partitioner::alternatives::{Alternatives, PlannedFunction, alternatives};
use corehop_partitioner::candidates::{CandidateRule, Candidates};
use corehop_partitioner::progress::Progress;
use corehop_partitioner::requests::complete;
use corehop_partitioner::throughput::requests_per_cycle;
use corehop_plans::Plan;
use corehop_simulator::detail::{Detail, Segments, replay_in_detail};
use corehop_simulator::{Counters, Machine, Replay, ReplayOptions, Split};
use corehop_traces::Trace;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Say why a plan does what it does
#[derive(Args)]
#[command(after_help = "Example: corehop explain --plan split.toml bank.trace")]
pub struct Arguments {
    /// A trace of the server; the bundled sample (MariaDB under TPC-C) when none is named.
    trace: Option<PathBuf>,
    /// The plan to explain
    #[arg(long, value_name = "PLAN")]
    plan: PathBuf,
    /// The machine to simulate: a bundled name, `host`, or a TOML file. Default: the plan's
    #[arg(long, value_name = "NAME|FILE")]
    machine: Option<String>,
    /// Let so many requests run before counting starts. Default: half of them
    #[arg(long, value_name = "REQUESTS")]
    warm_up: Option<usize>,
    /// How many functions the tables of functions have
    #[arg(long, value_name = "FUNCTIONS", default_value_t = 10)]
    top: usize,
    #[command(flatten)]
    jobs: Jobs,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// What to explain.
pub struct Question<'a> {
    pub trace: &'a Trace,
    pub trace_name: &'a str,
    pub machine: &'a Machine,
    pub plan: &'a Plan,
    /// Where the plan was read from.
    pub plan_path: &'a Path,
    /// In requests; half of them where none is named.
    pub warm_up: Option<usize>,
    /// Whether to replay the plan's neighbours, which takes longer than all else.
    pub neighbours: bool,
}

/// All that is known of a plan.
pub struct Explanation<'a> {
    pub trace: &'a Trace,
    pub trace_name: &'a str,
    pub machine: &'a Machine,
    pub plan: &'a Plan,
    pub split: Split,
    pub placed: Vec<PlannedFunction>,
    /// What was replayed; those that warm up come first.
    pub requests: Vec<u32>,
    pub warm_up: usize,
    pub before: (Replay, Detail),
    pub after: (Replay, Detail),
    /// Empty where nobody asked.
    pub alternatives: Vec<Alternatives>,
}

/// A function's counters on one core and with the plan.
pub struct Mover {
    pub name: String,
    pub before: Counters,
    pub after: Counters,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.jobs.keep_to()?;
    let plan = corehop_plans::read(&arguments.plan)?;
    let machine = machine_of(&plan, arguments.machine.as_deref())?;
    let (trace, trace_name) = sample::open_or_bundled(arguments.trace.as_deref())?;
    let question = Question {
        trace: &trace,
        trace_name: &trace_name,
        machine: &machine,
        plan: &plan,
        plan_path: &arguments.plan,
        warm_up: arguments.warm_up,
        neighbours: true,
    };
    let explanation = question.answer(&Bar::new())?;
    match arguments.json {
        true => console::print(&Lines::of_json(&json::render(&explanation, arguments.top)))?,
        false => console::print(&text::render(&explanation, arguments.top))?,
    }
    Ok(())
}

/// The machine named, or else the one that the plan was searched on.
pub fn machine_of(plan: &Plan, named: Option<&str>) -> Result<Machine, Failure> {
    let planned = first(&plan.machine).0;
    Ok(Machine::named_or_path(named.unwrap_or(planned))?)
}

impl<'a> Question<'a> {
    /// Replays what it takes.
    pub fn answer(&self, bar: &Bar) -> Result<Explanation<'a>, Failure> {
        let (trace, machine) = (self.trace, self.machine);
        let about_plan = |error: corehop_simulator::Error| {
            let message = format!("{}: {error}", self.plan_path.display());
            Failure::new(Exit::Input, message).explained()
        };
        let split = Split::from_plan(self.plan, trace.modules(), trace.functions());
        let split = split.map_err(about_plan)?;
        let complete = complete(trace.requests());
        let warm_up = self.warm_up.unwrap_or(complete.len() / 2);
        let options = ReplayOptions {
            requests: Some(complete.clone()),
            warm_up_requests: warm_up,
            progress: None,
        };
        let placed = placed(&split);
        bar.begin("replaying in detail", None);
        let tell =
            |split: &Split| replay_in_detail(trace, machine, split, &Segments::default(), &options);
        let (before, after) = rayon::join(|| tell(&Split::default()), || tell(&split));
        bar.end();
        let after = after.map_err(about_plan)?;
        let alternatives = match self.neighbours {
            false => Vec::new(),
            true => {
                let candidates = Candidates::of(trace, &complete, &CandidateRule::default())?;
                let others = others(&candidates, &placed);
                alternatives(trace, machine, &placed, &others, &options, bar)?
            }
        };
        Ok(Explanation {
            trace,
            trace_name: self.trace_name,
            machine,
            plan: self.plan,
            split,
            placed,
            requests: complete,
            warm_up,
            before: before?,
            after,
            alternatives,
        })
    }
}

/// The functions of a split, by core.
fn placed(split: &Split) -> Vec<PlannedFunction> {
    let place = |function| {
        Some(PlannedFunction {
            function,
            core: split.core_of(function)?,
            delegated: split.delegates(function),
        })
    };
    let mut placed: Vec<PlannedFunction> = split.functions().filter_map(place).collect();
    placed.sort_unstable_by_key(|placed| (placed.core, placed.function));
    placed
}

/// One candidate of each group that no planned function belongs to: hopping at another of a planned
/// function's group is the same split.
pub fn others(candidates: &Candidates, placed: &[PlannedFunction]) -> Vec<u32> {
    let planned = |function| placed.iter().any(|placed| placed.function == function);
    let mut taken = vec![false; candidates.groups as usize];
    for candidate in candidates.chosen.iter().filter(|c| planned(c.function)) {
        taken[candidate.group as usize] = true;
    }
    let groups = candidates.representatives().into_iter().zip(taken);
    let free = groups.filter(|(_, taken)| !taken);
    free.map(|(function, _)| function).collect()
}

/// Numbers of connections that throughput is told for.
const CONNECTIONS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Requests in a million cycles.
pub struct Throughput {
    pub connections: u32,
    /// Each connection on one of the plan's cores, without a split.
    pub before: f64,
    pub after: f64,
}

impl Explanation<'_> {
    /// What connections that always have a request would get from the plan's cores.
    pub fn throughputs(&self) -> Vec<Throughput> {
        let ((before, _), (after, _)) = (&self.before, &self.after);
        let a_request = |cycles: u64| cycles as f64 / after.requests.max(1) as f64;
        let cores = after.per_core.iter();
        let demands: Vec<f64> = cores.map(|core| a_request(core.cycles)).collect();
        let most = CONNECTIONS[CONNECTIONS.len() - 1];
        let split = requests_per_cycle(&demands, most);
        let alone = a_request(before.counters.cycles).max(1.0);
        let of = |&connections: &u32| Throughput {
            connections,
            before: f64::from(connections.min(self.plan.cores)) * 1e6 / alone,
            after: split[connections as usize - 1] * 1e6,
        };
        CONNECTIONS.iter().map(of).collect()
    }

    /// Of the splits that differ from the plan in one function, the one with the fewest L2 misses:
    /// that function, the one in its place, and the replay. `None` where there is no other to take.
    pub fn runner_up(&self) -> Option<(u32, u32, &Replay)> {
        let exchanged = self.alternatives.iter().filter_map(|of| {
            let (other, replay) = of.exchanged.as_ref()?;
            Some((of.function, *other, replay))
        });
        exchanged.min_by_key(|(.., replay)| replay.counters.l2.misses())
    }

    pub fn name(&self, function: u32) -> &str {
        &self.trace.functions()[function as usize].name
    }

    /// Functions by how much the plan changes their L2 misses, the largest change first.
    pub fn movers(&self) -> Vec<Mover> {
        let mut by_owner = HashMap::<String, [Counters; 2]>::new();
        for (side, (_, detail)) in [&self.before, &self.after].into_iter().enumerate() {
            for function in &detail.functions {
                let owner = crate::name::of_owner(self.trace, function.owner);
                by_owner.entry(owner).or_default()[side] += function.cost.counters;
            }
        }
        let mover = |(name, [before, after]): (String, [Counters; 2])| Mover {
            name,
            before,
            after,
        };
        let mut movers: Vec<Mover> = by_owner.into_iter().map(mover).collect();
        movers.sort_by_cached_key(|mover| {
            let [before, after] = [&mover.before, &mover.after].map(|c| c.l2.misses());
            (
                std::cmp::Reverse(before.abs_diff(after)),
                mover.name.clone(),
            )
        });
        movers
    }
}
