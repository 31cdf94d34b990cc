//! The engine and a naive event simulation agree on every counter.

use crate::timing::against_naive::every_counter_is_equal;
use crate::timing::known_schedulers::known;
use corehop_simulator::timing::SCHEDULERS;

#[test]
fn every_counter_is_equal_for_every_scheduler_load_core_model_and_prefetcher() {
    every_counter_is_equal(SCHEDULERS, known);
}
