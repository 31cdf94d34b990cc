//! A profile for programs, as `corehop schema profile --keys` lists it.

use crate::Profile;
use crate::code::CodeFrame;
use crate::cost::{Causes, Cost, Level};
use crate::view::{By, Order, PlaceKind, View};
use corehop_simulator::{Counters, Machine};
use corehop_traces::Kind;
use serde::Serialize;

/// Misses of a level, and why.
#[derive(Serialize)]
struct LevelShown {
    misses: u64,
    #[serde(flatten)]
    causes: Causes,
}

impl LevelShown {
    fn of(causes: Causes) -> LevelShown {
        LevelShown {
            misses: causes.total(),
            causes,
        }
    }
}

/// What something cost.
#[derive(Serialize)]
struct CostShown {
    accesses: u64,
    fetches: u64,
    loads: u64,
    stores: u64,
    cycles: u64,
    l1i: LevelShown,
    l1d: LevelShown,
    l2: LevelShown,
    l3: LevelShown,
}

impl CostShown {
    fn of(cost: &Cost, machine: &Machine) -> CostShown {
        CostShown {
            accesses: cost.accesses(),
            fetches: cost.accesses_of(Kind::Fetch),
            loads: cost.accesses_of(Kind::Load),
            stores: cost.accesses_of(Kind::Store),
            cycles: cost.cycles(machine),
            l1i: LevelShown::of(cost.fetch_causes()),
            l1d: LevelShown::of(cost.data_causes()),
            l2: LevelShown::of(cost.causes(Level::L2)),
            l3: LevelShown::of(cost.causes(Level::L3)),
        }
    }
}

#[derive(Serialize)]
struct RowShown<'p> {
    kind: PlaceKind,
    name: &'p str,
    module: Option<&'p str>,
    frames: &'p [CodeFrame],
    is_named: bool,
    cost: CostShown,
}

/// A view with its first rows.
#[derive(Serialize)]
pub struct ViewShown<'p> {
    by: By,
    places: usize,
    unnamed: CostShown,
    rows: Vec<RowShown<'p>>,
}

/// A profile with the first rows of each view.
#[derive(Serialize)]
pub struct Shown<'p> {
    trace: &'p str,
    machine: &'p str,
    cores: usize,
    requests: u64,
    warm_up: usize,
    counters: Counters,
    total: CostShown,
    views: Vec<ViewShown<'p>>,
}

/// A profile of the trace with this name as one object: of each view, the first `limit` rows in
/// this order. Counts are totals over the counted requests.
#[must_use]
pub fn shown<'p>(
    profile: &'p Profile,
    (trace, warm_up): (&'p str, usize),
    machine: &'p Machine,
    (order, limit): (Order, usize),
) -> Shown<'p> {
    let view = |view: &'p View| ViewShown {
        by: view.by,
        places: view.rows.len(),
        unnamed: CostShown::of(&view.unnamed(), machine),
        rows: view
            .sorted(order, machine)
            .into_iter()
            .take(limit)
            .map(|row| RowShown {
                kind: row.place.kind,
                name: &row.place.name,
                module: row.place.module.as_deref(),
                frames: &row.place.frames,
                is_named: row.place.is_named,
                cost: CostShown::of(&row.cost, machine),
            })
            .collect(),
    };
    Shown {
        trace,
        machine: &machine.name,
        cores: profile.replay.per_core.len(),
        requests: profile.replay.requests,
        warm_up,
        counters: profile.replay.counters,
        total: CostShown::of(&profile.total, machine),
        views: profile.views.iter().map(view).collect(),
    }
}
