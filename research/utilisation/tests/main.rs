//! All tests of the crate, as one program.

#[path = "../../../simulator/tests/queueing/events/mod.rs"]
mod events;
mod locking;
mod models_equal_a_simulation;
