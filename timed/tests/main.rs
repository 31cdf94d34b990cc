//! All tests of the crate, as one program, which is built sooner than one for each file.

mod a_lock_a_server_and_a_hop;
mod against_model;
mod against_naive;
#[path = "../../core_model/tests/naive/mod.rs"]
mod core_model;
#[path = "../../traces/tests/definitions/mod.rs"]
mod definitions;
mod laws;
#[allow(dead_code)] // What the bench tells of it.
#[path = "../../benches/messages/simulated.rs"]
mod messages;
#[path = "../../simulator/tests/oracle/mod.rs"]
mod oracle;
mod prefetchers_bring_what_their_rules_say;
#[path = "../../simulator/tests/random/mod.rs"]
mod random;
#[allow(dead_code)] // What the bench tells of it.
#[path = "../../benches/accesstest/simulated.rs"]
mod simulated;
#[path = "../../simulator/tests/steps/mod.rs"]
mod steps;
#[path = "../../benches/synthetic/mod.rs"]
mod synthetic;
