//! What speaks against a result: its runner-up, other draws of requests, what its hops may cost.
//!
//! A search always finds a best split, on any machine. Whether to use it is another question, and
//! these are the figures that answer it; [`against`] is the answer that keeps a plan from being
//! written.

use super::Report;
use crate::name::shortened;
use crate::number::{change, grouped};
use corehop_partitioner::Comparison;
use corehop_partitioner::fewer::Fewer;
use corehop_partitioner::objective::Objective;
use corehop_partitioner::resamples::{Resample, Verdicts};
use corehop_partitioner::weights::ONE;
use corehop_simulator::Machine;
use serde_json::{Map, Value, json};

impl Report<'_> {
    /// What the verdict is of: requests that were not searched, where there are any.
    pub fn judged_on(&self) -> &Comparison {
        self.outcome.evaluated.verdict()
    }

    fn name(&self, function: u32) -> String {
        shortened(&self.trace.functions()[function as usize].name)
    }

    /// Of each machine.
    fn break_even_cycles(&self) -> impl Iterator<Item = (&Machine, Option<f64>)> {
        let of_machines = self.machines.iter().zip(self.judged_on().of_machines());
        of_machines.map(|(of, judged_on)| {
            let machine = &of.machine;
            (machine, judged_on.break_even_cycles(machine))
        })
    }
}

/// Why the plan had better not be kept, in words; `None` when it pays, or nothing says otherwise.
pub fn against(report: &Report<'_>) -> Option<String> {
    report.outcome.evaluated.held_out.as_ref()?;
    match Verdicts::of(&report.draws) {
        None => Some("there is nothing to gain".into()),
        Some(verdicts) if verdicts.pays() => None,
        Some(verdicts) if verdicts.mean >= 1.0 => Some("splitting does not pay".into()),
        Some(verdicts) => Some(format!(
            "the gain, {} in the mean, is within the noise: draws of requests differ by {:.1} %",
            change(verdicts.mean),
            (verdicts.most - verdicts.least) * 100.0
        )),
    }
}

/// Lines for the report, each with its label.
pub fn lines(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    lines.extend(runner_up(report).map(|said| ("runner-up", said)));
    let judged = &report.outcome.evaluated;
    if judged.order.len() > 1 && !report.outcome.ranking.in_full {
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
            "{}{more}: the best {} by {}, ordered by {} of full replays",
            order.join(" "),
            judged.order.len(),
            report.settings.objective.ranked_by(),
            report.settings.objective.name()
        );
        lines.push(("ranks", said));
    }
    lines.extend(fewer(report).map(|said| ("fewer", said)));
    for (machine, cycles) in report.break_even_cycles() {
        let said = break_even(machine, cycles);
        match report.machines {
            [_] => lines.push(("break-even", said)),
            _ => lines.push(("break-even", format!("{}: {said}", machine.name))),
        }
    }
    lines.extend(draws(report));
    lines
}

/// What other draws say of their own splits, and of this one.
fn draws(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let listed = |ratio: fn(&Resample) -> Option<f64>| {
        let ratios = report.draws.iter().filter_map(ratio);
        let ratios: Vec<String> = ratios.map(change).collect();
        (ratios.len(), ratios.join(", "))
    };
    let (searched, own) = listed(|draw| draw.ratio);
    let (judged, plan) = listed(|draw| draw.plan_ratio);
    match (searched, judged) {
        (_, 0) => Vec::new(),
        (_, 1) => {
            let said = "one: more tell how much of this is chance";
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
                format!("{plan}: this plan on the requests that judge those"),
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
            "where a hop costs {} cycles; on this machine it costs {}",
            grouped(cycles as u64),
            grouped(machine.hop_cost_cycles.into())
        ),
    }
}

/// Places of the ranking that are shown.
const SHOWN: usize = 10;

/// What fewer cores would do.
fn fewer(report: &Report<'_>) -> Option<String> {
    let (outcome, objective) = (report.outcome, report.settings.objective);
    let told = |fewer: &Fewer| {
        let ratio = fewer.held_out.ratio(objective)?;
        Some(format!("{} with {} cores", change(ratio), fewer.cores))
    };
    let told: Vec<String> = outcome.fewer.iter().filter_map(told).collect();
    let verdict = match outcome.as_good_with_fewer(objective) {
        Some(fewer) => format!("{} cores do as well; --fewer takes them", fewer.cores),
        None => format!("none does as well as {}", report.settings.cores),
    };
    let name = objective.name();
    (!told.is_empty()).then(|| format!("{name} {}: {verdict}", told.join(", ")))
}

