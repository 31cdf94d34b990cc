//! Comparison of core models with naive ones, and tests of their rules.

mod addresses_come_from_what_the_rules_say;
mod machine;
mod models_equal_naive_ones;
pub mod naive;
mod the_interval_model_keeps_its_rules;
mod the_window_model_keeps_its_rules;
