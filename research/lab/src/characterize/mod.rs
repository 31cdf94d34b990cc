//! Classifies lines of a server as private to a function or to a connection: the facts needed
//! before delegating a function.
//!
//! After Curto, "Execution delegation via user thread migration", chapter 6 (Accessprof). While a
//! call of a function is open, its thread is in the function's *phase*, otherwise outside it. A
//! line is phase-local or phase-global, and session-local or session-global, by its accesses
//! ([`classes`]). From that, a rule of thumb predicts the effect of delegating the function
//! ([`rule`]). Two more figures are not available from a profile: the lines that caches lose to the
//! function's accesses ([`traffic`]), and the effect of delegating it in an exact replay
//! ([`gain`]).
//!
//! One pass over a trace serves all functions: for each line, it counts the accesses while each
//! *set* of functions was open ([`touches`]). There are few such sets, however deep stacks are,
//! because they only contain requested functions. One pass for each function was rejected: its time
//! is proportional to the number of functions.

#![forbid(unsafe_code)]

pub mod classes;
mod error;
mod failure;
pub mod gain;
mod open_sets;
pub mod perf_script;
pub mod profile;
pub mod rule;
pub mod sampled;
mod session;
mod subject;
pub mod touches;
pub mod traffic;

pub use error::Error;
pub use session::Sessions;
pub use subject::{Characterisation, Subject};
