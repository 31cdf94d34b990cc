//! What a replay tells in detail: exact on small machines, and equal to naive ways to say the same.

mod attribution;
mod interference;
mod modes;
mod recorded;
mod reuse_distance;
mod segments;
mod whole;
mod working_set;
