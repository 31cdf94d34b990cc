//! Functions of which one call of each request may move a thread: which, and at which call.
//!
//! A function that requests call again and again is no candidate of other searches, for each call
//! would be a hop. But at one of its calls a phase may end. So each function that a plan may hook,
//! and that requests call more than once, is tried at a few of its calls: at powers of two, and at
//! quarters of what the middle request has. The thread goes to core 1 there, and back to core 0
//! where the next request begins. Calls that come close to each other in all requests make the
//! same split, and one stands for them. That leaves so few that nothing needs bounds: each is
//! replayed in full, and the best of them is the best there is.

mod choices;
mod plan;
mod search;

pub use choices::Choice;
pub use plan::plan_of;
pub use search::{Found, search};
