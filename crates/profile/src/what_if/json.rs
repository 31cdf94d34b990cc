//! What-ifs and suggestions for programs, as `corehop schema profile-what-if --keys` and
//! `profile-suggest` list them.

use super::file::Change;
use super::outcome::{ChangedObject, Outcome, Side};
use super::suggest::Suggestions;
use crate::cost::Cost;
use crate::json::CostShown;
use corehop_simulator::timing::PrefetcherName;
use corehop_simulator::{Counters, Machine, TlbCounters};
use serde::Serialize;

/// What moves between cores.
#[derive(Serialize)]
struct MovesShown {
    #[serde(flatten)]
    cost: CostShown,
    transfers: u64,
    hit_modified: u64,
    invalidated_lines: u64,
}

impl MovesShown {
    fn of(cost: &Cost, machine: &Machine) -> MovesShown {
        let counters = cost.counters(machine);
        MovesShown {
            cost: CostShown::of(cost, machine),
            transfers: counters.transfers,
            hit_modified: counters.hit_modified,
            invalidated_lines: counters.invalidated_lines,
        }
    }
}

#[derive(Serialize)]
struct SideShown<'o> {
    machine: &'o str,
    cores: usize,
    prefetcher: PrefetcherName,
    counters: Counters,
    #[serde(skip_serializing_if = "Option::is_none")]
    tlb: Option<TlbCounters>,
    total: MovesShown,
    rest: MovesShown,
}

impl<'o> SideShown<'o> {
    fn of(side: &'o Side) -> SideShown<'o> {
        let moves = |cost: &Cost| MovesShown::of(cost, &side.machine);
        let tlbs = &side.replay.tlbs;
        SideShown {
            machine: &side.machine.name,
            cores: side.replay.per_core.len(),
            prefetcher: side.prefetcher,
            counters: side.replay.counters,
            tlb: (!tlbs.is_empty()).then(|| tlbs.iter().copied().sum()),
            total: moves(&side.total),
            rest: moves(&side.rest),
        }
    }
}

#[derive(Serialize)]
struct RangeShown {
    first: String,
    last: String,
}

impl RangeShown {
    fn of(&(start, end): &(u64, u64)) -> RangeShown {
        RangeShown {
            first: format!("{start:#x}"),
            last: format!("{:#x}", end - 1),
        }
    }
}

#[derive(Serialize)]
struct ObjectShown<'o> {
    name: &'o str,
    module: Option<&'o str>,
    range: RangeShown,
    new_ranges: Vec<RangeShown>,
    before: MovesShown,
    after: MovesShown,
}

/// A what-if with its counts.
#[derive(Serialize)]
pub struct OutcomeShown<'o> {
    trace: &'o str,
    requests: u64,
    warm_up: usize,
    before: SideShown<'o>,
    after: SideShown<'o>,
    objects: Vec<ObjectShown<'o>>,
}

/// Returns the outcome of a what-if on the trace with this name as one object.
#[must_use]
pub fn outcome_shown<'o>(
    outcome: &'o Outcome,
    (trace, warm_up): (&'o str, usize),
) -> OutcomeShown<'o> {
    let Outcome {
        objects,
        before,
        after,
    } = outcome;
    let costs = before.objects.iter().zip(&after.objects);
    let object = |(of, (old, new)): (&'o ChangedObject, (&Cost, &Cost))| ObjectShown {
        name: &of.name,
        module: of.module.as_deref(),
        range: RangeShown::of(&of.range),
        new_ranges: of.new_ranges.iter().map(RangeShown::of).collect(),
        before: MovesShown::of(old, &before.machine),
        after: MovesShown::of(new, &after.machine),
    };
    OutcomeShown {
        trace,
        requests: before.replay.requests,
        warm_up,
        before: SideShown::of(before),
        after: SideShown::of(after),
        objects: objects.iter().zip(costs).map(object).collect(),
    }
}

#[derive(Serialize)]
struct SuggestionShown<'s> {
    reason: &'s str,
    change: &'s Change,
    saved_cycles: i64,
    after: MovesShown,
}

/// What-ifs that were tried, the best of them in detail.
#[derive(Serialize)]
pub struct SuggestionsShown<'s> {
    trace: &'s str,
    machine: &'s str,
    cores: usize,
    requests: u64,
    warm_up: usize,
    tried: usize,
    helpful: usize,
    before: MovesShown,
    suggestions: Vec<SuggestionShown<'s>>,
}

/// Returns the suggestions for the trace with this name as one object, of at most `limit`.
#[must_use]
pub fn suggestions_shown<'s>(
    of: &'s Suggestions,
    (trace, warm_up): (&'s str, usize),
    machine: &'s Machine,
    limit: usize,
) -> SuggestionsShown<'s> {
    let suggestions = of.helpful.iter().take(limit).map(|one| SuggestionShown {
        reason: &one.reason,
        change: &one.change,
        saved_cycles: of.saved_cycles(one),
        after: MovesShown::of(&one.after.total, machine),
    });
    SuggestionsShown {
        trace,
        machine: &machine.name,
        cores: of.replay.per_core.len(),
        requests: of.replay.requests,
        warm_up,
        tried: of.tried,
        helpful: of.helpful.len(),
        before: MovesShown::of(&of.total, machine),
        suggestions: suggestions.collect(),
    }
}
