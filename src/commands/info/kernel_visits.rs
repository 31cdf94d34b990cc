//! Why the kernel ran, in the trace of a virtual machine: visits per request, and the work of each.
//!
//! An interrupt within a system call is a separate visit. Instructions and accesses therefore
//! exclude those of nested visits.

use super::stretches::Stretches;
use crate::terminal::line::{Lines, line};
use corehop_simulator::detail::{Reason, Visits};
use corehop_support::format::number::grouped;
use corehop_traces::{Execution, Trace};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The counts of one or several visits.
#[derive(Clone, Copy, Default)]
struct Done {
    visits: u64,
    /// Number of visits that began in complete requests.
    in_requests: u64,
    instructions: u64,
    accesses: u64,
}

impl Done {
    fn add(&mut self, other: Done) {
        self.visits += other.visits;
        self.in_requests += other.in_requests;
        self.instructions += other.instructions;
        self.accesses += other.accesses;
    }

    fn mean(&self, of: u64) -> f64 {
        of as f64 / self.visits as f64
    }
}

/// Counts collected during the pass.
pub struct KernelVisits<'t> {
    visits: Visits<'t>,
    /// Counts by visit.
    done: Vec<Done>,
    complete_requests: usize,
    /// User code between two system calls.
    between: Stretches,
}

impl<'t> KernelVisits<'t> {
    /// Starts before the first execution.
    pub fn of(trace: &'t Trace) -> KernelVisits<'t> {
        KernelVisits {
            visits: Visits::of(trace),
            done: Vec::new(),
            complete_requests: trace.requests().iter().filter(|r| r.complete).count(),
            between: Stretches::of(trace),
        }
    }

    /// Counts the next execution of the trace.
    pub fn execution(&mut self, trace: &Trace, execution: &Execution<'_>) {
        let Some(visit) = self.visits.execution(execution) else {
            self.between.execution(trace, execution);
            return;
        };
        if visit == self.done.len() {
            let request = execution.request.map(|id| trace.requests()[id.index()]);
            self.done.push(Done {
                visits: 1,
                in_requests: u64::from(request.is_some_and(|request| request.complete)),
                ..Done::default()
            });
            if self.visits.all()[visit].reason == Reason::SystemCall {
                self.between.call(execution.thread);
            }
        }
        let block = &trace.code_blocks()[execution.code_block as usize];
        self.done[visit].instructions += block.instructions.len() as u64;
        self.done[visit].accesses += execution.accesses.len() as u64;
    }

    /// Ends the pass.
    pub fn finish(&mut self) {
        self.between.finish();
    }

    /// Returns the counts by reason and name, the largest first.
    fn kinds(&self) -> Vec<(Reason, &str, Done)> {
        let mut kinds: BTreeMap<(Reason, &str), Done> = BTreeMap::new();
        for (visit, done) in self.visits.all().iter().zip(&self.done) {
            let kind = kinds.entry((visit.reason, &visit.name)).or_default();
            kind.add(*done);
        }
        let mut kinds: Vec<_> = kinds.into_iter().map(|((r, n), d)| (r, n, d)).collect();
        kinds.sort_by_key(|(reason, name, done)| (*reason, Reverse(done.visits), *name));
        kinds
    }

    fn a_request(&self, done: &Done) -> Option<f64> {
        let requests = self.complete_requests;
        (requests > 0).then(|| done.in_requests as f64 / requests as f64)
    }

    /// Returns the system calls in one line; `None` if the trace has no kernel.
    pub fn in_short(&self) -> Option<String> {
        let kinds = self.kinds();
        let calls = kinds.iter().filter(|(r, ..)| *r == Reason::SystemCall);
        let made: u64 = calls.clone().map(|(.., done)| done.visits).sum();
        let kinds = calls.count();
        (!self.done.is_empty()).then(|| format!("{} of {kinds} kinds", grouped(made)))
    }

    /// Returns a table by reason, and the user code between system calls; `None` as above.
    pub fn as_text(&self) -> Option<Lines> {
        let kinds = self.kinds();
        let mut text = Lines::new();
        let [visits, share] = ["visits", "a request"];
        let [instructions, accesses] = ["instructions", "accesses"];
        line!(
            text,
            "{:<34}{visits:>12}{share:>12}{instructions:>14}{accesses:>12}",
            "the kernel, each time"
        );
        for of_reason in kinds.chunk_by(|a, b| a.0 == b.0) {
            let mut all = Done::default();
            of_reason.iter().for_each(|(.., done)| all.add(*done));
            self.row(&mut text, plural(of_reason[0].0), &all);
            for (_, name, done) in of_reason.iter().filter(|(_, name, _)| !name.is_empty()) {
                self.row(&mut text, &format!("  {name}"), done);
            }
        }
        line!(text);
        text.append(&self.between.as_text("user code between calls"));
        (!kinds.is_empty()).then_some(text)
    }

    fn row(&self, text: &mut Lines, name: &str, done: &Done) {
        let share = self.a_request(done);
        let share = share.map_or("-".into(), |share| format!("{share:.2}"));
        let mean = |of| grouped(done.mean(of).round() as u64);
        let (instructions, accesses) = (mean(done.instructions), mean(done.accesses));
        let visits = grouped(done.visits);
        line!(
            text,
            "{name:<34}{visits:>12}{share:>12}{instructions:>14}{accesses:>12}"
        );
    }

    /// Returns the same as JSON; null if the trace has no kernel.
    pub fn as_json(&self) -> Value {
        let kinds = self.kinds().into_iter().map(|(reason, name, done)| {
            json!({
                "reason": reason.key(),
                "name": name,
                "visits": done.visits,
                "visits_per_request": self.a_request(&done),
                "instructions": done.mean(done.instructions),
                "accesses": done.mean(done.accesses),
            })
        });
        let kinds: Vec<Value> = kinds.collect();
        match kinds.is_empty() {
            true => Value::Null,
            false => json!({ "by_name": kinds, "between_system_calls": self.between.as_json() }),
        }
    }
}

fn plural(reason: Reason) -> &'static str {
    match reason {
        Reason::SystemCall => "system calls",
        Reason::Interrupt => "interrupts",
        Reason::Exception => "exceptions",
        Reason::Idle => "idle",
        Reason::Other => "from before the recording",
    }
}
