//! What misses most if no plan pays, and what to try instead.
//!
//! Most servers do not gain from hops, but their trace shows what they miss. So the search for a
//! gain ends with a short profile of one core, whose rows each have a remedy. `corehop profile`
//! shows the rest.

use crate::console;
use crate::failure::Failure;
use crate::line::{Lines, line};
use crate::open;
use crate::profile::title;
use crate::progress::Bar;
use crate::replay::about;
use corehop_partitioner::progress::Progress;
use corehop_profile::{By, LargestCause, Level, PlaceKind, profile};
use corehop_simulator::{Machine, ReplayOptions, Split};
use corehop_support::format::number::share;
use serde_json::{Value, json};
use std::path::Path;

/// Number of causes to print.
const MOST: usize = 3;

/// The largest causes of L2 misses on one core.
pub struct Causes {
    l2_misses: u64,
    requests: u64,
    /// The share of the estimated cycles that L2 misses add.
    cycles_share: f64,
    causes: Vec<LargestCause>,
}

impl Causes {
    /// Profiles a trace on one core of `machine`. The first half of its requests is warm-up.
    pub fn of(path: &Path, machine: &Machine) -> Result<Causes, Failure> {
        let trace = open::open(path)?;
        let bar = Bar::new();
        let advance = |executions| bar.advance(executions);
        let options = ReplayOptions {
            requests: None,
            warm_up_requests: trace.requests().len() / 2,
            progress: Some(&advance),
            page_sizes: None,
        };
        bar.begin("code blocks profiled", Some(options.executions(&trace)));
        let split = Split::thread_per_core(1);
        let profile = profile(&trace, (machine, &split), &options, &[By::Object]);
        bar.end();
        let profile = profile.map_err(|error| about(Some(path), error))?;
        let cycles = profile.total.cycles(machine);
        let added = profile.total.cycles_of_l2_misses(machine);
        Ok(Causes {
            l2_misses: profile.total.misses(Level::L2),
            requests: profile.replay.requests,
            cycles_share: added as f64 / cycles.max(1) as f64,
            causes: profile.largest_causes(Level::L2, MOST),
        })
    }

    /// Returns whether a server without any L2 miss would gain less than this, in percent.
    pub fn are_below(&self, smallest_gain: f64) -> bool {
        let ratio = 1.0 / (1.0 - self.cycles_share);
        (ratio - 1.0) * 100.0 < smallest_gain
    }

    /// Prints the causes, and the command that shows all of them.
    pub fn tell(&self, trace: &Path, machine: &str) -> Result<(), Failure> {
        console::print(&self.text(trace, machine))
    }

    fn text(&self, trace: &Path, machine: &str) -> Lines {
        let mut text = Lines::new();
        let per_request = self.l2_misses as f64 / self.requests.max(1) as f64;
        let percent = self.cycles_share * 100.0;
        line!(
            text,
            "L2 misses on one core of {machine}: {per_request:.1} a request, {percent:.1} % of its \
             estimated cycles"
        );
        for cause in &self.causes {
            let share = share(cause.misses, self.l2_misses, 1);
            let object = title(By::Object, &cause.place);
            let advice = advice(cause).map(|advice| format!(": {advice}"));
            line!(
                text,
                "{share:>8}  {:<9}  {object}{}",
                cause.reason,
                advice.unwrap_or_default()
            );
        }
        line!(
            text,
            "To see all: corehop profile {} --machine {machine} --by function,line,object",
            trace.display()
        );
        text
    }

    /// Returns the causes for `--json`.
    pub fn json(&self) -> Value {
        let causes = self.causes.iter().map(|cause| {
            json!({
                "object": cause.place.name,
                "module": cause.place.module,
                "reason": cause.reason,
                "l2_misses": cause.misses,
                "advice": advice(cause),
            })
        });
        json!({
            "requests": self.requests,
            "l2_misses": self.l2_misses,
            "l2_misses_cycles_ratio": self.cycles_share,
            "causes": causes.collect::<Value>(),
        })
    }
}

/// Returns what removes misses of this cause, if anything does in general.
fn advice(cause: &LargestCause) -> Option<&'static str> {
    match (cause.place.kind, cause.reason) {
        (PlaceKind::Fetched, "capacity" | "conflict") => {
            Some("order the code by use, with PGO or BOLT")
        }
        (_, "capacity") => Some("make it smaller, or separate what is rarely used"),
        (_, "conflict") => Some("pad it, or align it differently"),
        (_, "cold") => Some("first access of the recording: prefetch it, or record more"),
        (_, "coherence") => Some("list its lines with --by sharing"),
        _ => None,
    }
}
