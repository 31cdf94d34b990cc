//! What was looked through: which candidates, by which strategy, and what is known of the rest. The
//! same words for splits and for calls that are delegated.

use corehop_partitioner::candidates::{CandidateRule, Candidates};
use corehop_partitioner::objective::Objective;
use corehop_partitioner::strategy::{Ranking, Strategy};
use std::fmt::Write as _;

/// Candidates that were chosen from.
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

/// As `--strategy` has it.
fn name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Exhaustive => "exhaustive",
        Strategy::Bound => "bound",
        Strategy::Local => "local",
        Strategy::Random => "random",
    }
}

/// How splits or calls were looked for, how many, and what is known of all others.
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

/// What is known of the splits that were not evaluated.
pub fn proof(ranking: &Ranking, objective: Objective) -> String {
    // Where the ranking is by something else than the objective, the proof is of that.
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
