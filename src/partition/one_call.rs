//! `corehop partition --one-call`: finds the call of a function at which requests go on on a second
//! core, and writes it as a plan.

use super::asked::{Asked, Judged, deliver, heading};
use super::{comparison, text};
use crate::failure::{Exit, Failure};
use crate::line::{Lines, line};
use crate::progress::Bar;
use corehop_explanations::mark;
use corehop_outputs::Output;
use corehop_partitioner::one_call::{Found, plan_of, search};
use corehop_partitioner::weights::Weighted;
use corehop_plans::Plan;
use corehop_wording::number::counted;
use serde_json::{Value, json};

/// Searches, tells, and keeps the plan unless it gains nothing.
pub fn run(asked: &Asked<'_>, machine: &Weighted) -> Result<(), Failure> {
    if asked.cores != 2 {
        let message = "--one-call searches for two cores";
        return Err(Failure::new(Exit::Usage, message).remedy("say --cores 2"));
    }
    let of = (asked.scope.searched(), asked.scope.seed);
    let wanted = (&asked.scope.rule(), asked.objective);
    let Some(found) = search(asked.trace, machine, of, wanted, &Bar::new())? else {
        let message = format!(
            "{}: no function that can be hooked is called more than once in most requests",
            asked.trace_name
        );
        return Err(
            Failure::new(Exit::Refused, message).remedy("search by function: leave --one-call out")
        );
    };
    let named = (&*machine.machine.name, asked.scope.seed);
    let plan = plan_of(&found, asked.trace, asked.trace_name, named);
    let judged = Judged {
        searched: &found.searched,
        held_out: found.held_out.as_ref(),
        doing: "hopping at one call",
    };
    let (verdict, output) = (judged.verdict(asked, machine), judged.output(asked));
    let said = match asked.json {
        true => Lines::of_json(&json_of(asked, machine, &found, (&plan, &verdict))),
        false => text_of(asked, machine, &found, (output, &verdict)),
    };
    deliver(asked, &plan, output, (&said, &verdict))
}

fn text_of(
    asked: &Asked<'_>,
    machine: &Weighted,
    found: &Found,
    (output, verdict): (Option<&Output>, &str),
) -> Lines {
    let mut lines = heading(asked, machine, &found.train_test);
    let calls = counted(found.tried as u64, "call", "calls");
    line!(
        lines,
        "{:<11} {calls} of functions that lie apart, each replayed, the best taken",
        "candidates"
    );
    line!(lines);
    text::comparison(&mut lines, "on the requests searched", &found.searched, 2);
    if let Some(held_out) = &found.held_out {
        text::comparison(&mut lines, "on requests not searched", held_out, 2);
    }
    let name = |function| name_of(asked, function);
    line!(
        lines,
        "requests begin with {} on core 0, and go on on core 1 at call {} of {}",
        name(found.request),
        found.choice.call,
        name(found.choice.function)
    );
    line!(lines);
    line!(lines, "{:<11} {verdict}", "verdict");
    if let Some(output) = output {
        line!(lines, "{:<11} {}", "plan", output.path().display());
    }
    lines
}

fn name_of<'a>(asked: &Asked<'a>, function: corehop_traces::FunctionId) -> &'a str {
    &asked.trace.functions()[function.index()].name
}

fn json_of(
    asked: &Asked<'_>,
    machine: &Weighted,
    found: &Found,
    (plan, verdict): (&Plan, &str),
) -> Value {
    let judged = found.verdict();
    let mut object = json!({
        "machine": plan.machine,
        "trace": plan.trace,
        "cores": plan.cores,
        "seed": plan.seed,
        "objective": asked.objective,
        "candidates": found.tried,
        "verdict": verdict,
        "searched": comparison::value(&found.searched),
        "held_out": found.held_out.as_ref().map(comparison::value),
        "hops_per_request": judged.hops as f64 / judged.requests as f64,
        "break_even_hop_cycles": judged.break_even_cycles(&machine.machine),
        "name": name_of(asked, found.choice.function),
        "call": found.choice.call,
        "plan": plan.functions,
        "request": plan.request,
    });
    mark(&mut object, asked.trace);
    object
}
