//! The corehop plan: the functions at whose entry a thread migrates, and the target core of each.
//!
//! The target is a fixed core, or the core of the object that an argument points to. A plan is a
//! TOML file that people can read and edit. The search writes it; replay, patch and the demo read
//! it. It identifies every function by module, build id, offset and symbol, so that a plan for
//! another build is rejected, not misapplied.

#![forbid(unsafe_code)]

pub mod carriers;
mod contradiction;
mod destination;
mod error;
mod inert;
mod plan;
mod read;
mod write;

pub use contradiction::Contradiction;
pub use destination::{Argument, By, Destination, KthCall, LAST_CALL, MOST_AFTER, NoArgument};
pub use error::Error;
pub use inert::{acts, inert, inert_json};
pub use plan::{
    Comparison, Expected, Mode, Plan, PlannedFunction, Request, VERSION, VERSION_BY_ARGUMENT,
};
pub use read::{parse, read};
pub use write::{render, write};
