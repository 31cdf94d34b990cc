//! Timeline of selected requests in the trace event format of Perfetto and Chrome: calls on their
//! threads, and the code that ran on each core with the plan.
//!
//! A trace has no clock, so time is counted in accesses of these requests: one microsecond each.
//! Calls create many events, so the user has to select requests.

use super::replay_pass::{ReplayStep, StepListener};
use corehop_plan::inert_json;
use corehop_simulator::{CoreId, Split};
use corehop_traces::{Calls, FunctionId, OpenCalls, RequestId, ThreadId, Trace};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Process numbers in the timeline: one for threads, one for cores.
const THREADS: u32 = 1;
const CORES: u32 = 2;

/// A period on one core.
struct CoreSlice {
    core: CoreId,
    request: RequestId,
    thread: ThreadId,
    begins: u64,
    ends: u64,
    missed: [u64; 2],
    /// The delegated function whose call it is.
    called: Option<FunctionId>,
}

/// Collects events, step by step.
pub struct Timeline<'t> {
    trace: &'t Trace,
    split: &'t Split,
    open: OpenCalls<'t>,
    requests: BTreeSet<RequestId>,
    /// By thread: the number of its open calls that have begun in the timeline.
    begun: Vec<usize>,
    now: u64,
    events: Vec<Value>,
    slices: Vec<CoreSlice>,
}

impl<'t> Timeline<'t> {
    /// Creates a timeline; `calls` has the calls of all functions.
    pub fn new(
        trace: &'t Trace,
        split: &'t Split,
        calls: &'t Calls,
        requests: &[RequestId],
    ) -> Timeline<'t> {
        let threads = trace.threads().len();
        Timeline {
            trace,
            split,
            open: OpenCalls::new(calls, threads),
            requests: requests.iter().copied().collect(),
            begun: vec![0; threads],
            now: 0,
            events: Vec::new(),
            slices: Vec::new(),
        }
    }

    fn end(&mut self, thread: ThreadId, calls: usize) {
        let begun = &mut self.begun[thread.index()];
        let calls = calls.min(*begun);
        *begun -= calls;
        let now = self.now;
        let end = || json!({ "ph": "E", "pid": THREADS, "tid": thread, "ts": now });
        self.events.extend(std::iter::repeat_with(end).take(calls));
    }

    fn begin(&mut self, thread: ThreadId, function: FunctionId) {
        let name = &self.trace.functions()[function.index()].name;
        self.begun[thread.index()] += 1;
        self.events.push(json!({
            "ph": "B", "pid": THREADS, "tid": thread, "ts": self.now, "name": name,
        }));
    }

    fn slice(&mut self, step: &ReplayStep<'_>, request: RequestId) {
        let (core, thread) = (step.core, step.execution.thread);
        let same = |slice: &&mut CoreSlice| (slice.core, slice.request) == (core, request);
        if self.slices.last_mut().filter(same).is_none() {
            let entered = step.execution.entry;
            self.slices.push(CoreSlice {
                called: entered.filter(|&function| self.split.delegates(function)),
                core,
                request,
                thread,
                begins: self.now,
                ends: self.now,
                missed: [0; 2],
            });
        }
        self.now += step.references.len() as u64;
        let slice = self
            .slices
            .last_mut()
            .expect("one was pushed at the latest now");
        slice.ends = self.now;
        for reference in step.references {
            for (sum, missed) in slice.missed.iter_mut().zip(reference.missed) {
                *sum += u64::from(missed);
            }
        }
    }

    /// Renders the file.
    pub fn text(mut self) -> String {
        for thread in (0..self.begun.len()).map(ThreadId::from_index) {
            self.end(thread, usize::MAX);
        }
        let name = |process: u32, name: &str| {
            json!({
                "ph": "M", "pid": process, "tid": 0, "name": "process_name",
                "args": { "name": name },
            })
        };
        let mut events = vec![
            name(THREADS, "calls by thread; a microsecond is an access"),
            name(CORES, "cores of the split"),
        ];
        events.append(&mut self.events);
        events.extend(self.slices.iter().map(|slice| {
            let [one, split] = slice.missed;
            let called = slice.called.map_or(String::new(), |function| {
                format!("{}, ", self.trace.functions()[function.index()].name)
            });
            json!({
                "ph": "X", "pid": CORES, "tid": slice.core, "ts": slice.begins,
                "dur": slice.ends - slice.begins,
                "name": format!("{called}request {} of thread {}", slice.request, slice.thread),
                "args": { "L2 misses, one core": one, "L2 misses, split": split },
            })
        }));
        let timeline = json!({ "displayTimeUnit": "ns", "traceEvents": events });
        inert_json(&timeline.to_string()).into_owned()
    }
}

impl StepListener for Timeline<'_> {
    fn step(&mut self, step: &ReplayStep<'_>) {
        let execution = step.execution;
        let thread = execution.thread;
        let before = self.open.of(thread).len();
        let (ended, entered) = self.open.come(execution);
        let shown = execution
            .request
            .filter(|request| self.requests.contains(request));
        let Some(request) = shown else {
            // Calls that were open when the request ended end here.
            self.end(thread, usize::MAX);
            return;
        };
        if self.begun[thread.index()] == 0 {
            // Calls that were open before the timeline begin with it.
            let outer: Vec<FunctionId> = self
                .open
                .of(thread)
                .iter()
                .map(|open| open.function)
                .collect();
            outer
                .iter()
                .for_each(|&function| self.begin(thread, function));
        } else {
            debug_assert_eq!(self.begun[thread.index()], before);
            self.end(thread, ended);
            entered
                .into_iter()
                .for_each(|function| self.begin(thread, function));
        }
        self.slice(step, request);
    }
}
