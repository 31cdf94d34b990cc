//! All tests of the crate, as one program, which is built sooner than one for each file.

mod any_bytes_have_dependences;
mod any_bytes_have_pointers;
mod what_is_recorded_is_completed;
