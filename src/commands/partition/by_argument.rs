//! `corehop partition --by-argument`: finds the function with an argument that points to one of
//! several objects, and runs its calls on the cores of these objects. Writes the result as a plan.

use super::delivery::Delivery;
use super::search_request::{SearchRequest, heading, verdict};
use super::{comparison, text};
use crate::failure::{Exit, Failure};
use crate::options::carriers;
use crate::terminal::line::{Lines, line};
use crate::terminal::progress::Bar;
use clap::Args;
use corehop_partitioner::attribution::mark;
use corehop_partitioner::by_argument::{Found, Sought, plan_of, search};
use corehop_partitioner::weights::Weighted;
use corehop_plan::Plan;
use corehop_support::atomic_file::Output;
use corehop_support::format::number::{counted, share};
use serde_json::{Value, json};

/// The option that requests it.
#[derive(Args)]
pub struct ByArgument {
    /// Search for a function whose calls hop to the core of the object that an argument points to
    ///
    /// The search covers 2 to --cores cores (docs/reference/objects.md).
    #[arg(
        long,
        help_heading = "Search",
        hide_short_help = true,
        conflicts_with_all = ["functions", "fewer", "sweep", "backend", "repeat_connections",
            "draws", "max_calls", "group_within", "strategy", "returns",
            "time_limit", "checkpoint", "delegate", "only", "points"]
    )]
    by_argument: bool,
}

impl ByArgument {
    pub fn is_asked(&self) -> bool {
        self.by_argument
    }
}

/// Searches, prints the result, and writes the plan unless it gains nothing.
pub fn run(asked: &SearchRequest<'_>) -> Result<(), Failure> {
    let [machine] = asked.machines else {
        let message = "--by-argument searches for one machine";
        return Err(Failure::new(Exit::Usage, message).remedy("name one --machine"));
    };
    let sought = Sought {
        cores: asked.cores,
        searched: asked.scope.searched(),
        seed: asked.scope.seed,
        min_share: asked.scope.rule().min_share,
    };
    let objectives = [asked.objective];
    let found = search(asked.trace, machine, &sought, &objectives, &Bar::new())?;
    let Some(found) = found.into_iter().next() else {
        let message = format!(
            "{}: no argument of a function points to one of several objects",
            asked.trace_name
        );
        return Err(Failure::new(Exit::Refused, message)
            .remedy("search by function: leave --by-argument out"));
    };
    let named = (&*machine.machine.name, asked.scope.seed);
    let plan = plan_of(&found, asked.trace, asked.trace_name, named);
    let (verdict, pays) = verdict(asked, machine, (&found.searched, found.held_out.as_ref()));
    let is_refused = asked.output.is_some() && !pays && !asked.is_forced;
    let remedy = "try other --cores or --machine, or write it anyway with --ignore-verdict";
    let delivery = Delivery {
        plan: &plan,
        asked: asked.output,
        against: is_refused.then(|| (verdict.clone(), remedy)),
    };
    let said = match asked.json {
        true => Lines::of_json(&json_of(asked, machine, &found, (&plan, &verdict))),
        false => text_of(asked, machine, &found, (delivery.output(), &verdict)),
    };
    delivery.make(&said)
}

fn text_of(
    asked: &SearchRequest<'_>,
    machine: &Weighted,
    found: &Found,
    (output, verdict): (Option<&Output>, &str),
) -> Lines {
    let mut lines = heading(asked, machine, &found.train_test);
    let tried = format!(
        "{} that are objects, on 2 to {} cores: {} replays, the best taken",
        counted(found.tried as u64, "argument", "arguments"),
        asked.cores,
        found.replays
    );
    line!(lines, "{:<11} {tried}", "candidates");
    line!(lines);
    text::comparison(
        &mut lines,
        "searched",
        &found.searched,
        (&machine.machine, found.cores),
    );
    if let Some(held_out) = &found.held_out {
        text::comparison(
            &mut lines,
            "not searched",
            held_out,
            (&machine.machine, found.cores),
        );
    }
    let one = &found.argument;
    let name = &asked.trace.functions()[one.function.index()].name;
    line!(
        lines,
        "{name} goes by {}: {} objects, known of {} of its calls, on {} cores",
        found.by(),
        one.objects,
        share(one.known, one.calls, 1),
        found.cores
    );
    line!(lines);
    line!(lines, "{:<11} {verdict}", "verdict");
    if let Some(output) = output {
        line!(lines, "{:<11} {}", "plan", output.path().display());
    }
    lines
}

fn json_of(
    asked: &SearchRequest<'_>,
    machine: &Weighted,
    found: &Found,
    (plan, verdict): (&Plan, &str),
) -> Value {
    let judged = found.verdict();
    let one = &found.argument;
    let mut object = json!({
        "machine": plan.machine,
        "trace": plan.trace,
        "cores": plan.cores,
        "seed": plan.seed,
        "objective": asked.objective,
        "candidates": found.tried,
        "replays": found.replays,
        "verdict": verdict,
        "searched": comparison::value(&found.searched),
        "held_out": found.held_out.as_ref().map(comparison::value),
        "hops_per_request": judged.hops as f64 / judged.requests as f64,
        "break_even_hop_cycles": judged.break_even_cycles(&machine.machine),
        "name": asked.trace.functions()[one.function.index()].name,
        "calls": one.calls,
        "known": one.known,
        "objects": one.objects,
        "after": found.after,
        "plan": plan.functions,
        "request": plan.request,
        "carriers": carriers::value(&carriers::of_trace(asked.trace)),
    });
    mark(&mut object, asked.trace);
    object
}
