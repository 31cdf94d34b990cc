//! All tests of the crate in one program, which builds faster than one per file.

mod a_checkpoint_spares_repeated_work;
mod a_server_of_two_phases_is_split_between_them;
mod decomposed_equals_naive;
#[path = "../../traces/tests/definitions/mod.rs"]
mod definitions;
mod delegated_calls_equal_brute_force;
#[path = "../../simulator/tests/entered/mod.rs"]
mod entered;
mod going_back_keeps_the_callers_core_warm;
#[path = "../../simulator/tests/random/mod.rs"]
mod random;
mod searched;
mod searching;
mod speedups_are_expected;
#[path = "../../simulator/tests/steps/mod.rs"]
mod steps;
mod the_best_of_the_finalists_is_taken;
