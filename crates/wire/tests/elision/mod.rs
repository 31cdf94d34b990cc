//! What is left out comes back, and any bytes can be code.

mod any_bytes_have_dependences;
mod any_bytes_have_pointers;
mod what_is_recorded_is_completed;
