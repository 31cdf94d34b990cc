//! Doubts about a result: its runner-up, resamples of requests, and the maximum cost of its hops.
//!
//! A search always finds a best split, on any machine. Whether to use it is another question, which
//! these figures answer. If the answer is no, [`against`] prevents the plan from being written.

use super::finished_search::FinishedSearch;
use super::{backends, comparison, timed};
use corehop_partitioner::backend::{all_cost_time, hop_cycles_in_words};
use corehop_partitioner::evaluate::Placement;
use corehop_partitioner::fewer::Fewer;
use corehop_partitioner::objective::Objective;
use corehop_partitioner::resamples::{Resample, Verdicts};
use corehop_partitioner::weights::ONE;
use corehop_simulator::{CoreId, Machine};
use corehop_support::format::number::{change, counted, grouped};
use corehop_traces::FunctionId;
use serde_json::{Map, Value, json};

/// Fewer held-out requests than this are too noisy to keep a plan.
const FEWEST_REQUESTS: u64 = 10;

/// Fewer held-out requests than this are weak evidence.
const ENOUGH_REQUESTS: u64 = 30;

/// Returns why the plan should not be kept, and the remedy; `None` if it gains, or without held-out
/// requests.
pub fn against(search: &FinishedSearch<'_>) -> Option<(String, &'static str)> {
    let held_out = search.result.outcome.evaluated.held_out.as_ref()?;
    let leave = "keep the original server, or add --force";
    match Verdicts::of(&search.draws) {
        None => Some(("there is nothing to gain".into(), leave)),
        Some(verdicts) if verdicts.mean >= 1.0 => Some(("no speedup found".into(), leave)),
        Some(_) if held_out.requests < FEWEST_REQUESTS => {
            let requests = counted(held_out.requests, "held-out request", "held-out requests");
            let why = format!("{requests} are too few to distinguish a gain from noise");
            Some((why, "record more --requests, or add --force"))
        }
        Some(_) if all_cost_time(&backends::cycles(search)) => {
            let cycles = backends::in_words(&backends::cycles(search));
            Some((format!("no speedup found: {cycles}"), leave))
        }
        Some(verdicts) if verdicts.pays() => None,
        Some(verdicts) => {
            let why = format!(
                "the mean change of {} is within the noise: resamples differ by {:.1} %",
                change(verdicts.mean),
                (verdicts.most - verdicts.least) * 100.0
            );
            Some((why, leave))
        }
    }
}

/// Describes how weak a verdict on this number of requests is, if it is.
pub fn weakness(requests: u64) -> Option<&'static str> {
    match requests {
        0..FEWEST_REQUESTS => Some("too few to distinguish it from noise"),
        FEWEST_REQUESTS..ENOUGH_REQUESTS => Some("weak: fewer than 30"),
        _ => None,
    }
}

/// Returns labeled lines of the result: the maximum cost of a hop and the spread of samples, and
/// `in_detail` also the alternatives.
pub fn lines(search: &FinishedSearch<'_>, in_detail: bool) -> Vec<(&'static str, String)> {
    let mut lines = if in_detail {
        alternatives(search)
    } else {
        Vec::new()
    };
    lines.extend(timed::line(search).map(|said| ("timed", said)));
    for (machine, cycles) in search.break_even_cycles() {
        let said = break_even(machine, cycles);
        match search.result.machines {
            [_] => lines.push(("break-even", said)),
            _ => lines.push(("break-even", format!("{}: {said}", machine.name))),
        }
    }
    if in_detail {
        lines.extend(draws(search));
    } else {
        lines.extend(certainty(search).map(|said| ("certainty", said)));
    }
    lines
}

/// Returns the spread of the change over samples of requests, each with its own search.
fn certainty(search: &FinishedSearch<'_>) -> Option<String> {
    let samples = search.draws.iter().filter(|draw| draw.ratio.is_some());
    let verdicts = Verdicts::of(&search.draws)?;
    let name = search.result.settings.objective.name();
    Some(match samples.count() {
        0 | 1 => "one sample of requests: --resamples 2 or more shows the spread".into(),
        several => format!(
            "{} to {} {name} in {several} searches on different requests",
            change(verdicts.least),
            change(verdicts.most)
        ),
    })
}

