//! The search's outcome in words, for a terminal.

use super::finished_search::FinishedSearch;
use super::looked_for::{candidates, looked_for};
use super::{backends, delegated, doubts, returns};
use crate::carriers;
use crate::line::{Lines, line};
use corehop_partitioner::Comparison;
use corehop_partitioner::attribution::remarks;
use corehop_partitioner::backend::all_cost_time;
use corehop_partitioner::objective::Objective;
use corehop_partitioner::requests::TrainTestSplit;
use corehop_plan::{Mode, Plan};
use corehop_support::format::number::{change, change_between, counted};
use corehop_traces::RequestId;
use std::path::Path;

/// All lines of the result.
pub fn render(search: &FinishedSearch<'_>, plan: &Plan, written: Option<&Path>) -> Lines {
    let mut text = Lines::new();
    let outcome = search.result.outcome;
    let parts = &outcome.train_test;
    say(
        &mut text,
        "trace",
        &format!("{}, machine {}", plan.trace, plan.machine),
    );
    for remark in remarks(search.result.trace) {
        say(&mut text, "", &remark);
    }
    for known in carriers::of_trace(search.result.trace) {
        say(&mut text, "", &known.said());
    }
    say(&mut text, "requests", &requests(parts, plan.seed));
    let rule = &search.result.settings.rule;
    say(
        &mut text,
        "candidates",
        &candidates(&outcome.candidates, rule),
    );
    let objective = search.result.settings.objective;
    let ranking = &outcome.ranking;
    let what = delegated::name_of_splits(search);
    for (label, said) in looked_for((what, ranking), objective, search.seconds) {
        say(&mut text, label, &said);
    }
    for (label, said) in delegated::lines(search) {
        say(&mut text, label, &said);
    }
    if outcome.evaluated.shared_cache_changed_rank {
        say(
            &mut text,
            "",
            "the shared L3 changed the order of the best splits",
        );
    }
    line!(text);
    comparisons(&mut text, search);
    functions(&mut text, search, plan);
    for (label, said) in doubts::lines(search) {
        say(&mut text, label, &said);
    }
    for (label, said) in returns::lines(search) {
        say(&mut text, label, &said);
    }
    say(&mut text, "verdict", &verdict(search));
    let kept = match written {
        Some(path) if path == Path::new("-") => "standard output".into(),
        Some(path) => path.display().to_string(),
        None => "not kept: name a file with -o".into(),
    };
    say(&mut text, "plan", &kept);
    text
}

/// Which requests were used for what.
fn requests(parts: &TrainTestSplit, seed: u64) -> String {
    let searched = parts.searched.len();
    match (parts.last_counts, parts.held_out.len()) {
        (true, _) => format!("{searched} named; the last one counts"),
        (false, judge) => format!(
            "{searched} requests searched (seed {seed}), {} warm up, {judge} judge",
            parts.warm_up.len()
        ),
    }
}

/// One sentence: whether the split pays on requests that were not searched.
pub fn verdict(search: &FinishedSearch<'_>) -> String {
    let objective = search.result.settings.objective;
    let outcome = search.result.outcome;
    let Some(held_out) = &outcome.evaluated.held_out else {
        let ratio = outcome.evaluated.searched.ratio(objective);
        return match (search.result.settings.only, ratio) {
            (Some(only), Some(ratio)) => {
                let RequestId(last) = only.requests[only.requests.len() - 1];
                let of = match only.judge_last {
                    true => format!("of request {last}"),
                    false => "of the requests named".into(),
                };
                let name = objective.name();
                format!("not judged: {} {name} {of}, searched itself", change(ratio))
            }
            _ => "not judged: every request was searched".into(),
        };
    };
    let name = match search.result.machines {
        [_] => objective.name().to_owned(),
        several => format!(
            "{} in the mean of {} machines",
            objective.name(),
            several.len()
        ),
    };
    match held_out.ratio(objective) {
        None => format!("nothing to gain: no {name} on one core"),
        Some(ratio) if ratio >= 1.0 => {
            format!("splitting does not pay here: {} {name}", change(ratio))
        }
        Some(ratio) => {
            let cycles = backends::cycles(search);
            let gain = match objective {
                Objective::Cycles if search.backend.is_some() => {
                    format!("{} {name}", change(ratio))
                }
                _ => format!("{} {name}, {}", change(ratio), backends::in_words(&cycles)),
            };
            if all_cost_time(&cycles) {
                return format!("splitting does not pay here: {gain}");
            }
            let requests = counted(held_out.requests, "request", "requests");
            let weakness = doubts::weakness(held_out.requests);
            let weakness = weakness.map(|weakness| format!(" ({weakness})"));
            format!(
                "{gain} on {requests} not searched{}{}",
                weakness.unwrap_or_default(),
                backends::advice(&cycles)
            )
        }
    }
}

