//! Counts the data lines of calls, and the lines that an object's next call accesses again.
//!
//! For each line and function, the last call that accessed it is kept. If that is the object's
//! previous call, the line would still be in the cache of the object's core. Elsewhere, calls of
//! other objects have had time to evict it.

use super::object::{Object, ObjectArgument, calls_of, objects_of};
use crate::error::Error;
use corehop_traces::{ARGUMENTS, EnteredCall, Execution, FunctionId, Kind, Tell, Trace};
use std::collections::HashMap;

/// Counts of one function's calls.
struct Function {
    id: FunctionId,
    /// Number of calls so far; calls are numbered from 1.
    calls: u32,
    /// By line: the last call that accessed it, 0 for none.
    latest: Vec<u32>,
    /// By object of each argument: the number of its last call.
    calls_of_objects: [HashMap<Object, u32>; ARGUMENTS],
    accesses: u64,
    lines: u64,
    lines_returned_to: [u64; ARGUMENTS],
    lines_again: [u64; ARGUMENTS],
}

/// A call in progress on a thread.
#[derive(Clone, Copy)]
struct Call {
    number: u32,
    /// By argument: the previous call of the same object, if calls of others came in between.
    before: [Option<u32>; ARGUMENTS],
}

/// Counts accesses and lines for these arguments of `functions`.
pub fn count(
    trace: &Trace,
    functions: &[FunctionId],
    arguments: &mut [ObjectArgument],
    tell: Tell<'_>,
) -> Result<(), Error> {
    let (place_of, calls) = calls_of(trace, functions)?;
    let mut counting = Counting::new(trace, functions, (place_of, &calls));
    let mut executions = trace.executions().telling(tell);
    while let Some(execution) = executions.next()? {
        counting.execution(&execution);
    }
    for argument in arguments {
        let place = counting.place_of[argument.function.index()];
        let function = &counting.functions[place.expect("each is of these functions")];
        let number = usize::from(argument.argument.number()) - 1;
        argument.accesses = function.accesses;
        argument.lines = function.lines;
        argument.lines_returned_to = function.lines_returned_to[number];
        argument.lines_again = function.lines_again[number];
    }
    Ok(())
}

struct Counting<'c> {
    trace: &'c Trace,
    /// By function of the trace, its index among the counted functions.
    place_of: Vec<Option<usize>>,
    functions: Vec<Function>,
    /// The calls not yet processed.
    calls: &'c [EnteredCall],
    ids_of_lines: HashMap<u64, u32>,
    /// By thread and function: the call in progress.
    current: Vec<Vec<Option<Call>>>,
}

impl<'c> Counting<'c> {
    fn new(
        trace: &'c Trace,
        functions: &[FunctionId],
        (place_of, calls): (Vec<Option<usize>>, &'c [EnteredCall]),
    ) -> Counting<'c> {
        let new = |&id| Function {
            id,
            calls: 0,
            latest: Vec::new(),
            calls_of_objects: Default::default(),
            accesses: 0,
            lines: 0,
            lines_returned_to: [0; ARGUMENTS],
            lines_again: [0; ARGUMENTS],
        };
        Counting {
            trace,
            place_of,
            functions: functions.iter().map(new).collect(),
            calls,
            ids_of_lines: HashMap::new(),
            current: vec![vec![None; functions.len()]; trace.threads().len()],
        }
    }

    fn execution(&mut self, execution: &Execution<'_>) {
        let is_complete = execution
            .request
            .is_some_and(|request| self.trace.requests()[request.index()].complete);
        let current = &mut self.current[execution.thread.index()];
        if let Some(place) = execution
            .entry
            .and_then(|entry| self.place_of[entry.index()])
        {
            // Calls have the order of the trace, like their executions.
            let (call, rest) = self.calls.split_first().expect("each entry is a call");
            self.calls = rest;
            let function = &mut self.functions[place];
            debug_assert_eq!(call.function, function.id);
            let objects = objects_of(self.trace, call);
            current[place] = is_complete.then(|| function.enter(objects));
        }
        if !is_complete {
            current.fill(None);
            return;
        }
        for access in execution
            .accesses
            .iter()
            .filter(|access| access.kind != Kind::Fetch)
        {
            for line in access.lines() {
                let next = self.ids_of_lines.len() as u32;
                let id = *self.ids_of_lines.entry(line).or_insert(next);
                let calls = self.functions.iter_mut().zip(&*current);
                for (function, call) in calls {
                    if let Some(call) = call {
                        function.reference(call, id as usize);
                    }
                }
            }
        }
    }
}

impl Function {
    fn enter(&mut self, objects: [Option<Object>; ARGUMENTS]) -> Call {
        self.calls += 1;
        let number = self.calls;
        let mut before = [None; ARGUMENTS];
        for (argument, object) in objects.into_iter().enumerate() {
            let Some(object) = object else { continue };
            let latest = self.calls_of_objects[argument].insert(object, number);
            before[argument] = latest.filter(|&latest| latest + 1 < number);
        }
        Call { number, before }
    }

    fn reference(&mut self, call: &Call, line: usize) {
        if line >= self.latest.len() {
            self.latest.resize(line + 1, 0);
        }
        self.accesses += 1;
        let latest = std::mem::replace(&mut self.latest[line], call.number);
        if latest == call.number {
            return;
        }
        self.lines += 1;
        for (argument, before) in call.before.iter().enumerate() {
            if let Some(before) = *before {
                self.lines_returned_to[argument] += 1;
                self.lines_again[argument] += u64::from(latest == before);
            }
        }
    }
}
