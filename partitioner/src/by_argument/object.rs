//! An argument that is an object, with its counts.

use crate::error::Error;
use corehop_plan::Argument;
use corehop_traces::{ARGUMENTS, Arguments, EnteredCall, FunctionId, Trace};

/// An object: the process, and the 16-byte granule that contains the argument's address.
pub(super) type Object = (u32, u64);

/// An argument that is an object, with counts over complete requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectArgument {
    /// The function.
    pub function: FunctionId,
    /// Which of its arguments.
    pub argument: Argument,
    /// Calls of the function.
    pub calls: u64,
    /// Calls with a known value of the argument.
    pub known: u64,
    /// Number of distinct objects in these calls.
    pub objects: u64,
    /// Calls with another object than the thread's previous known call, if there is one.
    pub changes: u64,
    /// Calls that load bytes of the object from before their request.
    pub lasting: u64,
    /// Calls that load only bytes of the object that their request has stored.
    pub renewed: u64,
    /// Loads and stores of all calls.
    pub accesses: u64,
    /// Distinct data lines of each call, summed over calls.
    pub lines: u64,
    /// Distinct lines of calls that reuse an object after calls of other objects.
    pub lines_returned_to: u64,
    /// Those of these lines whose last access was in the object's previous call.
    pub lines_again: u64,
}

impl ObjectArgument {
    /// Whether the objects are mostly created by each request and do not outlive it.
    pub(super) fn is_renewed(&self) -> bool {
        self.renewed > self.lasting
    }
}

/// Returns, by function of the trace, its index in `functions`; and their calls, in order.
pub(super) fn calls_of(
    trace: &Trace,
    functions: &[FunctionId],
) -> Result<(Vec<Option<usize>>, Vec<EnteredCall>), Error> {
    let mut place_of = vec![None; trace.functions().len()];
    for (place, function) in functions.iter().enumerate() {
        place_of[function.index()] = Some(place);
    }
    let wanted = place_of.iter().map(Option::is_some).collect();
    Ok((place_of, Arguments::of(trace, wanted)?))
}

/// Returns the object of each known argument.
pub(super) fn objects_of(trace: &Trace, call: &EnteredCall) -> [Option<Object>; ARGUMENTS] {
    let process = trace.threads()[call.thread.index()].process_id;
    let object = |argument: Option<u64>| argument.map(|address| (process, address >> 4));
    call.arguments.map(object)
}
