//! Splits other than the plan: drawn at random, over other numbers of cores, on other machines.

pub mod space;
pub mod sweep;
