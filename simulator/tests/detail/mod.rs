//! Results of a detailed replay: exact on small machines, and equal to naive computations.

mod attribution;
mod interference;
mod modes;
mod recorded;
mod reuse_distance;
mod segments;
mod whole;
mod working_set;