fn runner_up(report: &Report<'_>) -> Option<String> {
    let judged = &report.outcome.evaluated;
    let (taken, next) = (&judged.ranked[judged.order[0]], judged.runner_up()?);
    let not_in = |split: &[(u32, u32)], other: &[(u32, u32)]| {
        let functions = |split: &[(u32, u32)]| split.iter().map(|&(f, _)| f).collect::<Vec<_>>();
        let is_same = functions(split) == functions(other);
        let differs = |&&(function, core): &&(u32, u32)| match is_same {
            true => !other.contains(&(function, core)),
            false => !functions(other).contains(&function),
        };
        let named = |&(function, core): &(u32, u32)| match is_same {
            true => format!("{} on core {core}", report.name(function)),
            false => report.name(function),
        };
        let names: Vec<String> = split.iter().filter(differs).map(named).collect();
        names.join(", ")
    };
    let ratio = next.in_full as f64 / taken.in_full.max(1) as f64;
    let objective = report.settings.objective;
    let held_out = judged.runner_up_held_out.as_ref();
    let held_out = held_out.and_then(|held_out| held_out.ratio(objective));
    let held_out = held_out.map(|ratio| format!("; {} on requests not searched", change(ratio)));
    Some(format!(
        "{} instead of {}: {} {} where searched{}",
        not_in(&next.split, &taken.split),
        not_in(&taken.split, &next.split),
        change(ratio),
        objective.name(),
        held_out.unwrap_or_default()
    ))
}

fn connections(report: &Report<'_>) -> Option<u32> {
    match report.settings.objective {
        Objective::Throughput { connections } => Some(connections),
        _ => None,
    }
}

/// A value of the ranking: a count, or of several machines a share of one core's.
fn value(report: &Report<'_>, value: u64) -> Value {
    match report.machines {
        [_] => value.into(),
        _ => (value as f64 / ONE as f64).into(),
    }
}

/// The same as keys of the JSON object.
pub fn keys(report: &Report<'_>) -> Map<String, Value> {
    let judged = &report.outcome.evaluated;
    let symbols = |split: &[(u32, u32)]| -> Vec<&str> {
        let functions = split.iter();
        let functions = functions.map(|&(f, _)| &report.trace.functions()[f as usize]);
        functions.map(|function| &*function.symbol).collect()
    };
    let cores = |split: &[(u32, u32)]| split.iter().map(|&(_, core)| core).collect::<Vec<_>>();
    let ranks = judged.order.iter().map(|&index| {
        let ranked = &judged.ranked[index];
        json!({
            "rank_alone": index + 1,
            "alone": value(report, ranked.ranked_cost),
            "in_full": value(report, ranked.in_full),
            "functions": symbols(&ranked.split),
            "cores": cores(&ranked.split),
        })
    });
    let runner_up = judged.runner_up().map(|next| {
        let held_out = judged.runner_up_held_out.as_ref();
        json!({
            "functions": symbols(&next.split),
            "cores": cores(&next.split),
            "in_full": value(report, next.in_full),
            "held_out": held_out.map(super::json::comparison),
        })
    });
    let fewer = report.outcome.fewer.iter().map(|fewer| {
        json!({
            "cores": fewer.cores,
            "functions": symbols(&fewer.split),
            "held_out": super::json::comparison(&fewer.held_out),
        })
    });
    let as_good = report.outcome.as_good_with_fewer(report.settings.objective);
    let object = json!({
        "objective": report.settings.objective,
        "connections": connections(report),
        "ranks": ranks.collect::<Vec<_>>(),
        "runner_up": runner_up,
        "hop_cost_cycles": report.machines[0].machine.hop_cost_cycles,
        "break_even_hop_cycles": report.break_even_cycles().next().and_then(|(_, cycles)| cycles),
        "fewer": fewer.collect::<Vec<_>>(),
        "as_good_cores": as_good.map(|fewer| fewer.cores),
        "draws": report.draws,
        "draws_together": Verdicts::of(&report.draws),
        "against": against(report),
    });
    match object {
        Value::Object(keys) => keys,
        _ => unreachable!("it is written as an object above"),
    }
}
