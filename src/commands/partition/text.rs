//! The result of the search as text, for a terminal.

use super::delivery::Delivery;
use super::finished_search::FinishedSearch;
use super::looked_for::{candidates, looked_for, proof};
use super::{backends, delegated, doubts, returns};
use crate::options::carriers;
use crate::terminal::console::is_verbose;
use crate::terminal::line::{Lines, line};
use crate::terminal::shell::quoted;
use corehop_partitioner::Comparison;
use corehop_partitioner::attribution::remarks;
use corehop_partitioner::backend::{Backend, all_cost_time};
use corehop_partitioner::objective::Objective;
use corehop_partitioner::requests::TrainTestSplit;
use corehop_plan::{Mode, Plan};
use corehop_simulator::Machine;
use corehop_support::atomic_file::Output;
use corehop_support::format::number::{change, counted};
use corehop_traces::RequestId;
use std::path::Path;

/// Returns all lines of the result: the split, its gain, its certainty, and the next step. With
/// --verbose, also how it was found and the alternatives.
pub fn render(search: &FinishedSearch<'_>, delivery: &Delivery<'_>) -> Lines {
    let plan = delivery.plan;
    let mut text = Lines::new();
    let outcome = search.result.outcome;
    let of = format!("{}, machine {}", plan.trace, plan.machine);
    say(&mut text, "trace", &of);
    for remark in remarks(search.result.trace) {
        say(&mut text, "", &remark);
    }
    for known in carriers::of_trace(search.result.trace) {
        say(&mut text, "", &known.said());
    }
    if is_verbose() {
        how_it_was_found(&mut text, search, plan);
    } else {
        say(&mut text, "searched", &in_short(search));
    }
    if outcome.evaluated.shared_cache_changed_rank {
        let said = "the shared L3 changed the order of the best splits";
        say(&mut text, "", said);
    }
    line!(text);
    functions(&mut text, search, plan);
    comparisons(&mut text, search);
    for (label, said) in doubts::lines(search, is_verbose()) {
        say(&mut text, label, &said);
    }
    if is_verbose() {
        for (label, said) in returns::lines(search) {
            say(&mut text, label, &said);
        }
    }
    say(&mut text, "verdict", &verdict(search));
    match delivery.output().map(Output::path) {
        Some(path) if path == Path::new("-") => say(&mut text, "plan", "standard output"),
        Some(path) => {
            let path = path.display().to_string();
            say(&mut text, "plan", &path);
            let path = quoted(&path);
            let next = format!("corehop patch --plan {path} PROGRAM -o PROGRAM.hop");
            say(&mut text, "next", &format!("{next}, then corehop measure"));
        }
        None => {
            let why = match &delivery.against {
                Some((why, _)) => why,
                None => "name a file with -o",
            };
            say(&mut text, "plan", &format!("not written: {why}"));
        }
    }
    text
}

/// Adds requests, candidates, strategy, and splits, a line each.
fn how_it_was_found(text: &mut Lines, search: &FinishedSearch<'_>, plan: &Plan) {
    let (outcome, settings) = (search.result.outcome, &search.result.settings);
    say(text, "requests", &requests(&outcome.train_test, plan.seed));
    let said = candidates(&outcome.candidates, &settings.rule);
    say(text, "candidates", &said);
    let what = delegated::name_of_splits(search);
    let found = looked_for((what, &outcome.ranking), settings.objective, search.seconds);
    for (label, said) in found.into_iter().chain(delegated::lines(search)) {
        say(text, label, &said);
    }
}

/// Returns the number of evaluated splits, and whether a better one can exist.
fn in_short(search: &FinishedSearch<'_>) -> String {
    let (outcome, objective) = (search.result.outcome, search.result.settings.objective);
    let functions = outcome.candidates.chosen.len() as u64;
    let functions = counted(functions, "candidate function", "candidate functions");
    let ranking = outcome.added.as_ref().map(|added| &added.ranking);
    let ranking = ranking.unwrap_or(&outcome.ranking);
    format!(
        "{functions} on {} cores in {:.1} s: {}",
        search.result.settings.cores,
        search.seconds,
        proof(ranking, objective)
    )
}

/// Returns how the requests were used.
fn requests(parts: &TrainTestSplit, seed: u64) -> String {
    let searched = parts.searched.len();
    match (parts.last_counts, parts.held_out.len()) {
        (true, _) => format!("{searched} selected; only the last one counts"),
        (false, held_out) => format!(
            "{searched} requests searched (seed {seed}), {} for warm-up, {held_out} held out",
            parts.warm_up.len()
        ),
    }
}

