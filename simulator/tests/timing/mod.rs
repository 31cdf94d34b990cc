//! The timed replay compared with a naive one and with formulas, and the rules of its prefetchers.

mod a_lock_a_server_and_a_hop;
mod accesstest;
mod against_model;
pub mod against_naive;
mod engine_equals_naive;
mod known_schedulers;
mod laws;
#[allow(dead_code)] // What the bench tells of it.
#[path = "../../../benches/messages/simulated.rs"]
mod messages;
mod prefetchers_bring_what_their_rules_say;
#[allow(dead_code)] // What the bench tells of it.
#[path = "../../../benches/accesstest/simulated.rs"]
mod simulated;

use crate::core_model::naive as core_model;
use crate::{definitions, oracle, random, steps, synthetic};
