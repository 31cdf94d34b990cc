//! Simulated results: `partition`, `explain`, `report`, and `replay`.

use super::super::side::Side;
use super::headline::Headline;
use corehop_plan::PlannedFunction;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The compared counters of a replay.
#[derive(Deserialize)]
struct Counters {
    l1i: Level,
    l1d: Level,
    l2: Level,
    l3: Level,
    cycles: u64,
}

#[derive(Deserialize)]
struct Level {
    accesses: u64,
    misses: u64,
}

/// The counters on one core and with the split.
#[derive(Deserialize)]
struct Comparison {
    requests: u64,
    baseline: Counters,
    split: Counters,
}

impl Counters {
    /// Adds the counts divided by `requests`; `of` names their subject.
    fn add(&self, side: &mut Side, of: &str, requests: u64) {
        let decimals = if requests > 0 { 2 } else { 0 };
        let requests = requests.max(1) as f64;
        let accesses = self.l1i.accesses + self.l1d.accesses;
        for (name, total) in [
            ("accesses", accesses),
            ("L1I misses", self.l1i.misses),
            ("L1D misses", self.l1d.misses),
            ("L2 misses", self.l2.misses),
            ("L3 misses", self.l3.misses),
            ("cycles", self.cycles),
        ] {
            side.count(format!("{name}{of}"), total as f64 / requests, decimals);
        }
    }
}

/// Adds both sides of a comparison, per request, and the ratio of their L2 misses.
fn compared(side: &mut Side, name: &str, of: &Comparison) {
    side.count(format!("{name}: requests"), of.requests as f64, 0);
    let misses = (of.split.l2.misses as f64, of.baseline.l2.misses as f64);
    let ratio = (misses.1 > 0.0).then(|| misses.0 / misses.1);
    side.count(format!("{name}: L2 misses ratio"), ratio, 3);
    let mut each = |what: &str, total: u64| {
        let per_request = (of.requests > 0).then(|| total as f64 / of.requests as f64);
        side.count(format!("{name}: {what}"), per_request, 2);
    };
    each("L2 misses, one core", of.baseline.l2.misses);
    each("L2 misses, split", of.split.l2.misses);
    each("cycles, one core", of.baseline.cycles);
    each("cycles, split", of.split.cycles);
}

/// Output of `corehop partition --json`.
#[derive(Deserialize)]
pub struct Partitioned {
    machine: String,
    trace: String,
    cores: u32,
    seed: u64,
    candidates: u64,
    strategy: String,
    proven_optimal: bool,
    verdict: String,
    backend: Option<String>,
    cycles_ratio: BTreeMap<String, f64>,
    searched: Comparison,
    held_out: Option<Comparison>,
    hops_per_request: f64,
    objective: String,
    draws_together: Option<Draws>,
    against: Option<String>,
    plan: Vec<PlannedFunction>,
}

/// The plan's ratio on other samples of requests.
#[derive(Deserialize)]
struct Draws {
    mean: f64,
    least: f64,
    most: f64,
}

impl Headline for Partitioned {
    fn side(self) -> Side {
        let mut side = Side::default();
        side.set("machine", self.machine);
        side.set("trace", self.trace);
        side.set("cores", self.cores);
        side.set("seed", self.seed);
        side.set("objective", self.objective);
        side.set("strategy", self.strategy);
        let proven = if self.proven_optimal { "yes" } else { "no" };
        side.set("proven optimal", proven);
        side.set_or_none("backend", self.backend);
        side.set_or_none("against the plan", self.against);
        side.set("verdict", self.verdict);
        if let Some(held_out) = &self.held_out {
            compared(&mut side, "held out", held_out);
        }
        compared(&mut side, "searched", &self.searched);
        let draws = self.draws_together.as_ref();
        let interval = draws.map(|of| [of.least, of.most]);
        side.estimate("ratio over draws", draws.map(|of| of.mean), interval);
        for (backend, ratio) in self.cycles_ratio {
            side.count(format!("cycles ratio, {backend}"), ratio, 3);
        }
        side.count("hops per request", self.hops_per_request, 2);
        side.count("candidates", self.candidates as f64, 0);
        side.functions = Some(self.plan);
        side
    }
}

/// Output of `corehop partition --sweep --json`.
#[derive(Deserialize)]
pub struct Swept {
    trace: String,
    objective: String,
    rows: Vec<Row>,
}

/// One search of a sweep.
#[derive(Deserialize)]
struct Row {
    machine: String,
    cores: u32,
    requests: u64,
    baseline: Counters,
    split: Counters,
    hops: u64,
    ratio: Option<f64>,
}

