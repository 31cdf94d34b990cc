//! What a replay tells in detail: exact on small machines, and equal to naive ways to say the same.

mod attribution;
mod interference;
mod modes;
#[path = "../numbered/mod.rs"]
mod numbered;
#[path = "../oracle/mod.rs"]
mod oracle;
#[path = "../random/mod.rs"]
mod random;
mod recorded;
mod reuse_distance;
mod segments;
#[path = "../steps/mod.rs"]
mod steps;
mod whole;
mod working_set;
