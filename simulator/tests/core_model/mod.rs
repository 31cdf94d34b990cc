//! Comparison of core models with naive ones, and tests of their rules.

mod addresses_come_from_what_the_rules_say;
mod machine;
mod models_equal_naive_ones;
pub mod naive;
mod the_interval_model_keeps_its_rules;
mod the_window_model_keeps_its_rules;

use corehop_simulator::LineId;
use corehop_simulator::core_model::{CoreModel, Reference, ServedBy};
use corehop_traces::Kind;

/// Walks along this many nodes of a list in memory. Of each, a key is loaded before the address of
/// the next node, which is in the same line.
fn walk_a_list(model: &mut impl CoreModel, nodes: u32) {
    for node in 0..nodes {
        model.instructions(8);
        for (served_by, address_from) in [(ServedBy::Memory, 1), (ServedBy::L1, 2)] {
            model.reference(Reference {
                kind: Kind::Load,
                line: LineId(node),
                served_by,
                address_from,
                at_least_cycles: 0,
                takes_line: false,
                translation_cycles: 0,
            });
        }
    }
}