fn say(text: &mut Lines, label: &str, what: &str) {
    line!(text, "{label:<11} {what}");
}

/// By machine, what was searched and what was not.
fn comparisons(text: &mut Lines, search: &FinishedSearch<'_>) {
    let (judged, cores) = (
        &search.result.outcome.evaluated,
        search.result.settings.cores,
    );
    let objective = search.result.settings.objective;
    for (index, (of, searched)) in search
        .result
        .machines
        .iter()
        .zip(judged.searched.of_machines())
        .enumerate()
    {
        let held_out = judged.held_out.as_ref();
        let held_out = held_out.and_then(|held_out| held_out.of_machines().nth(index));
        if search.result.machines.len() > 1 {
            let ratio = held_out.unwrap_or(searched).ratio_here(objective);
            let ratio = ratio.map_or("nothing to gain".into(), change);
            let said = format!(
                "{}, weight {}: {ratio} {}",
                of.machine.name,
                of.weight,
                objective.name()
            );
            say(text, "machine", &said);
        }
        comparison(text, "on the requests searched", searched, cores);
        if let Some(held_out) = held_out {
            comparison(text, "on requests not searched", held_out, cores);
        }
    }
}

pub fn comparison(text: &mut Lines, title: &str, comparison: &Comparison, cores: u32) {
    let (before, after) = (&comparison.baseline, &comparison.split);
    let title = format!("{} {title}", comparison.requests);
    let split = format!("{cores} cores");
    line!(text, "{title:<28}{:>12}{split:>12}", "one core");
    let mut line = |name: &str, before: u64, after: u64| {
        let change = change_between(before, after);
        line!(text, "  {name:<26}{before:>12}{after:>12}{change:>11}");
    };
    line("L2 misses", before.l2.misses(), after.l2.misses());
    line(
        "  of fetches",
        before.l2.fetch_misses(),
        after.l2.fetch_misses(),
    );
    line(
        "  of loads and stores",
        before.l2.data_misses(),
        after.l2.data_misses(),
    );
    line(
        "  by other cores' stores",
        before.l2.coherence_misses(),
        after.l2.coherence_misses(),
    );
    line("L1I misses", before.l1i.misses(), after.l1i.misses());
    line("L1D misses", before.l1d.misses(), after.l1d.misses());
    line("L3 misses", before.l3.misses(), after.l3.misses());
    line("cycles", before.cycles, after.cycles);
    let hops = comparison.hops as f64 / comparison.requests as f64;
    line!(text, "  {:<26}{:>12}{hops:>12.1}", "hops per request", 0);
    line!(text);
}

fn functions(text: &mut Lines, search: &FinishedSearch<'_>, plan: &Plan) {
    line!(text, "core  entering");
    let split = search.result.outcome.split.iter();
    for ((function, core), planned) in split.zip(&plan.functions) {
        let chosen = delegated::chosen_from(search, *function);
        let candidate = chosen
            .iter()
            .find(|c| c.function == *function)
            .expect("chosen from these");
        let group = chosen.iter().filter(|c| c.group == candidate.group).count();
        let name = &search.result.trace.functions()[function.index()].name;
        let alike = match group {
            1 => String::new(),
            _ => format!(" (or one of {} called with it)", group - 1),
        };
        let share = delegated::share(search, candidate);
        let back = match planned.mode {
            Mode::Call => ", and back when it returns",
            Mode::Enter | Mode::Count => "",
        };
        line!(text, "{core:>4}  {name}, {share} of requests{alike}{back}");
    }
    line!(text);
}
