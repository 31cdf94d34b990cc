//! Shapes, tables and escaped text, independent of traces and plans.

pub mod chart;
pub mod escape;
pub mod table;
