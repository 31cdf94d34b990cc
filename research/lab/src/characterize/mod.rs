//! Which lines of a server are a function's own, and which a connection's: what to know before a
//! function is delegated.
//!
//! After Curto, "Execution delegation via user thread migration", chapter 6 (Accessprof): while a
//! call of a function is open, its thread is in the function's *phase*, else in all the others'.
//! A line is phase-local or phase-global, and session-local or session-global, by who touched it
//! ([`classes`]); from that a rule of thumb foretells what delegating the function does
//! ([`rule`]). Two figures stand beside, which no profile has: what the function's accesses
//! make caches lose ([`traffic`]), and what delegating it changes in an exact replay ([`gain`]).
//!
//! A trace is gone through once for all functions together: what is kept is, for each line, how
//! often it was touched while each *set* of functions was open ([`touches`]). Of such sets there
//! are few, however deep stacks are, since only functions asked about are in them. One pass for
//! each function was rejected: it takes as long as there are functions.

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
