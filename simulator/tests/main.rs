//! All tests of the crate as one program, which builds faster than one for each file.

mod a_plan_becomes_a_split;
mod a_replay_equals_the_oracle;
mod a_replay_prefetches_what_a_naive_one_does;
mod against_cachegrind;
mod branches_are_predicted;
mod bundled_machines;
mod coherence_and_inclusion;
mod coloured;
mod core_model;
#[path = "../../traces/tests/definitions/mod.rs"]
mod definitions;
mod detail;
mod entered;
mod homes;
mod host;
mod kernel_calls;
#[path = "../../traces/tests/located/mod.rs"]
mod located;
mod machines;
mod mesi;
mod naive;
mod neighbourhoods_of_cores;
mod no_core_misses_less_than_the_lower_bound;
mod numbered;
mod objects_have_the_cores_that_the_rules_say;
mod oracle;
mod pages_are_where_a_map_says;
mod posted_calls_are_made_where_and_when_it_is_said;
mod queueing;
mod random;
mod recording;
mod steps;
#[path = "../../benches/synthetic/mod.rs"]
mod synthetic;
mod textbook;
mod the_simulator_equals_the_oracle;
mod timing;
mod translation;
mod valgrind;
