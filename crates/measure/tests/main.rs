//! All tests of the crate in one program, which builds faster than one program per file.

mod calibration;
mod turns;
