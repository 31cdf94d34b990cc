//! All tests of the crate, as one program, which is built sooner than one for each file.

mod addresses_come_from_what_the_rules_say;
mod machine;
mod models_equal_naive_ones;
mod naive;
mod the_interval_model_keeps_its_rules;
mod the_window_model_keeps_its_rules;
