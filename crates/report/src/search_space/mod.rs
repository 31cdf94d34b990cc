//! Splits other than the plan: random ones, over other numbers of cores, on other machines.

pub mod space;
pub mod sweep;