/// Returns the runner-up, the order of the best, and the results with fewer cores.
fn alternatives(search: &FinishedSearch<'_>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    lines.extend(runner_up(search).map(|said| ("runner-up", said)));
    let judged = &search.result.outcome.evaluated;
    if judged.order.len() > 1 && !search.result.outcome.ranking.in_full {
        let order = judged
            .order
            .iter()
            .take(SHOWN)
            .map(|index| (index + 1).to_string());
        let order: Vec<String> = order.collect();
        let more = if judged.order.len() > SHOWN {
            " ..."
        } else {
            ""
        };
        let said = format!(
            "{}{more}: the best {} by {}, ordered by {} of full replays{}",
            order.join(" "),
            judged.order.len(),
            search.result.settings.objective.ranked_by(),
            search.result.settings.objective.name(),
            timed::order(search)
        );
        lines.push(("ranks", said));
    }
    lines.extend(fewer(search).map(|said| ("fewer", said)));
    lines
}

/// Returns the ratios of other samples for their own splits, and for this one.
fn draws(search: &FinishedSearch<'_>) -> Vec<(&'static str, String)> {
    let listed = |ratio: fn(&Resample) -> Option<f64>| {
        let ratios = search.draws.iter().filter_map(ratio);
        let ratios: Vec<String> = ratios.map(change).collect();
        (ratios.len(), ratios.join(", "))
    };
    let (searched, own) = listed(|draw| draw.ratio);
    let (judged, plan) = listed(|draw| draw.plan_ratio);
    match (searched, judged) {
        (_, 0) => Vec::new(),
        (_, 1) => {
            let said = "one: more show the spread";
            vec![("draws", said.into())]
        }
        (0 | 1, _) => {
            let said = format!("{plan}: this plan on other requests; no time to search on those");
            vec![("draws", said)]
        }
        _ => vec![
            ("draws", format!("{own}: searches with other seeds")),
            (
                "",
                format!("{plan}: this plan on the held-out requests of those"),
            ),
        ],
    }
}

fn break_even(machine: &Machine, cycles: Option<f64>) -> String {
    match cycles {
        None => "no request hops".into(),
        Some(cycles) if cycles <= 0.0 => {
            "at no hop cost: accesses alone take longer than on one core".into()
        }
        Some(cycles) => format!(
            "{} cycles a hop; on this machine a hop takes {}",
            grouped(cycles as u64),
            hop_cycles_in_words(machine)
        ),
    }
}

/// Maximum number of places of the ranking to print.
const SHOWN: usize = 10;

/// Returns the results with fewer cores.
fn fewer(search: &FinishedSearch<'_>) -> Option<String> {
    let (outcome, objective) = (search.result.outcome, search.result.settings.objective);
    let told = |fewer: &Fewer| {
        let ratio = fewer.held_out.ratio(objective)?;
        Some(format!("{} with {} cores", change(ratio), fewer.cores))
    };
    let told: Vec<String> = outcome.fewer.iter().filter_map(told).collect();
    let verdict = match outcome.as_good_with_fewer(objective) {
        Some(fewer) => format!("{} cores suffice; --fewer uses them", fewer.cores),
        None => format!("none is as good as {}", search.result.settings.cores),
    };
    let name = objective.name();
    (!told.is_empty()).then(|| format!("{name} {}: {verdict}", told.join(", ")))
}

