//! An argument that is an object, and what is counted of it.

use crate::error::Error;
use corehop_plan::Argument;
use corehop_traces::{ARGUMENTS, Arguments, EnteredCall, FunctionId, Trace};

/// An object: the process, and the 16 bytes that the argument points into.
pub(super) type Object = (u32, u64);

/// An argument that is an object, and what calls by it do; counted over complete requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectArgument {
    /// The function.
    pub function: FunctionId,
    /// Which of its arguments.
    pub argument: Argument,
    /// Calls of the function.
    pub calls: u64,
    /// Those whose argument is known.
    pub known: u64,
    /// How many objects these name.
    pub objects: u64,
    /// Those that name another object than the thread's known call before, which there is.
    pub changes: u64,
    /// Calls that load bytes of the object which were there before their request.
    pub lasting: u64,
    /// Calls that load only bytes of it which their request has stored.
    pub renewed: u64,
    /// Loads and stores of all calls.
    pub accesses: u64,
    /// Distinct lines of data of each call, all together.
    pub lines: u64,
    /// Distinct lines of the calls that name an object again, after others.
    pub lines_returned_to: u64,
    /// Those of these that the object's call before has referenced too, and no call since.
    pub lines_again: u64,
}

impl ObjectArgument {
    /// Whether each request mostly creates its objects, so that none is there for the next.
    pub(super) fn is_renewed(&self) -> bool {
        self.renewed > self.lasting
    }
}

/// By function of the trace, its place among these; and the calls of these, in order.
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

/// The object of each argument that is known.
pub(super) fn objects_of(trace: &Trace, call: &EnteredCall) -> [Option<Object>; ARGUMENTS] {
    let process = trace.threads()[call.thread.index()].process_id;
    let object = |argument: Option<u64>| argument.map(|address| (process, address >> 4));
    call.arguments.map(object)
}