impl Headline for Swept {
    fn side(self) -> Side {
        let mut side = Side::default();
        side.set("trace", self.trace);
        side.set("objective", self.objective);
        for row in self.rows {
            let name = match row.cores {
                1 => format!("{}, 1 core", row.machine),
                cores => format!("{}, {cores} cores", row.machine),
            };
            let requests = row.requests.max(1) as f64;
            side.count(format!("{name}: ratio"), row.ratio, 3);
            for (what, total) in [
                ("L2 misses, one core", row.baseline.l2.misses),
                ("L2 misses, split", row.split.l2.misses),
                ("hops", row.hops),
            ] {
                side.count(format!("{name}: {what}"), total as f64 / requests, 2);
            }
        }
        side
    }
}

/// Output of `corehop partition --by-argument --json`.
#[derive(Deserialize)]
pub struct ByArgument {
    machine: String,
    trace: String,
    cores: u32,
    seed: u64,
    objective: String,
    verdict: String,
    searched: Comparison,
    held_out: Option<Comparison>,
    hops_per_request: f64,
    candidates: u64,
    calls: u64,
    objects: u64,
    plan: Vec<PlannedFunction>,
}

impl Headline for ByArgument {
    fn side(self) -> Side {
        let mut side = Side::default();
        side.set("machine", self.machine);
        side.set("trace", self.trace);
        side.set("cores", self.cores);
        side.set("seed", self.seed);
        side.set("objective", self.objective);
        side.set("verdict", self.verdict);
        if let Some(held_out) = &self.held_out {
            compared(&mut side, "held out", held_out);
        }
        compared(&mut side, "searched", &self.searched);
        side.count("hops per request", self.hops_per_request, 2);
        side.count("candidates", self.candidates as f64, 0);
        side.count("calls", self.calls as f64, 0);
        side.count("objects", self.objects as f64, 0);
        side.functions = Some(self.plan);
        side
    }
}

/// Output of `corehop explain --json`, and of `corehop report --json`, which has more keys.
#[derive(Deserialize)]
pub struct Explained {
    machine: String,
    trace: String,
    requests: u64,
    warm_up: u64,
    baseline: Totals,
    split: Totals,
    hop_cost_cycles: u32,
    break_even_hop_cycles: Option<f64>,
    throughput: Vec<Throughput>,
    cores: Vec<Core>,
}

#[derive(Deserialize)]
struct Totals {
    counters: Counters,
    hops: u64,
}

#[derive(Deserialize)]
struct Throughput {
    connections: u64,
    baseline_requests_per_million_cycles: f64,
    split_requests_per_million_cycles: f64,
}

#[derive(Deserialize)]
struct Core {
    core: u32,
    entering: Vec<String>,
    counters: Counters,
}

impl Headline for Explained {
    fn side(self) -> Side {
        let mut side = Side::default();
        let requests = self.requests;
        side.set("machine", self.machine);
        side.set("trace", self.trace);
        side.set("warm-up", self.warm_up);
        for of in &self.cores {
            let name = format!("entering core {}", of.core);
            side.set(&name, of.entering.join(", "));
        }
        side.count("requests", requests as f64, 0);
        self.baseline
            .counters
            .add(&mut side, ", one core", requests);
        self.split.counters.add(&mut side, ", split", requests);
        let each = |total: u64| total as f64 / requests.max(1) as f64;
        side.count("hops", each(self.split.hops), 2);
        for of in &self.cores {
            let name = format!("L2 misses of core {}", of.core);
            side.count(name, each(of.counters.l2.misses), 2);
        }
        side.count("hop cost in cycles", f64::from(self.hop_cost_cycles), 0);
        side.count("break-even hop cost", self.break_even_hop_cycles, 0);
        for of in self.throughput {
            let [before, after] = [
                of.baseline_requests_per_million_cycles,
                of.split_requests_per_million_cycles,
            ];
            let name = format!("throughput of {}", of.connections);
            side.count(format!("{name}, one core"), before, 2);
            side.count(format!("{name}, split"), after, 2);
        }
        side
    }
}

/// Output of `corehop replay --json` for one machine.
#[derive(Deserialize)]
pub struct Replayed {
    machine: String,
    trace: String,
    placement: String,
    cores: u32,
    hops: u64,
    counters: Counters,
    baseline: Option<Baseline>,
}

#[derive(Deserialize)]
struct Baseline {
    placement: String,
    counters: Counters,
}

impl Headline for Replayed {
    fn side(self) -> Side {
        let mut side = Side::default();
        side.set("machine", self.machine);
        side.set("trace", self.trace);
        side.set("placement", self.placement);
        side.set("cores", self.cores);
        self.counters.add(&mut side, "", 0);
        side.count("hops", self.hops as f64, 0);
        if let Some(Baseline {
            placement,
            counters,
        }) = self.baseline
        {
            side.set("baseline", placement);
            counters.add(&mut side, ", baseline", 0);
        }
        side
    }
}
