//! Functions that go by an argument: the core of the object that each of their calls is about.
//!
//! Which core an object has depends on the sequence of arguments alone (`table.rs`), and a trace
//! has one order. So before a replay one pass finds all arguments and gives objects their cores,
//! and the replay looks up what each call got. The pass is over all of the trace, whichever
//! requests are replayed then, because the program ran so.
//!
//! A call whose argument the trace does not tell moves nobody, and its object is not counted as
//! named: the program, which knows it, may place later objects otherwise.

mod table;

pub use table::ObjectTable;

use crate::error::Error;
use crate::ids::CoreId;
use corehop_plan::By;
use corehop_traces::{Arguments, Calls, EnteredCall, FunctionId, ThreadId, Trace};
use std::collections::HashMap;

/// A function that goes by an argument, and what the trace tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByArgument {
    /// The function.
    pub function: FunctionId,
    /// What it goes by.
    pub by: By,
    /// Its calls in all of the trace.
    pub calls: u64,
    /// Those whose argument is known; the others move nobody.
    pub known: u64,
    /// Those of the known ones whose object had no core yet; they move nobody either.
    pub early: u64,
    /// How many objects came by calls of it; one that was forgotten and comes again counts again.
    pub objects: u64,
}

/// Where the calls of such functions go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objects {
    /// By thread: numbers of executions that enter one about an object, ascending, and its core.
    homes: Vec<Vec<(u64, CoreId)>>,
    functions: Vec<ByArgument>,
}

impl Objects {
    /// Gives the objects of these functions' calls, which are among `calls` in the order of the
    /// trace, one of `cores` cores. A thread goes back when a call of those that are `delegated`,
    /// by function, ends: as in a patched program such a call is none in a signal handler.
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

    /// The core of the object that a call is about, by the thread's execution that enters it;
    /// `None` where it is about none, or that is not known.
    #[inline]
    pub(crate) fn home(&self, thread: ThreadId, number: u64) -> Option<CoreId> {
        let homes = self.homes.get(thread.index())?;
        let place = homes.binary_search_by_key(&number, |home| home.0).ok()?;
        Some(homes[place].1)
    }

    /// The functions, by index, and what is known of their calls.
    pub fn functions(&self) -> &[ByArgument] {
        &self.functions
    }
}

impl ByArgument {
    /// A function of which no call was seen yet.
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

/// All calls of these functions, as far as the trace tells them.
///
/// # Errors
/// [`Error::NoArguments`] when the trace does not tell arguments, [`Error::Trace`] for a trace that
/// cannot be read.
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
