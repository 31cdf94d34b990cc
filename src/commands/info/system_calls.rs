//! The system calls of a trace: the count of each, and the work between them.

use super::stretches::Stretches;
use crate::terminal::line::{Lines, line};
use corehop_support::format::number::grouped;
use corehop_support::format::system_call::name;
use corehop_traces::{Execution, RequestId, ThreadId, Trace};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The counts of one call.
#[derive(Default)]
struct Made {
    calls: u64,
    /// Number of calls in complete requests.
    in_requests: u64,
    failed: u64,
    not_returned: u64,
}

/// Counts collected during the pass.
pub struct SystemCalls {
    by_number: BTreeMap<i32, Made>,
    complete_requests: usize,
    /// Work between any two calls.
    of_all: Stretches,
    /// Work between two calls that also enter the kernel outside of QEMU.
    of_kernel: Stretches,
}

impl SystemCalls {
    /// Starts before the first execution.
    pub fn of(trace: &Trace) -> SystemCalls {
        let mut by_number: BTreeMap<i32, Made> = BTreeMap::new();
        let threads = 0..trace.threads().len();
        let calls = threads.flat_map(|t| trace.system_calls(ThreadId::from_index(t)));
        for call in calls {
            let made = by_number.entry(call.number).or_default();
            made.calls += 1;
            made.failed += u64::from(call.result.is_some_and(is_error));
            made.not_returned += u64::from(call.result.is_none());
        }
        SystemCalls {
            by_number,
            complete_requests: trace.requests().iter().filter(|r| r.complete).count(),
            of_all: Stretches::of(trace),
            of_kernel: Stretches::of(trace),
        }
    }

    /// Counts the next execution of the trace.
    pub fn execution(&mut self, trace: &Trace, execution: &Execution<'_>) {
        let calls = trace.system_calls_after(execution.thread, execution.number);
        self.of_all.execution(trace, execution);
        self.of_kernel.execution(trace, execution);
        if !calls.is_empty() {
            self.of_all.call(execution.thread);
        }
        if calls.iter().any(|call| !needs_no_kernel(call.number)) {
            self.of_kernel.call(execution.thread);
        }
        let complete = |id: RequestId| trace.requests()[id.index()].complete;
        if !execution.request.is_some_and(complete) {
            return;
        }
        for call in calls {
            if let Some(made) = self.by_number.get_mut(&call.number) {
                made.in_requests += 1;
            }
        }
    }

    /// Ends the pass.
    pub fn finish(&mut self) {
        self.of_all.finish();
        self.of_kernel.finish();
    }

    fn calls(&self) -> u64 {
        self.by_number.values().map(|made| made.calls).sum()
    }

    fn a_request(&self, made: &Made) -> Option<f64> {
        let requests = self.complete_requests;
        (requests > 0).then(|| made.in_requests as f64 / requests as f64)
    }

    /// Returns the calls, the most frequent first.
    fn in_order(&self) -> Vec<(i32, &Made)> {
        let mut all: Vec<_> = self.by_number.iter().map(|(&n, made)| (n, made)).collect();
        all.sort_by_key(|&(number, made)| (Reverse(made.calls), number));
        all
    }

    /// Returns one line.
    pub fn in_short(&self) -> String {
        match self.by_number.len() {
            0 => "none recorded".into(),
            kinds => format!("{} of {kinds} kinds", grouped(self.calls())),
        }
    }

    /// Returns a line for each call, and the work between calls.
    pub fn as_text(&self) -> Lines {
        let mut text = Lines::new();
        if self.by_number.is_empty() {
            line!(
                text,
                "no system calls: none was made, or the trace was imported, or recorded by a \
                 version that kept none"
            );
            return text;
        }
        let (call, calls, share) = ("system call", "calls", "a request");
        let (failed, open) = ("failed", "not returned");
        line!(
            text,
            "{call:<26}{calls:>12}{share:>12}{failed:>12}{open:>14}"
        );
        for (number, made) in self.in_order() {
            let counts = [made.calls, made.failed, made.not_returned].map(grouped);
            let [calls, failed, open] = counts;
            let share = self
                .a_request(made)
                .map_or("-".into(), |s| format!("{s:.2}"));
            let name = name(number);
            line!(
                text,
                "{name:<26}{calls:>12}{share:>12}{failed:>12}{open:>14}"
            );
        }
        let all = Made {
            in_requests: self.by_number.values().map(|made| made.in_requests).sum(),
            ..Made::default()
        };
        let share = self
            .a_request(&all)
            .map_or("-".into(), |s| format!("{s:.2}"));
        line!(
            text,
            "{:<26}{:>12}{share:>12}",
            "all",
            grouped(self.calls())
        );
        line!(text);
        text.append(&self.of_all.as_text("from one to the next"));
        line!(text);
        text.append(&self.of_kernel.as_text("the clock's left out"));
        text
    }

    /// Returns everything as JSON.
    pub fn as_json(&self) -> Value {
        let by_name = self.in_order().into_iter().map(|(number, made)| {
            json!({
                "name": name(number),
                "number": number,
                "calls": made.calls,
                "calls_per_request": self.a_request(made),
                "failed": made.failed,
                "not_returned": made.not_returned,
            })
        });
        json!({
            "calls": self.calls(),
            "by_name": by_name.collect::<Value>(),
            "between": self.of_all.as_json(),
            "between_without_clock": self.of_kernel.as_json(),
        })
    }
}

/// Returns whether a result is a Linux error.
fn is_error(result: i64) -> bool {
    (-4095..0).contains(&result)
}

/// Returns whether Linux answers this call without the kernel, from memory shared with the process
/// (vDSO). Under QEMU 7.2 a server has no such memory, and makes the call.
fn needs_no_kernel(number: i32) -> bool {
    let clocks = [
        libc::SYS_clock_gettime,
        libc::SYS_clock_getres,
        libc::SYS_gettimeofday,
        libc::SYS_time,
        libc::SYS_getcpu,
    ];
    clocks.contains(&i64::from(number))
}
