//! Functions that select their core by an argument: each call goes to the core of its object.
//!
//! The core of an object depends only on the sequence of arguments (`table.rs`), and a trace has
//! one order. Before a replay, one pass therefore finds all arguments and assigns cores to objects;
//! the replay looks up the result of each call. The pass always covers the whole trace, whichever
//! requests are replayed, because the program ran that way.
//!
//! A call whose argument is not in the trace moves no thread, and its object is not counted as
//! named. The program knows the argument and may place later objects differently.

mod table;

pub use table::ObjectTable;

use crate::error::Error;
use crate::ids::CoreId;
use corehop_plan::By;
use corehop_traces::{Arguments, Calls, EnteredCall, FunctionId, ThreadId, Trace};
use std::collections::HashMap;

/// A function that selects its core by an argument, and the counts of its calls in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByArgument {
    /// The function.
    pub function: FunctionId,
    /// The argument that selects the core.
    pub by: By,
    /// Number of its calls in the whole trace.
    pub calls: u64,
    /// Calls whose argument is known; the others move no thread.
    pub known: u64,
    /// Calls with a known argument whose object had no core yet; they also move no thread.
    pub early: u64,
    /// Number of new objects in its calls; a forgotten object that returns is counted again.
    pub objects: u64,
}

/// The destinations of the calls of such functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objects {
    /// For each thread: numbers of the executions that enter a call with an object, ascending, and
    /// the object's core.
    homes: Vec<Vec<(u64, CoreId)>>,
    functions: Vec<ByArgument>,
}

impl Objects {
    /// Assigns one of `cores` cores to each object in the calls of these functions. The calls are
    /// in `calls`, in trace order. `delegated` marks, for each function, whether its thread returns
    /// when a call ends. As in a patched program, a call of such a function in a signal handler is
    /// ignored.
    pub(crate) fn of(
        trace: &Trace,
        calls: &[EnteredCall],
        functions: &[(FunctionId, By)],
        delegated: &[bool],
        cores: u32,
    ) -> Result<Objects, Error> {
        let mut functions: Vec<ByArgument> =
            functions.iter().copied().map(ByArgument::new).collect();
        functions.sort_unstable_by_key(|one| one.function);
        functions.dedup_by_key(|one| one.function);
        let is_delegated = |function: FunctionId| delegated.get(function.index()) == Some(&true);
        let any = functions.iter().any(|one| is_delegated(one.function));
        let ended = any.then(|| Calls::of(trace, delegated)).transpose()?;
        let mut tables: HashMap<u32, ObjectTable> = HashMap::new();
        let mut homes = vec![Vec::new(); trace.threads().len()];
        for call in calls {
            let place = functions.binary_search_by_key(&call.function, |one| one.function);
            let Some(one) = place.ok().map(|place| &mut functions[place]) else {
                continue;
            };
            one.calls += 1;
            let argument = call.arguments[usize::from(one.by.argument.number()) - 1];
            one.known += u64::from(argument.is_some());
            let begins = |calls: &Calls| calls.begun_by(call.thread, call.number).is_some();
            let is_none = is_delegated(call.function) && !ended.as_ref().is_some_and(begins);
            let Some(address) = argument.filter(|_| !is_none) else {
                continue;
            };
            let process = trace.threads()[call.thread.index()].process_id;
            let table = tables
                .entry(process)
                .or_insert_with(|| ObjectTable::new(cores));
            let before = (table.objects(), table.early());
            if let Some(core) = table.name(call.thread, address, one.by.after) {
                homes[call.thread.index()].push((call.number, core));
            }
            one.objects += table.objects() - before.0;
            one.early += table.early() - before.1;
        }
        Ok(Objects { homes, functions })
    }

    /// Returns the core of a call's object, by the thread's execution that enters the call; `None`
    /// if there is no object or it is unknown.
    #[inline]
    pub(crate) fn home(&self, thread: ThreadId, number: u64) -> Option<CoreId> {
        let homes = self.homes.get(thread.index())?;
        let place = homes.binary_search_by_key(&number, |home| home.0).ok()?;
        Some(homes[place].1)
    }

    /// Returns the functions, by index, with the counts of their calls.
    pub fn functions(&self) -> &[ByArgument] {
        &self.functions
    }
}

impl ByArgument {
    /// Creates counts for a function without calls.
    fn new((function, by): (FunctionId, By)) -> ByArgument {
        ByArgument {
            function,
            by,
            calls: 0,
            known: 0,
            early: 0,
            objects: 0,
        }
    }
}

/// Returns all calls of these functions, with the arguments in the trace.
///
/// # Errors
/// [`Error::NoArguments`] if the trace has no arguments, [`Error::Trace`] if the trace cannot be
/// read.
pub fn calls_of(
    trace: &Trace,
    functions: impl IntoIterator<Item = FunctionId>,
) -> Result<Vec<EnteredCall>, Error> {
    if !trace.has_pointers() {
        return Err(Error::NoArguments);
    }
    let mut wanted = vec![false; trace.functions().len()];
    for function in functions {
        wanted[function.index()] = true;
    }
    Ok(Arguments::of(trace, wanted)?)
}
