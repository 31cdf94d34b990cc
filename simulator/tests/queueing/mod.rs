//! Compares throughput formulas with simulations of the same networks, closed forms and bounds.

mod closed_forms_and_bounds;
mod events;
mod formulas_equal_simulations;
mod simulation;
