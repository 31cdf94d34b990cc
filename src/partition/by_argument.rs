//! `corehop partition --by-argument`: finds the function whose calls go to the cores of the objects
//! that they are about, and writes it as a plan.

use super::{comparison, text};
use crate::console;
use crate::failure::{Exit, Failure};
use crate::line::{Lines, line};
use crate::progress::Bar;
use crate::scope::Scope;
use corehop_explanations::{mark, remarks};
use corehop_outputs::{Output, PUBLIC};
use corehop_partitioner::by_argument::{Found, Sought, plan_of, search};
use corehop_partitioner::objective::Objective;
use corehop_partitioner::weights::Weighted;
use corehop_plans::Plan;
use corehop_traces::Trace;
use corehop_wording::number::{change, counted, share};
use serde_json::{Value, json};

/// What is searched, and how the result is told.
pub struct Asked<'a> {
    pub trace: &'a Trace,
    pub trace_name: &'a str,
    pub machines: &'a [Weighted],
    /// On 2 to so many cores.
    pub cores: u32,
    /// What is to be small.
    pub objective: Objective,
    pub scope: &'a Scope,
    pub output: Option<&'a Output>,
    /// The plan is written whatever it gains.
    pub is_forced: bool,
    pub json: bool,
}

/// Searches, tells, and keeps the plan unless it gains nothing.
pub fn run(asked: &Asked<'_>) -> Result<(), Failure> {
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
            "{}: no function's argument is known to be one of several objects",
            asked.trace_name
        );
        return Err(Failure::new(Exit::Refused, message)
            .remedy("search by function: leave --by-argument out"));
    };
    let named = (&*machine.machine.name, asked.scope.seed);
    let plan = plan_of(&found, asked.trace, asked.trace_name, named);
    let pays = ratio(asked, &found).is_some_and(|ratio| ratio < 1.0);
    let output = asked.output.filter(|_| pays || asked.is_forced);
    let is_stdout = |output: Option<&Output>| output.is_some_and(Output::is_standard_output);
    if let Some(output) = output.filter(|_| !is_stdout(asked.output)) {
        output.write(corehop_plans::render(&plan).as_bytes(), PUBLIC)?;
    }
    let said = match asked.json {
        true => Lines::of_json(&json_of(asked, machine, &found, &plan)),
        false => text_of(asked, machine, &found, output),
    };
    match is_stdout(asked.output) {
        true => console::tell(&said),
        false => console::print(&said)?,
    }
    if is_stdout(output) {
        console::print(&Lines::of_text(&corehop_plans::render(&plan)))?;
    }
    match asked.output.is_some() && output.is_none() {
        false => Ok(()),
        true => {
            let message = format!("no plan was written: {}", verdict(asked, machine, &found));
            Err(Failure::new(Exit::Refused, message)
                .remedy("--anyway writes it all the same; try fewer or more --cores"))
        }
    }
}

/// What is to be small beside one core, on requests not searched where there are any.
fn ratio(asked: &Asked<'_>, found: &Found) -> Option<f64> {
    found.verdict().ratio(asked.objective)
}

fn verdict(asked: &Asked<'_>, machine: &Weighted, found: &Found) -> String {
    let judged = found.verdict();
    let requests = counted(judged.requests, "request", "requests");
    let searched = if found.held_out.is_some() {
        "not searched"
    } else {
        "searched"
    };
    let name = asked.objective.name();
    let what = match ratio(asked, found) {
        None => return format!("nothing to gain: no {name} on one core"),
        Some(ratio) if ratio >= 1.0 => {
            return format!("going by data does not pay here: {} {name}", change(ratio));
        }
        Some(ratio) => format!("{} {name} on {requests} {searched}", change(ratio)),
    };
    match judged.break_even_cycles(&machine.machine) {
        None => what,
        Some(cycles) => format!("{what}; pays where a hop costs less than {cycles:.0} cycles"),
    }
}

fn text_of(asked: &Asked<'_>, machine: &Weighted, found: &Found, output: Option<&Output>) -> Lines {
    let mut lines = Lines::new();
    let mut say = |label: &str, what: &str| line!(lines, "{label:<11} {what}");
    let parts = &found.train_test;
    say(
        "trace",
        &format!("{}, machine {}", asked.trace_name, machine.machine.name),
    );
    for remark in remarks(asked.trace) {
        say("", &remark);
    }
    let drawn = format!(
        "{} requests searched (seed {}), {} warm up, {} judge",
        parts.searched.len(),
        asked.scope.seed,
        parts.warm_up.len(),
        parts.held_out.len()
    );
    say("requests", &drawn);
    let tried = format!(
        "{} that are objects, on 2 to {} cores: {} replays, the best taken",
        counted(found.tried as u64, "argument", "arguments"),
        asked.cores,
        found.replays
    );
    say("candidates", &tried);
    line!(lines);
    text::comparison(
        &mut lines,
        "on the requests searched",
        &found.searched,
        found.cores,
    );
    if let Some(held_out) = &found.held_out {
        text::comparison(
            &mut lines,
            "on requests not searched",
            held_out,
            found.cores,
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
    line!(
        lines,
        "{:<11} {}",
        "verdict",
        verdict(asked, machine, found)
    );
    if let Some(output) = output {
        line!(lines, "{:<11} {}", "plan", output.path().display());
    }
    lines
}

fn json_of(asked: &Asked<'_>, machine: &Weighted, found: &Found, plan: &Plan) -> Value {
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
        "verdict": verdict(asked, machine, found),
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
    });
    mark(&mut object, asked.trace);
    object
}
