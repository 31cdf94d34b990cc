//! Tests of address elision: elided accesses are restored, and any bytes are accepted as code.

mod any_bytes_have_dependences;
mod any_bytes_have_pointers;
mod what_is_recorded_is_completed;
