//! Formulas of throughput beside simulations of the same networks, closed forms and bounds.

mod closed_forms_and_bounds;
mod events;
mod formulas_equal_simulations;
mod simulation;
