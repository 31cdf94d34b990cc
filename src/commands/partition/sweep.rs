//! `corehop partition --sweep`: runs the same search for every number of cores, on every given
//! machine.
//!
//! One table shows where splitting gains and where it stops gaining. It writes no plan: the user
//! selects a row of the table, and requests its split.

use crate::failure::Failure;
use crate::terminal::console;
use crate::terminal::interrupt;
use crate::terminal::line::{Lines, line};
use crate::terminal::progress::Bar;
use corehop_partitioner::attribution::{mark, remarks};
use corehop_partitioner::objective::Objective;
use corehop_partitioner::progress::Progress;
use corehop_partitioner::weights::Weighted;
use corehop_partitioner::{Comparison, Error, Settings, partition};
use corehop_simulator::Machine;
use corehop_support::format::number::{change, grouped};
use corehop_traces::Trace;
use serde_json::{Value, json};

/// One search.
pub struct SearchRow<'a> {
    machine: &'a Machine,
    cores: u32,
    /// On held-out requests, if there are any.
    judged_on: Comparison,
}

impl SearchRow<'_> {
    fn break_even_cycles(&self) -> Option<f64> {
        self.judged_on.break_even_cycles(self.machine)
    }

    fn ratio(&self, objective: Objective) -> f64 {
        self.judged_on.ratio(objective).unwrap_or(1.0)
    }
}

/// The searches to run.
pub struct MachineSweep<'a> {
    pub machines: &'a [Weighted],
    pub trace: &'a Trace,
    pub trace_name: &'a str,
    /// The settings of each search; its number of cores is the largest one.
    pub settings: &'a Settings<'a>,
    /// Number of functions to hop at; `None` for the number of cores.
    pub functions: Option<u32>,
}

impl<'a> MachineSweep<'a> {
    /// Searches, and prints the results.
    pub fn print(&self, json: bool, bar: &Bar) -> Result<(), Failure> {
        let rows = self.run(bar)?;
        interrupt::finish_search();
        console::print(&match json {
            true => self.as_json(&rows),
            false => self.as_text(&rows),
        })
    }

    /// Searches for 2 cores and more on each machine.
    fn run(&self, progress: &dyn Progress) -> Result<Vec<SearchRow<'a>>, Error> {
        let mut rows = Vec::new();
        for one in self.machines.chunks(1) {
            let machine = &one[0].machine;
            for cores in 2..=self.settings.cores {
                if !rows.is_empty() && progress.is_stopped() {
                    break;
                }
                let settings = Settings {
                    cores,
                    delegate: self.settings.delegate.silently(),
                    functions: self.functions.unwrap_or(cores),
                    ..*self.settings
                };
                let judged = match partition(self.trace, one, &settings, progress) {
                    Ok(outcome) => outcome.evaluated,
                    // The table ends if there are fewer candidates than cores.
                    Err(Error::TooFewCandidates { .. }) if cores > 2 => break,
                    Err(error) => return Err(error),
                };
                rows.push(SearchRow {
                    machine,
                    cores,
                    judged_on: judged.verdict().clone(),
                });
            }
        }
        Ok(rows)
    }

    /// Returns the table as one JSON object.
    fn as_json(&self, rows: &[SearchRow<'_>]) -> Lines {
        let mut object = as_json(rows, self.trace_name, self.settings.objective);
        mark(&mut object, self.trace);
        Lines::of_json(&object)
    }

    /// Returns the table, with a sentence for each machine.
    fn as_text(&self, rows: &[SearchRow<'_>]) -> Lines {
        as_text(rows, (self.trace, self.trace_name), self.settings.objective)
    }
}

fn as_text(
    rows: &[SearchRow<'_>],
    (trace, trace_name): (&Trace, &str),
    objective: Objective,
) -> Lines {
    let mut text = Lines::new();
    line!(
        text,
        "{trace_name}: {} on {} requests",
        objective.name(),
        rows[0].judged_on.requests
    );
    for remark in remarks(trace) {
        line!(text, "{remark}");
    }
    for of_machine in rows.chunk_by(|a, b| a.machine.name == b.machine.name) {
        let machine = of_machine[0].machine;
        line!(text);
        line!(
            text,
            "{:<18}{:>14}{:>14}{:>10}{:>15}{:>18}{:>10}",
            machine.name,
            "one core",
            "split",
            "change",
            "hops/request",
            "break-even hop",
            "cycles"
        );
        for row in of_machine {
            let of = &row.judged_on;
            let cycles = of.split.cycles as f64 / of.baseline.cycles.max(1) as f64;
            let break_even = match row.break_even_cycles() {
                Some(cycles) if cycles > 0.0 => grouped(cycles as u64),
                _ => "none".into(),
            };
            line!(
                text,
                "{:<18}{:>14}{:>14}{:>10}{:>15.2}{break_even:>18}{:>10}",
                format!("  {} cores", row.cores),
                grouped(of.before(objective)),
                grouped(of.after(objective)),
                change(row.ratio(objective)),
                of.hops as f64 / of.requests as f64,
                change(cycles)
            );
        }
        line!(text, "{}", verdict(of_machine, objective));
    }
    text
}

/// Describes where splitting gains on one machine.
fn verdict(rows: &[SearchRow<'_>], objective: Objective) -> String {
    let by_ratio =
        |a: &&SearchRow<'_>, b: &&SearchRow<'_>| a.ratio(objective).total_cmp(&b.ratio(objective));
    let best = rows
        .iter()
        .min_by(by_ratio)
        .expect("a row for each machine");
    let cost = best.machine.hop_cost_cycles;
    let pays_in_cycles =
        |row: &&SearchRow<'_>| row.judged_on.split.cycles < row.judged_on.baseline.cycles;
    let cores: Vec<String> = rows
        .iter()
        .filter(pays_in_cycles)
        .map(|row| row.cores.to_string())
        .collect();
    if best.ratio(objective) >= 1.0 {
        return "no speedup found on any number of cores".into();
    }
    let hops = grouped(cost.into());
    match &cores[..] {
        [] => format!(
            "fewest {} on {} cores; with hops of {hops} cycles none of these saves time",
            objective.name(),
            best.cores
        ),
        some => format!(
            "fewest {} on {} cores; with hops of {hops} cycles {} cores save time",
            objective.name(),
            best.cores,
            some.join(", ")
        ),
    }
}

fn as_json(rows: &[SearchRow<'_>], trace_name: &str, objective: Objective) -> Value {
    let row = |row: &SearchRow<'_>| {
        json!({
            "machine": row.machine.name,
            "cores": row.cores,
            "requests": row.judged_on.requests,
            "baseline": row.judged_on.baseline,
            "split": row.judged_on.split,
            "hops": row.judged_on.hops,
            "ratio": row.judged_on.ratio(objective),
            "hop_cost_cycles": row.machine.hop_cost_cycles,
            "break_even_hop_cycles": row.break_even_cycles(),
        })
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    json!({ "trace": trace_name, "objective": objective, "rows": rows })
}
