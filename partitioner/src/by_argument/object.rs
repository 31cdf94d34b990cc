//! An argument that is an object, and what is counted of it.

use corehop_plans::Argument;
use corehop_traces::{ARGUMENTS, EnteredCall, FunctionId, Trace};

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
    /// Whether its objects are mostly made anew in each request: none is there for the next.
    pub(super) fn is_renewed(&self) -> bool {
        self.renewed > self.lasting
    }
}

/// The object of each argument that is known.
pub(super) fn objects_of(trace: &Trace, call: &EnteredCall) -> [Option<Object>; ARGUMENTS] {
    let process = trace.threads()[call.thread.index()].process_id;
    let object = |argument: Option<u64>| argument.map(|address| (process, address >> 4));
    call.arguments.map(object)
}
