//! What misses most if no plan pays, and what to try instead.
//!
//! Most servers do not gain from hops, but their trace shows what they miss. So the search for a
//! gain ends with a short profile, whose rows each have a remedy, and with the changes of the
//! layout of data that save most cycles. Both replay each of the server's threads on its own core,
//! if there are enough. `corehop profile` shows the rest.

use crate::commands::profile::title;
use crate::commands::replay::about;
use crate::failure::Failure;
use crate::open;
use crate::terminal::console;
use crate::terminal::line::{Lines, line};
use crate::terminal::progress::Bar;
use corehop_partitioner::progress::Progress;
use corehop_profile::what_if::{Suggestion, Suggestions, suggest_for};
use corehop_profile::{By, LargestCause, Level, PlaceKind, profile, profile_with_sharing, spread};
use corehop_simulator::{Machine, ReplayOptions};
use corehop_support::format::number::{counted, share};
use serde_json::{Value, json};
use std::path::Path;

/// Number of causes, and of changes, to print.
const MOST: usize = 3;

/// The largest causes of L2 misses.
pub struct Causes {
    cores: u32,
    l2_misses: u64,
    requests: u64,
    /// The share of the estimated cycles that L2 misses add.
    cycles_share: f64,
    causes: Vec<LargestCause>,
    /// `None` if no change can gain as much as matters.
    changes: Option<Suggestions>,
}

impl Causes {
    /// Profiles a trace on `machine`. The first half of its requests is warm-up. Tries changes of
    /// the layout only if a server without L2 misses would gain `smallest_gain` percent.
    pub fn of(path: &Path, machine: &Machine, smallest_gain: f64) -> Result<Causes, Failure> {
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
        let split = spread(&trace, machine);
        let on = (machine, &split);
        let views = [By::Object];
        // Only several threads share lines.
        let profile = match trace.threads().len() {
            1 => profile(&trace, on, &options, &views),
            _ => profile_with_sharing(&trace, on, &options, &views),
        };
        bar.end();
        let profile = profile.map_err(|error| about(Some(path), error))?;
        let cycles = profile.total.cycles(machine);
        let added = profile.total.cycles_of_l2_misses(machine);
        let mut causes = Causes {
            cores: split.cores(),
            l2_misses: profile.total.misses(Level::L2),
            requests: profile.replay.requests,
            cycles_share: added as f64 / cycles.max(1) as f64,
            causes: profile.largest_causes(Level::L2, MOST),
            changes: None,
        };
        if causes.largest_gain_percent() >= smallest_gain {
            bar.begin("code blocks replayed with changes", None);
            let changes = suggest_for(&trace, on, &options, profile);
            bar.end();
            causes.changes = Some(changes.map_err(|error| about(Some(path), error))?);
        }
        Ok(causes)
    }

    /// Returns the gain of a server without any L2 miss.
    fn largest_gain_percent(&self) -> f64 {
        (1.0 / (1.0 - self.cycles_share) - 1.0) * 100.0
    }

    /// Returns whether a server without any L2 miss would gain less than what matters.
    pub fn are_negligible(&self) -> bool {
        self.changes.is_none()
    }

    /// Prints the causes, and the command that shows all of them.
    pub fn tell(&self, trace: &Path, machine: &str) -> Result<(), Failure> {
        console::print(&self.text(trace, machine))
    }

    fn text(&self, trace: &Path, machine: &str) -> Lines {
        let mut text = Lines::new();
        let per_request = self.l2_misses as f64 / self.requests.max(1) as f64;
        let percent = self.cycles_share * 100.0;
        let cores = counted(u64::from(self.cores), "core", "cores");
        line!(
            text,
            "L2 misses on {cores} of {machine}: {per_request:.1} a request, {percent:.1} % of its \
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
        let all = format!(
            "corehop profile {} --machine {machine} --cores {}",
            trace.display(),
            self.cores
        );
        line!(text, "To see all: {all} --by function,line,object");
        if let Some(changes) = &self.changes {
            let tried = counted(changes.tried as u64, "change", "changes");
            match changes.helpful.len() {
                0 => line!(text, "none of {tried} of the layout of data saves cycles"),
                _ => line!(
                    text,
                    "changes of the layout of data that save cycles, of {tried} tried"
                ),
            }
            for change in changes.helpful.iter().take(MOST) {
                let percent = saved(changes, change) * 100.0;
                let (object, reason) = (&change.change.object, &change.reason);
                line!(text, "{percent:>6.1} %  {object}: {reason}");
            }
            if !changes.helpful.is_empty() {
                line!(text, "To see their TOML: {all} --suggest");
            }
        }
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
        let changes = self.changes.as_ref().map(|changes| {
            let helpful = changes.helpful.iter().take(MOST).map(|change| {
                json!({
                    "object": change.change.object,
                    "reason": change.reason,
                    "saved_cycles_ratio": saved(changes, change),
                })
            });
            json!({"tried": changes.tried, "helpful": helpful.collect::<Value>()})
        });
        json!({
            "cores": self.cores,
            "requests": self.requests,
            "l2_misses": self.l2_misses,
            "l2_misses_cycles_ratio": self.cycles_share,
            "causes": causes.collect::<Value>(),
            "changes": changes,
        })
    }
}

/// Returns the share of all cycles that a change saves.
fn saved(of: &Suggestions, change: &Suggestion) -> f64 {
    of.saved_cycles(change) as f64 / of.replay.counters.cycles.max(1) as f64
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
