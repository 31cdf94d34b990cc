//! Describes the search space: candidates, strategy, and what is known about the rest. The same
//! text serves splits and delegated calls.

use corehop_partitioner::candidates::{CandidateRule, Candidates};
use corehop_partitioner::objective::Objective;
use corehop_partitioner::strategy::{Ranking, Strategy};
use std::fmt::Write as _;

/// Describes the candidates.
pub fn candidates(candidates: &Candidates, rule: &CandidateRule) -> String {
    let left_out = candidates.unpatchable.len();
    let groups = match candidates.groups as usize == candidates.chosen.len() {
        true => String::new(),
        false => format!(" in {} groups", candidates.groups),
    };
    let mut said = format!(
        "{} functions{groups}, called at most {} in a request and in {:.0} % of them",
        candidates.chosen.len(),
        if rule.max_calls == 1 {
            "once".into()
        } else {
            format!("{} times", rule.max_calls)
        },
        rule.min_share * 100.0,
    );
    if left_out > 0 {
        write!(said, "; {left_out} more cannot be patched").expect("writing to a string");
    }
    said
}

/// Returns the name in `--strategy`.
fn name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Exhaustive => "exhaustive",
        Strategy::Bound => "bound",
        Strategy::Local => "local",
        Strategy::Random => "random",
    }
}

/// Describes the strategy, the number of evaluated splits or calls, and what is known about all
/// others.
pub fn looked_for(
    (what, ranking): (&'static str, &Ranking),
    objective: Objective,
    seconds: f64,
) -> [(&'static str, String); 3] {
    let how = match ranking.strategy {
        Strategy::Bound if what == "sets" => "and all others by lower bounds",
        _ => how(ranking),
    };
    let searched = format!("{} ({how}) in {seconds:.1} s", ranking.evaluated);
    [
        (
            "strategy",
            format!("{}: {}", name(ranking.strategy), ranking.why),
        ),
        (what, searched),
        ("", proof(ranking, objective)),
    ]
}

fn how(ranking: &Ranking) -> &'static str {
    match ranking.strategy {
        Strategy::Exhaustive if ranking.stopped => "not every one: stopped",
        Strategy::Exhaustive => "every one",
        Strategy::Bound => "and all others by branch and bound",
        Strategy::Local => "local search with restarts",
        Strategy::Random => "drawn at random",
    }
}

/// Describes what is known about the splits that were not evaluated.
pub fn proof(ranking: &Ranking, objective: Objective) -> String {
    // If the ranking is not by the objective, the proof applies to the ranking's measure.
    let by = match ranking.in_full || objective.is_ranked_as_it_is() {
        true => String::new(),
        false => format!(", by {}", objective.ranked_by()),
    };
    if ranking.is_optimal() {
        return format!("proven optimal{by}");
    }
    let stopped = if ranking.stopped { "stopped; " } else { "" };
    match (ranking.better_share, ranking.gap()) {
        (Some(share), _) => format!(
            "{stopped}with 99 % confidence at most {:.2} % of all splits are better",
            share * 100.0
        ),
        (None, Some(gap)) => {
            format!(
                "{stopped}within {:.1} % of the best possible{by}",
                gap * 100.0
            )
        }
        (None, None) => format!("{stopped}the best of these, not proven best"),
    }
}
