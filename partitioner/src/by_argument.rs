//! Finds functions whose argument is an object, from a trace: candidates for choosing a core by
//! data.
//!
//! A function that works on one of many objects may run on the core of its object
//! (docs/reference/objects.md). This gains if the lines of an object are worth caching. Then a call
//! accesses many of them, the object's next call accesses them again, and calls of other objects
//! come in between. So this module counts, for each argument of each function called in most
//! requests: the objects, as the runtime distinguishes them; how often they change; and the lines
//! of a call. In mode `enter`, a thread stays on the core where a call moves it. So a call includes
//! all data lines that its thread accesses until its next call of the function, or until the
//! request's end.
//!
//! If each request creates the object, a core has nothing to cache for it. Arguments that mostly
//! point to such objects are rejected.
//!
//! Only calls whose arguments the trace contains (`corehop_traces::Arguments`) are counted, and
//! their number is reported.

mod choices;
mod find;
mod lifetimes;
mod lines;
mod object;
mod plan;
mod search;

pub use choices::AFTER;
pub use find::{MOST_CALLS, ObjectArguments, object_arguments};
pub use object::ObjectArgument;
pub use plan::plan_of;
pub use search::{Found, MOST_TRIED, Sought, search};
