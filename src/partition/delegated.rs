//! `corehop partition --delegate`: calls that run on another core than their callers.
//!
//! Alone it asks for calls around a core at home, with `--cores` for calls beside the split. This
//! file has its options, and what the result says beyond what it says of a split.

use super::choices::{Aim, How, Returns};
use super::finished_search::FinishedSearch;
use super::{comparison, text};
use crate::failure::{Exit, Failure};
use clap::Args;
use corehop_partitioner::candidates::{Candidate, CandidateRule};
use corehop_partitioner::delegated::{Added, Wanted};
use corehop_traces::FunctionId;
use corehop_wording::number::change;
use serde_json::{Value, json};

/// The options that say which calls.
#[derive(Args)]
pub struct Arguments {
    /// Look for so many functions at most whose calls run on another core and come back; all else
    /// stays at home, or with --cores where the best split has it.
    #[arg(long, value_name = "FUNCTIONS", value_parser = clap::value_parser!(u32).range(1..=64),
          conflicts_with_all = ["sweep", "fewer", "checkpoint"])]
    delegate: Option<u32>,
    /// For --delegate: number of cores beside the one at home.
    #[arg(long, value_name = "CORES", default_value_t = 1, conflicts_with = "cores",
          requires = "delegate", value_parser = clap::value_parser!(u32).range(1..))]
    elsewhere: u32,
}

impl Arguments {
    /// Whether calls are looked for.
    pub fn are_asked(&self) -> bool {
        self.delegate.is_some()
    }

    /// Cores used in all, where there is no split.
    pub fn cores(&self) -> u32 {
        self.elsewhere.saturating_add(1)
    }

    /// What makes a function a candidate of what is ranked first: the split, where there is one.
    pub fn rule(&self, search: &super::Arguments) -> CandidateRule {
        match (self.delegate, search.cores) {
            (Some(_), None) => search.scope.rule_of_calls(),
            _ => search.scope.rule(),
        }
    }

    /// The calls to look for.
    pub fn wanted(&self, search: &super::Arguments) -> Option<Wanted> {
        self.delegate.map(|functions| Wanted {
            functions,
            rule: search.scope.rule_of_calls(),
            with_split: search.cores.is_some(),
        })
    }

    /// Refuses what has no meaning with calls.
    ///
    /// # Errors
    /// [`Exit::Usage`].
    pub fn check(&self, search: &super::Arguments) -> Result<(), Failure> {
        let refused = match (search.objective, search.strategy, search.returns) {
            _ if self.delegate.is_none() => return Ok(()),
            (Aim::Throughput, ..) => (
                "--objective throughput: calls are delegated for one connection's sake",
                "take --objective cycles, and let corehop replay --timed tell of throughput",
            ),
            (_, How::Random, _) => (
                "--strategy random: calls are not drawn at random",
                "take auto, exhaustive, bound or local",
            ),
            (.., Returns::Auto) => (
                "--returns auto: beside delegated calls no others are made to go back",
                "leave --returns out, or search without --delegate",
            ),
            _ if search.cores.is_none() && search.functions.is_some() => (
                "--functions: without --cores there is no split that could have them",
                "name them with --delegate, or add --cores",
            ),
            _ => return Ok(()),
        };
        Err(Failure::new(Exit::Usage, refused.0).remedy(refused.1))
    }
}

fn wanted<'a>(search: &'a FinishedSearch<'_>) -> Option<&'a Wanted> {
    search.result.settings.delegated_calls.as_ref()
}

fn added<'a>(search: &'a FinishedSearch<'_>) -> Option<&'a Added> {
    search.result.outcome.added.as_ref()
}

/// What the first ranking is of: splits, or sets of calls.
pub fn name_of_splits(search: &FinishedSearch<'_>) -> &'static str {
    match (wanted(search), added(search)) {
        (Some(_), None) => "sets",
        _ => "splits",
    }
}

/// Lines about calls that were added to the split.
pub fn lines(search: &FinishedSearch<'_>) -> Vec<(&'static str, String)> {
    let (Some(added), Some(wanted)) = (added(search), wanted(search)) else {
        return Vec::new();
    };
    let objective = search.result.settings.objective;
    let mut lines = vec![("calls", text::candidates(&added.candidates, &wanted.rule))];
    let ranking = ("sets", &added.ranking);
    lines.extend(text::looked_for(ranking, objective, search.seconds));
    let proof = lines
        .pop()
        .map(|(_, proof)| format!("{proof} beside that split"));
    lines.extend(proof.map(|proof| ("", proof)));
    let alone = added.alone.verdict().ratio(objective);
    lines.extend(alone.map(|ratio| {
        let said = format!("{} {} without them", change(ratio), objective.name());
        ("", said)
    }));
    lines
}

/// The candidates that a function of the plan was chosen from.
pub fn chosen_from<'a>(search: &'a FinishedSearch<'_>, function: FunctionId) -> &'a [Candidate] {
    let outcome = search.result.outcome;
    match &outcome.added {
        Some(added) if outcome.delegated.contains(&function) => &added.candidates.chosen,
        _ => &outcome.candidates.chosen,
    }
}

/// `in 97 %`, and how often where that is more than once.
pub fn share(search: &FinishedSearch<'_>, candidate: &Candidate) -> String {
    let share = format!("in {:.0} %", candidate.called.share * 100.0);
    match wanted(search) {
        Some(_) if candidate.called.most > 1 => {
            let (median, most) = (candidate.called.median, candidate.called.most);
            format!("{median} times, at most {most}, {share}")
        }
        _ => share,
    }
}

/// The same for programs; `null` where no calls were looked for.
pub fn value(search: &FinishedSearch<'_>) -> Value {
    let Some(wanted) = wanted(search) else {
        return Value::Null;
    };
    let outcome = search.result.outcome;
    let symbol = |f: &FunctionId| &*search.result.trace.functions()[f.index()].symbol;
    let added = added(search);
    let ranking = added.map_or(&outcome.ranking, |added| &added.ranking);
    let candidates = added.map_or(&outcome.candidates, |added| &added.candidates);
    json!({
        "most": wanted.functions,
        "max_calls": wanted.rule.max_calls,
        "candidates": candidates.chosen.len(),
        "functions": outcome.delegated.iter().map(symbol).collect::<Vec<&str>>(),
        "strategy": ranking.strategy,
        "why_this_strategy": ranking.why,
        "sets_evaluated": ranking.evaluated,
        "stopped": ranking.stopped,
        "proven_optimal": ranking.is_optimal(),
        "gap_percent": ranking.gap().map(|gap| gap * 100.0),
        "held_out_without": added.map(|added| comparison::value(added.alone.verdict())),
    })
}
