//! `corehop measure`: measures on the real machine whether a plan or asynchronous system calls make
//! a server faster.
//!
//! The crate `corehop-measure` measures; `arguments` is the command line.

mod arguments;
mod cpus;
mod json;
mod predicted;
mod result;
mod text;

pub use arguments::Arguments;

use crate::failure::{Exit, Failure};
use crate::measuring::{Shown, cut_short};
use crate::plan_to_hook::plan_to_hook;
use crate::terminal::console;
use crate::terminal::interrupt;
use crate::terminal::line::Lines;
use corehop_measure::machine::counters;
use corehop_measure::rounds::{Verdict, take_turns};
use corehop_measure::server::Backend;
use corehop_measure::{Setup, Trials};
use corehop_plan::Plan;
use corehop_support::format::number::change;
use predicted::Prediction;
use result::Report;

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let plan = match (&arguments.plan, &arguments.patched) {
        (Some(plan), None) => Some(plan_to_hook(plan)?),
        // The server is hooked already.
        (Some(plan), Some(_)) => Some(corehop_plan::read(plan)?),
        (None, _) => None,
    };
    let prediction = match &plan {
        Some(plan) => {
            check(arguments, plan)?;
            cpus::check(plan)?;
            Prediction::prepare(arguments, plan)?
        }
        None => Prediction::none(),
    };
    let counters = counters::available();
    interrupt::listen()?;
    let (under, observer) = (
        arguments.under.under_load(),
        Shown::of(vec!["patched".into()]),
    );
    let setup = Setup {
        under: &under,
        command: &arguments.command,
        system_calls: arguments.system_calls.as_deref(),
        patched: arguments.patched.as_deref(),
        count: arguments.count.as_deref(),
        backend: Backend::here(),
        kinds: counters.as_deref().unwrap_or_default(),
        observer: &observer,
    };
    let rounds = take_turns(&Trials::new(setup, plan.as_ref())?, &arguments.limits())?;
    let predicted = prediction.with_hops_of(rounds.hop_ns())?;
    let report = Report {
        comparison: rounds.comparison(),
        predicted,
        arguments,
        plan: plan.as_ref(),
        rounds,
        counters,
    };
    match arguments.json {
        true => console::print(&Lines::of_json(&json::render(&report)))?,
        false => console::print(&text::render(&report))?,
    }
    report
        .doubt()
        .into_iter()
        .for_each(|doubt| console::warn(&doubt));
    if report.rounds.why_cut_short().is_none() {
        return verdict(&report);
    }
    let error = report.rounds.into_why_cut_short();
    error.map_or(Ok(()), |error| Err(cut_short(error, "they are above")))
}

/// Returns the exit code for scripts: whether the gain is as required, and whether there is a loss.
fn verdict(report: &Report<'_>) -> Result<(), Failure> {
    let comparison = &report.comparison;
    if let Some(percent) = report.arguments.require_gain
        && !comparison.gains(percent)
    {
        let low = (comparison.low - 1.0) * 100.0;
        let message = format!("required gain: {percent} %; the interval begins at {low:.1} %");
        return Err(Failure::new(Exit::Findings, message)
            .remedy("more --rounds narrow the interval; if the gain is small, keep the original"));
    }
    match comparison.verdict() {
        Verdict::Slower => {
            let loss = change(comparison.ratio);
            let message = format!("the patched server is slower: {loss}");
            Err(Failure::new(Exit::Slower, message).remedy(
                "keep the original, or start the patched one with COREHOP_BACKEND=auto, which \
                 hops only while that makes it faster",
            ))
        }
        Verdict::Faster | Verdict::NoDifference | Verdict::Inconclusive => Ok(()),
    }
}

fn check(arguments: &Arguments, plan: &Plan) -> Result<(), Failure> {
    let Some(symbol) = &arguments.count else {
        return Ok(());
    };
    let planned: Vec<&str> = plan.functions.iter().map(|f| f.symbol.as_str()).collect();
    match planned.contains(&symbol.as_str()) {
        true => Ok(()),
        false => {
            let message = format!("--count {symbol}: the plan hooks no such function");
            let remedy = format!("name one of: {}", planned.join(", "));
            Err(Failure::new(Exit::Usage, message).remedy(remedy))
        }
    }
}