fn runner_up(search: &FinishedSearch<'_>) -> Option<String> {
    let judged = &search.result.outcome.evaluated;
    let (taken, next) = (&judged.ranked[judged.order[0]], judged.runner_up()?);
    let not_in = |split: &Placement, other: &Placement| {
        let functions = |split: &Placement| split.iter().map(|&(f, _)| f).collect::<Vec<_>>();
        let is_same = functions(split) == functions(other);
        let differs = |&&(function, core): &&(FunctionId, CoreId)| match is_same {
            true => !other.contains(&(function, core)),
            false => !functions(other).contains(&function),
        };
        let named = |&(function, CoreId(core)): &(FunctionId, CoreId)| match is_same {
            true => format!("{} on core {core}", search.name(function)),
            false => search.name(function),
        };
        let names: Vec<String> = split.iter().filter(differs).map(named).collect();
        match names.is_empty() {
            true => "nothing".into(),
            false => names.join(", "),
        }
    };
    let objective = search.result.settings.objective;
    let of = |next: u64, taken: u64| change(next as f64 / taken.max(1) as f64);
    let where_searched = match (&next.timed, &taken.timed) {
        (Some(next), Some(taken)) => {
            format!("{} cycles in timed replays", of(next.value, taken.value))
        }
        _ => {
            let change = of(next.in_full, taken.in_full);
            format!("{change} {} on searched requests", objective.name())
        }
    };
    let held_out = judged.runner_up_held_out.as_ref();
    let held_out = held_out.and_then(|held_out| held_out.ratio(objective));
    let held_out = held_out.map(|ratio| format!("; {} on held-out requests", change(ratio)));
    Some(format!(
        "{} instead of {}: {where_searched}{}",
        not_in(&next.split, &taken.split),
        not_in(&taken.split, &next.split),
        held_out.unwrap_or_default()
    ))
}

fn connections(search: &FinishedSearch<'_>) -> Option<u32> {
    match search.result.settings.objective {
        Objective::Throughput { connections } => Some(connections),
        _ => None,
    }
}

/// Returns a value of the ranking: a count, or for several machines a share of one core's.
fn value(search: &FinishedSearch<'_>, value: u64) -> Value {
    match search.result.machines {
        [_] => value.into(),
        _ => (value as f64 / ONE as f64).into(),
    }
}

/// Returns the same as keys of the JSON object.
pub fn keys(search: &FinishedSearch<'_>) -> Map<String, Value> {
    let judged = &search.result.outcome.evaluated;
    let symbols = |split: &Placement| -> Vec<&str> {
        let functions = split.iter();
        let functions = functions.map(|&(f, _)| &search.result.trace.functions()[f.0 as usize]);
        functions.map(|function| &*function.symbol).collect()
    };
    let cores = |split: &Placement| split.iter().map(|&(_, core)| core.0).collect::<Vec<_>>();
    let ranks = judged.order.iter().map(|&index| {
        let ranked = &judged.ranked[index];
        json!({
            "rank_alone": index + 1,
            "alone": value(search, ranked.ranked_cost),
            "in_full": value(search, ranked.in_full),
            "timed_requests_per_million_cycles": timed::throughput(search, ranked),
            "functions": symbols(&ranked.split),
            "cores": cores(&ranked.split),
        })
    });
    let runner_up = judged.runner_up().map(|next| {
        let held_out = judged.runner_up_held_out.as_ref();
        json!({
            "functions": symbols(&next.split),
            "cores": cores(&next.split),
            "in_full": value(search, next.in_full),
            "held_out": held_out.map(comparison::value),
        })
    });
    let fewer = search.result.outcome.fewer.iter().map(|fewer| {
        json!({
            "cores": fewer.cores,
            "functions": symbols(&fewer.split),
            "held_out": comparison::value(&fewer.held_out),
        })
    });
    let as_good = search
        .result
        .outcome
        .as_good_with_fewer(search.result.settings.objective);
    let object = json!({
        "objective": search.result.settings.objective,
        "connections": connections(search),
        "timed": timed::value(search),
        "ranks": ranks.collect::<Vec<_>>(),
        "runner_up": runner_up,
        "hop_cost_cycles": search.result.machines[0].machine.hop_cost_cycles,
        "break_even_hop_cycles": search.break_even_cycles().next().and_then(|(_, cycles)| cycles),
        "fewer": fewer.collect::<Vec<_>>(),
        "as_good_cores": as_good.map(|fewer| fewer.cores),
        "draws": search.draws,
        "draws_together": Verdicts::of(&search.draws),
        "against": against(search).map(|(why, _)| why),
    });
    match object {
        Value::Object(keys) => keys,
        _ => unreachable!("it is written as an object above"),
    }
}