/// Returns one sentence: whether the split gains on held-out requests.
pub fn verdict(search: &FinishedSearch<'_>) -> String {
    let objective = search.result.settings.objective;
    let outcome = search.result.outcome;
    let Some(held_out) = &outcome.evaluated.held_out else {
        let ratio = outcome.evaluated.searched.ratio(objective);
        return match (search.result.settings.only, ratio) {
            (Some(only), Some(ratio)) => {
                let RequestId(last) = only.requests[only.requests.len() - 1];
                let of = match only.judge_last {
                    true => format!("of request {last}, which was searched"),
                    false => "of the requests, which were searched".into(),
                };
                let name = objective.name();
                format!("no held-out requests: {} {name} {of}", change(ratio))
            }
            _ => "no held-out requests: every request was searched".into(),
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
        Some(ratio) if ratio >= 1.0 => format!("no speedup found: {} {name}", change(ratio)),
        Some(ratio) => {
            let cycles = backends::cycles(search);
            let gain = match objective {
                Objective::Cycles if search.backend.is_some() => {
                    format!("{} {name}", change(ratio))
                }
                _ => format!("{} {name}, {}", change(ratio), backends::in_words(&cycles)),
            };
            if all_cost_time(&cycles) {
                return format!("no speedup found: {gain}");
            }
            let requests = counted(held_out.requests, "held-out request", "held-out requests");
            let weakness = doubts::weakness(held_out.requests);
            let weakness = weakness.map(|weakness| format!(" ({weakness})"));
            format!(
                "worth measuring{}: {gain}, predicted on {requests}{}",
                backends::advice(&cycles),
                weakness.unwrap_or_default()
            )
        }
    }
}

fn say(text: &mut Lines, label: &str, what: &str) {
    line!(text, "{label:<11} {what}");
}

/// Adds comparisons by machine, on searched and on held-out requests.
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
        let machine = &of.machine;
        if is_verbose() || held_out.is_none() {
            comparison(text, "searched", searched, (machine, cores));
        }
        if let Some(held_out) = held_out {
            comparison(text, "not searched", held_out, (machine, cores));
        }
    }
}

/// Adds the means per request, on one core and split.
pub fn comparison(
    text: &mut Lines,
    title: &str,
    comparison: &Comparison,
    (machine, cores): (&Machine, u32),
) {
    let (before, after) = (&comparison.baseline, &comparison.split);
    let requests = counted(comparison.requests, "request", "requests");
    let title = format!("each of {requests} {title}");
    let split = format!("{cores} cores");
    line!(
        text,
        "{title:<34}{:>12}{split:>12}{:>11}",
        "one core",
        "change"
    );
    let each = |sum: f64| sum / comparison.requests.max(1) as f64;
    let mut line = |name: &str, before: f64, after: f64, decimals: usize| {
        let change = match before > 0.0 {
            true => change(after / before),
            false => String::new(),
        };
        let (before, after) = (each(before), each(after));
        let line = format!("  {name:<32}{before:>12.decimals$}{after:>12.decimals$}{change:>11}");
        line!(text, "{}", line.trim_end());
    };
    for (name, before, after) in [
        ("L2 misses", before.l2.misses(), after.l2.misses()),
        (
            "  of fetches",
            before.l2.fetch_misses(),
            after.l2.fetch_misses(),
        ),
        (
            "  of loads and stores",
            before.l2.data_misses(),
            after.l2.data_misses(),
        ),
        (
            "  by other cores' stores",
            before.l2.coherence_misses(),
            after.l2.coherence_misses(),
        ),
        ("L1I misses", before.l1i.misses(), after.l1i.misses()),
        ("L1D misses", before.l1d.misses(), after.l1d.misses()),
        ("L3 misses", before.l3.misses(), after.l3.misses()),
    ] {
        line(name, before as f64, after as f64, 1);
    }
    let cycles = before.cycles as f64;
    for backend in Backend::ALL {
        if let Some(ratio) = comparison.cycles_ratio(machine, backend) {
            line(
                &format!("cycles with {}", backend.name()),
                cycles,
                cycles * ratio,
                0,
            );
        }
    }
    line("hops", 0.0, comparison.hops as f64, 1);
    line!(text);
}

fn functions(text: &mut Lines, search: &FinishedSearch<'_>, plan: &Plan) {
    line!(text, "core  from the entry of");
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
