//! Shapes, tables and escaped text, which know nothing of traces and plans.

pub mod chart;
pub mod escape;
pub mod table;
