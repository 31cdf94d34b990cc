//! Results measured on the real machine: `measure` and `optimize`.

use super::super::side::Side;
use super::headline::{Headline, median};
use corehop_plan::PlannedFunction;
use serde::Deserialize;

/// Output of `corehop measure --json`.
#[derive(Deserialize)]
pub struct Measured {
    plan: Option<String>,
    system_calls: Option<String>,
    command: Vec<String>,
    rounds: u64,
    original: Vec<f64>,
    patched: Vec<f64>,
    latency: Option<Sides>,
    ratio: f64,
    interval: [f64; 2],
    resolution_percent: f64,
    verdict: String,
    hops: Option<Statistics>,
    counters: Counters,
    predicted: Predicted,
}

/// Throughput or latency by round.
#[derive(Deserialize)]
struct Sides {
    original: Vec<f64>,
    patched: Vec<f64>,
}

#[derive(Deserialize)]
struct Statistics {
    backend: String,
    hops: u64,
    failed_hops: u64,
    hop_ns: f64,
}

#[derive(Deserialize)]
struct Counters {
    #[serde(default)]
    per_operation: Vec<Counter>,
}

#[derive(Deserialize)]
struct Counter {
    name: String,
    original: Option<f64>,
    patched: Option<f64>,
}

#[derive(Deserialize)]
struct Predicted {
    l2_misses_ratio: Option<f64>,
    throughput_ratio: Option<f64>,
}

fn of_statistics(side: &mut Side, hops: Option<&Statistics>) {
    side.set_or_none("backend", hops.map(|of| &of.backend));
    side.count("hops", hops.map(|of| of.hops as f64), 0);
    side.count("failed hops", hops.map(|of| of.failed_hops as f64), 0);
    side.count("ns per hop", hops.map(|of| of.hop_ns), 0);
}

impl Headline for Measured {
    fn side(self) -> Side {
        let mut side = Side::default();
        side.set("command", self.command.join(" "));
        side.set_or_none("plan", self.plan);
        side.set_or_none("system calls", self.system_calls);
        side.set("verdict", self.verdict);
        side.estimate("ratio", Some(self.ratio), Some(self.interval));
        side.count("original, median", median(&self.original), 2);
        side.count("patched, median", median(&self.patched), 2);
        if let Some(latency) = self.latency {
            side.count("latency, original", median(&latency.original), 4);
            side.count("latency, patched", median(&latency.patched), 4);
        }
        side.count("rounds", self.rounds as f64, 0);
        side.count("resolution in percent", self.resolution_percent, 1);
        of_statistics(&mut side, self.hops.as_ref());
        for Counter {
            name,
            original,
            patched,
        } in self.counters.per_operation
        {
            side.count(format!("{name}, original"), original, 4);
            side.count(format!("{name}, patched"), patched, 4);
        }
        let Predicted {
            l2_misses_ratio,
            throughput_ratio,
        } = self.predicted;
        side.count("predicted L2 misses ratio", l2_misses_ratio, 3);
        side.count("predicted throughput ratio", throughput_ratio, 3);
        side
    }
}

/// Output of `corehop optimize --json`.
#[derive(Deserialize)]
pub struct Optimized {
    gain: bool,
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    why_not: Option<String>,
    system_calls: Option<String>,
    machine: String,
    hop_cost_cycles: u32,
    original: Option<Vec<f64>>,
    patched: Option<Vec<f64>>,
    best: Option<usize>,
    hops: Option<Statistics>,
    tried: Vec<Tried>,
}

#[derive(Deserialize)]
struct Tried {
    cores: Option<u32>,
    functions: Option<Vec<PlannedFunction>>,
    predicted: Option<Prediction>,
    system_calls: Option<String>,
}

#[derive(Deserialize)]
struct Prediction {
    l2_misses_ratio: f64,
    cycles_ratio: f64,
    hops_per_request: f64,
    /// Results of earlier versions have none.
    #[serde(default)]
    speedup: Option<Speedup>,
}

#[derive(Deserialize)]
struct Speedup {
    median: f64,
}

impl Headline for Optimized {
    fn side(mut self) -> Side {
        let best = self.best.filter(|&best| best < self.tried.len());
        let best = best.map(|best| self.tried.swap_remove(best));
        let mut side = Side::default();
        side.set("gain", if self.gain { "yes" } else { "no" });
        side.set_or_none("why not", self.why_not);
        side.set_or_none("system calls with a gain", self.system_calls);
        let of_best = best.as_ref().and_then(|of| of.system_calls.as_ref());
        side.set_or_none("system calls of the best", of_best);
        side.set("machine", self.machine);
        side.estimate("ratio", self.ratio, self.interval);
        let rounds = |of: Option<&Vec<f64>>| median(of?);
        side.count("original, median", rounds(self.original.as_ref()), 2);
        side.count("patched, median", rounds(self.patched.as_ref()), 2);
        side.count("hop cost in cycles", f64::from(self.hop_cost_cycles), 0);
        of_statistics(&mut side, self.hops.as_ref());
        let tried = self.tried.len() + usize::from(best.is_some());
        side.count("candidates tried", tried as f64, 0);
        let predicted = best.as_ref().and_then(|of| of.predicted.as_ref());
        let predicted = |of: fn(&Prediction) -> f64| predicted.map(of);
        side.count(
            "predicted L2 misses ratio",
            predicted(|of| of.l2_misses_ratio),
            3,
        );
        side.count("predicted cycles ratio", predicted(|of| of.cycles_ratio), 3);
        side.count(
            "predicted hops per request",
            predicted(|of| of.hops_per_request),
            2,
        );
        let speedup = best.as_ref().and_then(|of| of.predicted.as_ref());
        let speedup = speedup.and_then(|of| of.speedup.as_ref());
        side.count("predicted speedup", speedup.map(|of| of.median), 2);
        let cores = best.as_ref().and_then(|of| of.cores);
        side.count("cores of the best", cores.map(f64::from), 0);
        side.functions = best.and_then(|of| of.functions);
        side
    }
}
