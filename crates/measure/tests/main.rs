//! All tests of the crate, as one program, which is built sooner than one for each file.

mod calibration;
mod turns;
