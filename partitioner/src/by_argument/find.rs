//! Finds arguments that are objects, in three passes over a trace: functions called often enough
//! but not too often, arguments whose known values change, and lines that their calls access.

use super::lifetimes;
use super::lines;
use super::object::{Object, ObjectArgument, objects_of};
use crate::error::Error;
use crate::progress::{self, Progress};
use corehop_plan::Argument;
use corehop_traces::{ARGUMENTS, Arguments, EnteredCall, FunctionId, Tell, ThreadId, Trace};
use std::collections::{HashMap, HashSet};

/// Functions with more calls per request on average are excluded: each call may be a hop.
pub const MOST_CALLS: u64 = 64;

/// Arguments known in a smaller share of calls are excluded.
const LEAST_KNOWN: f64 = 0.5;

/// Lines are counted for this many functions: those whose objects change most often.
const MOST_FUNCTIONS: usize = 128;

/// All object arguments of a trace, those with the most reused lines first.
#[derive(Clone, Debug)]
pub struct ObjectArguments {
    /// Number of complete requests, over which everything is counted.
    pub requests: u64,
    /// Number of functions called in too few requests.
    pub called_too_rarely: usize,
    /// Number of functions called more than [`MOST_CALLS`] times per request.
    pub called_too_often: usize,
    /// Number of other functions that cannot be patched.
    pub unpatchable: usize,
    /// Number of functions without a known object argument.
    pub without_objects: usize,
    /// Arguments whose objects are mostly created by the same request.
    pub renewed: Vec<ObjectArgument>,
    /// The object arguments.
    pub all: Vec<ObjectArgument>,
}

/// Finds object arguments of functions that are called in at least `min_share` of the requests.
///
/// # Errors
/// [`Error::NoRequests`], [`Error::NoPointers`], or an error of reading the trace.
pub fn object_arguments(
    trace: &Trace,
    min_share: f64,
    progress: &dyn Progress,
) -> Result<ObjectArguments, Error> {
    if !trace.has_pointers() {
        return Err(Error::NoPointers);
    }
    let requests = trace.requests().iter().filter(|request| request.complete);
    let mut found = ObjectArguments {
        requests: requests.count() as u64,
        called_too_rarely: 0,
        called_too_often: 0,
        unpatchable: 0,
        without_objects: 0,
        renewed: Vec::new(),
        all: Vec::new(),
    };
    if found.requests == 0 {
        return Err(Error::NoRequests);
    }
    let total = trace.execution_count();
    let stage = |name| (name, total);
    let functions = progress::stage(progress, stage("code blocks read for calls"), |tell| {
        found.choose(trace, min_share, tell)
    })?;
    let wanted = functions.iter().filter(|wanted| **wanted).count();
    let stage_of_arguments = stage("code blocks read for arguments");
    let mut arguments = progress::stage(progress, stage_of_arguments, |tell| {
        changing(trace, functions, tell)
    })?;
    arguments.retain(|one| {
        let known = one.known as f64 / one.calls as f64;
        known >= LEAST_KNOWN && one.objects > 1 && one.changes > 0
    });
    let listed: HashSet<FunctionId> = arguments.iter().map(|one| one.function).collect();
    found.without_objects = wanted - listed.len();
    arguments.sort_by_key(|one| (std::cmp::Reverse(one.changes), one.function, one.argument));
    let mut counted = Vec::new();
    for one in &arguments {
        if !counted.contains(&one.function) && counted.len() < MOST_FUNCTIONS {
            counted.push(one.function);
        }
    }
    arguments.retain(|one| counted.contains(&one.function));
    progress::stage(progress, stage("code blocks read for lifetimes"), |tell| {
        lifetimes::count(trace, &counted, &mut arguments, tell)
    })?;
    (found.renewed, arguments) = arguments.into_iter().partition(ObjectArgument::is_renewed);
    progress::stage(progress, stage("code blocks read for lines"), |tell| {
        lines::count(trace, &counted, &mut arguments, tell)
    })?;
    let order = |one: &ObjectArgument| {
        let lines = std::cmp::Reverse(one.lines_again);
        (lines, one.function, one.argument)
    };
    arguments.sort_by_key(order);
    found.all = arguments;
    Ok(found)
}

impl ObjectArguments {
    /// Returns the functions with an acceptable number of calls, by index.
    fn choose(
        &mut self,
        trace: &Trace,
        min_share: f64,
        tell: Tell<'_>,
    ) -> Result<Vec<bool>, Error> {
        let count = trace.functions().len();
        let (mut calls, mut requests) = (vec![0_u64; count], vec![0_u64; count]);
        // Each request runs on one thread.
        let mut latest = vec![vec![None; count]; trace.threads().len()];
        let mut executions = trace.executions().telling(tell);
        while let Some(execution) = executions.next()? {
            let (Some(function), Some(request)) = (execution.entry, execution.request) else {
                continue;
            };
            if !trace.requests()[request.index()].complete {
                continue;
            }
            calls[function.index()] += 1;
            let latest = &mut latest[execution.thread.index()][function.index()];
            if latest.replace(request) != Some(request) {
                requests[function.index()] += 1;
            }
        }
        let mut wanted = vec![false; count];
        for (place, function) in trace.functions().iter().enumerate() {
            let share = requests[place] as f64 / self.requests as f64;
            match function.unpatchable {
                _ if function.is_import() => {}
                _ if calls[place] == 0 || share < min_share => self.called_too_rarely += 1,
                _ if calls[place] > MOST_CALLS * self.requests => self.called_too_often += 1,
                Some(_) => self.unpatchable += 1,
                None => wanted[place] = true,
            }
        }
        Ok(wanted)
    }
}

/// Counts for one argument.
#[derive(Default)]
struct Seen {
    known: u64,
    changes: u64,
    objects: HashSet<Object>,
    latest: HashMap<ThreadId, Object>,
}

/// Counts calls and objects of the arguments of these functions.
fn changing(
    trace: &Trace,
    functions: Vec<bool>,
    tell: Tell<'_>,
) -> Result<Vec<ObjectArgument>, Error> {
    let mut calls: HashMap<FunctionId, (u64, [Seen; ARGUMENTS])> = HashMap::new();
    let mut take = |call: EnteredCall| {
        let is_complete =
            |request: corehop_traces::RequestId| trace.requests()[request.index()].complete;
        if !call.request.is_some_and(is_complete) {
            return;
        }
        let (count, all) = calls.entry(call.function).or_default();
        *count += 1;
        for (object, seen) in objects_of(trace, &call).into_iter().zip(all) {
            let Some(object) = object else { continue };
            seen.known += 1;
            seen.objects.insert(object);
            let before = seen.latest.insert(call.thread, object);
            seen.changes += u64::from(before.is_some_and(|before| before != object));
        }
    };
    let mut arguments = Arguments::new(trace, functions);
    let executions = trace.executions().with_virtual_addresses();
    let mut executions = executions.telling(tell);
    while let Some(execution) = executions.next()? {
        arguments.execution(&execution, &mut take);
    }
    arguments.finish(&mut take);
    let of_function = |(function, (count, all)): (FunctionId, (u64, [Seen; ARGUMENTS]))| {
        let arguments = Argument::ALL.into_iter().zip(all);
        arguments.map(move |(argument, seen)| ObjectArgument {
            function,
            argument,
            calls: count,
            known: seen.known,
            objects: seen.objects.len() as u64,
            changes: seen.changes,
            lasting: 0,
            renewed: 0,
            accesses: 0,
            lines: 0,
            lines_returned_to: 0,
            lines_again: 0,
        })
    };
    Ok(calls.into_iter().flat_map(of_function).collect())
}
