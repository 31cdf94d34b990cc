//! What a replay tells in detail: exact on small machines, and equal to naive ways to say the same.

mod attribution;
mod interference;
#[path = "../numbered/mod.rs"]
mod numbered;
mod recorded;
mod reuse_distance;
mod segments;
#[path = "../steps/mod.rs"]
mod steps;
mod whole;
mod working_set;
