//! A profile for programs, as `corehop schema profile --keys` lists it.

use crate::Profile;
use crate::code::CodeFrame;
use crate::cost::{Causes, Cost, Level};
use crate::heap::Made;
use crate::sharing::{ObjectOnLine, SharedLine, Sharing, SharingCost, Use, Verdict};
use crate::view::{By, Order, PlaceKind, View};
use corehop_simulator::{Counters, Machine, TlbCounters};
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

/// The cost of a place.
#[derive(Serialize)]
pub(crate) struct CostShown {
    accesses: u64,
    fetches: u64,
    loads: u64,
    stores: u64,
    cycles: u64,
    l1i: LevelShown,
    l1d: LevelShown,
    l2: LevelShown,
    l3: LevelShown,
    #[serde(skip_serializing_if = "Option::is_none")]
    tlb: Option<TlbShown>,
}

/// Translations of the accesses of a place.
#[derive(Serialize)]
struct TlbShown {
    l1_misses: u64,
    walks: u64,
}

impl CostShown {
    pub(crate) fn of(cost: &Cost, machine: &Machine) -> CostShown {
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
            tlb: None,
        }
    }

    fn with_tlb(self, cost: &Cost) -> CostShown {
        CostShown {
            tlb: Some(TlbShown {
                l1_misses: cost.l1_tlb_misses(),
                walks: cost.walks(),
            }),
            ..self
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
    #[serde(skip_serializing_if = "Option::is_none")]
    made: Option<Made>,
    cost: CostShown,
}

/// A view with its first rows.
#[derive(Serialize)]
pub struct ViewShown<'p> {
    by: By,
    places: usize,
    unnamed: CostShown,
    #[serde(skip_serializing_if = "Option::is_none")]
    without_types: Option<CostShown>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    tlb: Option<TlbCounters>,
    total: CostShown,
    views: Vec<ViewShown<'p>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sharing: Option<SharingShown<'p>>,
}

/// Lines that threads share, the first of them in detail.
#[derive(Serialize)]
struct SharingShown<'p> {
    lines: usize,
    shared: SharingCost,
    not_shared: SharingCost,
    rows: Vec<SharedLineShown<'p>>,
}

#[derive(Serialize)]
struct SharedLineShown<'p> {
    address: String,
    process: Option<u32>,
    verdict: Verdict,
    objects: Vec<ObjectShown<'p>>,
    loading_threads: usize,
    storing_threads: usize,
    cost: SharingCost,
    places: usize,
    uses: Vec<UseShown<'p>>,
}

#[derive(Serialize)]
struct ObjectShown<'p> {
    kind: PlaceKind,
    name: &'p str,
    module: Option<&'p str>,
    is_named: bool,
    line_offset: u8,
    offset: Option<u64>,
}

#[derive(Serialize)]
struct UseShown<'p> {
    offset: u8,
    size_bytes: u8,
    thread: u32,
    function: &'p str,
    code: &'p str,
    module: Option<&'p str>,
    frames: &'p [CodeFrame],
    cost: SharingCost,
}

impl<'p> SharingShown<'p> {
    /// Shows at most `limit` lines, and at most as many uses of each.
    fn of(sharing: &'p Sharing, limit: usize) -> SharingShown<'p> {
        let rows = sharing.lines.iter().take(limit);
        SharingShown {
            lines: sharing.lines.len(),
            shared: sharing.shared,
            not_shared: sharing.not_shared,
            rows: rows.map(|line| SharedLineShown::of(line, limit)).collect(),
        }
    }
}

impl<'p> SharedLineShown<'p> {
    fn of(line: &'p SharedLine, limit: usize) -> SharedLineShown<'p> {
        let object = |of: &'p ObjectOnLine| ObjectShown {
            kind: of.place.kind,
            name: &of.place.name,
            module: of.place.module.as_deref(),
            is_named: of.place.is_named,
            line_offset: of.line_offset,
            offset: of.offset,
        };
        let used = |of: &'p Use| UseShown {
            offset: of.offset,
            size_bytes: of.size_bytes,
            thread: of.thread,
            function: &of.function,
            code: &of.code.name,
            module: of.code.module.as_deref(),
            frames: &of.code.frames,
            cost: of.cost,
        };
        SharedLineShown {
            address: format!("{:#x}", line.address),
            process: line.process,
            verdict: line.verdict(),
            objects: line.objects.iter().map(object).collect(),
            loading_threads: line.loading_threads,
            storing_threads: line.storing_threads,
            cost: line.cost,
            places: line.uses.len(),
            uses: line.top_uses(limit).into_iter().map(used).collect(),
        }
    }
}

/// Returns a profile of the trace with this name as one object: of each view, the first `limit`
/// rows in this order. Counts are totals over the counted requests.
#[must_use]
pub fn shown<'p>(
    profile: &'p Profile,
    (trace, warm_up): (&'p str, usize),
    machine: &'p Machine,
    (order, limit): (Order, usize),
) -> Shown<'p> {
    let tlbs = &profile.replay.tlbs;
    let shown = |cost: &Cost| match tlbs.is_empty() {
        true => CostShown::of(cost, machine),
        false => CostShown::of(cost, machine).with_tlb(cost),
    };
    let view = |view: &'p View| ViewShown {
        by: view.by,
        places: view.rows.len(),
        unnamed: shown(&view.unnamed()),
        without_types: (view.by == By::Member).then(|| shown(&view.without_types)),
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
                made: row.made,
                cost: shown(&row.cost),
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
        tlb: (!tlbs.is_empty()).then(|| tlbs.iter().copied().sum()),
        total: shown(&profile.total),
        views: profile.views.iter().map(view).collect(),
        sharing: profile
            .sharing
            .as_ref()
            .map(|sharing| SharingShown::of(sharing, limit)),
    }
}
