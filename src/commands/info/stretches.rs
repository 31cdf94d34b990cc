//! The work of a thread between two consecutive system calls, in instructions and accesses of user
//! code.
//!
//! Two stretches are not counted: one across omitted requests, whose work is unknown, and the work
//! of a thread before its first call or after its last.

use crate::terminal::line::{Lines, line};
use corehop_support::format::number::grouped;
use corehop_traces::{Execution, RequestId, ThreadId, Trace};
use serde_json::{Value, json};

/// The work of a thread since its last call.
#[derive(Clone, Default)]
struct Since {
    /// Whether there was a call, and everything since is in the trace.
    is_known: bool,
    request: Option<RequestId>,
    instructions: u64,
    accesses: u64,
}

/// The stretches of all threads.
pub struct Stretches {
    threads: Vec<Since>,
    /// Numbers of the trace's requests, ascending.
    request_numbers: Vec<u64>,
    instructions: Vec<u64>,
    accesses: Vec<u64>,
}

impl Stretches {
    /// Starts before the first execution.
    pub fn of(trace: &Trace) -> Stretches {
        let numbers = trace.requests().iter().filter_map(|r| r.number);
        let mut request_numbers: Vec<u64> = numbers.collect();
        request_numbers.sort_unstable();
        Stretches {
            threads: vec![Since::default(); trace.threads().len()],
            request_numbers,
            instructions: Vec::new(),
            accesses: Vec::new(),
        }
    }

    /// Counts the next execution of user code.
    pub fn execution(&mut self, trace: &Trace, execution: &Execution<'_>) {
        let (thread, request) = (execution.thread.index(), execution.request);
        let before = self.threads[thread].request;
        let is_lost = before != request && self.leaves_out_some(trace, before, request);
        let since = &mut self.threads[thread];
        since.request = request;
        since.is_known &= !is_lost;
        let block = &trace.code_blocks()[execution.code_block as usize];
        since.instructions += block.instructions.len() as u64;
        since.accesses += execution.accesses.len() as u64;
    }

    /// Ends the stretch of a thread at a call.
    pub fn call(&mut self, thread: ThreadId) {
        let since = &mut self.threads[thread.index()];
        if since.is_known {
            self.instructions.push(since.instructions);
            self.accesses.push(since.accesses);
        }
        *since = Since {
            is_known: true,
            request: since.request,
            ..Since::default()
        };
    }

    /// Returns whether the server served requests between these two that are not in the trace.
    fn leaves_out_some(
        &self,
        trace: &Trace,
        from: Option<RequestId>,
        to: Option<RequestId>,
    ) -> bool {
        let number = |id: RequestId| trace.requests()[id.index()].number;
        let (Some(from), Some(to)) = (from.and_then(number), to.and_then(number)) else {
            return false;
        };
        let all = &self.request_numbers;
        let up_to = |last| all.partition_point(|&number| number <= last) as u64;
        up_to(to).wrapping_sub(up_to(from)) != to.wrapping_sub(from)
    }

    /// Ends the pass.
    pub fn finish(&mut self) {
        self.instructions.sort_unstable();
        self.accesses.sort_unstable();
    }

    /// Returns a table with this heading.
    pub fn as_text(&self, heading: &str) -> Lines {
        let mut text = Lines::new();
        let [count, mean, median] = ["stretches", "mean", "median"];
        line!(text, "{heading:<26}{count:>12}{mean:>12}{median:>12}");
        let all = [
            ("instructions", &self.instructions),
            ("accesses", &self.accesses),
        ];
        for (what, all) in all {
            let count = grouped(all.len() as u64);
            let (mean, median) = match middle(all) {
                Some((mean, median)) => (grouped(mean.round() as u64), grouped(median)),
                None => ("-".into(), "-".into()),
            };
            line!(text, "{what:<26}{count:>12}{mean:>12}{median:>12}");
        }
        text
    }

    /// Returns the same as JSON.
    pub fn as_json(&self) -> Value {
        json!({
            "stretches": self.instructions.len(),
            "instructions": as_json(&self.instructions),
            "accesses": as_json(&self.accesses),
        })
    }
}

/// Returns the mean and the median of ascending numbers; the upper middle one of an even number.
fn middle(ascending: &[u64]) -> Option<(f64, u64)> {
    let median = *ascending.get(ascending.len() / 2)?;
    let sum: u64 = ascending.iter().sum();
    Some((sum as f64 / ascending.len() as f64, median))
}

fn as_json(ascending: &[u64]) -> Value {
    match middle(ascending) {
        Some((mean, median)) => json!({"mean": mean, "median": median}),
        None => Value::Null,
    }
}
