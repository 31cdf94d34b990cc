//! Core models beside naive ones, and the rules they keep.

mod addresses_come_from_what_the_rules_say;
mod machine;
mod models_equal_naive_ones;
pub mod naive;
mod the_interval_model_keeps_its_rules;
mod the_window_model_keeps_its_rules;
