//! The doubts of a calibration, and the replacement policies that it distinguishes.

mod doubts;
mod policies;
