//! Functions whose argument is an object, told from a trace: where a thread could go by data.
//!
//! A function that works on one of many objects may go to the core of the object that it is called
//! about (docs/reference/objects.md). That pays where an object's lines are worth keeping: a call
//! references many of them, the object's next call the same ones again, and other objects' calls
//! come in between. So for each argument of each function that is called in most requests this
//! counts the objects, as the runtime tells them apart, how often they change, and the lines of a
//! call. In mode `enter` a thread stays where a call takes it. So a call's lines are those of the
//! data that its thread references from the entry up to its next call of the function, or to the
//! request's end.
//!
//! An object that each request creates has nothing that a core could keep. Arguments that mostly
//! point to such objects are refused.
//!
//! Only what the trace tells is counted (`corehop_traces::Arguments`), and of how many calls it
//! does is said.

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
