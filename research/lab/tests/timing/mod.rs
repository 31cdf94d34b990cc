//! The naive timed replay of the simulator's tests, and its dependencies.

#[path = "../../../../simulator/tests/timing/against_naive/mod.rs"]
pub mod against_naive;
#[path = "../../../../simulator/tests/core_model/naive/mod.rs"]
mod core_model;

use crate::{definitions, oracle, random, steps};
